#pragma once
// A ball whose action puts it on the floor exactly, without loss: it comes back every 2 speed seconds. With `floor` the
// action asks the algebraic equation for the root of a negative number.
#include <manyfold/model.hpp>

struct Hopper {
  static constexpr const char* name = "hopper";
  static constexpr double t_span[] = {0.0, 100.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "h"}, {.name = "v"}, {.name = "z", .initial = 1.0, .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "speed", .value = 1.0},
                                                       {.name = "broken", .value = 0.0}};
  static constexpr manyfold::Event events[] = {{.name = "hop"}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "shift"}};

  static constexpr void initial(const auto& p, auto& y) { y[1] = p[0]; }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = -1.0 + 0.0 * y[1];
    f[2] = y[2] * y[2] - 1.0 - y[1] * y[1] + p[2];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0]; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    y[0] = 0.0 * y[0];
    y[1] = p[0];
    d[0] = 1e3 * p[1];
  }
};
MANYFOLD_MODEL(Hopper);
