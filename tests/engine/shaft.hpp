#pragma once
// Pulses of a shaft that speeds up and of a clock: a solution so smooth that a step may span many of them.
#include <manyfold/model.hpp>

struct Shaft {
  static constexpr const char* name = "shaft";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {{.name = "angle", .initial = 0.1}, {.name = "speed"}};
  enum Constants { speed, acceleration, level, rate, clock_level };
  static constexpr manyfold::Parameter parameters[] = {{.name = "initial_speed", .value = 5.0},
                                                       {.name = "acceleration", .value = 3.0},
                                                       {.name = "level", .value = 0.0},
                                                       {.name = "rate", .value = 30.0},
                                                       {.name = "clock_level", .value = 0.0}};
  static constexpr manyfold::Event events[] = {{.name = "pulse", .direction = 1}, {.name = "clock"}};

  static constexpr void initial(const auto& p, auto& y) { y[1] = p[speed]; }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = p[acceleration];
  }
  static constexpr void root(const auto& t, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = sin(y[0]) - p[level];
    g[1] = sin(p[rate] * t) - p[clock_level];
  }
};
MANYFOLD_MODEL(Shaft);
