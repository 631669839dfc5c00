#pragma once
// A model whose instances fail in the way their parameters choose; with the defaults they succeed.
#include <manyfold/model.hpp>

struct Fragile {
  static constexpr const char* name = "fragile";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0},
                                                     {.name = "z", .initial = 1.0, .algebraic = true}};
  enum { pole, turn, scale, domain, rootless, frequency, decay };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "pole", .description = "y' has a pole of this strength at t = 1", .value = 0.0},
      {.name = "turn", .description = "z^2 = 1 - turn t: no solution after t = 1 for 1", .value = 0.0},
      {.name = "scale", .description = "of the algebraic equation: singular for 0", .value = 1.0},
      {.name = "domain", .description = "y' contains sqrt(1 - domain t): no number after t = 1 for 1", .value = 0.0},
      {.name = "rootless", .description = "z^2 = 1 - rootless: no root for 2", .value = 0.0},
      {.name = "frequency", .description = "of a forcing: very many steps for 1e7", .value = 1.0},
      {.name = "decay", .value = 1.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = p[pole] / ((1.0 - t) * (1.0 - t) + 1e-300) - p[decay] * y[0] + sqrt(1.0 - p[domain] * t) +
           sin(p[frequency] * t);
    f[1] = p[scale] * (y[1] * y[1] - 1.0 + p[turn] * t + p[rootless]);
  }
};
MANYFOLD_MODEL(Fragile);
