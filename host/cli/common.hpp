#pragma once
// What the subcommands share.
#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>
#include <manyfold/status.hpp>

#include "host/engine/ensemble_run.hpp"
#include "host/text/printable.hpp"

namespace manyfold::cli {

/// Tells, on standard error, what the user waits for, or is warned of. Warnings of files carry their place.
inline void announce(const std::string& line) {
  const bool placed = line.find(": warning: ") != std::string::npos;
  std::cerr << (placed ? "" : "manyfold: ") << printable(line, "\n\t") << std::endl;
}

/// On standard output. Names of files need not be UTF-8, but JSON is.
inline void print(const nlohmann::ordered_json& json) {
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
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

/// What an instance begins with.
struct InstanceInputs {
  std::vector<double> parameters;
  std::vector<double> initial;
  std::array<double, 2> t_span{};
};

inline InstanceInputs inputs_of(const EnsembleRun& run, const ModelDescription& model, std::int64_t instance) {
  InstanceInputs inputs{std::vector<double>(model.parameters.size()),
                        std::vector<double>(model.initial_quantities().size())};
  run.fill_instance(instance, inputs.parameters.data(), inputs.initial.data(), inputs.t_span.data());
  return inputs;
}

}  // namespace manyfold::cli
