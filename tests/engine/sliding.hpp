#pragma once
// A relay under a force, x' = 1.5 sin t - sign(x), whose surface x = 0 attracts from both sides while the force is
// below 1: then it slides along the surface, in a mode of its own, until the force pulls it off. A. F. Filippov,
// Differential Equations with Discontinuous Righthand Sides, section 4.
#include <manyfold/model.hpp>

struct Sliding {
  static constexpr const char* name = "sliding";
  static constexpr double t_span[] = {0.0, 6.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x", .initial = 0.1}};
  enum Constants { force, side };
  static constexpr manyfold::Parameter parameters[] = {{.name = "force", .value = 1.5}};
  enum Change { meets, leaves_up, leaves_down };
  static constexpr manyfold::Event events[] = {
      {.name = "meets"}, {.name = "leaves_up", .direction = 1}, {.name = "leaves_down", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "side", .description = "+1 and -1 beside the surface, 0 on it", .initial = 1.0}};

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = select(p[side] == 0.0, 0.0 * y[0], p[force] * sin(t) - p[side]);
  }
  static constexpr void root(const auto& t, const auto& y, const auto&, const auto& p, auto& g) {
    const auto slides = p[side] == 0.0;
    const auto pull = p[force] * sin(t);
    g[meets] = select(slides, 1.0 + 0.0 * y[0], y[0]);
    g[leaves_up] = select(slides, pull - 1.0, -1.0 + 0.0 * pull);
    g[leaves_down] = select(slides, pull + 1.0, 1.0 + 0.0 * pull);
  }
  static constexpr void action(auto event, const auto& t, auto& y, const auto&, const auto& p, auto& d) {
    const auto pull = p[force] * sin(t);
    if constexpr (event == meets) {
      // It slides if both sides push it back; else it goes through.
      d[0] = select(abs(pull) < 1.0, 0.0 * pull, -p[side]);
      y[0] = 0.0 * y[0];
    } else {
      d[0] = event == leaves_up ? 1.0 : -1.0;
    }
  }
};
MANYFOLD_MODEL(Sliding);
