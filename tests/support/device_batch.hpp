#pragma once
// The GPU's kernels run by threads of the processor: the same driver, queue and batch, compiled by g++.
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/device/fused.hpp"
#include "kernels/entry/kernel.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/thread_team.hpp"

namespace manyfold::test {

struct BatchResult {
  std::vector<double> values;      ///< [instances][times][variables]
  std::vector<double> end_states;  ///< [instances][2][variables]
  std::vector<InstanceOutcome> outcomes;
  std::vector<EventRecord> events;        ///< [instances][log]
  std::vector<double> event_values;       ///< [instances][log][2][variables, discrete numbers]
  std::vector<double> first_event_times;  ///< [instances][events]
  Utilisation utilisation;
};

/// Integrates the instances of `ensemble` as a device does, with `threads` threads or, if `Method` is for one, teams.
template <class Method>
BatchResult integrate_as_device(const Ensemble& ensemble, int threads, bool cancelled = false) {
  using Team = TeamOf<typename Method::System>;
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
  const auto log = static_cast<std::size_t>(System::has_events ? run.options.event_log : 0);
  result.events.resize(count * log);
  result.event_values.assign(count * log * 2 * (n + System::discrete), std::nan(""));
  result.first_event_times.assign(count * System::events, std::nan(""));
  for (std::size_t i = 0; i < count; ++i) {
    double* p = parameters.data() + i * System::parameters;
    run.fill_instance(static_cast<std::int64_t>(i), p, initial.data() + i * n, t_span.data() + 2 * i);
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
  batch.events = result.events.data();
  batch.event_values = result.event_values.data();
  batch.event_capacity = static_cast<int>(log);
  batch.first_event_times = result.first_event_times.data();
  batch.saved = options.saved;
  batch.ready = ready.data();
  batch.options = &settings;
  batch.next = &next;
  batch.cancelled = &stop;
  const auto conditions = std::make_unique<typename Integrator<Method>::Conditions>();
  for (int i = 0; i < batch.count; ++i) initialize_instance<Method>(batch, i, *conditions);
  std::vector<Utilisation> used(static_cast<std::size_t>(threads));
  std::vector<typename Method::Workspace> workspaces(static_cast<std::size_t>(threads));
  if constexpr (Team::size > 1) {
    run_teams<Team::size>(threads, [&](int k, const Team& team) {
      Utilisation mine;
      const auto at = static_cast<std::size_t>(k);
      integrate_instances<Method>(batch, workspaces[at], team, mine);
      if (leads(team)) used[at] = mine;
    });
  } else {
    std::vector<std::jthread> workers;
    for (std::size_t k = 0; k < used.size(); ++k) {
      workers.emplace_back([&, k] { integrate_instances<Method>(batch, workspaces[k], {}, used[k]); });
    }
  }
  for (const Utilisation& mine : used) result.utilisation.lane_ticks += mine.lane_ticks;
  return result;
}

/// `count` instances of `Model` with perturbed parameters, for lanes of width one.
template <class Model>
Ensemble scalar_ensemble(LoadedKernel& loaded, std::size_t count) {
  loaded.kernel = &kernel<Model, Radau5, KernelSpec<>{}, double>();
  describe_model<Model>(loaded.model);
  Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(count);
  Uniform uniform(7);
  // By up to 0.9 %, so that a current gain of 0.99 stays below one.
  for (double& p : ensemble.parameters) p *= 0.991 + 0.018 * uniform();
  return ensemble;
}

}  // namespace manyfold::test
