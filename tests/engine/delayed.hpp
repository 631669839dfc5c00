#pragma once
// A relay with a delay, which may be none: x rises past a threshold, a timer of the relay trips, and that opens a valve
// at once.
#include <manyfold/model.hpp>

struct Delayed {
  static constexpr const char* name = "delayed";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x"}};
  enum { threshold, delay, due, opening, opened };
  static constexpr manyfold::Parameter parameters[] = {{.name = "threshold", .value = 0.5},
                                                       {.name = "delay", .value = 0.25}};
  static constexpr manyfold::Event events[] = {
      {.name = "high", .direction = 1}, {.name = "trip", .scheduled = 1}, {.name = "open", .scheduled = 1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "due", .initial = 1e30}, {.name = "opening", .initial = 1e30}, {.name = "opened"}};

  static constexpr void rhs(const auto&, const auto&, const auto& p, auto& f) { f[0] = 1.0 - p[opened]; }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - p[threshold];
  }
  static constexpr void event_times(const auto& p, auto& times) {
    times[0] = p[due];
    times[1] = p[opening];
  }
  static constexpr void action(auto event, const auto& t, auto&, const auto&, const auto& p, auto& d) {
    if constexpr (event == 0) d[0] = t + p[delay];
    if constexpr (event == 1) d[1] = t;
    if constexpr (event == 2) d[2] = p[opened] + 1.0;
  }
};
MANYFOLD_MODEL(Delayed);
