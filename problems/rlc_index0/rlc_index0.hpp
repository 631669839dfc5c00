#pragma once
// The electric circuit of F. E. Cellier, Differential Algebraic Equation Solvers II (ETH, 2013), which is solved by
// substitution alone (he calls that index 0): a resistor in series with a resistor and a capacitor in parallel, an
// inductor across both resistors. All ten voltages and currents are variables; as a DAE the index is 1.
#include <manyfold/model.hpp>

struct RlcIndex0 {
  static constexpr const char* name = "rlc_index0";
  static constexpr const char* description =
      "RLC circuit without algebraic loop, all voltages and currents as variables";
  static constexpr double t_span[] = {0.0, 2e-3};
  enum { u0, u1, u2, uL, uC, i0, i1, i2, iL, iC };
  static constexpr manyfold::Variable variables[] = {
      {.name = "u0", .unit = "V", .description = "source voltage", .algebraic = true},
      {.name = "u1", .unit = "V", .description = "voltage over R1", .algebraic = true},
      {.name = "u2", .unit = "V", .description = "voltage over R2", .algebraic = true},
      {.name = "uL", .unit = "V", .description = "voltage over the inductor", .algebraic = true},
      {.name = "uC", .unit = "V", .description = "voltage over the capacitor"},
      {.name = "i0", .unit = "A", .description = "source current", .algebraic = true},
      {.name = "i1", .unit = "A", .description = "current through R1", .algebraic = true},
      {.name = "i2", .unit = "A", .description = "current through R2", .algebraic = true},
      {.name = "iL", .unit = "A", .description = "current through the inductor"},
      {.name = "iC", .unit = "A", .description = "current through the capacitor", .algebraic = true}};
  enum { R1, R2, L, C, amplitude, frequency };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "R1", .unit = "ohm", .value = 100.0},
      {.name = "R2", .unit = "ohm", .value = 20.0},
      {.name = "L", .unit = "H", .value = 1.5e-3},
      {.name = "C", .unit = "F", .value = 1e-7},
      {.name = "amplitude", .unit = "V", .description = "of the source", .value = 10.0},
      {.name = "frequency", .unit = "s-1", .description = "of the source", .value = 1000.0}};

  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = y[u0] - p[amplitude] * sin(6.283185307179586477 * p[frequency] * t);
    F[1] = y[u1] - p[R1] * y[i1];
    F[2] = y[u2] - p[R2] * y[i2];
    F[3] = y[uL] - p[L] * dy[iL];
    F[4] = y[iC] - p[C] * dy[uC];
    F[5] = y[u0] - y[u1] - y[uC];
    F[6] = y[uL] - y[u1] - y[u2];
    F[7] = y[uC] - y[u2];
    F[8] = y[i0] - y[i1] - y[iL];
    F[9] = y[i1] - y[i2] - y[iC];
  }
};
MANYFOLD_MODEL(RlcIndex0);
