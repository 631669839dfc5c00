#include "host/run/placement.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>
#include <manyfold/tolerances.hpp>

#include "host/compiler/catalog.hpp"
#include "kernels/algebra/sparsity.hpp"

namespace manyfold {
namespace {

/// With fewer instances `auto` stays on the CPU: most of a device's threads would have nothing to do.
constexpr std::int64_t least_instances_for_device = 4096;

/// Beyond, and where their pattern does not make them cheap, matrices are too much for the threads of a device.
constexpr int most_variables_of_fused_tier = 32;

/// From here on `auto` has full matrices factorised one by one. cuBLAS says that its batched routine is for small
/// matrices, where launches cost more than the work; cuSOLVER has dozens of launches for each matrix, and enough work
/// for them in large ones alone. Where the two meet no device has shown yet: `script/bench --lu` measures it. The
/// number of matrices must not decide, for a result must not depend on how many instances an ensemble has.
constexpr int least_variables_of_cusolver = 256;

/// Who factorises full matrices in the phased tier, or why nobody does.
struct Library {
  std::optional<LinearSolver> solver;
  std::string missing;
};

Library library_for(const std::string& wish, int n, const DeviceBackend& devices) {
  if (wish == "own") {
    return {std::nullopt, fmt::format("linear_solver 'own' factorises full matrices, here of {} variables, in the "
                                      "fused tier alone",
                                      n)};
  }
  const LinearSolver better = n < least_variables_of_cusolver ? LinearSolver::cublas : LinearSolver::cusolver;
  const LinearSolver other = better == LinearSolver::cublas ? LinearSolver::cusolver : LinearSolver::cublas;
  if (wish == solver_name(other) ||
      (wish == "auto" && !devices.unavailable(better).empty() && devices.unavailable(other).empty())) {
    return {other, devices.unavailable(other)};
  }
  return {better, devices.unavailable(better)};
}

/// Throws UsageError for a tier or a linear solver that is unknown.
void check_names(const std::string& tier, const std::string& solver) {
  for (const auto& [name, value] : {std::pair("tier", tier), std::pair("linear_solver", solver)}) {
    const std::vector<std::string>& names = choice_setting(name).names;
    if (std::find(names.begin(), names.end(), value) != names.end()) continue;
    throw UsageError(fmt::format("unknown {} '{}': one of {}", name, value, fmt::join(names, ", ")));
  }
}

}  // namespace

Placement choose_backend(const SolverOptions& options, std::int64_t instances) {
  const std::vector<std::string>& names = choice_setting("backend").names;
  if (std::find(names.begin(), names.end(), options.backend) == names.end()) {
    throw UsageError(fmt::format("unknown backend '{}': one of {}", options.backend, fmt::join(names, ", ")));
  }
  if (const std::string problem = rtol_problem(options.rtol, options.precision); !problem.empty()) {
    throw UsageError("rtol " + problem);
  }
  Placement placement;
  placement.backend = "cpu";
  if (options.backend == "cpu") return placement;
  const bool automatic = options.backend == "auto";
  std::string reason;
  std::string name;
  const DeviceBackend* devices = nullptr;
  for (const std::string& candidate : names) {
    if (candidate == "auto" || candidate == "cpu" || !(automatic || candidate == options.backend)) continue;
    name = candidate;
    devices = device_backend(reason, name);
    if (devices != nullptr) reason = devices->unavailable();
    if (reason.empty()) break;
  }
  if (!automatic && !reason.empty()) {
    throw UsageError(fmt::format("backend '{}': {}; use 'cpu' or 'auto'", name, reason));
  }
  if (devices == nullptr || !reason.empty()) {
    placement.backend_reason = "no GPU: " + reason;
  } else if (automatic && instances < least_instances_for_device) {
    placement.backend_reason = fmt::format("{} instances are too few for a GPU", instances);
  } else {
    placement.backend = name;
    placement.devices = devices;
    if (automatic) placement.backend_reason = devices->devices().front().name;
  }
  return placement;
}

void choose_tier(const SolverOptions& options, const LoadedKernel& description, Placement& placement) {
  // Its first name is understood.
  const std::string tier = options.tier == "lockstep" ? "phased" : options.tier;
  const std::string& method = options.method;
  const std::string& solver = options.linear_solver;
  check_names(tier, solver);
  // What can only be had in the phased tier.
  const bool of_library = solver == "cublas" || solver == "cusolver";
  const std::string wish = of_library ? fmt::format("linear_solver '{}'", solver) : "tier 'phased'";
  const bool forced = tier == "phased" || of_library;
  if (placement.devices == nullptr) {
    if (!forced) return;
    throw UsageError(fmt::format("{} needs backend 'cuda', but this run is on the processor{}", wish,
                                 placement.backend_reason.empty() ? "" : ": " + placement.backend_reason));
  }
  if (tier == "fused") {
    if (!of_library) return;
    throw UsageError(fmt::format("{} needs tier 'phased', but tier is 'fused'", wish));
  }
  const std::vector<std::string>& able = phased_methods();
  const bool in_phases = method == "auto" || std::find(able.begin(), able.end(), method) != able.end();
  const auto n = static_cast<int>(description.model.variables.size());
  const bool sparse = is_sparse(n, description.kernel->factor_work);
  const Library library = sparse ? Library{} : library_for(solver, n, *placement.devices);
  const auto choose = [&](Tier chosen, const std::string& reason) {
    placement.tier = chosen;
    placement.tier_reason = reason;
    if (chosen == Tier::phased) placement.linear_solver = library.solver;
  };
  const bool inlined = options.inline_integration == "always";
  if (forced) {
    if (inlined) throw UsageError(fmt::format("inline = true needs tier 'fused', but {} is asked for", wish));
    if (sparse && of_library) {
      throw UsageError(fmt::format("{} needs full matrices, but those of model '{}' are sparse: use 'own' or 'auto'",
                                   wish, description.model.name));
    }
    if (!library.missing.empty()) throw UsageError(fmt::format("{}: {}", wish, library.missing));
    if (!in_phases) {
      throw UsageError(fmt::format("{} does not have method '{}': one of {}",
                                   of_library ? wish + " needs tier 'phased', which" : wish, method,
                                   fmt::join(able, ", ")));
    }
    return choose(Tier::phased, "");
  }
  if (inlined) return choose(Tier::fused, "stages are inlined");
  if (n <= most_variables_of_fused_tier) return choose(Tier::fused, fmt::format("{} variables are few", n));
  if (sparse) return choose(Tier::fused, "the matrices are sparse");
  if (!in_phases) return choose(Tier::fused, fmt::format("the phased tier does not have method '{}'", method));
  if (!library.missing.empty()) return choose(Tier::fused, library.missing);
  choose(Tier::phased, fmt::format("{} variables in full matrices", n));
}

}  // namespace manyfold
