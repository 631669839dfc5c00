#pragma once
// A ball that falls, bounces and, once it is slow, rests. Between bounces h = v t - g t^2/2, so that every bounce time
// is known: t_n = t_1 (1 + 2 (c + c^2 + ... + c^(n-1))) with t_1 = sqrt(2 (height - radius) / g); without the rest they
// accumulate at t_1 (1 + c)/(1 - c).
#include <manyfold/model.hpp>

struct BouncingBall {
  static constexpr const char* name = "bouncing_ball";
  static constexpr const char* description = "A ball that bounces with a loss until it rests";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "h", .unit = "m", .description = "height of the centre", .initial = 1.0},
      {.name = "v", .unit = "m s-1", .description = "velocity", .initial = 0.0}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "g", .unit = "m s-2", .description = "gravity", .value = 10.0},
      {.name = "restitution", .description = "speed after over speed before a bounce", .value = 0.9},
      {.name = "radius", .unit = "m", .description = "radius of the ball", .value = 0.1},
      {.name = "height", .unit = "m", .description = "initial height of the centre", .value = 1.0},
      {.name = "rest_speed", .unit = "m s-1", .description = "the ball rests below this speed", .value = 1e-4}};
  static constexpr manyfold::Event events[] = {
      {.name = "bounce", .description = "the ball meets the floor", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "moving", .description = "1 while the ball moves, 0 at rest", .initial = 1.0}};

  static constexpr void initial(const auto& p, auto& y) { y[0] = p[3]; }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto& moving = p[5];
    f[0] = moving * y[1];
    f[1] = -moving * p[0];
  }

  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) { g[0] = y[0] - p[2]; }

  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    const auto speed = p[1] * abs(y[1]);
    const auto rests = speed < p[4];
    d[0] = select(rests, 0.0, d[0]);
    y[0] = select(rests, p[2], y[0]);
    y[1] = select(rests, 0.0 * speed, speed);
  }
};
MANYFOLD_MODEL(BouncingBall);
