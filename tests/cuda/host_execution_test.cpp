// The code of the GPU's threads, run by threads of the processor: the same driver, queue and batch, compiled by g++.
// Threads take instances from the queue concurrently, as they do on a device; under tsan this also checks the queue.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "kernels/cuda/thread_per_instance.hpp"
#include "kernels/kernel.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/robertson/robertson.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

struct BatchResult {
  std::vector<double> values;      ///< [instances][times][variables]
  std::vector<double> end_states;  ///< [instances][2][variables]
  std::vector<InstanceOutcome> outcomes;
  Utilisation utilisation;
};

/// Integrates the instances of `ensemble` as a device does, with `threads` threads.
template <class Method>
BatchResult integrate_as_device(const test::Ensemble& ensemble, int threads, bool cancelled = false) {
  using System = typename Method::System;
  const EnsembleRun run = ensemble.request();
  const auto count = static_cast<std::size_t>(run.instances);
  const auto times = static_cast<std::size_t>(run.time_count);
  constexpr auto n = static_cast<std::size_t>(System::n);
  std::vector<double> parameters(count * System::parameters);
  std::vector<double> initial(count * n);
  std::vector<double> t_span(count * 2);
  std::vector<double> output_times(count * times);
  BatchResult result;
  result.values.assign(count * times * n, std::nan(""));
  result.end_states.assign(count * 2 * n, std::nan(""));
  result.outcomes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    double* p = parameters.data() + i * System::parameters;
    run.fill_instance(static_cast<std::int64_t>(i), p, initial.data() + i * n, t_span.data() + 2 * i);
    run.kernel->initial_values(p, initial.data() + i * n);
    run.fill_times(t_span[2 * i], t_span[2 * i + 1], output_times.data() + i * times);
  }
  std::vector<int> place(n);
  for (std::size_t i = 0; i < n; ++i) place[i] = static_cast<int>(i);
  const KernelOptions options{run.options.rtol,
                              run.options.atol.data(),
                              static_cast<double>(run.options.max_steps),
                              0.0,
                              run.options.max_step,
                              0.0,
                              {place.data(), System::n}};
  const auto settings = integrator_options<Method>(options);
  std::vector<typename Integrator<Method>::Initial> ready(count);
  int next = 0;
  const int stop = cancelled ? 1 : 0;
  DeviceBatch batch{};
  batch.first = 0;
  batch.count = static_cast<int>(count);
  batch.parameters = parameters.data();
  batch.initial = initial.data();
  batch.t_span = t_span.data();
  batch.times = output_times.data();
  batch.time_count = run.time_count;
  batch.values = result.values.data();
  batch.end_states = result.end_states.data();
  batch.outcomes = result.outcomes.data();
  batch.saved = options.saved;
  batch.ready = ready.data();
  batch.options = &settings;
  batch.next = &next;
  batch.cancelled = &stop;
  for (int i = 0; i < batch.count; ++i) initialize_instance<Method>(batch, i);
  std::vector<Utilisation> used(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> workers;
    for (Utilisation& mine : used) workers.emplace_back([&batch, &mine] { integrate_instances<Method>(batch, mine); });
  }
  for (const Utilisation& mine : used) result.utilisation.lane_ticks += mine.lane_ticks;
  return result;
}

template <class Model>
test::Ensemble scalar_ensemble(LoadedKernel& loaded, std::size_t count) {
  loaded.kernel = &kernel<Model, Radau5, double>();
  describe_model<Model>(loaded.model);
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(count);
  test::Uniform uniform(7);
  for (double& p : ensemble.parameters) p *= 0.9 + 0.2 * uniform();
  return ensemble;
}

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
  loaded.kernel = &kernel<Pendulum, Esdirk54, double>();
  ensemble.t_end = 2.0;
  const test::Results expected = ensemble.solve();
  const BatchResult device = integrate_as_device<Esdirk54<System<Pendulum>, double>>(ensemble, 2);
  expect_same_bits(device.values, expected.values);
  for (std::size_t i = 0; i < device.outcomes.size(); ++i) {
    for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(device.end_states[i * 10 + k], expected.values[i * 5 + k]);
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
