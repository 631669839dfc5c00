#pragma once
// What the subcommands share.
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>
#include <manyfold/options.hpp>

#include "host/compiler/kernel_library.hpp"

namespace manyfold::cli {

/// Tells, on standard error, what the user waits for.
inline void announce(const std::string& line) {
  std::cerr << "manyfold: " << line << std::endl;
}

/// The backend that will run; says so where `auto` had to choose.
inline std::string choose_backend(const SolverOptions& options) {
  if (options.backend == "cuda")
    throw UsageError("backend 'cuda': this build has no CUDA backend; use 'cpu' or 'auto'");
  if (options.backend != "cpu" && options.backend != "auto") {
    throw UsageError(fmt::format("unknown backend '{}': one of auto, cpu, cuda", options.backend));
  }
  if (options.precision != "float64") {
    throw UsageError(fmt::format("precision '{}': this version computes in float64 only", options.precision));
  }
  return "cpu";
}

/// Loads the kernel, with the structural parameter at the value the user gives it, if the model has one.
/// `value_of(name)` is that value.
template <class ValueOf>
LoadedKernel load_with_structure(KernelRequest request, const ValueOf& value_of) {
  LoadedKernel loaded = load_kernel(request, announce);
  const std::string& name = loaded.model.structural.name;
  if (name.empty()) return loaded;
  request.structural_value = value_of(name);
  if (!request.structural_value || *request.structural_value == loaded.model.structural.value) return loaded;
  return load_kernel(request, announce);
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
