#pragma once
// A batch reactor with an exothermic reaction A -> B, cooled by a jacket.
#include <manyfold/model.hpp>

struct Reactor {
  static constexpr const char* name = "reactor";
  static constexpr double t_span[] = {0.0, 7200.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "c", .unit = "mol l-1", .description = "concentration of A", .initial = 2.0},
      {.name = "T", .unit = "K", .description = "temperature of the reactor", .initial = 335.0},
      {.name = "Tj", .unit = "K", .description = "temperature of the jacket", .initial = 300.0, .algebraic = true}};
  enum { k, E, heat, U, flow, inlet, limit };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k", .unit = "s-1", .description = "rate constant at 400 K", .value = 0.031},
      {.name = "E", .unit = "J mol-1", .description = "activation energy", .value = 8e4},
      {.name = "heat", .unit = "K l mol-1", .description = "heat of reaction over heat capacity", .value = 40.0},
      {.name = "U", .unit = "s-1", .description = "heat transfer over heat capacity", .value = 1.3e-3},
      {.name = "flow", .unit = "s-1", .description = "flow of coolant over heat capacity", .value = 6e-3},
      {.name = "inlet", .unit = "K", .description = "temperature of the coolant", .value = 325.0},
      {.name = "limit", .unit = "K", .description = "highest temperature allowed", .value = 370.0}};
  static constexpr manyfold::Event events[] = {
      {.name = "too_hot", .description = "the reactor passes its limit", .direction = 1}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto rate = p[k] * exp(p[E] / 8.314462618 * (1.0 / 400.0 - 1.0 / y[1])) * y[0];
    f[0] = -rate;
    f[1] = p[heat] * rate - p[U] * (y[1] - y[2]);
    f[2] = p[U] * (y[1] - y[2]) - p[flow] * (y[2] - p[inlet]);
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[1] - p[limit];
  }
};
MANYFOLD_MODEL(Reactor);
