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
  if (tier != "auto" && tier != "fused" && tier != "phased") {
    throw UsageError(fmt::format("unknown tier '{}': one of auto, fused, phased", tier));
  }
  if (placement.devices == nullptr) {
    if (tier != "phased") return;
    throw UsageError(fmt::format("tier 'phased' needs backend 'cuda', but this run is on the processor{}",
                                 placement.backend_reason.empty() ? "" : ": " + placement.backend_reason));
  }
  const std::vector<std::string>& able = phased_methods();
  const bool in_phases = method == "auto" || std::find(able.begin(), able.end(), method) != able.end();
  const auto n = static_cast<int>(description.model.variables.size());
  const bool sparse = is_sparse(n, description.kernel->factor_work);
  const std::string cublas_missing = sparse ? "" : placement.devices->cublas_unavailable();
  const auto choose = [&](Tier chosen, const std::string& reason) {
    placement.tier = chosen;
    placement.tier_reason = reason;
  };
  if (tier == "phased") {
    if (!cublas_missing.empty()) throw UsageError(fmt::format("tier 'phased': {}", cublas_missing));
    if (!in_phases) {
      throw UsageError(
          fmt::format("tier 'phased' does not have method '{}': one of {}", method, fmt::join(able, ", ")));
    }
    return choose(Tier::phased, "");
  }
  if (tier == "fused") return;
  if (n <= most_variables_of_fused_tier) return choose(Tier::fused, fmt::format("{} variables are few", n));
  if (sparse) return choose(Tier::fused, "the matrices are sparse");
  if (!in_phases) return choose(Tier::fused, fmt::format("the phased tier does not have method '{}'", method));
  if (!cublas_missing.empty()) return choose(Tier::fused, cublas_missing);
  choose(Tier::phased, fmt::format("{} variables in full matrices", n));
}

}  // namespace manyfold
