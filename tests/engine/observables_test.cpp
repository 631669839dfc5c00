// Numbers that follow from the solution: saved beside the variables, at output times, at events and at the end.
#include <gtest/gtest.h>

#include <cmath>

#include <manyfold/error.hpp>

#include <manyfold/ensemble.hpp>
#include "host/run/job.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/observed_circuit.hpp"

namespace manyfold {
namespace {

constexpr double rtol = 1e-8;
/// Errors add up over the steps, and Esdirk54's polynomial between them is of one order less than its steps.
constexpr double near = 300.0 * rtol;
/// y' between steps is that of the polynomial, of yet one order less.
constexpr double near_slope = 3000.0 * rtol;

/// The solution where the source is on up to the voltage 0.5 and R C = 1.
struct Exact {
  double off = std::log(2.0);
  double u(double t) const { return t <= off ? 1.0 - std::exp(-t) : 0.5 * std::exp(-(t - off)); }
  double slope(double t) const { return t <= off ? std::exp(-t) : -u(t); }
};

template <template <class, class> class Method>
void expect_exact_values() {
  Ensemble<ObservedCircuit, Method> ensemble(5);
  const std::vector<double> times = {0.0, 0.2, 0.6, 0.9, 3.0};
  const EnsembleResult result = ensemble.solve({.rtol = rtol, .atol = {rtol}}, times);
  ASSERT_EQ(result.variable_count, 7);
  const Exact exact;
  for (int k = 0; k < 5; ++k) {
    const double t = times[static_cast<std::size_t>(k)];
    const double u = exact.u(t);
    const double slope = exact.slope(t);
    const double expected[] = {
        u, 0.5 * slope, 0.25 * u * u, 2.0 * 0.25 * slope * slope, slope, t < exact.off ? 1.0 : 0.0, 2.0 * t};
    for (std::int64_t i = 0; i < 5; ++i) {
      for (int v = 0; v < 7; ++v)
        EXPECT_NEAR(result.value(i, k, v), expected[v], v == 4 ? near_slope : near) << v << " at " << t;
    }
  }
}

TEST(Observables, FollowFromTheSolution) {
  expect_exact_values<Radau5>();
  expect_exact_values<Esdirk54>();
}

/// Compiled on demand, as the command does it.
Job job(std::vector<int> saved) {
  Job result;
  result.model = test::from_environment("MANYFOLD_SOURCE") + "/tests/support/observed_circuit.hpp";
  result.instances = 3;
  result.options.rtol = rtol;
  result.options.atol = {rtol};
  result.options.event_log = 2;
  result.saved = std::move(saved);
  result.shape.has_end_states = true;
  return result;
}

TEST(Observables, AreKnownByNameAndSavedInAnyOrder) {
  const PreparedJob prepared(job({4, 0, 2, 7, 5}));
  ASSERT_EQ(prepared.model().observables.size(), 5U);
  EXPECT_EQ(prepared.model().observables[0].name, "energy");
  EXPECT_EQ(prepared.model().observables[2].unit, "V s-1");
  InMemoryResult memory;
  prepared.run(memory);
  const Chunk& chunk = memory.results();
  const Exact exact;
  ASSERT_EQ(chunk.values.size(), 15U);
  EXPECT_NEAR(chunk.values[0], exact.slope(3.0), near);
  EXPECT_NEAR(chunk.values[1], exact.u(3.0), near);
  EXPECT_NEAR(chunk.values[2], 0.25 * exact.u(3.0) * exact.u(3.0), near);
}

TEST(Observables, StandInTheEventLogAndTheEndState) {
  const PreparedJob prepared(job({0, 4, 5}));
  InMemoryResult memory;
  prepared.run(memory);
  const Chunk& chunk = memory.results();
  ASSERT_EQ(chunk.event_log(1).size(), 1U);
  EXPECT_NEAR(chunk.event_log(1)[0].time, std::log(2.0), near);
  // Saved quantities and the discrete state, before and after.
  const std::size_t entry = 4;
  const double* log = chunk.event_values.data() + 2 * 2 * entry;
  const double expected[] = {0.5, 0.5, 1.0, 1.0, 0.5, -0.5, 0.0, 0.0};
  for (std::size_t k = 0; k < 2 * entry; ++k) EXPECT_NEAR(log[k], expected[k], near) << k;
  ASSERT_EQ(chunk.end_states.size(), 3U * 10U);
  const double* end = chunk.end_states.data() + 10;
  const double u = Exact().u(3.0);
  const double at_end[] = {u, -0.5 * u, -u, 0.5 * u, 0.25 * u * u, 0.5 * u * u, -u, 0.0, 6.0, 0.0};
  for (int k = 0; k < 10; ++k) EXPECT_NEAR(end[k], at_end[k], near) << k;
}

// Numbers of the discrete state are saved like variables, with their value before an event at its own time.
TEST(Observables, TheDiscreteStateIsATrajectory) {
  Job switched = job({7, 0, 5});
  switched.shape.times = 61;
  switched.fill_times = [](double, double, double* times) {
    for (int k = 0; k <= 60; ++k) times[k] = 0.05 * k;
  };
  const PreparedJob prepared(std::move(switched));
  InMemoryResult memory;
  prepared.run(memory);
  const Chunk& chunk = memory.results();
  ASSERT_EQ(chunk.values.size(), 3U * 61U * 3U);
  for (std::size_t k = 0; k < chunk.values.size(); k += 3) {
    const double t = chunk.times[k / 3];
    EXPECT_EQ(chunk.values[k], t < std::log(2.0) ? 1.0 : 0.0) << t;
    EXPECT_EQ(chunk.values[k], chunk.values[k + 2]);  // the observable that shows it
  }
}

TEST(Observables, ThatAreMissingAreRefused) {
  EXPECT_THROW(
      {
        InMemoryResult memory;
        PreparedJob(job({8})).run(memory);
      },
      UsageError);
}

}  // namespace
}  // namespace manyfold
