#pragma once
// A block on a moving belt, held by a spring: it sticks until the spring exceeds the static friction, then slips
// against the smaller kinetic friction until the belt catches it again. H. Olsson et al., Eur. J. Control 4 (1998),
// section 2.
#include <manyfold/model.hpp>

struct StickSlip {
  static constexpr const char* name = "stick_slip";
  static constexpr const char* description = "A block on a belt that sticks and slips";
  static constexpr double t_span[] = {0.0, 20.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "x", .unit = "m", .description = "elongation of the spring", .initial = 0.0},
      {.name = "v", .unit = "m s-1", .description = "velocity of the block", .initial = 0.1}};
  enum Constants { mass, stiffness, damping, belt, static_friction, kinetic_friction, slip };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "mass", .unit = "kg", .description = "mass of the block", .value = 1.0},
      {.name = "stiffness", .unit = "N m-1", .description = "stiffness of the spring", .value = 2.0},
      {.name = "damping", .unit = "N s m-1", .description = "damping of the spring", .value = 0.05},
      {.name = "belt", .unit = "m s-1", .description = "velocity of the belt", .value = 0.1},
      {.name = "static_friction", .unit = "N", .description = "largest force while it sticks", .value = 1.5},
      {.name = "kinetic_friction", .unit = "N", .description = "force while it slips", .value = 1.0}};
  enum Change { release, meet };
  static constexpr manyfold::Event events[] = {
      {.name = "release", .description = "the spring exceeds the static friction", .direction = -1},
      {.name = "meet", .description = "the block is as fast as the belt", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "slip", .description = "0 sticks, +1 faster than the belt, -1 slower"}};

  static constexpr auto spring_force(const auto& y, const auto& p) { return p[stiffness] * y[0] + p[damping] * y[1]; }

  // A block that is placed on the belt with another velocity slips from the start.
  static constexpr void initial_discrete(const auto& y, const auto& p, auto& d) {
    d[0] = select(y[1] > p[belt], 1.0 + 0.0 * p[belt], select(y[1] < p[belt], -1.0 + 0.0 * p[belt], d[0]));
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = p[slip] * p[slip] * (-spring_force(y, p) - p[slip] * p[kinetic_friction]) / p[mass];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    const auto sticks = p[slip] == 0.0;
    const auto margin = p[static_friction] - abs(spring_force(y, p));
    const auto ahead = p[slip] * (y[1] - p[belt]);
    g[release] = select(sticks, margin, 1.0 + 0.0 * margin);
    g[meet] = select(sticks, 1.0 + 0.0 * ahead, ahead);
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    const auto force = spring_force(y, p);
    const auto along = select(force > 0.0, -1.0 + 0.0 * force, 1.0 + 0.0 * force);
    if constexpr (event == release) {
      d[0] = along;
    } else {
      d[0] = select(abs(force) <= p[static_friction], 0.0 * force, along);
      y[1] = p[belt];
    }
  }
};
MANYFOLD_MODEL(StickSlip);
