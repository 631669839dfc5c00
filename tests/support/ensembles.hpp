#pragma once
// Small ensembles for tests: kernels loaded as the command loads them, results kept in memory.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "tests/support/environment.hpp"

namespace manyfold::test {

inline std::string source_folder() {
  return from_environment("MANYFOLD_SOURCE");
}

/// Kernels stay loaded: each is opened once per test program.
inline const LoadedKernel& kernel_of(const std::string& model, const std::string& method,
                                     const std::string& instruction_set = "",
                                     const std::string& precision = "float64") {
  static std::map<std::string, LoadedKernel> loaded;
  const std::string key = model + " " + method + " " + instruction_set + " " + precision;
  auto found = loaded.find(key);
  if (found == loaded.end())
    found = loaded
                .emplace(key, load_kernel({.model = model,
                                           .options = {.method = method, .precision = precision},
                                           .instruction_set = instruction_set}))
                .first;
  return found->second;
}

struct Results {
  std::vector<InstanceOutcome> outcomes;          ///< [instances]
  std::vector<double> values;                     ///< [instances][times][variables]
  std::vector<std::vector<EventRecord>> events;   ///< [instances]: the log
  std::vector<std::vector<double>> event_values;  ///< [instances]: [entries][2][variables, discrete numbers]
  std::vector<double> first_event_times;          ///< [instances][events]
};

inline Results results_of(const Chunk& all) {
  Results results{all.outcomes, all.values, {}, {}, all.first_event_times};
  const std::int64_t row = 2 * (all.shape.saved + all.shape.discrete);
  for (std::int64_t i = 0; i < all.count; ++i) {
    const auto log = all.event_log(i);
    results.events.emplace_back(log.begin(), log.end());
    const auto values = all.event_values.begin() + i * all.shape.event_capacity * row;
    results.event_values.emplace_back(values, values + std::ssize(log) * row);
  }
  return results;
}

struct Ensemble {
  const LoadedKernel* loaded;
  std::vector<double> parameters;  ///< [instances][parameters]
  double t_begin = 0.0;
  double t_end = 1.0;
  std::vector<double> times;  ///< empty: the end
  double rtol = 1e-6;
  std::vector<double> atol;  ///< empty: rtol for every variable
  int threads = 1;
  std::int64_t chunk_size = 0;
  double first_step = 0.0;
  double max_step = std::numeric_limits<double>::infinity();
  double fixed_step = 0.0;
  double max_steps = 1e6;
  int event_log = 64;
  bool discrete = false;                   ///< saves the discrete state too
  const DeviceBackend* devices = nullptr;  ///< not null: integrated there, with the kernel of `device_request`
  KernelRequest device_request;
  DeviceShape device_shape;
  double device_memory = 0.0;
  LinearSolver linear_solver = LinearSolver::cublas;

  std::size_t parameter_count() const { return loaded->model.parameters.size(); }
  std::size_t variable_count() const { return loaded->model.variables.size(); }
  std::size_t instances() const { return parameters.size() / parameter_count(); }

  /// `count` instances with the default parameters.
  void repeat_defaults(std::size_t count) {
    parameters.clear();
    for (std::size_t i = 0; i < count; ++i) {
      for (const ParameterDescription& parameter : loaded->model.parameters) parameters.push_back(parameter.value);
    }
  }

  EnsembleRun request() const {
    EnsembleRun run;
    run.kernel = loaded->kernel;
    run.shape = shape_of(loaded->model);
    run.instances = static_cast<std::int64_t>(instances());
    run.fill_instance = [this](std::int64_t instance, double* p, double* initial, double* t_span) {
      const std::size_t np = parameter_count();
      for (std::size_t i = 0; i < np; ++i) p[i] = parameters[static_cast<std::size_t>(instance) * np + i];
      for (std::size_t i = 0; i < variable_count(); ++i) initial[i] = std::numeric_limits<double>::quiet_NaN();
      t_span[0] = t_begin;
      t_span[1] = t_end;
    };
    run.shape.times = times.empty() ? 1 : static_cast<int>(times.size());
    run.fill_times = [this](double, double end, double* out) {
      if (times.empty()) out[0] = end;
      for (std::size_t k = 0; k < times.size(); ++k) out[k] = times[k];
    };
    const int saved = discrete ? run.shape.quantities() : run.shape.variables + run.shape.observables;
    for (int i = 0; i < saved; ++i) run.saved.push_back(i);
    run.options.rtol = rtol;
    run.options.atol = atol.empty() ? std::vector<double>(variable_count(), rtol) : atol;
    run.options.threads = threads;
    run.options.max_steps = static_cast<std::int64_t>(max_steps);
    run.options.first_step = first_step;
    run.options.max_step = max_step;
    run.options.event_log = event_log;
    run.chunk_size = chunk_size;
    run.fixed_step = fixed_step;
    return run;
  }

  Results solve(RunSummary* summary = nullptr) const {
    InMemoryResult memory;
    EnsembleRun run = request();
    std::unique_ptr<DeviceProgram> program;
    if (devices != nullptr) {
      const DeviceDemand demand{run.instances, run.instance_shape(), device_memory, std::nullopt, linear_solver};
      program = devices->load(device_source(device_request, device_shape), demand);
      run.device = program.get();
    }
    const RunSummary result = run_ensemble(run, memory);
    if (summary != nullptr) *summary = result;
    return results_of(memory.results());
  }
};

/// Numbers in (0, 1) for perturbed parameters; the same in every run.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    // SplitMix64 (Steele, Lea & Flood, 2014).
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace manyfold::test
