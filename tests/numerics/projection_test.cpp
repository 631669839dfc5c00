// Projection on the constraints: drift with and without it over a hundred periods of a pendulum, whose period is
// exactly 2; orders of convergence at the ends of steps and between them; what is refused.
#include <gtest/gtest.h>

#include <boost/math/special_functions/ellint_1.hpp>
#include <boost/math/special_functions/jacobi_elliptic.hpp>

#include <cmath>
#include <cstring>
#include <numbers>

#include <manyfold/ensemble.hpp>

#include "problems/pendulum/pendulum.hpp"
#include "problems/pendulum_ggl/pendulum_ggl.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "tests/support/accuracy.hpp"
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

constexpr KernelSpec<> projected{.projection = true};

constexpr double g = 13.7503716360407456549801915596;
constexpr double periods = 100.0;

struct Drift {
  Status status = Status::cancelled;
  double position = 0.0;  ///< largest |x^2 + z^2 - 1| at the output times
  double velocity = 0.0;  ///< largest |x u + z w|
  double energy = 0.0;    ///< largest error of (u^2 + w^2)/2 + g z, which is 0
  double end = 0.0;       ///< distance from (1, 0) after all periods
  Counters counters;
};

/// At times that fall into the steps, not on their ends.
template <class Model, template <class, class> class Method, auto spec>
Drift drift(double tolerance) {
  Ensemble<Model, Method, spec> ensemble(1);
  ensemble.t_span(0.0, 2.0 * periods);
  std::vector<double> times;
  for (int k = 1; k <= 3001; ++k) times.push_back(2.0 * periods * k / 3001.0);
  const EnsembleResult result = ensemble.solve({.rtol = tolerance, .atol = {tolerance}}, times);
  Drift drift;
  drift.status = result.outcomes[0].status;
  drift.counters = result.outcomes[0].counters;
  for (int k = 0; k < static_cast<int>(times.size()); ++k) {
    const double x = result.value(0, k, 0);
    const double z = result.value(0, k, 1);
    const double u = result.value(0, k, 2);
    const double w = result.value(0, k, 3);
    drift.position = std::max(drift.position, std::abs(x * x + z * z - 1.0));
    drift.velocity = std::max(drift.velocity, std::abs(x * u + z * w));
    drift.energy = std::max(drift.energy, std::abs(0.5 * (u * u + w * w) + g * z));
    drift.end = std::hypot(x - 1.0, z);
  }
  return drift;
}

void print(const char* model, const char* method, double tolerance, const Drift& drift) {
  std::cout << model << " " << method << " " << tolerance << ": position " << drift.position << ", velocity "
            << drift.velocity << ", energy " << drift.energy << ", end " << drift.end << ", " << drift.counters.steps
            << " steps, " << status_name(drift.status) << "\n";
}

/// With projection the constraints hold to the accuracy of its Newton iteration, far below ten times the absolute
/// tolerance, and the energy to what a hundred periods make of the local errors: thousand tolerances, where g = 13.75
/// is the size of its terms. Without, one of the two constraints is violated by more than ten tolerances.
template <class Model, template <class, class> class Method>
void expect_no_drift(double tolerance, bool drifts_without = true) {
  const char* method = Method<System<Model>, double>::Tableau::name;
  const Drift without = drift<Model, Method, KernelSpec<>{}>(tolerance);
  const Drift with = drift<Model, Method, projected>(tolerance);
  print(Model::name, method, tolerance, without);
  print(Model::name, method, tolerance, with);
  ASSERT_EQ(with.status, Status::success);
  EXPECT_LE(with.position, 0.01 * tolerance);
  EXPECT_LE(with.velocity, 0.01 * tolerance);
  EXPECT_LE(with.energy, 1e3 * tolerance * g);
  if (!drifts_without) return;
  EXPECT_TRUE(without.status != Status::success || std::max(without.position, without.velocity) > tolerance);
}

TEST(Drift, IndexThree) {
  // What is saved is on the constraints without projection of the steps, too.
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) expect_no_drift<PendulumIndex3, Radau5>(tolerance, false);
}
TEST(Drift, IndexTwo) {
  expect_no_drift<PendulumIndex2, Radau5>(1e-8);
  // Its steps at looser tolerances are so good that the drift is below.
  for (const double tolerance : {1e-4, 1e-6}) expect_no_drift<PendulumIndex2, Radau5>(tolerance, false);
}
TEST(Drift, Stabilised) {
  // Both constraints are equations of this form: what is seen of them is the error of dense output.
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) expect_no_drift<PendulumGgl, Radau5>(tolerance, false);
}
TEST(Drift, IndexOne) {
  for (const double tolerance : {1e-6, 1e-8}) expect_no_drift<Pendulum, Radau5>(tolerance);
}
template <bool all>
void expect_no_drift_of_other_families() {
  expect_no_drift<Pendulum, Rodas5p>(1e-8);
  if constexpr (all) {
    expect_no_drift<Pendulum, Esdirk54>(1e-8);
    expect_no_drift<Pendulum, Bdf>(1e-8);
    expect_no_drift<Pendulum, Radau>(1e-8);
  }
}
TEST(Drift, IndexOneWithMethodsOfOtherFamilies) {
  expect_no_drift_of_other_families<test::nightly>();
}

// The velocity of Radau IIA of order 5 is of order 3 in the direction of the constraint's force, and of order 4 in the
// others, at index 3. Moving it in that direction alone keeps the lower order out of the rest.
TEST(Drift, ProjectionCostsIndexThreeNoEnergyAndNoSteps) {
  const Drift without = drift<PendulumIndex3, Radau5, KernelSpec<>{}>(1e-6);
  const Drift with = drift<PendulumIndex3, Radau5, projected>(1e-6);
  // As in the other forms: at most a thousand tolerances of the energy over a hundred periods.
  EXPECT_LE(with.energy, 1e3 * 1e-6 * g);
  EXPECT_LE(with.end, 1e-3);
  EXPECT_LT(with.counters.steps, without.counters.steps);
}

/// Largest errors at the ends of steps and within them, of the pendulum with constant steps: sin(angle/2) is
/// k cd(sqrt(g) t, k) with k = sin(pi/4), 22.19 of the NIST handbook.
template <class Model, template <class, class> class Method>
std::array<double, 2> pendulum_errors(int steps) {
  const LoadedKernel loaded = test::own_kernel<Model, Method, projected>();
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(1);
  ensemble.t_end = 1.7;
  ensemble.fixed_step = 1.7 / steps;
  ensemble.rtol = 1e-12;
  for (int k = 0; k < steps; ++k) {
    for (const double theta : {0.25, 0.65, 1.0}) ensemble.times.push_back(1.7 * (k + theta) / steps);
  }
  const test::Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_NEAR(static_cast<double>(result.outcomes[0].counters.steps), steps, 1) << "a step was not solved";
  std::array<double, 2> errors{};
  for (std::size_t k = 0; k < ensemble.times.size(); ++k) {
    const double modulus = std::sqrt(0.5);
    const double angle = 2.0 * std::asin(modulus * boost::math::jacobi_cd(modulus, std::sqrt(g) * ensemble.times[k]));
    const std::size_t n = loaded.model.variables.size();
    const double error = std::hypot(result.values[n * k] - std::sin(angle), result.values[n * k + 1] + std::cos(angle));
    double& largest = errors[k % 3 == 2 ? 0 : 1];
    largest = std::max(largest, error);
  }
  return errors;
}

/// Orders at the end and of dense output, within what the next power of h still adds.
template <class Model, template <class, class> class Method>
void expect_pendulum_orders(int steps, double order, double dense_order) {
  const auto coarse = pendulum_errors<Model, Method>(steps);
  const auto fine = pendulum_errors<Model, Method>(2 * steps);
  std::cout << std::log2(coarse[0] / fine[0]) << " (" << fine[0] << ") dense " << std::log2(coarse[1] / fine[1]) << " ("
            << fine[1] << ")\n";
  EXPECT_NEAR(std::log2(coarse[0] / fine[0]), order, 0.25);
  EXPECT_NEAR(std::log2(coarse[1] / fine[1]), dense_order, 0.25);
}

TEST(ProjectedOrder, OfTheMethodsWithoutProjection) {
  expect_pendulum_orders<Pendulum, Radau5>(160, 5.0, 4.0);
  expect_pendulum_orders<Pendulum, Esdirk43>(160, 4.0, 4.0);
  expect_pendulum_orders<PendulumIndex2, Radau5>(160, 5.0, 4.0);
}

// The polynomial of the step that ends in the new point still begins in the old one.
TEST(MovedEnd, OfADensePolynomial) {
  DensePolynomial<double, 1, 3> path{0.5, {{1.5}, {0.25}, {-0.125}}};
  const double begin = 2.0 + path.increment(0, -1.0);
  path.move_end({0.01});
  EXPECT_DOUBLE_EQ(2.01 + path.increment(0, -1.0), begin);
}

// Differences of the cubic (t - 1)^3 at 1, 2, 4, 5, moved at t = 5: the polynomial through all four points follows.
TEST(MovedEnd, OfBackwardDifferences) {
  BackwardDifferences<double, 1> past{};
  past.h = 1.0;
  past.order = past.last_order = 3.0;
  // psi_0 ... psi_i times the divided differences over 5, 4, 2, 1: 37, 8, 1.
  const double psi[] = {1.0, 3.0, 4.0, 5.0, 6.0};
  const double differences[] = {37.0, 8.0, 1.0};
  double product = 1.0;
  for (int i = 0; i < 5; ++i) past.psi[i] = psi[i];
  for (int i = 0; i < 3; ++i) past.phi[i][0] = (product *= psi[i]) * differences[i];
  past.move_end({0.5});
  const double now = 64.5;
  EXPECT_DOUBLE_EQ(now + past.increment(0, -1.0), 27.0);
  EXPECT_DOUBLE_EQ(now + past.increment(0, -3.0), 1.0);
  EXPECT_NEAR(now + past.increment(0, -4.0), 0.0, 1e-13);
}

// Each instance as if it were alone, whatever the others of its pack need.
TEST(Projection, LeavesLanesIndependent) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<PendulumIndex3, Radau5, projected>();
  describe_model<PendulumIndex3>(loaded.model);
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.t_end = 2.0;
  ensemble.times = {0.3, 1.1, 2.0};
  ensemble.repeat_defaults(37);
  test::Uniform uniform(3);
  for (double& p : ensemble.parameters) p *= 0.9 + 0.2 * uniform();
  const test::Results together = ensemble.solve();
  const std::vector<double> parameters = ensemble.parameters;
  for (std::size_t i = 0; i < 37; ++i) {
    ensemble.parameters.assign(parameters.begin() + static_cast<std::ptrdiff_t>(3 * i),
                               parameters.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
    const test::Results alone = ensemble.solve();
    EXPECT_EQ(alone.outcomes[0].counters.steps, together.outcomes[i].counters.steps);
    EXPECT_EQ(std::memcmp(alone.values.data(), together.values.data() + 15 * i, 15 * sizeof(double)), 0) << i;
  }
}

// In single precision to a few units in its last place.
TEST(Projection, WorksInSingleAndMixedPrecision) {
  LoadedKernel loaded;
  describe_model<PendulumIndex2>(loaded.model);
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.t_end = 20.0;
  ensemble.rtol = 1e-4;
  ensemble.repeat_defaults(1);
  const auto expect = [&](const Kernel& kernel, double allowance) {
    loaded.kernel = &kernel;
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    EXPECT_NEAR(std::hypot(result.values[0], result.values[1]), 1.0, allowance);
    EXPECT_NEAR(result.values[0] * result.values[2] + result.values[1] * result.values[3], 0.0, 10.0 * allowance);
  };
  expect(kernel<PendulumIndex2, Radau5, KernelSpec<>{.precision = Precision::float32, .projection = true}, Single>(),
         3e-7);
  expect(kernel<PendulumIndex2, Radau5, KernelSpec<>{.precision = Precision::mixed, .projection = true}, double>(),
         1e-12);
}

// Projection would pull it to another rod.
TEST(Projection, RefusesAStartOffTheInvariants) {
  Ensemble<Pendulum, Radau5> free(1);
  free.set("x", 1.1);
  EXPECT_EQ(free.solve().outcomes[0].status, Status::success);
  Ensemble<Pendulum, Radau5, projected> bound(1);
  bound.set("x", 1.1);
  const EnsembleResult result = bound.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::inconsistent_initial_conditions);
  EXPECT_NEAR(result.outcomes[0].residual_norm, 0.21, 1e-12);
}

TEST(Projection, AsksForAnEnsembleThatIsCompiledForIt) {
  EXPECT_THROW((Ensemble<Pendulum, Radau5>(1).solve({.projection = true})), UsageError);
  EXPECT_NO_THROW((Ensemble<Pendulum, Radau5, projected>(1).solve({.projection = true})));
}

}  // namespace
}  // namespace manyfold
