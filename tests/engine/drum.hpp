#pragma once
// A mixture of two species boils: z = (1 - b) x + b y with y = K x. Where x = y, as in the guess, no equation depends
// on the share b of the vapour.
#include <manyfold/model.hpp>

struct Drum {
  static constexpr const char* name = "drum";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {{.name = "z", .initial = 0.4},
                                                     {.name = "b", .initial = 0.5, .algebraic = true},
                                                     {.name = "x", .initial = 0.5, .algebraic = true, .count = 2},
                                                     {.name = "y", .initial = 0.5, .algebraic = true, .count = 2}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "light", .value = 2.0},
                                                       {.name = "heavy", .value = 0.5}};

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0];
    for (int i = 0; i < 2; ++i) {
      const auto feed = i == 0 ? y[0] : 1.0 - y[0];
      F[1 + i] = (1.0 - y[1]) * y[2 + i] + y[1] * y[4 + i] - feed;
      F[3 + i] = y[4 + i] - p[i] * y[2 + i];
    }
    F[5] = y[2] + y[3] - y[4] - y[5];
  }
};
MANYFOLD_MODEL(Drum);
