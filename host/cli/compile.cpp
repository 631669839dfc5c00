// `compile`: what becomes of a Modelica file.
#include "host/modelica/compile.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/compiler/model_source.hpp"
#include "host/io/text_file.hpp"
#include "host/text/printable.hpp"

namespace manyfold::cli {
namespace {

nlohmann::ordered_json summary(const modelica::CompiledModel& model) {
  return {{"model", model.name},
          {"variables", model.variables},
          {"equations", model.equations},
          {"aliases", model.aliases},
          {"structural_index", model.structural_index},
          {"degrees_of_freedom", model.freedoms},
          {"states", model.states},
          {"dummy_derivatives", model.dummy_derivatives},
          {"blocks", model.blocks},
          {"largest_block", model.largest_block},
          {"tearing_variables", model.tearing_variables},
          {"stage_tearing_variables", model.stage_tearing_variables},
          {"newton_dimension_inlined", model.stage_dimension},
          {"newton_dimension_reduced", model.newton_dimension},
          {"newton_dimension_plain", model.variables},
          {"notes", model.notes}};
}

}  // namespace

int compile(const CompileArguments& arguments) {
  if (!is_modelica(arguments.model)) {
    throw UsageError(fmt::format("'{}' is no Modelica file: compile takes a .mo file", arguments.model));
  }
  for (const auto& file : {arguments.emit, arguments.picture}) {
    if (file) check_text_target(*file, {arguments.model});
  }
  if (arguments.emit && arguments.emit == arguments.picture) {
    throw UsageError(fmt::format("--emit and --picture both name {}", printable(*arguments.emit)));
  }
  const modelica::CompiledModel model = modelica::compile_model(read_file(arguments.model), arguments.model);
  for (const std::string& warning : model.warnings) std::cerr << warning << '\n';
  if (arguments.emit) write_text(*arguments.emit, model.header);
  if (arguments.picture) write_text(*arguments.picture, model.picture);
  if (arguments.json) {
    nlohmann::ordered_json json = summary(model);
    if (arguments.explain) json["explanation"] = model.explanation;
    print(json);
  } else if (arguments.explain) {
    std::cout << model.explanation;
  } else {
    const auto count = [](std::size_t number, const std::string& noun) {
      return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
    };
    std::cout << fmt::format("{}: {}, structural index {}, {}, {}\n", model.name,
                             count(static_cast<std::size_t>(model.equations), "equation"), model.structural_index,
                             count(model.states.size(), "state"),
                             count(model.tearing_variables.size(), "tearing variable"));
  }
  return all_succeeded;
}

}  // namespace manyfold::cli
