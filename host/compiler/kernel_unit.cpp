#include "host/compiler/kernel_unit.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>

#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

/// Rosenbrock methods rest on matrices that are exact and new; the multistep method and Cameron's have rules of their
/// own.
void check_choices(const KernelRequest& request, const std::string& family) {
  const auto check = [](const char* what, const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw UsageError(fmt::format("unknown {} '{}'{}", what, name, did_you_mean(name, known)));
  };
  check("precision", request.precision, precisions);
  check("error_test", request.error_test, error_tests);
  check("inline", request.inline_integration, inline_integrations);
  check("jacobian", request.jacobian, jacobian_sources);
  check("jacobian_reuse", request.jacobian_reuse, jacobian_reuses);
  if (request.jacobian == "finite_differences" && (family == "Rosenbrock" || family.empty())) {
    throw UsageError(
        fmt::format("method '{}' needs exact Jacobians: finite differences are for Newton's method, as in "
                    "'radau5' or 'bdf'",
                    request.method));
  }
  if (request.inline_integration == "always" && family != "ESDIRK" && family != "SDIRK") {
    throw UsageError(
        fmt::format("method '{}' has no stages to inline: inline = true needs a diagonally implicit method such as "
                    "'esdirk54'",
                    request.method));
  }
  if (request.jacobian_reuse != "automatic" && family != "Radau IIA" && family != "Lobatto IIIC" &&
      family != "ESDIRK" && family != "SDIRK") {
    throw UsageError(
        fmt::format("method '{}' has no choice of jacobian_reuse: take 'automatic', or a Radau, Lobatto or "
                    "diagonally implicit method",
                    request.method));
  }
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
  const std::string spec = fmt::format(
      "namespace manyfold {{\ninline constexpr KernelSpec<{}> kernel_spec = {{\n    .precision = Precision::{},\n    "
      ".projection = {},\n    .jacobian = JacobianSource::{},\n    .jacobian_reuse = JacobianReuse::{},\n    "
      ".error_test = ErrorTest::{},\n    .inline_integration = InlineIntegration::{}{}}};\n}}",
      request.given.size(), request.precision, request.projection, request.jacobian, request.jacobian_reuse,
      request.error_test, request.inline_integration,
      request.given.empty() ? "" : fmt::format(",\n    .given = {{Given({})}}", fmt::join(request.given, "), Given(")));
  const auto unit = [&](const std::string& model) {
    return fmt::format("{}#define MANYFOLD_KERNEL_UNIT\n#include \"{}\"\n#include \"{}\"\n{}\n{}\n", choices, model,
                       header, spec, entry_point);
  };
  return {unit(source.file.string()), unit("")};
}

const MethodDescription& method_of(const KernelRequest& request, const ModelDescription& model) {
  const bool automatic = request.method == "auto";
  const AutomaticMethods& choice = request.precision == "mixed" ? model.automatic_mixed : model.automatic;
  const MethodDescription* method = described_method(automatic ? choice.at(request.rtol) : request.method);
  if (method == nullptr) {
    throw UsageError(
        fmt::format("unknown method '{}'{}", request.method, did_you_mean(request.method, method_names())));
  }
  check_choices(request, automatic ? "" : method->family);
  return *method;
}

}  // namespace manyfold
