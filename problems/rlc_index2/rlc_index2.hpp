#pragma once
// The electric circuit with a structural singularity of F. E. Cellier, Differential Algebraic Equation Solvers II (ETH,
// 2013): the source, through R1 and the inductor, fixes the voltage over the capacitor, whose current is of index 2.
#include <manyfold/model.hpp>

struct RlcIndex2 {
  static constexpr const char* name = "rlc_index2";
  static constexpr const char* description = "resistors, inductor and a capacitor across the source: index 2";
  static constexpr double t_span[] = {0.0, 2e-3};
  enum { u0, u1, u2, uL, uC, i0, i1, i2, iL, iC };
  static constexpr manyfold::Variable variables[] = {
      {.name = "u0", .unit = "V", .description = "source voltage", .algebraic = true},
      {.name = "u1", .unit = "V", .description = "voltage over R1", .algebraic = true},
      {.name = "u2", .unit = "V", .description = "voltage over R2", .algebraic = true},
      {.name = "uL", .unit = "V", .description = "voltage over the inductor", .algebraic = true},
      {.name = "uC", .unit = "V", .description = "voltage over the capacitor"},
      {.name = "i0", .unit = "A", .description = "source current", .algebraic = true, .index = 2},
      {.name = "i1", .unit = "A", .description = "current through R1", .algebraic = true},
      {.name = "i2", .unit = "A", .description = "current through R2", .algebraic = true},
      {.name = "iL", .unit = "A", .description = "current through the inductor"},
      {.name = "iC", .unit = "A", .description = "current through the capacitor", .algebraic = true, .index = 2}};
  enum { R1, R2, L, C, amplitude, frequency };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "R1", .unit = "ohm", .value = 100.0},
      {.name = "R2", .unit = "ohm", .value = 20.0},
      {.name = "L", .unit = "H", .value = 1.5e-3},
      {.name = "C", .unit = "F", .value = 1e-6},
      {.name = "amplitude", .unit = "V", .description = "of the source", .value = 10.0},
      {.name = "frequency", .unit = "s-1", .description = "of the source", .value = 1000.0}};

  // At rest, but for the current that charges the capacitor.
  static constexpr void initial(const auto& p, auto& y) {
    for (int i = 0; i < 10; ++i) y[i] = 0.0;
    y[iC] = p[C] * p[amplitude] * 6.283185307179586477 * p[frequency];
    y[i0] = y[iC];
  }

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = y[u0] - p[amplitude] * sin(6.283185307179586477 * p[frequency] * t);
    f[1] = y[u1] - p[R1] * y[i1];
    f[2] = y[u2] - p[R2] * y[i2];
    f[3] = y[u0] - y[u1] - y[uL];
    f[uC] = y[iC] / p[C];
    f[5] = y[uC] - y[u1] - y[u2];
    f[6] = y[uL] - y[u2];
    f[7] = y[i0] - y[i1] - y[iC];
    f[iL] = y[uL] / p[L];
    f[9] = y[i1] - y[i2] - y[iL];
  }
};
MANYFOLD_MODEL(RlcIndex2);
