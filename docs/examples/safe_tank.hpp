#pragma once
// A tank with an outlet and a pump, up to the time at which it is empty.
#include <manyfold/model.hpp>

struct SafeTank {
  static constexpr const char* name = "safe_tank";
  static constexpr double t_span[] = {0.0, 100.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "level", .unit = "m", .description = "level of the liquid", .initial = 1.0}};
  enum { inflow, outlet, pump };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "inflow", .unit = "m s-1", .description = "flow into the tank over its area", .value = 0.02},
      {.name = "outlet", .unit = "m0.5 s-1", .description = "outflow over the root of the level", .value = 0.01},
      {.name = "pump", .unit = "m s-1", .description = "flow of the pump over the area", .value = 0.01}};
  static constexpr manyfold::Event events[] = {
      {.name = "empty", .description = "the tank runs dry", .direction = -1, .terminal = true}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[inflow] - p[outlet] * sqrt(y[0]) - p[pump];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0] - 1e-3; }
};
MANYFOLD_MODEL(SafeTank);
