#pragma once
// A capacitor that is charged through a resistor until a comparator switches the source off: values, currents and the
// time of switching are known in closed form.
#include <manyfold/model.hpp>

struct ObservedCircuit {
  static constexpr const char* name = "observed_circuit";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "u", .unit = "V", .description = "voltage of the capacitor"},
      {.name = "i", .unit = "A", .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "R", .unit = "Ohm", .value = 2.0},
                                                       {.name = "C", .unit = "F", .value = 0.5},
                                                       {.name = "threshold", .unit = "V", .value = 0.5}};
  static constexpr manyfold::Observable observables[] = {
      {.name = "energy", .unit = "J", .description = "in the capacitor"},
      {.name = "heating", .unit = "W", .description = "of the resistor"},
      {.name = "slope", .unit = "V s-1", .description = "of the voltage"},
      {.name = "source", .unit = "V"},
      {.name = "twice.time", .unit = "s"}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "on", .initial = 1.0}};
  static constexpr manyfold::Event events[] = {{.name = "switch_off", .direction = 1}};
  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = p[1] * dy[0] - y[1];
    F[1] = p[3] - p[0] * y[1] - y[0];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) { g[0] = y[0] - p[2]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto& d) { d[0] = 0.0; }
  static constexpr void observe(const auto& t, const auto& y, const auto& dy, const auto& p, auto& o) {
    o[0] = 0.5 * p[1] * y[0] * y[0];
    o[1] = p[0] * y[1] * y[1];
    o[2] = dy[0];
    o[3] = p[3];
    o[4] = 2.0 * t;
  }
};
MANYFOLD_MODEL(ObservedCircuit);
