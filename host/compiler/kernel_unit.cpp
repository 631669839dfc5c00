#include "host/compiler/kernel_unit.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>

#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

/// What inlined stages need.
void check_inlining(const SolverOptions& options, const std::string& method, const std::string& family,
                    const ModelDescription& model) {
  if (family != "ESDIRK" && family != "SDIRK") {
    throw UsageError(
        fmt::format("inline = true needs a diagonally implicit method such as 'esdirk54', whose stages can be inlined, "
                    "but the method is '{}'",
                    method));
  }
  if (model.stage_unknowns < 0) {
    throw UsageError(
        fmt::format("inline = true needs a .mo model whose equations leave a stage fewer unknowns than it has "
                    "variables: model '{}' is none",
                    model.name));
  }
  if (options.jacobian == "finite_differences") {
    throw UsageError("inline = true needs exact Jacobians, but jacobian is 'finite_differences'");
  }
  if (options.jacobian_reuse != "automatic" && options.jacobian_reuse != "every_step") {
    throw UsageError(fmt::format("inline = true has new matrices in every step, but jacobian_reuse is '{}'",
                                 options.jacobian_reuse));
  }
}

/// Rosenbrock methods rest on matrices that are exact and new; the multistep method and Cameron's have rules of their
/// own.
void check_choices(const SolverOptions& options, const std::string& method, const std::string& family,
                   const ModelDescription& model) {
  for (const ChoiceSetting& choice : choice_settings) {
    const std::string& name = options.*choice.field;
    if (choice.type.empty() || std::find(choice.names.begin(), choice.names.end(), name) != choice.names.end())
      continue;
    throw UsageError(fmt::format("unknown {} '{}'{}", choice.name, name, did_you_mean(name, choice.names)));
  }
  if (options.jacobian == "finite_differences" && (family == "Rosenbrock" || family.empty())) {
    throw UsageError(
        fmt::format("method '{}' needs exact Jacobians: finite differences are for Newton's method, as in "
                    "'radau5' or 'bdf'",
                    method));
  }
  if (options.inline_integration == "always") check_inlining(options, method, family, model);
  if (options.jacobian_reuse != "automatic" && family != "Radau IIA" && family != "Lobatto IIIC" &&
      family != "ESDIRK" && family != "SDIRK") {
    throw UsageError(
        fmt::format("method '{}' has no choice of jacobian_reuse: take 'automatic', or a Radau, Lobatto or "
                    "diagonally implicit method",
                    method));
  }
}

/// The constant `kernel_spec`.
std::string spec_text(const KernelRequest& request) {
  std::string fields;
  for (const ChoiceSetting& choice : choice_settings) {
    if (choice.type.empty()) continue;
    fields += fmt::format("    .{} = {}::{},\n", choice.name, choice.type, request.options.*choice.field);
  }
  fields += fmt::format("    .projection = {},\n", request.options.projection);
  if (!request.given.empty()) {
    fields += fmt::format("    .given = {{Given({})}},\n", fmt::join(request.given, "), Given("));
  }
  return fmt::format("namespace manyfold {{\ninline constexpr KernelSpec<{}> kernel_spec = {{\n{}}};\n}}",
                     request.given.size(), fields);
}

}  // namespace

KernelUnit kernel_unit(const KernelRequest& request, const ModelSource& source, const std::string& header,
                       const std::string& entry_point) {
  if (read_file(source.file).find("MANYFOLD_MODEL") == std::string::npos) {
    throw UsageError(fmt::format(
        "{}: error: the file does not say which struct is the model: end it with MANYFOLD_MODEL(YourStruct);",
        source.file.string()));
  }
  std::string choices;
  if (request.structural_value)
    choices += fmt::format("#define MANYFOLD_STRUCTURAL_VALUE {}\n", *request.structural_value);
  const std::string spec = spec_text(request);
  const auto unit = [&](const std::string& model) {
    return fmt::format("{}#define MANYFOLD_KERNEL_UNIT\n#include \"{}\"\n#include \"{}\"\n{}\n{}\n", choices, model,
                       header, spec, entry_point);
  };
  return {unit(source.file.string()), unit("")};
}

const MethodDescription& method_of(const KernelRequest& request, const ModelDescription& model) {
  const SolverOptions& options = request.options;
  const std::string name = options.method.empty() ? "radau5" : options.method;
  const bool automatic = name == "auto";
  const AutomaticMethods& choice = options.precision == "mixed" ? model.automatic_mixed : model.automatic;
  const MethodDescription* method = described_method(automatic ? choice.at(options.rtol) : name);
  if (method == nullptr) {
    throw UsageError(fmt::format("unknown method '{}'{}", name, did_you_mean(name, method_names())));
  }
  if (automatic && carries_rounding_errors(model, *method, options.atol)) method = described_method("radau5");
  check_choices(options, name, automatic ? "" : method->family, model);
  return *method;
}

}  // namespace manyfold
