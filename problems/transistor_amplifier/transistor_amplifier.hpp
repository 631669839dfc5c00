#pragma once
// A two-transistor amplifier: node voltages u1 ... u8, capacitors between nodes, so that only differences of voltages
// are differential and the mass matrix has rank 5. Rentrop, Roche & Steinebach, Numer. Math. 55 (1989); Hairer & Wanner
// II, (VI.1.14); problem "transamp" of the Test Set for IVP Solvers.
#include <manyfold/model.hpp>

struct TransistorAmplifier {
  static constexpr const char* name = "transistor_amplifier";
  static constexpr const char* description = "two-transistor amplifier, index 1 with a singular mass matrix";
  static constexpr double t_span[] = {0.0, 0.2};
  static constexpr bool singular_mass_matrix = true;
  static constexpr manyfold::Variable variables[] = {
      {.name = "u1", .unit = "V", .description = "input node"},
      {.name = "u2", .unit = "V", .description = "base of the first transistor"},
      {.name = "u3", .unit = "V", .description = "emitter of the first transistor"},
      {.name = "u4", .unit = "V", .description = "collector of the first transistor"},
      {.name = "u5", .unit = "V", .description = "base of the second transistor"},
      {.name = "u6", .unit = "V", .description = "emitter of the second transistor"},
      {.name = "u7", .unit = "V", .description = "collector of the second transistor"},
      {.name = "u8", .unit = "V", .description = "output node"}};

  enum { Ub, UF, alpha, beta, amplitude, frequency, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, C1, C2, C3, C4, C5 };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "Ub", .unit = "V", .description = "operating voltage", .value = 6.0},
      {.name = "UF", .unit = "V", .description = "thermal voltage", .value = 0.026},
      {.name = "alpha", .description = "current gain of the transistors", .value = 0.99},
      {.name = "beta", .unit = "A", .description = "saturation current", .value = 1e-6},
      {.name = "amplitude", .unit = "V", .description = "amplitude of the input", .value = 0.1},
      {.name = "frequency", .unit = "s-1", .description = "frequency of the input", .value = 100.0},
      {.name = "R0", .unit = "ohm", .description = "input resistance", .value = 1000.0},
      {.name = "R1", .unit = "ohm", .value = 9000.0},
      {.name = "R2", .unit = "ohm", .value = 9000.0},
      {.name = "R3", .unit = "ohm", .value = 9000.0},
      {.name = "R4", .unit = "ohm", .value = 9000.0},
      {.name = "R5", .unit = "ohm", .value = 9000.0},
      {.name = "R6", .unit = "ohm", .value = 9000.0},
      {.name = "R7", .unit = "ohm", .value = 9000.0},
      {.name = "R8", .unit = "ohm", .value = 9000.0},
      {.name = "R9", .unit = "ohm", .value = 9000.0},
      {.name = "C1", .unit = "F", .value = 1e-6},
      {.name = "C2", .unit = "F", .value = 2e-6},
      {.name = "C3", .unit = "F", .value = 3e-6},
      {.name = "C4", .unit = "F", .value = 4e-6},
      {.name = "C5", .unit = "F", .value = 5e-6}};

  // Conductances 1/R0 ... 1/R9, 1/UF and the angular frequency: no division is left in the equations.
  static constexpr int derived = 12;
  static constexpr int G0 = C5 + 1;
  static constexpr int per_UF = G0 + 10;
  static constexpr int omega = per_UF + 1;
  static constexpr void derive(auto& p) {
    for (int k = 0; k < 10; ++k) p[G0 + k] = 1.0 / p[R0 + k];
    p[per_UF] = 1.0 / p[UF];
    p[omega] = 6.283185307179586477 * p[frequency];
  }

  static constexpr void initial(const auto& p, auto& y) {
    y[0] = 0.0;
    y[1] = y[2] = p[Ub] * p[R1] / (p[R1] + p[R2]);
    y[3] = p[Ub];
    y[4] = y[5] = p[Ub] * p[R5] / (p[R5] + p[R6]);
    y[6] = p[Ub];
    y[7] = 0.0;
  }

  static constexpr void mass_matrix(const auto& p, auto& M) {
    M(0, 0) = M(1, 1) = -p[C1];
    M(0, 1) = M(1, 0) = p[C1];
    M(2, 2) = -p[C2];
    M(3, 3) = M(4, 4) = -p[C3];
    M(3, 4) = M(4, 3) = p[C3];
    M(5, 5) = -p[C4];
    M(6, 6) = M(7, 7) = -p[C5];
    M(6, 7) = M(7, 6) = p[C5];
  }

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto input = p[amplitude] * sin(p[omega] * t);
    const auto diode_current = [&](const auto& voltage) { return p[beta] * (exp(voltage * p[per_UF]) - 1.0); };
    const auto first = diode_current(y[1] - y[2]);
    const auto second = diode_current(y[4] - y[5]);
    f[0] = (y[0] - input) * p[G0];
    f[1] = y[1] * p[G0 + 1] + (y[1] - p[Ub]) * p[G0 + 2] + (1.0 - p[alpha]) * first;
    f[2] = y[2] * p[G0 + 3] - first;
    f[3] = (y[3] - p[Ub]) * p[G0 + 4] + p[alpha] * first;
    f[4] = y[4] * p[G0 + 5] + (y[4] - p[Ub]) * p[G0 + 6] + (1.0 - p[alpha]) * second;
    f[5] = y[5] * p[G0 + 7] - second;
    f[6] = (y[6] - p[Ub]) * p[G0 + 8] + p[alpha] * second;
    f[7] = y[7] * p[G0 + 9];
  }

  static constexpr void jacobian(const auto&, const auto& y, const auto& p, auto& J) {
    const auto first = p[beta] * p[per_UF] * exp((y[1] - y[2]) * p[per_UF]);
    const auto second = p[beta] * p[per_UF] * exp((y[4] - y[5]) * p[per_UF]);
    const auto base = 1.0 - p[alpha];
    J(0, 0) = p[G0];
    J(1, 1) = p[G0 + 1] + p[G0 + 2] + base * first;
    J(1, 2) = -(base * first);
    J(2, 1) = -first;
    J(2, 2) = p[G0 + 3] + first;
    J(3, 1) = p[alpha] * first;
    J(3, 2) = -(p[alpha] * first);
    J(3, 3) = p[G0 + 4];
    J(4, 4) = p[G0 + 5] + p[G0 + 6] + base * second;
    J(4, 5) = -(base * second);
    J(5, 4) = -second;
    J(5, 5) = p[G0 + 7] + second;
    J(6, 4) = p[alpha] * second;
    J(6, 5) = -(p[alpha] * second);
    J(6, 6) = p[G0 + 8];
    J(7, 7) = p[G0 + 9];
  }
};
MANYFOLD_MODEL(TransistorAmplifier);
