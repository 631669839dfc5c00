#pragma once
// A tank that is filled faster than it drains, until it overflows: a terminal event. With w = sqrt(level) the level is
// reached at t(w) - t(w_0), t(w) = -(2 area / k^2) (k w + inflow ln(1 - k w / inflow)).
#include <manyfold/model.hpp>

struct OverflowTank {
  static constexpr const char* name = "overflow_tank";
  static constexpr const char* description = "A tank with an outlet that fills until it overflows";
  static constexpr double t_span[] = {0.0, 200.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "level", .unit = "m", .description = "level of the liquid", .initial = 0.25}};
  enum Constants { inflow, area, outlet, height };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "inflow", .unit = "m3 s-1", .description = "flow into the tank", .value = 0.05},
      {.name = "area", .unit = "m2", .description = "cross-section of the tank", .value = 1.0},
      {.name = "k", .unit = "m2.5 s-1", .description = "outflow over the root of the level", .value = 0.02},
      {.name = "height", .unit = "m", .description = "height of the tank", .value = 2.0}};
  static constexpr manyfold::Event events[] = {
      {.name = "overflow", .description = "the level reaches the rim", .direction = 1, .terminal = true}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = (p[inflow] - p[outlet] * sqrt(y[0])) / p[area];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - p[height];
  }
};
MANYFOLD_MODEL(OverflowTank);
