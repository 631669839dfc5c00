#pragma once
// A capacitor between a source with a resistance and a diode. All voltages begin at zero.
#include <manyfold/model.hpp>

struct CoupledDiode {
  static constexpr const char* name = "coupled_diode";
  static constexpr double t_span[] = {0.0, 1e-3};
  static constexpr bool singular_mass_matrix = true;
  static constexpr manyfold::Parameter parameters[] = {{.name = "R", .unit = "ohm", .value = 50.0}};
  static constexpr manyfold::Variable variables[] = {{.name = "u1", .unit = "V"}, {.name = "u2", .unit = "V"}};
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = 1e-6 * (dy[0] - dy[1]) - (10.0 * sin(6283.185307179586 * t) - y[0]) / p[0];
    F[1] = 1e-6 * (dy[1] - dy[0]) + 1e-12 * (exp(40.0 * y[1]) - 1.0);
  }
};
MANYFOLD_MODEL(CoupledDiode);
