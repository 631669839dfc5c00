// [solver] of a sweep file.
#include <optional>

#include <fmt/format.h>

#include <manyfold/tolerances.hpp>

#include "host/io/sweep_values.hpp"

namespace manyfold {
namespace {

class SolverReader : SweepValues {
 public:
  SolverReader(Sweep& sweep, SweepProblems& problems) : SweepValues(problems), sweep_(sweep) {}

  void read(const toml::table& table, std::span<const std::string> methods) {
    Names keys = {"method", "rtol", "atol", "initial_conditions", "projection", "inline", "verify"};
    for (const ChoiceSetting& choice : choice_settings) {
      if (!is_inline(choice)) keys.emplace_back(choice.name);
    }
    for (const NumberSetting& setting : number_settings) keys.emplace_back(setting.name);
    check_keys(table, "[solver]", keys);
    for (const auto& [key, node] : table) sweep_.solver_positions[std::string(key.str())] = position_of(node);
    read_choices(table, methods);
    read_accuracy(table);
    read_numbers(table);
  }

 private:
  /// Sweep files have true and false for two of its names.
  static bool is_inline(const ChoiceSetting& choice) { return choice.field == &SolverOptions::inline_integration; }

  void read_choices(const toml::table& table, std::span<const std::string> methods) {
    SolverOptions& options = sweep_.options;
    read_name(table, "method", "method", {methods.begin(), methods.end()}, options.method);
    for (const ChoiceSetting& choice : choice_settings) {
      if (!is_inline(choice)) read_choice(table, choice);
    }
    if (const toml::node* node = table.get("inline")) read_inline(*node);
    if (const toml::node* node = table.get("projection")) {
      options.projection = boolean(*node, "projection").value_or(false);
    }
    if (const toml::node* node = table.get("initial_conditions")) read_initial_conditions(*node);
  }

  void read_choice(const toml::table& table, const ChoiceSetting& choice) {
    // The first name of the phased tier is understood.
    if (choice.field == &SolverOptions::tier && table["tier"].value_exact<std::string>() == "lockstep") {
      sweep_.options.tier = "phased";
    } else {
      read_name(table, choice.name, choice.name, choice.names, sweep_.options.*choice.field);
    }
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

  void read_numbers(const toml::table& table) {
    for (const NumberSetting& setting : number_settings) {
      const toml::node* node = table.get(setting.name);
      if (node == nullptr) continue;
      std::optional<double> value;
      if (setting.is_integer()) {
        const auto whole = integer(*node, setting.name, static_cast<std::int64_t>(setting.least),
                                   static_cast<std::int64_t>(setting.most));
        if (whole) value = static_cast<double>(*whole);
      } else {
        value = number(*node, setting.name);
      }
      if (!value) continue;
      if (setting.allows(*value)) {
        setting.set(sweep_.options, *value);
      } else {
        wrong(*node, setting.name, setting.need);
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
