// `list`, `describe`, `info`: what there is.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include <fmt/ranges.h>

#include "build_config.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/engine/processors.hpp"

namespace manyfold::cli {
namespace {

using Json = nlohmann::ordered_json;

/// In the order of `Form`.
constexpr const char* form_names[] = {"residual", "linear_residual", "mass_matrix", "semi_explicit"};

std::string highest_index_for(const MethodLimits& limits) {
  if (!limits.algebraic) return "no algebraic variables";
  int highest = 1;
  while (highest < most_index && suitability(limits, highest + 1) != Suitability::refused) ++highest;
  return fmt::format("up to index {}", highest);
}

/// The methods that are refused for the model, or warned of.
struct Unsuited {
  std::vector<std::string> refused;
  std::vector<std::string> reduced;
};

Unsuited unsuited_methods(const ModelDescription& model) {
  Unsuited result;
  for (const MethodDescription& method : methods()) {
    try {
      if (!check_method(model, method.name).empty()) result.reduced.push_back(method.name);
    } catch (const UsageError&) {
      result.refused.push_back(method.name);
    }
  }
  return result;
}

/// Null where there is none.
Json bound(double value) {
  return std::abs(value) < std::numeric_limits<double>::max() ? Json(value) : Json(nullptr);
}

/// " (0 to 1)", or nothing.
std::string range_text(const Bounds& bounds) {
  const bool below = bound(bounds.min).is_number();
  const bool above = bound(bounds.max).is_number();
  if (below && above) return fmt::format(" ({} to {})", bounds.min, bounds.max);
  return below ? fmt::format(" (at least {})", bounds.min) : above ? fmt::format(" (at most {})", bounds.max) : "";
}

Json model_json(const ModelDescription& model) {
  Json result = {{"name", model.name},
                 {"description", model.description},
                 {"time_unit", model.time_unit},
                 {"t_span", {model.t_begin, model.t_end}},
                 {"variables", Json::array()},
                 {"observables", Json::array()},
                 {"parameters", Json::array()},
                 {"fixed_parameters", Json::array()},
                 {"events", Json::array()},
                 {"discrete", Json::array()},
                 {"constraints", model.constraints},
                 {"form", form_names[static_cast<std::size_t>(model.form)]},
                 {"index", model.highest_index()}};
  const Unsuited unsuited = unsuited_methods(model);
  result["methods"] = {{"auto", {model.automatic.loose, model.automatic.medium, model.automatic.tight}},
                       {"refused", unsuited.refused},
                       {"reduced", unsuited.reduced}};
  for (const VariableDescription& variable : model.variables) {
    result["variables"].push_back({{"name", variable.name},
                                   {"unit", variable.unit},
                                   {"description", variable.description},
                                   {"initial", variable.initial},
                                   {"algebraic", variable.algebraic},
                                   {"index", variable.index},
                                   {"min", bound(variable.bounds.min)},
                                   {"max", bound(variable.bounds.max)}});
  }
  for (const VariableDescription& observable : model.observables) {
    result["observables"].push_back({{"name", observable.name},
                                     {"unit", observable.unit},
                                     {"description", observable.description},
                                     {"min", bound(observable.bounds.min)},
                                     {"max", bound(observable.bounds.max)}});
  }
  for (const FixedParameterDescription& parameter : model.fixed_parameters) {
    result["fixed_parameters"].push_back({{"name", parameter.name}, {"reason", parameter.reason}});
  }
  for (const EventDescription& event : model.events) {
    result["events"].push_back({{"name", event.name},
                                {"description", event.description},
                                {"direction", event.direction},
                                {"terminal", event.terminal},
                                {"scheduled", event.scheduled}});
  }
  for (const VariableDescription& number : model.discrete) {
    if (number.internal) continue;
    result["discrete"].push_back({{"name", number.name},
                                  {"unit", number.unit},
                                  {"description", number.description},
                                  {"initial", number.initial}});
  }
  for (const ParameterDescription& parameter : model.parameters) {
    result["parameters"].push_back({{"name", parameter.name},
                                    {"unit", parameter.unit},
                                    {"description", parameter.description},
                                    {"value", parameter.value},
                                    {"min", bound(parameter.bounds.min)},
                                    {"max", bound(parameter.bounds.max)}});
  }
  if (!model.structural.name.empty()) {
    result["structural_parameter"] = {{"name", model.structural.name},
                                      {"value", model.structural.value},
                                      {"minimum", model.structural.minimum},
                                      {"maximum", model.structural.maximum}};
  }
  return result;
}

/// The libraries for the full matrices of devices that are there, and why others are not.
std::string libraries_of(const DeviceBackend& devices) {
  std::vector<std::string> found;
  std::vector<std::string> missing;
  for (const auto& [solver, name] :
       {std::pair(LinearSolver::cublas, "cuBLAS"), std::pair(LinearSolver::cusolver, "cuSOLVER")}) {
    const std::string& reason = devices.unavailable(solver);
    (reason.empty() ? found : missing).push_back(reason.empty() ? name : reason);
  }
  if (found.empty()) missing.emplace_back("the phased tier has sparse matrices only");
  found.insert(found.end(), missing.begin(), missing.end());
  return fmt::format("{}", fmt::join(found, "; "));
}

/// This machine, and what there is on it.
struct Machine {
  std::string instruction_set = default_instruction_set();
  int threads = available_processors();
  std::string compiler = kernel_compiler().string();
  std::string no_devices;  ///< why there are none; empty if there are
  const DeviceBackend* backend = device_backend(no_devices);

  Machine() {
    if (backend != nullptr) no_devices = backend->unavailable();
  }
  int lanes() const {
    return instruction_set == "avx512" ? 8 : instruction_set == "avx2" ? 4 : instruction_set == "baseline" ? 2 : 1;
  }
  std::vector<DeviceDescription> devices() const {
    return backend != nullptr ? backend->devices() : std::vector<DeviceDescription>{};
  }
  std::string device_compiler() const { return backend != nullptr ? backend->compiler() : no_devices; }
  std::string missing(LinearSolver solver) const {
    return backend != nullptr ? backend->unavailable(solver) : no_devices;
  }
};

/// The names that `backend` may have here.
Json backends() {
  Json found = Json::array({"cpu"});
  for (const std::string& name : choice_setting("backend").names) {
    std::string reason;
    if (name != "auto" && name != "cpu" && device_backend(reason, name) != nullptr) found.push_back(name);
  }
  return found;
}

Json as_json(const Machine& machine) {
  Json found = {{"version", build::version},
                {"instruction_set", machine.instruction_set},
                {"lanes", machine.lanes()},
                {"threads", machine.threads},
                {"backends", backends()},
                {"devices", Json::array()},
                {"devices_missing", machine.no_devices},
                {"device_compiler", machine.device_compiler()},
                {"cublas_missing", machine.missing(LinearSolver::cublas)},
                {"cusolver_missing", machine.missing(LinearSolver::cusolver)},
                {"precisions", {"float64", "float32", "mixed"}},
                {"compiler", machine.compiler},
                {"kernel_cache", kernel_cache().string()},
                {"headers", header_root().string()},
                {"methods", Json::array()}};
  for (const DeviceDescription& device : machine.devices()) {
    found["devices"].push_back({{"name", device.name},
                                {"architecture", device.architecture},
                                {"memory_gib", device.memory_gib},
                                {"multiprocessors", device.multiprocessors}});
  }
  for (const MethodDescription& method : methods()) {
    const MethodLimits& limits = method.limits;
    found["methods"].push_back({{"name", method.name},
                                {"order", method.order},
                                {"family", method.family},
                                {"form", form_names[static_cast<std::size_t>(limits.form)]},
                                {"algebraic_variables", limits.algebraic},
                                {"order_of_index_2", limits.order_of_index2},
                                {"order_of_index_3", limits.order_of_index3}});
  }
  return found;
}

void print_in_words(const Machine& machine) {
  std::string devices = machine.no_devices.empty() ? "" : "none: " + machine.no_devices;
  for (const DeviceDescription& device : machine.devices()) {
    devices += fmt::format("{}{} ({}, {:.0f} GiB, {} multiprocessors)", devices.empty() ? "" : ", ", device.name,
                           device.architecture, device.memory_gib, device.multiprocessors);
  }
  std::cout << fmt::format("manyfold {}\n", build::version);
  const auto line = [](const char* what, const std::string& found) {
    std::cout << fmt::format("{:<14} {}\n", what, found);
  };
  line("processor",
       fmt::format("{} lanes of double ({}), {} threads", machine.lanes(), machine.instruction_set, machine.threads));
  line("GPU devices", devices);
  line("GPU compiler", machine.device_compiler());
  line("GPU LU", machine.backend != nullptr ? libraries_of(*machine.backend) : machine.no_devices);
  line("compiler", fmt::format("{} (built with {})", machine.compiler.empty() ? "none found" : machine.compiler,
                               build::compiler_id));
  line("kernel cache", kernel_cache().string());
  line("headers", header_root().string());
  std::cout << "methods\n";
  for (const MethodDescription& method : methods()) {
    std::cout << fmt::format("  {:<14} order {:<2}  {:<36} {}\n", method.name, method.order, method.family,
                             highest_index_for(method.limits));
  }
}

}  // namespace

int list(bool json) {
  if (json) {
    Json models = Json::array();
    for (const ModelDescription& model : builtin_models()) {
      models.push_back({{"name", model.name},
                        {"description", model.description},
                        {"variables", model.variables.size()},
                        {"parameters", model.parameters.size()}});
    }
    print(models);
    return all_succeeded;
  }
  for (const ModelDescription& model : builtin_models()) {
    std::cout << fmt::format("{:<22} {:>3} variables  {}\n", model.name, model.variables.size(), model.description);
  }
  std::cout << "\n'manyfold describe MODEL' shows variables and parameters; a model file of your own (.hpp, .mo) works "
               "too.\n";
  return all_succeeded;
}

int describe(const std::string& name, bool json) {
  KernelRequest request;
  request.model = name;
  const ModelDescription model = manyfold::describe(request, announce);
  if (json) {
    print(model_json(model));
    return all_succeeded;
  }
  std::cout << fmt::format("{}{}{}\ntime from {} to {} {}\n\nvariables\n", model.name,
                           model.description.empty() ? "" : ": ", model.description, model.t_begin, model.t_end,
                           model.time_unit);
  for (const VariableDescription& variable : model.variables) {
    std::cout << fmt::format("  {:<12} {:>14} {:<8} {:<13} {}\n", variable.name, fmt::format("{:g}", variable.initial),
                             variable.unit, variable.algebraic ? "algebraic" : "differential",
                             variable.description + range_text(variable.bounds));
  }
  for (const VariableDescription& derivative : model.given_derivatives) {
    std::cout << fmt::format("  {:<12} {:>14} {:<8} {:<13} {}\n", derivative.name,
                             fmt::format("{:g}", derivative.initial), derivative.unit, "given", derivative.description);
  }
  if (!model.observables.empty()) std::cout << "\nobservables\n";
  for (const VariableDescription& observable : model.observables) {
    std::cout << fmt::format("  {:<27} {:<8} {}\n", observable.name, observable.unit,
                             observable.description + range_text(observable.bounds));
  }
  std::cout << "\nparameters\n";
  for (const ParameterDescription& parameter : model.parameters) {
    std::cout << fmt::format("  {:<12} {:>14} {:<8} {}\n", parameter.name, fmt::format("{:g}", parameter.value),
                             parameter.unit, parameter.description + range_text(parameter.bounds));
  }
  if (!model.structural.name.empty()) {
    std::cout << fmt::format("  {:<12} {:>14} {:<8} structural, from {} to {}\n", model.structural.name,
                             model.structural.value, "", model.structural.minimum, model.structural.maximum);
  }
  if (!model.fixed_parameters.empty()) std::cout << "\nparameters that cannot be set\n";
  for (const FixedParameterDescription& parameter : model.fixed_parameters) {
    std::cout << fmt::format("  {:<27} {}\n", parameter.name, parameter.reason);
  }
  if (!model.events.empty()) std::cout << "\nevents\n";
  for (const EventDescription& event : model.events) {
    const char* kind = event.scheduled       ? "scheduled"
                       : event.direction > 0 ? "upwards"
                       : event.direction < 0 ? "downwards"
                                             : "both ways";
    std::cout << fmt::format("  {:<22} {}{} {}\n", event.name, kind, event.terminal ? ", terminal" : "",
                             event.description);
  }
  const auto shown = [](const VariableDescription& number) { return !number.internal; };
  if (std::ranges::any_of(model.discrete, shown)) std::cout << "\ndiscrete state\n";
  for (const VariableDescription& number : model.discrete | std::views::filter(shown)) {
    std::cout << fmt::format("  {:<22} {:>12.6g} {} {}\n", number.name, number.initial, number.unit,
                             number.description);
  }
  if (model.constraints > 0) {
    std::cout << fmt::format("\n{} constraints and invariants that {} keeps\n", model.constraints,
                             model.always_projected ? "every step" : "projection");
  }
  const Unsuited unsuited = unsuited_methods(model);
  std::cout << fmt::format("\nmethods\n  auto takes {} (rtol >= 1e-3), {} (>= 1e-6), {}\n", model.automatic.loose,
                           model.automatic.medium, model.automatic.tight);
  if (!unsuited.reduced.empty()) {
    std::cout << fmt::format("  of reduced order: {}\n", fmt::join(unsuited.reduced, ", "));
  }
  if (!unsuited.refused.empty()) std::cout << fmt::format("  refused: {}\n", fmt::join(unsuited.refused, ", "));
  return all_succeeded;
}

int info(bool json) {
  const Machine machine;
  if (json) {
    print(as_json(machine));
  } else {
    print_in_words(machine);
  }
  return all_succeeded;
}

}  // namespace manyfold::cli
