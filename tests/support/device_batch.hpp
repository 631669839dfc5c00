#pragma once
// The GPU's kernels run by threads of the processor: the same driver, queue and batch, compiled by g++.
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/device/fused.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/thread_team.hpp"

namespace manyfold::test {

struct BatchResult : Chunk {
  using Chunk::Chunk;
  Utilisation utilisation;
};

/// Integrates the instances of `ensemble` as a device does, with `threads` threads or, if `Method` is for one, teams.
template <class Method>
BatchResult integrate_as_device(const Ensemble& ensemble, int threads, bool cancelled = false) {
  using Team = TeamOf<typename Method::System>;
  const EnsembleRun run = ensemble.request();
  const auto count = static_cast<std::size_t>(run.instances);
  InstanceShape shape = run.instance_shape();
  shape.has_end_states = true;
  BatchResult result(shape, 0, run.instances);
  for (std::int64_t i = 0; i < run.instances; ++i) {
    const auto row = row_of(shape, result.columns(), i);
    run.fill_instance(i, row.parameters, row.initial, row.t_span);
    run.fill_times(row.t_span[0], row.t_span[1], row.times);
  }
  std::vector<int> place(static_cast<std::size_t>(shape.quantities()), -1);
  std::iota(place.begin(), place.begin() + shape.saved, 0);
  const KernelOptions options{
      run.options.rtol, run.options.atol.data(), run.options.step_settings(0.0), {place.data(), shape.saved}};
  const auto settings = integrator_options<Method>(options);
  std::vector<typename Integrator<Method>::Initial> ready(count);
  int next = 0;
  const int stop = cancelled ? 1 : 0;
  DeviceBatch batch{};
  static_cast<Columns<ColumnPointer>&>(batch) = result.columns();
  batch.count = static_cast<int>(count);
  batch.shape = shape;
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
      integrate_instances<Method>(batch, settings, workspaces[at], team, mine);
      if (leads(team)) used[at] = mine;
    });
  } else {
    std::vector<std::jthread> workers;
    for (std::size_t k = 0; k < used.size(); ++k) {
      workers.emplace_back([&, k] { integrate_instances<Method>(batch, settings, workspaces[k], {}, used[k]); });
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
