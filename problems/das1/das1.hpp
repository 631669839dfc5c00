#pragma once
// Problem DAS 1 of I. T. Cameron, IMA J. Numer. Anal. 3 (1983), appendix, after C. W. Gear (1971): four differential
// and four algebraic equations, stiff, with a fast transient of the algebraic variables near t = 0.22.
//
// The printed matrix is B = U diag(1000, 800, -10, 0.001) U with U = (J - 2 I)/2, J all ones; the eigenvalues are the
// parameters here, and the equations use (U y)_i = r - y_i with r = sum y / 2. Of the printed 0 = y5 - y1 y6 the sign
// is corrected to agree with the printed y5(0) = 1.
#include <manyfold/model.hpp>

struct Das1 {
  static constexpr const char* name = "das1";
  static constexpr const char* description =
      "Cameron's problem DAS 1: stiff, four differential, four algebraic equations";
  static constexpr double t_span[] = {0.0, 1000.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y1", .initial = -1.0},
                                                     {.name = "y2", .initial = -1.0},
                                                     {.name = "y3", .initial = -1.0},
                                                     {.name = "y4", .initial = -1.0},
                                                     {.name = "y5", .initial = 1.0, .algebraic = true},
                                                     {.name = "y6", .initial = 1.0, .algebraic = true},
                                                     {.name = "y7", .initial = -2.0, .algebraic = true},
                                                     {.name = "y8", .initial = -3.0, .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "beta1", .unit = "s-1", .description = "first eigenvalue of B", .value = 1000.0},
      {.name = "beta2", .unit = "s-1", .description = "second eigenvalue of B", .value = 800.0},
      {.name = "beta3", .unit = "s-1", .description = "third eigenvalue of B", .value = -10.0},
      {.name = "beta4", .unit = "s-1", .description = "fourth eigenvalue of B", .value = 0.001}};

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto r = 0.5 * (y[0] + y[1] + y[2] + y[3]);
    const auto z1 = r - y[0];
    const auto z2 = r - y[1];
    const auto z3 = r - y[2];
    const auto z4 = r - y[3];
    const auto s = 0.5 * (z1 * z1 + z2 * z2 + z3 * z3 + z4 * z4);
    const auto half_sum = 0.5 * (p[0] * z1 + p[1] * z2 + p[2] * z3 + p[3] * z4);
    f[0] = s - z1 * z1 - (half_sum - p[0] * z1);
    f[1] = s - z2 * z2 - (half_sum - p[1] * z2);
    f[2] = s - z3 * z3 - (half_sum - p[2] * z3);
    f[3] = s - z4 * z4 - (half_sum - p[3] * z4);
    f[4] = y[4] + y[0] * y[5];
    f[5] = 2.0 * y[5] + y[5] * y[5] * y[5] - y[0] + y[6] - 1.0 - exp(-t);
    f[6] = y[6] - y[7] + y[0] * y[5];
    f[7] = y[6] + y[7] + 5.0 * y[0] * y[1];
  }
};
MANYFOLD_MODEL(Das1);
