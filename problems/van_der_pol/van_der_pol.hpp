#pragma once
// Van der Pol's oscillator, a relaxation oscillation: slow arcs and fast jumps. Hairer & Wanner II, (IV.1.5'), in the
// unscaled time of problem "vdpol" of the Test Set for IVP Solvers.
#include <manyfold/model.hpp>

struct VanDerPol {
  static constexpr const char* name = "van_der_pol";
  static constexpr const char* description = "Van der Pol's oscillator, stiff";
  static constexpr double t_span[] = {0.0, 2000.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y1", .initial = 2.0}, {.name = "y2", .initial = 0.0}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "mu", .description = "damping", .value = 1000.0}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = p[0] * (1.0 - y[0] * y[0]) * y[1] - y[0];
  }
};
MANYFOLD_MODEL(VanDerPol);
