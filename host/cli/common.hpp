#pragma once
// What the subcommands share.
#include <algorithm>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>
#include <manyfold/options.hpp>
#include <manyfold/tolerances.hpp>

#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "kernels/algebra/sparsity.hpp"

namespace manyfold::cli {

/// Tells, on standard error, what the user waits for.
inline void announce(const std::string& line) {
  std::cerr << "manyfold: " << line << std::endl;
}

/// On standard output. Names of files need not be UTF-8, but JSON is.
inline void print(const nlohmann::ordered_json& json) {
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
}

/// The backend that will run.
struct ChosenBackend {
  std::string name;                        ///< cpu | cuda
  std::string reason;                      ///< why `auto` took it
  const DeviceBackend* devices = nullptr;  ///< of `cuda`
};

/// With fewer instances `auto` stays on the CPU: most of a device's threads would have nothing to do.
inline constexpr std::int64_t least_instances_for_device = 4096;

inline ChosenBackend choose_backend(const SolverOptions& options, std::int64_t instances) {
  if (options.backend != "auto" && options.backend != "cpu" && options.backend != "cuda") {
    throw UsageError(fmt::format("unknown backend '{}': one of auto, cpu, cuda", options.backend));
  }
  if (const std::string problem = rtol_problem(options.rtol, options.precision); !problem.empty()) {
    throw UsageError("rtol " + problem);
  }
  if (options.backend == "cpu") return {"cpu", "", nullptr};
  std::string reason;
  const DeviceBackend* devices = device_backend(reason);
  if (devices != nullptr) reason = devices->unavailable();
  if (options.backend == "cuda") {
    if (!reason.empty()) throw UsageError(fmt::format("backend 'cuda': {}; use 'cpu' or 'auto'", reason));
    return {"cuda", "", devices};
  }
  if (!reason.empty()) return {"cpu", "no GPU: " + reason, nullptr};
  if (instances < least_instances_for_device) {
    return {"cpu", fmt::format("{} instances are too few for a GPU", instances), nullptr};
  }
  return {"cuda", devices->devices().front().name, devices};
}

/// The tier that will run.
struct ChosenTier {
  Tier tier = Tier::fused;
  std::string reason;  ///< why `auto` took it
};

/// Beyond, and where their pattern does not make them cheap, matrices are too much for the threads of a device.
inline constexpr int most_variables_of_fused_tier = 32;

/// `method`: the one that is asked for.
inline ChosenTier choose_tier(const SolverOptions& options, const std::string& method, const ChosenBackend& backend,
                              const LoadedKernel& loaded) {
  const std::vector<std::string>& able = lockstep_methods();
  const bool in_phases = method == "auto" || std::find(able.begin(), able.end(), method) != able.end();
  if (options.tier != "auto" && options.tier != "fused" && options.tier != "lockstep") {
    throw UsageError(fmt::format("unknown tier '{}': one of auto, fused, lockstep", options.tier));
  }
  const auto n = static_cast<int>(loaded.model.variables.size());
  const bool sparse = is_sparse(n, loaded.kernel->factor_work);
  const std::string cublas_missing = backend.devices == nullptr || sparse ? "" : backend.devices->cublas_unavailable();
  if (options.tier == "lockstep") {
    if (backend.devices == nullptr) {
      throw UsageError(fmt::format("tier 'lockstep' needs backend 'cuda', but this run is on the processor{}",
                                   backend.reason.empty() ? "" : ": " + backend.reason));
    }
    if (!cublas_missing.empty()) throw UsageError(fmt::format("tier 'lockstep': {}", cublas_missing));
    if (!in_phases) {
      throw UsageError(
          fmt::format("tier 'lockstep' does not have method '{}': one of {}", method, fmt::join(able, ", ")));
    }
    return {Tier::lockstep, ""};
  }
  if (options.tier == "fused" || backend.devices == nullptr) return {};
  if (n <= most_variables_of_fused_tier) return {Tier::fused, fmt::format("{} variables are few", n)};
  if (sparse) return {Tier::fused, "the matrices are sparse"};
  if (!in_phases) return {Tier::fused, fmt::format("the lockstep tier does not have method '{}'", method)};
  if (!cublas_missing.empty()) return {Tier::fused, cublas_missing};
  return {Tier::lockstep, fmt::format("{} variables in full matrices", n)};
}

/// The kernel on the devices of a run; null on the CPU. `request` and `run` are those of the processor's kernel.
inline std::unique_ptr<DeviceProgram> load_device_program(const ChosenBackend& backend, Tier tier,
                                                          const KernelRequest& request, const EnsembleRun& run) {
  if (backend.devices == nullptr) return nullptr;
  DeviceDemand demand;
  demand.instances = run.instances;
  demand.shape = run.instance_shape();
  demand.memory_mib = run.options.device_memory;
  if (run.plan) demand.sampling = DeviceSampling{sampling_source(announce), *run.plan};
  KernelRequest concrete = request;
  concrete.method = run.kernel->method;
  const DeviceShape shape{run.options.device_tile, run.options.device_block, tier};
  return backend.devices->load(device_source(concrete, shape, announce), demand);
}

/// Loads the kernel, with the structural parameter at the value the user gives it, if the model has one:
/// `value_of(name)` is that value. `given_of(model)`: what the user says is given at the start. Both go into `request`.
/// Warns of methods that suit the model badly.
template <class ValueOf, class GivenOf>
LoadedKernel load_as_asked(KernelRequest& request, const ValueOf& value_of, const GivenOf& given_of) {
  LoadedKernel loaded = load_kernel(request, announce);
  if (const std::string& name = loaded.model.structural.name; !name.empty()) {
    request.structural_value = value_of(name);
    if (request.structural_value && *request.structural_value != loaded.model.structural.value) {
      loaded = load_kernel(request, announce);
    }
  }
  request.given = given_of(loaded.model);
  if (!request.given.empty()) loaded = load_kernel(request, announce);
  if (const std::string warning = check_method(loaded.model, loaded.kernel->method); !warning.empty()) {
    announce("warning: " + warning);
  }
  return loaded;
}

inline nlohmann::ordered_json counters_json(const Counters& counters) {
  return {{"steps", counters.steps},
          {"rejected", counters.rejected},
          {"newton_failures", counters.newton_failures},
          {"newton_iterations", counters.newton_iterations},
          {"residuals", counters.residuals},
          {"jacobians", counters.jacobians},
          {"factorizations", counters.factorizations},
          {"solves", counters.solves},
          {"events", counters.events}};
}

}  // namespace manyfold::cli
