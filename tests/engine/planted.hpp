#pragma once
// Root functions that dip below zero briefly in a solution so smooth that one step may span it all.
#include <manyfold/model.hpp>

struct Planted {
  static constexpr const char* name = "planted";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {{.name = "x", .initial = 1.0}};
  enum Constants { parabola, half_width, well, well_width };
  static constexpr manyfold::Parameter parameters[] = {{.name = "parabola", .value = 0.3},
                                                       {.name = "half_width", .value = 1e-3},
                                                       {.name = "well", .value = 0.7},
                                                       {.name = "well_width", .value = 1e-3}};
  static constexpr manyfold::Event events[] = {{.name = "parabola"}, {.name = "well"}};

  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) { f[0] = 0.0 * y[0]; }
  static constexpr void root(const auto& t, const auto&, const auto&, const auto& p, auto& g) {
    const auto from_parabola = t - p[parabola];
    g[0] = from_parabola * from_parabola - p[half_width] * p[half_width];
    const auto from_well = (t - p[well]) / p[well_width];
    g[1] = 1.0 - 2.0 / (1.0 + from_well * from_well);
  }
};
MANYFOLD_MODEL(Planted);
