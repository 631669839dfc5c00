#pragma once
// A diode clipper: a source charges a capacitor through a resistor, a diode limits its voltage.
#include <manyfold/model.hpp>

struct Clipper {
  static constexpr const char* name = "clipper";
  static constexpr double t_span[] = {0.0, 2e-3};
  static constexpr manyfold::Variable variables[] = {
      {.name = "u", .unit = "V", .description = "capacitor voltage", .initial = 0.0},
      {.name = "i", .unit = "A", .description = "diode current", .algebraic = true}};
  enum { R, C, Is, UT, amplitude, frequency };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "R", .unit = "ohm", .value = 1000.0},
      {.name = "C", .unit = "F", .value = 1e-7},
      {.name = "Is", .unit = "A", .description = "saturation current", .value = 1e-12},
      {.name = "UT", .unit = "V", .description = "thermal voltage", .value = 0.026},
      {.name = "amplitude", .unit = "V", .value = 5.0},
      {.name = "frequency", .unit = "s-1", .value = 1000.0}};

  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    const auto source = p[amplitude] * sin(6.283185307179586 * p[frequency] * t);
    F[0] = p[C] * dy[0] - (source - y[0]) / p[R] + y[1];
    F[1] = y[1] - p[Is] * (exp(y[0] / p[UT]) - 1.0);
  }
};
MANYFOLD_MODEL(Clipper);
