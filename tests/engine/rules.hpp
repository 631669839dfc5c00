#pragma once
// Events whose times are known, for the rules on touches, simultaneous events, ends and directions.
#include <manyfold/model.hpp>

struct Rules {
  static constexpr const char* name = "rules";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x"}, {.name = "count"}};
  enum Constants { touch, meet, late, both, kth, ends, order, ticks };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "touch", .value = 100.0}, {.name = "meet", .value = 100.0}, {.name = "late", .value = 100.0},
      {.name = "both", .value = 100.0},  {.name = "kth", .value = 0.0},    {.name = "ends", .value = 100.0}};
  enum Names { touches, meets, tick, second, first, from_start, up, down, third_up, end };
  static constexpr manyfold::Event events[] = {{.name = "touches"},
                                               {.name = "meets"},
                                               {.name = "tick", .scheduled = 2},
                                               {.name = "second"},
                                               {.name = "first"},
                                               {.name = "from_start"},
                                               {.name = "up", .direction = 1},
                                               {.name = "down", .direction = -1},
                                               {.name = "third_up", .direction = 1, .stop_after = 3},
                                               {.name = "end", .terminal = true, .scheduled = 1}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "order"}, {.name = "ticks"}};

  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = 1.0 + 0.0 * y[0];
    f[1] = 0.0 * y[1];
  }
  static constexpr void event_times(const auto& p, auto& times) {
    times[0] = p[meet];
    times[1] = p[late];
    times[2] = p[ends];
  }
  static constexpr void root(const auto& t, const auto& y, const auto&, const auto& p, auto& g) {
    g[touches] = (t - p[touch]) * (t - p[touch]);
    g[meets] = t - p[meet];
    g[second] = t - p[both];
    g[first] = 3.0 * (t - p[both]);
    g[from_start] = y[0];
    g[up] = g[down] = sin(3.0 * t + 1.0);
    g[third_up] = p[kth] * sin(3.0 * t + 1.0);
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    if constexpr (event == second || event == first) d[0] = 10.0 * p[order] + static_cast<double>(event);
    if constexpr (event == tick) {
      d[1] = p[ticks] + 1.0;
      y[1] = y[1] + 1.0;
    }
  }
};
MANYFOLD_MODEL(Rules);
