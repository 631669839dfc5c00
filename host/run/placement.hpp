#pragma once
// Where a job runs: the processor or devices, and how devices integrate.
#include <cstdint>
#include <optional>
#include <string>

#include <manyfold/options.hpp>

#include "host/compiler/kernel_library.hpp"
#include "host/engine/device.hpp"

namespace manyfold {

/// Where and how a job runs.
struct Placement {
  std::string backend;         ///< cpu | cuda
  std::string backend_reason;  ///< why "auto" took it
  Tier tier = Tier::fused;
  std::string tier_reason;
  std::optional<LinearSolver> linear_solver = std::nullopt;  ///< of full matrices in the phased tier; none: own
  std::string device_shape;                ///< how a device's threads are divided, in words; empty on the processor
  const DeviceBackend* devices = nullptr;  ///< of `cuda`

  /// As users name it.
  const char* linear_solver_name() const { return linear_solver ? solver_name(*linear_solver) : "own"; }
};

/// The backend for so many instances. Throws UsageError for an unknown one, and for `cuda` where there is no device.
Placement choose_backend(const SolverOptions& options, std::int64_t instances);

/// Puts the tier and the linear solver into `placement`; `description`: the model and the work of its matrices, of
/// which the processor's choice makes no use. Throws UsageError for those that are unknown, that contradict each other,
/// or that the method, the model or the machine does not allow.
void choose_tier(const SolverOptions& options, const LoadedKernel& description, Placement& placement);

}  // namespace manyfold
