// Equations from which the steps of Newton's method lead nowhere, or that have no solution.
#include <manyfold/block_solver.hpp>

#include <cmath>

#include <gtest/gtest.h>

namespace manyfold {
namespace {

TEST(BlockSolver, ZerosBeyondAMinimumOfTheResidualAreFound) {
  // Newton's method alone goes from 0 to 1 and back; halved steps end in the minimum at sqrt(2/3).
  double x[] = {0.0};
  solve_block(x, [](const auto& z, auto& r) { r[0] = z[0] * z[0] * z[0] - 2.0 * z[0] + 2.0; });
  EXPECT_NEAR(x[0], -1.7692923542386314, 1e-12);
  // Freudenstein & Roth, Numerical solution of systems of nonlinear equations, JACM 10 (1963): descents from here end
  // at (11.41, -0.897).
  double roth[] = {0.5, -2.0};
  solve_block(roth, [](const auto& z, auto& r) {
    r[0] = -13.0 + z[0] + ((5.0 - z[1]) * z[1] - 2.0) * z[1];
    r[1] = -29.0 + z[0] + ((z[1] + 1.0) * z[1] - 14.0) * z[1];
  });
  EXPECT_NEAR(roth[0], 5.0, 1e-10);
  EXPECT_NEAR(roth[1], 4.0, 1e-10);
}

TEST(BlockSolver, ADistantStartIsNoObstacle) {
  double x[] = {20.0};
  solve_block(x, [](const auto& z, auto& r) { r[0] = std::atan(z[0]) - 0.5; });
  EXPECT_NEAR(x[0], std::tan(0.5), 1e-12);
  // Two diodes behind 1 kOhm and 500 Ohm from 5 V, whose starts are 3 V. SciPy's fsolve finds these voltages from 0.5
  // V.
  double v[] = {3.0, 3.0};
  solve_block(v, [](const auto& z, auto& r) {
    const auto diode = [](double u) { return 1e-12 * (std::exp(u / 0.026) - 1.0); };
    r[0] = (5.0 - z[0]) / 1e3 - diode(z[0]) - (z[0] - z[1]) / 500.0;
    r[1] = (z[0] - z[1]) / 500.0 - diode(z[1]);
  });
  EXPECT_NEAR(v[0], 0.57645839, 1e-8);
  EXPECT_NEAR(v[1], 0.49243391, 1e-8);
}

// From the first voltage the others follow, at 3 V beyond any number. Both are then searched for.
TEST(BlockSolver, UnknownsThatFollowToInfinityAreSearchedFor) {
  const auto diode = [](double u) { return 1e-12 * (std::exp(u / 0.025) - 1.0); };
  double v[] = {3.0, 3.0};
  double guess[] = {3.0};
  solve_block(
      v, guess,
      [&](const auto& z, auto& r) {
        r[0] = (5.0 - z[0]) / 1e3 - diode(z[0]) - (z[0] - z[1]) / 500.0;
        r[1] = (z[0] - z[1]) / 500.0 - diode(z[1]);
      },
      [&](const auto& z, auto& r) {
        const double current = (5.0 - z[0]) / 1e3 - diode(z[0]);
        r[0] = current - diode(z[0] - 500.0 * current);
      });
  EXPECT_NEAR(guess[0], 0.55444350, 1e-8);
}

// Newton's method alone goes from 1 to the zero at 1.2, and finds none of the logarithm from -5.
TEST(BlockSolver, HomotopyLeadsFromTheSimplifiedEquations) {
  double x[] = {1.0};
  solve_block(x, [](const auto& z, double lambda, auto& r) {
    r[0] = lambda * (z[0] - 1.2) * (z[0] - 3.0) * (z[0] + 2.0) + (1.0 - lambda) * (z[0] - 4.0);
  });
  EXPECT_NEAR(x[0], 3.0, 1e-12);
  double root[] = {-5.0};
  solve_block(root, [](const auto& z, double lambda, auto& r) {
    const double simplified = z[0] - 2.0;
    r[0] = lambda == 0.0 ? simplified : lambda * (std::log(z[0]) - 1.0) + (1.0 - lambda) * simplified;
  });
  EXPECT_NEAR(root[0], std::exp(1.0), 1e-12);
  // What is simplified has no zero: what is actual is solved as it is.
  double direct[] = {1.0};
  solve_block(direct, [](const auto& z, double lambda, auto& r) {
    r[0] = lambda * (z[0] * z[0] - 4.0) + (1.0 - lambda) * (z[0] * z[0] + 4.0);
  });
  EXPECT_NEAR(direct[0], 2.0, 1e-12);
}

TEST(BlockSolver, WithoutASolutionNoNumberIsLeft) {
  double x[] = {1.0};
  solve_block(x, [](const auto& z, auto& r) { r[0] = z[0] * z[0] + 4.0; });
  EXPECT_TRUE(std::isnan(x[0]));
  double pair[] = {1.0, 1.0};
  solve_block(pair, [](const auto& z, auto& r) {
    r[0] = z[0] + z[1] - 1.0;
    r[1] = z[0] + z[1] - 2.0;
  });
  EXPECT_TRUE(std::isnan(pair[0]) && std::isnan(pair[1]));
}

TEST(BlockSolver, MultipleZerosAreFound) {
  double x[] = {1.0};
  solve_block(x, [](const auto& z, auto& r) { r[0] = z[0] * z[0]; });
  EXPECT_NEAR(x[0], 0.0, 1e-6);
}

}  // namespace
}  // namespace manyfold
