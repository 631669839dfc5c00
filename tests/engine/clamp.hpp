#pragma once
// An integrator with a limit. Beyond it another mode holds, which may lead back at once, and the action may move
// another variable.
#include <manyfold/model.hpp>

struct Clamp {
  static constexpr const char* name = "clamp";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x"}, {.name = "moved"}};
  enum { below, beyond, kick, limited };
  static constexpr manyfold::Parameter parameters[] = {{.name = "below", .description = "rate of x", .value = 1.0},
                                                       {.name = "beyond", .value = 0.3},
                                                       {.name = "kick", .value = 0.0}};
  static constexpr manyfold::Event events[] = {{.name = "limit", .direction = 1}, {.name = "back", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "limited"}};

  static constexpr void rhs(const auto&, const auto&, const auto& p, auto& f) {
    f[0] = select(p[limited] > 0.5, p[beyond], p[below]);
    f[1] = 0.0 * p[below];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = select(p[limited] > 0.5, 0.0 * y[0] - 1.0, y[0] - 1.0);
    g[1] = select(p[limited] > 0.5, y[0] - 1.0, 0.0 * y[0] + 1.0);
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    d[0] = event == 0 ? 1.0 : 0.0;
    y[1] = y[1] + p[kick];
  }
};
MANYFOLD_MODEL(Clamp);
