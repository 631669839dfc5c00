// Instances integrated by teams of threads, truly concurrent ones. Under tsan (a second program of this file is always
// built with it) this also checks that no thread reads what another has yet to write.
#include <gtest/gtest.h>

#include "problems/diffusion/diffusion.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/support/device_batch.hpp"

namespace manyfold {
namespace {

using test::BatchResult;
using test::integrate_as_device;
using test::scalar_ensemble;

/// A team factorises the full matrix with row exchanges, a lane that works alone the pattern with fixed pivots:
/// rounding differs, and with it at times the number of Newton iterations; results agree to the tolerance.
template <class Model, template <class, class> class Method, int threads>
void expect_a_team_agrees(std::size_t count, double t_end, double scale) {
  using Team = test::ThreadTeam<threads>;
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Model>(loaded, count);
  ensemble.t_end = t_end;
  ensemble.times = {0.5 * t_end, t_end};
  const BatchResult expected = integrate_as_device<Method<System<Model>, double>>(ensemble, 1);
  const BatchResult team = integrate_as_device<Method<SharedSystem<System<Model>, Team>, double>>(ensemble, 2);
  ASSERT_EQ(team.values.size(), expected.values.size());
  for (std::size_t i = 0; i < team.values.size(); ++i) {
    ASSERT_NEAR(team.values[i], expected.values[i], 1e-6 * (scale + std::abs(expected.values[i]))) << i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(team.outcomes[i].status, Status::success);
    EXPECT_NEAR(static_cast<double>(team.outcomes[i].counters.steps),
                static_cast<double>(expected.outcomes[i].counters.steps),
                0.02 * static_cast<double>(expected.outcomes[i].counters.steps) + 1.0);
  }
}

TEST(DeviceTeams, AgreeWithALaneThatWorksAlone) {
  expect_a_team_agrees<Pendulum, Radau5, 2>(6, 2.0, 1.0);
  expect_a_team_agrees<Pendulum, Esdirk54, 4>(6, 2.0, 1.0);
  expect_a_team_agrees<TransistorAmplifier, Radau5, 4>(2, 0.003, 6.0);
  expect_a_team_agrees<Diffusion<12>, Radau5, 4>(3, 0.01, 1.0);
}

TEST(DeviceTeams, PassThroughEventsTogether) {
  using Team = test::ThreadTeam<2>;
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Rectifier>(loaded, 8);
  ensemble.t_end = 0.03;
  ensemble.event_log = 10;
  const auto expected = integrate_as_device<Radau5<System<Rectifier>, double>>(ensemble, 1);
  const auto team = integrate_as_device<Radau5<SharedSystem<System<Rectifier>, Team>, double>>(ensemble, 2);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::int64_t events = expected.outcomes[i].counters.events;
    EXPECT_GE(events, 5);
    ASSERT_EQ(team.outcomes[i].counters.events, events);
    for (std::size_t k = 10 * i; k < 10 * i + static_cast<std::size_t>(events); ++k) {
      EXPECT_EQ(team.events[k].event, expected.events[k].event);
      EXPECT_NEAR(team.events[k].time, expected.events[k].time, 1e-6 * expected.events[k].time);
    }
  }
}

TEST(DeviceTeams, TakeEveryInstanceOnce) {
  using Team = test::ThreadTeam<2>;
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Robertson>(loaded, 16);
  ensemble.t_end = 100.0;
  const auto one = integrate_as_device<Radau5<SharedSystem<System<Robertson>, Team>, double>>(ensemble, 1);
  const auto three = integrate_as_device<Radau5<SharedSystem<System<Robertson>, Team>, double>>(ensemble, 3);
  ASSERT_EQ(three.values.size(), one.values.size());
  for (std::size_t i = 0; i < one.values.size(); ++i) EXPECT_EQ(three.values[i], one.values[i]);
  double steps = 0.0;
  for (const InstanceOutcome& outcome : three.outcomes) {
    EXPECT_EQ(outcome.status, Status::success);
    const Counters& c = outcome.counters;
    steps += static_cast<double>(c.steps + c.rejected + c.newton_failures);
  }
  EXPECT_EQ(three.utilisation.lane_ticks, steps);
}

}  // namespace
}  // namespace manyfold
