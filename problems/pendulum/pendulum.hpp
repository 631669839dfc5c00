#pragma once
// The pendulum in Cartesian coordinates with the constraint differentiated twice: index 1. Hairer & Wanner II, (VI.5.1)
// and section VII.1. x^2 + z^2 = L^2 and x u + z w = 0 are invariants of this form, not equations: a drift from them is
// an integration error.
#include <manyfold/model.hpp>

struct Pendulum {
  static constexpr const char* name = "pendulum";
  static constexpr const char* description = "pendulum in Cartesian coordinates, index-1 form, released at rest";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "x", .unit = "m", .description = "horizontal position"},
      {.name = "z", .unit = "m", .description = "vertical position"},
      {.name = "u", .unit = "m s-1", .description = "horizontal velocity"},
      {.name = "w", .unit = "m s-1", .description = "vertical velocity"},
      {.name = "lambda", .unit = "s-2", .description = "rod force per mass and length", .algebraic = true}};
  // With these defaults the period is exactly 2: g = Gamma(1/4)^4 / (4 pi), released horizontally.
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "g", .unit = "m s-2", .description = "gravity", .value = 13.7503716360407456549801915596},
      {.name = "L", .unit = "m", .description = "length of the rod", .value = 1.0},
      {.name = "angle", .unit = "rad", .description = "initial angle from the vertical", .value = 1.57079632679489662}};

  static constexpr void initial(const auto& p, auto& y) {
    y[0] = p[1] * sin(p[2]);
    y[1] = -p[1] * cos(p[2]);
    y[2] = 0.0;
    y[3] = 0.0;
    y[4] = -p[0] * y[1] / (p[1] * p[1]);
  }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[4] * y[0];
    f[3] = -y[4] * y[1] - p[0];
    f[4] = y[2] * y[2] + y[3] * y[3] - y[4] * p[1] * p[1] - p[0] * y[1];
  }

  static constexpr int invariants = 2;
  static constexpr void invariant(const auto&, const auto& y, const auto& p, auto& g) {
    g[0] = y[0] * y[0] + y[1] * y[1] - p[1] * p[1];
    g[1] = y[0] * y[2] + y[1] * y[3];
  }

  static constexpr void jacobian(const auto&, const auto& y, const auto& p, auto& J) {
    J(0, 2) = 1.0;
    J(1, 3) = 1.0;
    J(2, 0) = -y[4];
    J(2, 4) = -y[0];
    J(3, 1) = -y[4];
    J(3, 4) = -y[1];
    J(4, 1) = -p[0];
    J(4, 2) = 2.0 * y[2];
    J(4, 3) = 2.0 * y[3];
    J(4, 4) = -p[1] * p[1];
  }
};
MANYFOLD_MODEL(Pendulum);
