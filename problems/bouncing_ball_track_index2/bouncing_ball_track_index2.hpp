#pragma once
// The ball of `bouncing_ball_track` with the track as a constraint on its velocity: index 2. The force of the track
// jumps with the velocity, so the action sets it too: systems of higher index start from the values they are given.
#include <manyfold/model.hpp>

struct BouncingBallTrackIndex2 {
  static constexpr const char* name = "bouncing_ball_track_index2";
  static constexpr const char* description = "A ball on a circular track that bounces off a wall, index 2";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "x", .unit = "m", .description = "distance from the wall"},
      {.name = "z", .unit = "m", .description = "height over the centre of the track"},
      {.name = "u", .unit = "m s-1", .description = "horizontal velocity"},
      {.name = "w", .unit = "m s-1", .description = "vertical velocity"},
      {.name = "lambda",
       .unit = "s-2",
       .description = "force of the track per mass and radius",
       .algebraic = true,
       .index = 2}};
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

  // At rest the position is held; the velocity is then that of an equilibrium.
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[moving] * y[2];
    f[1] = p[moving] * y[3];
    f[2] = -y[4] * y[0];
    f[3] = -y[4] * y[1] - p[g];
    f[4] = y[0] * y[2] + y[1] * y[3];
  }

  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& value) { value[0] = y[0]; }

  // Both components of the velocity turn, so that it stays along the track.
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    const auto factor = select(p[restitution] * abs(y[2]) < p[rest_speed], 0.0 * y[2], -p[restitution]);
    d[0] = select(factor == 0.0, 0.0 * factor, d[0]);
    y[2] = factor * y[2];
    y[3] = factor * y[3];
    y[4] = (y[2] * y[2] + y[3] * y[3] - p[g] * y[1]) / (y[0] * y[0] + y[1] * y[1]);
  }
};
MANYFOLD_MODEL(BouncingBallTrackIndex2);
