#pragma once
// An isothermal continuous stirred-tank reactor, A <-> B -> C, with the fast reversible reaction in equilibrium: the
// rate R1 that keeps it there is of index 2. A. Kumar & P. Daoutidis, Control of Nonlinear Differential Algebraic
// Equation Systems with Applications to Chemical Processes (1999).
#include <manyfold/model.hpp>

struct Cstr {
  static constexpr const char* name = "cstr";
  static constexpr const char* description = "stirred-tank reactor with a reaction in equilibrium: index 2";
  static constexpr double t_span[] = {0.0, 20.0};
  enum { V, CA, CB, CC, R1, R2 };
  static constexpr manyfold::Variable variables[] = {
      {.name = "V", .unit = "m3", .description = "volume of the contents"},
      {.name = "CA", .unit = "mol m-3", .description = "concentration of A"},
      {.name = "CB", .unit = "mol m-3", .description = "concentration of B"},
      {.name = "CC", .unit = "mol m-3", .description = "concentration of C"},
      {.name = "R1", .unit = "mol m-3 s-1", .description = "net rate of A <-> B", .algebraic = true, .index = 2},
      {.name = "R2", .unit = "mol m-3 s-1", .description = "rate of B -> C", .algebraic = true}};
  enum { Fa, F, CA0, Keq, k2, V0, CA_start };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "Fa", .unit = "m3 s-1", .description = "flow in", .value = 1.0},
      {.name = "F", .unit = "m3 s-1", .description = "flow out", .value = 0.9},
      {.name = "CA0", .unit = "mol m-3", .description = "concentration of A in the flow in", .value = 2.0},
      {.name = "Keq", .description = "constant of equilibrium CB/CA", .value = 0.5},
      {.name = "k2", .unit = "s-1", .description = "rate constant of B -> C", .value = 1.0},
      {.name = "V0", .unit = "m3", .description = "initial volume", .value = 5.0},
      {.name = "CA_start", .unit = "mol m-3", .description = "initial concentration of A", .value = 1.0}};

  // R1 keeps CA = CB/Keq: it follows from the derivative of that constraint.
  static constexpr void initial(const auto& p, auto& y) {
    y[V] = p[V0];
    y[CA] = p[CA_start];
    y[CB] = p[Keq] * y[CA];
    y[CC] = 0.0;
    y[R2] = p[k2] * y[CB];
    y[R1] = (p[Keq] * p[Fa] * p[CA0] / p[V0] + y[R2]) / (p[Keq] + 1.0);
  }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto renewal = p[Fa] / y[V];
    f[V] = p[Fa] - p[F];
    f[CA] = renewal * (p[CA0] - y[CA]) - y[R1];
    f[CB] = -renewal * y[CB] + y[R1] - y[R2];
    f[CC] = -renewal * y[CC] + y[R2];
    f[R1] = y[CA] - y[CB] / p[Keq];
    f[R2] = y[R2] - p[k2] * y[CB];
  }
};
MANYFOLD_MODEL(Cstr);
