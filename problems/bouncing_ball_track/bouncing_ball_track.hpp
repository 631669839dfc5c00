#pragma once
// A ball on a circular track that bounces off a wall at the lowest point. The track is a constraint, differentiated
// twice as in `pendulum`: index 1. Between bounces the ball is a pendulum, whose half period is known: with k_0 =
// sin(angle / 2) and k_n = restitution^n k_0, bounce n+1 is at
//   t_1 = sqrt(L / g) K(k_0),  t_{n+1} = t_n + 2 sqrt(L / g) K(k_n),
// K the complete elliptic integral of the first kind. The half period has a limit, so bounces do not accumulate.
#include <manyfold/model.hpp>

struct BouncingBallTrack {
  static constexpr const char* name = "bouncing_ball_track";
  static constexpr const char* description = "A ball on a circular track that bounces off a wall, index-1 form";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "x", .unit = "m", .description = "distance from the wall"},
      {.name = "z", .unit = "m", .description = "height over the centre of the track"},
      {.name = "u", .unit = "m s-1", .description = "horizontal velocity"},
      {.name = "w", .unit = "m s-1", .description = "vertical velocity"},
      {.name = "lambda", .unit = "s-2", .description = "force of the track per mass and radius", .algebraic = true}};
  enum Constants { g, L, angle, restitution, rest_speed, moving };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "g", .unit = "m s-2", .description = "gravity", .value = 9.81},
      {.name = "L", .unit = "m", .description = "radius of the track", .value = 1.0},
      {.name = "angle", .unit = "rad", .description = "initial angle from the lowest point", .value = 1.2},
      {.name = "restitution", .description = "speed after over speed before a bounce", .value = 0.8},
      {.name = "rest_speed", .unit = "m s-1", .description = "the ball rests below this speed", .value = 1e-3}};
  static constexpr manyfold::Event events[] = {
      {.name = "bounce", .description = "the ball meets the wall", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "moving", .description = "1 while the ball moves, 0 at rest", .initial = 1.0}};

  static constexpr void initial(const auto& p, auto& y) {
    y[0] = p[L] * sin(p[angle]);
    y[1] = -p[L] * cos(p[angle]);
    y[4] = -p[g] * y[1] / (p[L] * p[L]);
  }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[moving] * y[2];
    f[1] = p[moving] * y[3];
    f[2] = -p[moving] * y[4] * y[0];
    f[3] = -p[moving] * (y[4] * y[1] + p[g]);
    f[4] = y[2] * y[2] + y[3] * y[3] - y[4] * p[L] * p[L] - p[g] * y[1];
  }

  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& value) { value[0] = y[0]; }

  // Both components of the velocity turn, so that it stays along the track.
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    const auto factor = select(p[restitution] * abs(y[2]) < p[rest_speed], 0.0 * y[2], -p[restitution]);
    d[0] = select(factor == 0.0, 0.0 * factor, d[0]);
    y[2] = factor * y[2];
    y[3] = factor * y[3];
  }
};
MANYFOLD_MODEL(BouncingBallTrack);
