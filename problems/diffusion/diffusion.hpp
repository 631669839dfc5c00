#pragma once
// The diffusion equation by the method of lines as a DAE: u_t = D u_xx with u = u_b on the left and u_x = 0 on the
// right, whose grid points beside the interior are algebraic variables. J. Alexandre dit Sandretto, Numerical methods
// for dynamical systems (ENSTA, 2023), "Method of Lines for PDE".
#include <manyfold/model.hpp>

template <int points>
struct Diffusion {
  static_assert(points >= 10 && points <= 200);
  static constexpr const char* name = "diffusion";
  static constexpr const char* description = "diffusion by the method of lines, boundary values as algebraic variables";
  static constexpr manyfold::Structural structural = {"points", points, 10, 200};
  static constexpr double t_span[] = {0.0, 0.2};
  static constexpr manyfold::Variable variables[] = {
      {.name = "left", .description = "boundary value on the left", .algebraic = true},
      {.name = "u", .description = "interior grid point", .count = points},
      {.name = "right", .description = "value beyond the right boundary", .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "D", .unit = "m2 s-1", .description = "diffusivity", .value = 1.0},
      {.name = "length", .unit = "m", .description = "of the domain", .value = 1.0},
      {.name = "u_b", .description = "boundary value on the left", .value = 1.0}};
  // D / dx^2
  static constexpr int derived = 1;
  static constexpr void derive(auto& p) { p[3] = p[0] * double(points) * double(points) / (p[1] * p[1]); }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[0] - p[2];
    for (int i = 1; i <= points; ++i) f[i] = p[3] * (y[i + 1] - 2.0 * y[i] + y[i - 1]);
    f[points + 1] = y[points + 1] - y[points];
  }
};
MANYFOLD_MODEL(Diffusion<manyfold::structural_value(40)>);
