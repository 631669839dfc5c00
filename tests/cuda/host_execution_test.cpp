// The code of the GPU's threads, run by threads of the processor: the same driver, queue and batch, compiled by g++.
// Threads take instances from the queue concurrently, as they do on a device; under tsan this also checks the queue.
#include <gtest/gtest.h>

#include <cstring>

#include "problems/pendulum/pendulum.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/robertson/robertson.hpp"
#include "tests/support/device_batch.hpp"
#include "tests/support/observed_circuit.hpp"

namespace manyfold {
namespace {

using test::BatchResult;
using test::integrate_as_device;
using test::scalar_ensemble;

void expect_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
}

TEST(DeviceThreads, DoWhatALaneOfTheProcessorDoesBitForBit) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Robertson>(loaded, 200);
  ensemble.t_end = 1e4;
  ensemble.times = {0.0, 1.0, 100.0, 1e4};
  const test::Results expected = ensemble.solve();
  for (const int threads : {1, 3}) {
    const BatchResult device = integrate_as_device<Radau5<System<Robertson>, double>>(ensemble, threads);
    expect_same_bits(device.values, expected.values);
    double steps = 0.0;
    for (std::size_t i = 0; i < device.outcomes.size(); ++i) {
      EXPECT_EQ(device.outcomes[i].status, Status::success);
      EXPECT_EQ(device.outcomes[i].t_reached, 1e4);
      EXPECT_EQ(device.outcomes[i].counters.steps, expected.outcomes[i].counters.steps);
      EXPECT_EQ(device.outcomes[i].counters.residuals, expected.outcomes[i].counters.residuals);
      const Counters& c = device.outcomes[i].counters;
      steps += static_cast<double>(c.steps + c.rejected + c.newton_failures);
    }
    EXPECT_EQ(device.utilisation.lane_ticks, steps);
  }
}

TEST(DeviceThreads, IntegrateTheEsdirkAndLeaveTheEndState) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Pendulum>(loaded, 40);
  loaded.kernel = &kernel<Pendulum, Esdirk54, KernelSpec<>{}, double>();
  ensemble.t_end = 2.0;
  const test::Results expected = ensemble.solve();
  const BatchResult device = integrate_as_device<Esdirk54<System<Pendulum>, double>>(ensemble, 2);
  expect_same_bits(device.values, expected.values);
  for (std::size_t i = 0; i < device.outcomes.size(); ++i) {
    for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(device.end_states[i * 10 + k], expected.values[i * 5 + k]);
  }
}

TEST(DeviceThreads, ProjectLikeALaneOfTheProcessor) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<PendulumIndex3>(loaded, 40);
  constexpr KernelSpec<> projected{.projection = true};
  loaded.kernel = &kernel<PendulumIndex3, Radau5, projected, double>();
  ensemble.times = {0.31, 1.0};
  const test::Results expected = ensemble.solve();
  const BatchResult device = integrate_as_device<Radau5<System<PendulumIndex3, projected>, double>>(ensemble, 2);
  expect_same_bits(device.values, expected.values);
  for (const InstanceOutcome& outcome : device.outcomes) EXPECT_EQ(outcome.status, Status::success);
}

TEST(DeviceThreads, LogTheEventsThatALaneOfTheProcessorLogs) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Rectifier>(loaded, 60);
  ensemble.t_end = 0.05;
  ensemble.event_log = 4;
  const test::Results expected = ensemble.solve();
  const BatchResult device = integrate_as_device<Radau5<System<Rectifier>, double>>(ensemble, 3);
  expect_same_bits(device.values, expected.values);
  expect_same_bits(device.first_event_times, expected.first_event_times);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_GT(device.outcomes[i].counters.events, 4);
    EXPECT_EQ(device.outcomes[i].counters.events, expected.outcomes[i].counters.events);
    EXPECT_EQ(device.outcomes[i].last_event, expected.outcomes[i].last_event);
    ASSERT_EQ(expected.events[i].size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(device.events[4 * i + k].time, expected.events[i][k].time);
      EXPECT_EQ(device.events[4 * i + k].event, expected.events[i][k].event);
      EXPECT_EQ(device.events[4 * i + k].direction, expected.events[i][k].direction);
    }
    const auto log = device.event_values.begin() + static_cast<std::ptrdiff_t>(i * 32);
    EXPECT_TRUE(std::equal(log, log + 32, expected.event_values[i].begin(), expected.event_values[i].end()));
  }
}

TEST(DeviceThreads, ObserveWhatALaneOfTheProcessorObserves) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<ObservedCircuit>(loaded, 20);
  ensemble.times = {0.0, 0.4, 1.1, 3.0};
  ensemble.t_end = 3.0;
  ensemble.event_log = 1;
  ensemble.discrete = true;
  const test::Results expected = ensemble.solve();
  const BatchResult device = integrate_as_device<Radau5<System<ObservedCircuit>, double>>(ensemble, 2);
  EXPECT_EQ(device.values.size(), 20U * 4U * 8U);
  expect_same_bits(device.values, expected.values);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto log = device.event_values.begin() + static_cast<std::ptrdiff_t>(i * 18);
    EXPECT_TRUE(std::equal(log, log + 18, expected.event_values[i].begin(), expected.event_values[i].end()));
    // After the variables and their derivatives.
    for (std::size_t k = 0; k < 5; ++k) {
      if (k == 2) continue;  // y' is that of the method here, and of the dense output there
      EXPECT_EQ(device.end_states[i * 10 + 4 + k], expected.values[i * 32 + 24 + 2 + k]) << k;
    }
  }
}

TEST(DeviceThreads, AFailedInstanceHasItsStatusAndDisturbsNoOther) {
  LoadedKernel loaded;
  test::Ensemble ensemble = scalar_ensemble<Robertson>(loaded, 50);
  ensemble.t_end = 100.0;
  const test::Results healthy = ensemble.solve();
  ensemble.parameters[3 * 17] = std::nan("");
  const BatchResult device = integrate_as_device<Radau5<System<Robertson>, double>>(ensemble, 2);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i == 17) {
      EXPECT_FALSE(succeeded(device.outcomes[i].status));
      EXPECT_TRUE(std::isnan(device.values[3 * i]));
    } else {
      EXPECT_EQ(device.values[3 * i], healthy.values[3 * i]);
    }
  }
}

TEST(DeviceThreads, ACancelledBatchLeavesItsInstancesCancelled) {
  LoadedKernel loaded;
  const test::Ensemble ensemble = scalar_ensemble<Robertson>(loaded, 10);
  const BatchResult device = integrate_as_device<Radau5<System<Robertson>, double>>(ensemble, 2, true);
  for (const InstanceOutcome& outcome : device.outcomes) EXPECT_EQ(outcome.status, Status::cancelled);
}

}  // namespace
}  // namespace manyfold
