#pragma once
// Numbers and names on the command line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <manyfold/description.hpp>
#include <manyfold/error.hpp>
#include <manyfold/tolerances.hpp>

#include "host/text/nearest_name.hpp"
#include "host/text/number.hpp"

namespace manyfold::cli {

inline double number(const std::string& text, const std::string& what) {
  double value = 0.0;
  const std::string need = read_number(text, value);
  if (need.empty()) return value;
  throw UsageError(fmt::format("{} is '{}', but must be {}", what, text, need));
}

inline std::int64_t integer(const std::string& text, const std::string& what, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const std::string need = read_integer(text, least, most, value);
  if (need.empty()) return value;
  throw UsageError(fmt::format("{} is '{}', but must be {}", what, text, need));
}

/// NAME=VALUE of option `option`.
inline std::pair<std::string, double> assignment(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format("{} '{}': needs NAME=VALUE", option, text));
  }
  return {text.substr(0, equals), number(text.substr(equals + 1), option + " " + text.substr(0, equals))};
}

template <class Descriptions>
int index_of(const std::string& name, const Descriptions& descriptions, const std::string& kind,
             const std::string& model) {
  std::vector<std::string> names;
  for (const auto& description : descriptions) names.push_back(description.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  throw UsageError(fmt::format("model '{}' has no {} '{}'{}", model, kind, name, did_you_mean(name, names)));
}

/// What `--set` gives, by name.
using ParameterSettings = std::vector<std::pair<std::string, double>>;

/// NAME=VALUE of every `option`, each name once.
inline ParameterSettings assignments(const std::vector<std::string>& texts, const std::string& option) {
  ParameterSettings settings;
  for (const std::string& text : texts) {
    const auto setting = assignment(text, option);
    const auto same = [&](const auto& other) { return other.first == setting.first; };
    if (std::any_of(settings.begin(), settings.end(), same)) {
      throw UsageError(fmt::format("{} {}: is given twice", option, setting.first));
    }
    settings.push_back(setting);
  }
  return settings;
}

inline ParameterSettings parameter_settings(const std::vector<std::string>& texts) {
  return assignments(texts, "--set");
}

/// Absolute tolerances.
struct ToleranceSettings {
  std::optional<double> all;
  ParameterSettings by_variable;
};

/// VALUE, which may be called default=VALUE, or NAME=VALUE of every `--atol`.
inline ToleranceSettings tolerance_settings(const std::vector<std::string>& texts) {
  ToleranceSettings result;
  std::vector<std::string> named;
  for (const std::string& text : texts) {
    // As in sweep files: the other variables.
    const bool others = text.starts_with("default=");
    if (!others && text.find('=') != std::string::npos) {
      named.push_back(text);
    } else if (result.all) {
      throw UsageError(fmt::format("--atol {}: is given twice for all variables", text));
    } else {
      result.all = others ? assignment(text, "--atol").second : number(text, "--atol");
    }
  }
  result.by_variable = assignments(named, "--atol");
  const auto check = [](double atol) {
    if (const std::string problem = atol_problem(atol); !problem.empty()) throw UsageError("--atol " + problem);
  };
  if (result.all) check(*result.all);
  for (const auto& [name, value] : result.by_variable) check(value);
  return result;
}

/// The value of the structural parameter `name` among them.
inline std::optional<long> structural_setting(const ParameterSettings& settings, const std::string& name) {
  for (const auto& [key, value] : settings) {
    if (key != name) continue;
    if (value != std::floor(value) || std::abs(value) > 1e9)
      throw UsageError(fmt::format("--set {}={}: needs a whole number", key, value));
    return static_cast<long>(value);
  }
  return std::nullopt;
}

/// The parameters of the model [parameters of the model], as they are set.
inline std::vector<double> parameters_as_set(const ModelDescription& model, const ParameterSettings& settings) {
  std::vector<double> parameters;
  for (const ParameterDescription& parameter : model.parameters) parameters.push_back(parameter.value);
  for (const auto& [name, value] : settings) {
    if (name == model.structural.name) continue;
    if (const std::string fixed = model.problem_of_parameter(name); !fixed.empty()) throw UsageError(fixed);
    parameters[static_cast<std::size_t>(index_of(name, model.parameters, "parameter", model.name))] = value;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterDescription& parameter = model.parameters[i];
    if (parameter.bounds.contain(parameters[i])) continue;
    const bool own =
        std::none_of(settings.begin(), settings.end(), [&](const auto& one) { return one.first == parameter.name; });
    throw UsageError(fmt::format("{} {}: is {}", own ? "model '" + model.name + "', parameter" : "--set",
                                 parameter.name, out_of_bounds(parameters[i], parameter.bounds)));
  }
  return parameters;
}

}  // namespace manyfold::cli
