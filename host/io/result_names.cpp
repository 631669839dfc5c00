#include "host/io/result_names.hpp"

#include <netcdf.h>

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/text/printable.hpp"

namespace manyfold {
namespace {

/// Of the variables and dimensions that a result file has whatever the model; families of names begin alike.
const std::set<std::string> own_names = {"time",          "instance",        "quantile",      "t_begin",
                                         "t_end",         "status",          "t_reached",     "residual_norm",
                                         "event",         "event_kind",      "event_bin",     "event_bin_edge",
                                         "verify_sample", "verify_variable", "worst_equation"};
const std::vector<std::string> own_prefixes = {"stat_", "event_", "events_", "verify_"};

std::string taken_name(const std::string& name) {
  return fmt::format("variable '{}' has a name that result files use for something else: needs another",
                     printable(name));
}

}  // namespace

std::string unfit_for_netcdf(const std::string& name) {
  const auto byte = [](char letter) { return static_cast<unsigned char>(letter); };
  if (name.empty()) return "is empty";
  if (std::any_of(name.begin(), name.end(), [&](char c) { return byte(c) < 0x20 || byte(c) == 0x7f; })) {
    return "has a control character";
  }
  if (name.front() == ' ' || name.back() == ' ') return "begins or ends with a blank";
  if (name.find('/') != std::string::npos) return "has a '/'";
  if (byte(name.front()) < 0x80 && !std::isalnum(byte(name.front())) && name.front() != '_') {
    return fmt::format("begins with '{}'", name.front());
  }
  if (name.size() > NC_MAX_NAME - 32) return fmt::format("has more than {} letters", NC_MAX_NAME - 32);
  return "";
}

std::string statistic_name(const ModelDescription& model, const std::string& variable, std::string_view what) {
  const std::string name = fmt::format("{}_{}", variable, what);
  const std::vector<VariableDescription> all = model.output_quantities();
  const bool is_variable = std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  return is_variable ? "stat_" + name : name;
}

void check_result_path(const std::filesystem::path& path) {
  if (std::filesystem::absolute(path).native().find('\\') == std::string::npos) return;
  throw UsageError(fmt::format("output file {}: netCDF takes no '\\' in the name of a file or its folders",
                               printable(std::filesystem::absolute(path).string())));
}

void check_saved_names(const ModelDescription& model, const std::vector<int>& saved) {
  for (const int index : saved) {
    const std::string& name = model.output_quantity(index).name;
    if (own_names.count(name) != 0) throw UsageError(taken_name(name));
  }
}

std::vector<std::string> unfit_names(const ModelDescription& model) {
  std::vector<std::string> problems;
  const auto check = [&](const std::string& kind, const auto& descriptions) {
    for (const auto& description : descriptions) {
      if (description.name.empty()) continue;  // said elsewhere
      const std::string reason = unfit_for_netcdf(description.name);
      if (reason.empty()) continue;
      problems.push_back(
          fmt::format("{} '{}' {}: result files need a name that begins with a letter, a digit or _, and "
                      "has no '/' or control characters",
                      kind, printable(description.name), reason));
    }
  };
  check("variable", model.variables);
  check("observable", model.observables);
  check("parameter", model.parameters);
  check("discrete number", model.discrete);

  std::set<std::string> taken = own_names;
  for (const ParameterDescription& parameter : model.parameters) taken.insert("param_" + parameter.name);
  for (const VariableDescription& quantity : model.initial_quantities()) taken.insert("initial_" + quantity.name);
  for (const VariableDescription& variable : model.output_quantities()) {
    const bool family = std::any_of(own_prefixes.begin(), own_prefixes.end(),
                                    [&](const std::string& prefix) { return variable.name.starts_with(prefix); });
    if (!family && taken.count(variable.name) == 0) continue;
    problems.push_back(taken_name(variable.name));
  }
  return problems;
}

}  // namespace manyfold
