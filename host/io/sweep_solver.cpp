// [solver] of a sweep file.
#include <limits>

#include <fmt/format.h>

#include <manyfold/tolerances.hpp>

#include "host/io/sweep_values.hpp"
#include "kernels/entry/spec_names.hpp"

namespace manyfold {
namespace {

class SolverReader : SweepValues {
 public:
  SolverReader(Sweep& sweep, SweepProblems& problems) : SweepValues(problems), sweep_(sweep) {}

  void read(const toml::table& table, std::span<const std::string> methods) {
    check_keys(table, "[solver]",
               {"method",        "rtol",           "atol",         "backend",    "precision",
                "tier",          "threads",        "max_steps",    "first_step", "max_step",
                "device_memory", "device_tile",    "device_block", "event_log",  "initial_conditions",
                "jacobian",      "jacobian_reuse", "error_test",   "projection", "verify",
                "inline"});
    for (const auto& [key, node] : table) sweep_.solver_positions[std::string(key.str())] = position_of(node);
    read_choices(table, methods);
    read_accuracy(table);
    read_steps(table);
    read_placement(table);
  }

 private:
  void read_choices(const toml::table& table, std::span<const std::string> methods) {
    SolverOptions& options = sweep_.options;
    read_name(table, "method", "method", {methods.begin(), methods.end()}, options.method);
    read_name(table, "backend", "backend", {"auto", "cpu", "cuda"}, options.backend);
    read_name(table, "jacobian", "jacobian", jacobian_sources, options.jacobian);
    read_name(table, "jacobian_reuse", "jacobian_reuse", jacobian_reuses, options.jacobian_reuse);
    read_name(table, "error_test", "error_test", error_tests, options.error_test);
    read_name(table, "precision", "precision", {"float64", "float32", "mixed"}, options.precision);
    // The first name of the phased tier is understood.
    if (table["tier"].value_exact<std::string>() == "lockstep") {
      options.tier = "phased";
    } else {
      read_name(table, "tier", "tier", {"auto", "fused", "phased"}, options.tier);
    }
    if (const toml::node* node = table.get("inline")) read_inline(*node);
    if (const toml::node* node = table.get("projection")) {
      options.projection = boolean(*node, "projection").value_or(false);
    }
    if (const toml::node* node = table.get("initial_conditions")) read_initial_conditions(*node);
  }

  void read_inline(const toml::node& node) {
    if (const auto yes = node.value_exact<bool>()) {
      sweep_.options.inline_integration = *yes ? "always" : "never";
    } else if (node.value_exact<std::string>() != "automatic") {
      problems().add(position_of(node), "inline needs \"automatic\", true or false");
    }
  }

  void read_accuracy(const toml::table& table) {
    SolverOptions& options = sweep_.options;
    if (const toml::node* node = table.get("rtol")) {
      if (const auto value = number(*node, "rtol")) {
        const std::string problem = rtol_problem(*value, options.precision);
        if (problem.empty()) {
          options.rtol = *value;
        } else {
          problems().add(position_of(*node), "rtol " + problem);
        }
      }
    }
    if (const toml::node* node = table.get("atol")) read_atol(*node);
    if (const toml::node* node = table.get("verify")) {
      sweep_.verify = number_where(
                          *node, "verify", [](double x) { return x >= 0.0 && x <= 1.0; },
                          "the share of the instances to verify, from 0 to 1")
                          .value_or(0.0);
    }
  }

  void read_steps(const toml::table& table) {
    SolverOptions& options = sweep_.options;
    if (const toml::node* node = table.get("max_steps")) {
      options.max_steps = integer(*node, "max_steps", 1).value_or(options.max_steps);
    }
    if (const toml::node* node = table.get("event_log")) {
      options.event_log =
          static_cast<int>(integer(*node, "event_log", 0, std::numeric_limits<int>::max()).value_or(options.event_log));
    }
    if (const toml::node* node = table.get("first_step")) {
      options.first_step =
          number_where(
              *node, "first_step", [](double x) { return x >= 0.0; }, "at least 0 (0: chosen by the method)")
              .value_or(0.0);
    }
    if (const toml::node* node = table.get("max_step")) {
      options.max_step = number_where(
                             *node, "max_step", [](double x) { return x > 0.0; }, "greater than 0")
                             .value_or(options.max_step);
    }
  }

  void read_placement(const toml::table& table) {
    SolverOptions& options = sweep_.options;
    if (const toml::node* node = table.get("threads")) {
      options.threads = static_cast<int>(integer(*node, "threads", 0, 65536).value_or(0));
    }
    if (const toml::node* node = table.get("device_memory")) {
      options.device_memory = number_where(
                                  *node, "device_memory", [](double x) { return x > 0.0; }, "MiB, greater than 0")
                                  .value_or(0.0);
    }
    if (const toml::node* node = table.get("device_tile")) {
      options.device_tile = static_cast<int>(integer(*node, "device_tile", 0, 32).value_or(0));
      if ((options.device_tile & (options.device_tile - 1)) != 0) {
        problems().add(position_of(*node), fmt::format("device_tile is {}, but must be 1, 2, 4, 8, 16 or 32 (0: chosen "
                                                       "by the kernel)",
                                                       options.device_tile));
      }
    }
    if (const toml::node* node = table.get("device_block")) {
      options.device_block = static_cast<int>(integer(*node, "device_block", 0, 1024).value_or(0));
      if (options.device_block % 32 != 0) {
        problems().add(position_of(*node),
                       fmt::format("device_block is {}, but must be a multiple of 32 (0: chosen from "
                                   "the occupancy)",
                                   options.device_block));
      }
    }
  }

  void read_atol(const toml::node& node) {
    constexpr auto positive = [](double x) { return x > 0.0; };
    if (!node.is_table()) {
      if (!node.is_number()) {
        wrong(node, "atol", "a number, or a table of numbers by variable");
      } else if (const auto value = number_where(node, "atol", positive, "greater than 0")) {
        sweep_.options.atol = {*value};
      }
      return;
    }
    for (const auto& [key, entry] : *node.as_table()) {
      const auto value = number_where(entry, fmt::format("atol of \"{}\"", key.str()), positive, "greater than 0");
      if (!value) continue;
      if (key.str() == "default") {
        sweep_.options.atol = {*value};
      } else {
        sweep_.atol.push_back({{std::string(key.str()), position_of(key)}, *value});
      }
    }
  }

  void read_initial_conditions(const toml::node& node) {
    const auto word = node.value_exact<std::string>();
    if (word == "steady_state" || word == "projected") {
      sweep_.options.initial_conditions = {*word};
    } else if (!node.is_array()) {
      wrong(node, "initial_conditions",
            "\"steady_state\", \"projected\", or a list of variables and derivatives, der(variable)");
    } else {
      for (const auto& [name, position] : texts(node, "initial_conditions", false)) {
        sweep_.options.initial_conditions.push_back(name);
      }
    }
  }

  Sweep& sweep_;
};

}  // namespace

void read_solver(const toml::table& table, std::span<const std::string> methods, Sweep& sweep,
                 SweepProblems& problems) {
  SolverReader(sweep, problems).read(table, methods);
}

}  // namespace manyfold
