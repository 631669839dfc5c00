#pragma once
// A tank with a pump: the level h is differential, the flow q algebraic. At the start the flow and the rate at which
// the level changes are given, not the level. With gain = 0 no level gives another flow than zero.
#include <manyfold/model.hpp>

struct Pump {
  static constexpr const char* name = "pump";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr const char* equations[] = {"balance", "valve"};
  static constexpr manyfold::Variable variables[] = {
      {.name = "h", .unit = "m", .initial = 0.5, .given = manyfold::Given::derivative, .initial_derivative = -0.25},
      {.name = "q", .unit = "m3 s-1", .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "inflow", .value = 1.0},
                                                       {.name = "gain", .value = 2.0}};

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] - p[0] + y[1];
    F[1] = y[1] * y[1] - p[1] * y[0];
  }
};
MANYFOLD_MODEL(Pump);
