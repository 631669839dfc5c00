#pragma once
// Two tanks with a pipe that a valve opens: the square of the flow is known, and the matrix at no flow is singular.
#include <manyfold/model.hpp>

struct Valve {
  static constexpr const char* name = "valve";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "h1", .unit = "m", .initial = 2.0}, {.name = "h2", .unit = "m"}, {.name = "q", .algebraic = true}};
  enum { opening, always_open, open };
  static constexpr manyfold::Parameter parameters[] = {{.name = "opening", .value = 0.5}, {.name = "always_open"}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "open"}};
  static constexpr manyfold::Event events[] = {{.name = "opens", .scheduled = 1}};

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] + y[2];
    F[1] = dy[1] - y[2];
    F[2] = select(p[open] + p[always_open] > 0.0, y[2] * abs(y[2]) - 0.25 * (y[0] - y[1]), y[2]);
  }
  static constexpr void event_times(const auto& p, auto& times) { times[0] = p[opening]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto& d) { d[0] = 1.0; }
};
MANYFOLD_MODEL(Valve);
