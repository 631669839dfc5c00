#pragma once
// A tank with an outlet and a pump. The equations hold only while the tank is not empty.
#include <manyfold/model.hpp>

struct Tank {
  static constexpr const char* name = "tank";
  static constexpr double t_span[] = {0.0, 100.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "level", .unit = "m", .description = "level of the liquid", .initial = 1.0}};
  enum { inflow, outlet, pump };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "inflow", .unit = "m s-1", .description = "flow into the tank over its area", .value = 0.02},
      {.name = "outlet", .unit = "m0.5 s-1", .description = "outflow over the root of the level", .value = 0.01},
      {.name = "pump", .unit = "m s-1", .description = "flow of the pump over the area", .value = 0.01}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[inflow] - p[outlet] * sqrt(y[0]) - p[pump];
  }
};
MANYFOLD_MODEL(Tank);
