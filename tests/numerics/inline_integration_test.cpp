// Inline integration: stages that the model solves down to few unknowns have the same solutions, and the same linear
// estimates, as those that are solved for all variables.
#include <gtest/gtest.h>

#include <cmath>

#include <manyfold/ensemble.hpp>

#include "kernels/lane/single.hpp"
#include "kernels/methods/all.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// x' = v - x, v' = -w v, 0 = w + w^3/5 - x - 3/10 sin t: of a stage w is left.
struct Valve {
  static constexpr const char* name = "valve";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {
      {.name = "x", .initial = 1.0}, {.name = "v", .initial = 2.0}, {.name = "w", .algebraic = true}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    f[0] = y[1] - y[0];
    f[1] = -y[2] * y[1];
    f[2] = y[2] + 0.2 * y[2] * y[2] * y[2] - y[0] - 0.3 * sin(t);
  }
  static constexpr int stage_unknowns = 1;
  static constexpr int stage_constant_count = 1;
  static constexpr int stage_term_count = 1;
  static constexpr void stage_constants(const auto& gamma_h, const auto&, const auto&, auto& constants) {
    constants[0] = 1.0 + gamma_h;
  }
  static constexpr void stage_terms(const auto& t, const auto&, const auto&, const auto&, const auto&, const auto&,
                                    auto& terms) {
    terms[0] = 0.3 * sin(t);
  }
  static constexpr void stage_guess(const auto&, const auto&, const auto&, const auto& y, const auto&, auto& z) {
    z[0] = y[2];
  }
  static constexpr void stage(const auto&, const auto& gamma_h, const auto&, const auto& constants, const auto& terms,
                              const auto& base, const auto& offset, const auto& z, const auto&, auto& y, auto& r) {
    const auto x = z[0] + 0.2 * z[0] * z[0] * z[0] - terms[0] + offset[2];
    const auto v = base[1] / (1.0 + gamma_h * z[0]);
    y[0] = x;
    y[1] = v;
    y[2] = z[0];
    r[0] = x * constants[0] - base[0] - gamma_h * v;
  }
};

/// x' = -2 x + y, y' = x - 3 y + cos t: nothing is left to iterate for.
struct Linear {
  static constexpr const char* name = "linear";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0}, {.name = "y"}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    f[0] = -2.0 * y[0] + y[1];
    f[1] = y[0] - 3.0 * y[1] + cos(t);
  }
  static constexpr int stage_unknowns = 0;
  static constexpr void stage(const auto& t, const auto& gamma_h, const auto&, const auto&, const auto&,
                              const auto& base, const auto&, const auto&, const auto&, auto& y, auto&) {
    const auto a = 1.0 + 2.0 * gamma_h;
    const auto b = 1.0 + 3.0 * gamma_h;
    const auto right = base[1] + gamma_h * cos(t);
    const auto determinant = a * b - gamma_h * gamma_h;
    y[0] = (b * base[0] + gamma_h * right) / determinant;
    y[1] = (a * right + gamma_h * base[0]) / determinant;
  }
};

/// What stages see of an instance.
template <int n>
struct Point {
  double t = 0.7;
  double y[n];
  double dy[n];
  double p[1] = {};
  double weight[n];
  double rtol = 1e-6;
  double h = 0.1;
  double contraction = 1.0;
  bool patient = false;
  DensePolynomial<double, n, 1> path{.h = 0.1, .coefficient = {}};
};

Point<3> point_of_valve() {
  const double w = 0.6;
  const double x = w + 0.2 * w * w * w - 0.3 * std::sin(0.7);
  return {.y = {x, 1.3, w}, .dy = {1.3 - x, -w * 1.3, 0.0}, .weight = {1e6, 1e6, 1e6}};
}

/// Stages of gamma h at the point of a valve, solved for all variables and for the one that is left.
struct StagesOfValve {
  using Equations = System<Valve>;
  static constexpr double gamma_h = 0.02;
  Point<3> point = point_of_valve();
  WorkCounters<double> work{};
  StageSolver<Equations, double>::Workspace of_whole;
  StageSolver<Equations, double>::Memory memory;
  StageSolver<Equations, double> whole;
  InlinedStages<Equations, double>::Workspace of_inlined;
  InlinedStages<Equations, double> inlined;

  StagesOfValve() {
    whole.use(of_whole, OneThread{});
    memory.start(true);
    EXPECT_FALSE((whole.prepare<false>(true, true, false, point, memory, 0.1, 1.0 / gamma_h, work)));
    inlined.use(of_inlined, OneThread{});
    EXPECT_FALSE(inlined.prepare(true, false, point, gamma_h, 1.0, 1.0 / gamma_h, work));
  }
};

double dot(const double (&a)[3], const double (&b)[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// u . M^-1 v = M^-T u . v
TEST(StageSolver, SolvesWithTheTransposedMatrix) {
  StagesOfValve stages;
  const double u[] = {0.7, -0.4, 1.1};
  const double v[] = {-0.2, 0.9, 0.5};
  double solved[] = {v[0], v[1], v[2]};
  double adjoint[] = {u[0], u[1], u[2]};
  stages.whole.apply(solved);
  stages.whole.apply_transposed(adjoint);
  EXPECT_NEAR(dot(u, solved), dot(adjoint, v), 1e-14);
}

TEST(InlinedStage, ChangesWithItsBaseAsTheMatrixOfAllVariablesSays) {
  StagesOfValve stages;
  const double d[] = {0.3, -0.2, 0.0};
  const double offset[] = {0.0, 0.0, 0.7};
  double found[3];
  stages.inlined.apply(stages.point, d, offset, found);
  const double right[] = {d[0] / stages.gamma_h, d[1] / stages.gamma_h, offset[2]};
  double expected[] = {right[0], right[1], right[2]};
  stages.whole.apply(expected);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
  // So its adjoint is that of the matrix of all variables.
  const double u[] = {0.7, -0.4, 1.1};
  double adjoint[] = {u[0], u[1], u[2]};
  stages.whole.apply_transposed(adjoint);
  EXPECT_NEAR(dot(u, found), dot(adjoint, right), 1e-12);
}

TEST(InlinedStage, MeetsTheEquations) {
  StagesOfValve stages;
  Point<3>& point = stages.point;
  const double base[] = {point.y[0], point.y[1], 0.0};
  double Y[] = {point.y[0], point.y[1], point.y[2]};
  const double t = point.t + stages.gamma_h;
  const auto newton = stages.inlined.solve(true, point, t, base, {1e-8, 10}, stages.work, Y);
  EXPECT_TRUE(newton.converged);
  double K[3];
  for (int i = 0; i < 3; ++i) K[i] = (Y[i] - base[i]) / stages.gamma_h;
  double F[3];
  StagesOfValve::Equations::residual(t, Y, K, point.p, F);
  // The last correction is below 1e-14; K has it over gamma h.
  for (const double residual : F) EXPECT_NEAR(residual, 0.0, 1e-11);
}

template <class Model, template <class, class> class Method, InlineIntegration choice>
EnsembleResult solution(double rtol) {
  return Ensemble<Model, Method, KernelSpec<>{.inline_integration = choice}>(1).solve({.rtol = rtol, .atol = {rtol}},
                                                                                      {Model::t_span[1]});
}

template <class Model, template <class, class> class Method>
void expect_same_solution(double tolerances) {
  const double rtol = 1e-7;
  const auto plain = solution<Model, Method, InlineIntegration::never>(rtol);
  const auto inlined = solution<Model, Method, InlineIntegration::always>(rtol);
  ASSERT_EQ(plain.outcomes[0].status, Status::success);
  ASSERT_EQ(inlined.outcomes[0].status, Status::success);
  EXPECT_EQ(inlined.outcomes[0].counters.newton_failures, 0);
  // The same steps but for what rounding and the iterations' ends make of them.
  EXPECT_NEAR(
      static_cast<double>(inlined.outcomes[0].counters.steps) / static_cast<double>(plain.outcomes[0].counters.steps),
      1.0, 0.1);
  for (int i = 0; i < plain.variable_count; ++i) {
    EXPECT_NEAR(inlined.value(0, 0, i), plain.value(0, 0, i), tolerances * rtol) << i;
  }
}

TEST(InlineIntegration, LeavesTheSolutionAsItIs) {
  expect_same_solution<Valve, Esdirk54>(10.0);
  expect_same_solution<Valve, Dirks>(30.0);
}
NIGHTLY_TEST(InlineIntegration, LeavesTheSolutionOfSdirkAsItIs) {
  expect_same_solution<Valve, Sdirk4>(10.0);
}

TEST(InlineIntegration, NeedsNoIterationOfLinearEquations) {
  expect_same_solution<Linear, Esdirk54>(10.0);
  const auto inlined = solution<Linear, Esdirk54, InlineIntegration::always>(1e-7);
  const Counters& work = inlined.outcomes[0].counters;
  EXPECT_EQ(work.newton_iterations, 6 * (work.steps + work.rejected));
}

TEST(InlineIntegration, IsTheSameForEveryInstance) {
  // Forty instances in packs of several lanes, each the same: to the last bit.
  const auto result = Ensemble<Valve, Esdirk54>(40).solve({.rtol = 1e-6, .atol = {1e-9}}, {4.0});
  for (int k = 1; k < 40; ++k) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(result.value(k, 0, i), result.value(0, 0, i));
  }
}

}  // namespace
}  // namespace manyfold
