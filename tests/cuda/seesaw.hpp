#pragma once
// Bodies that decay, each through a pair of algebraic equations of its own: a sparse matrix whose fixed pivots are as
// small as `epsilon` makes them, however well it is conditioned. With a = 2 y/(1 + epsilon) and
// b = (1 - epsilon)/(1 + epsilon) y the solution is y_i(t) = exp(-(1 - epsilon)/(1 + epsilon) k t).
#include <manyfold/model.hpp>

struct Seesaw {
  static constexpr int bodies = 12;
  static constexpr const char* name = "seesaw";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0, .count = bodies},
                                                     {.name = "a", .algebraic = true, .count = bodies},
                                                     {.name = "b", .algebraic = true, .count = bodies}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "epsilon", .value = 0.5}, {.name = "k", .value = 2.0}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < bodies; ++i) {
      const auto& a = y[bodies + i];
      const auto& b = y[2 * bodies + i];
      f[i] = -p[1] * b;
      f[bodies + i] = p[0] * a + b - y[i];
      f[2 * bodies + i] = a - b - y[i];
    }
  }
};
MANYFOLD_MODEL(Seesaw);
