#pragma once
// A relay: x moves towards zero from both sides. Without a dead zone it chatters there.
#include <manyfold/model.hpp>

struct Relay {
  static constexpr const char* name = "relay";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x", .initial = 1.0}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "dead_zone", .value = 0.0}, {.name = "rise", .value = 1.0}, {.name = "fall", .value = 1.0}};
  static constexpr manyfold::Event events[] = {{.name = "below", .direction = -1}, {.name = "above", .direction = 1}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "rises", .description = "1: x rises"}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[3] * (p[1] + p[2]) - p[2] + 0.0 * y[0];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] + p[0];
    g[1] = y[0] - p[0];
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    d[0] = event == 0 ? 1.0 : 0.0;
  }
};
MANYFOLD_MODEL(Relay);
