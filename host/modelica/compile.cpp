#include "host/modelica/compile.hpp"

#include <algorithm>
#include <filesystem>

#include <manyfold/error.hpp>

#include "host/modelica/explanation.hpp"
#include "host/modelica/flattener.hpp"
#include "host/modelica/model_code.hpp"
#include "host/modelica/parser.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

namespace {

/// With the errors in `diagnostics`.
ReducedModel reduced_model(const Class& syntax, const std::string& text, bool silent_kinks, Diagnostics& diagnostics) {
  FlatModel flat = Flattener(text, diagnostics, silent_kinks).flatten(syntax);
  if (diagnostics.failed()) return {};
  return Reducer(std::move(flat), diagnostics).reduce();
}

}  // namespace

CompiledModel compile_model(const std::string& text, const std::string& file) {
  Diagnostics of_syntax(file, text);
  const auto syntax = parse(text, of_syntax);
  if (of_syntax.failed()) throw UsageError(of_syntax.errors());
  auto diagnostics = std::make_unique<Diagnostics>(file, text);
  ReducedModel reduced = reduced_model(*syntax, text, false, *diagnostics);
  if (reduced.loops_are_switched) {
    auto again = std::make_unique<Diagnostics>(file, text);
    ReducedModel smooth = reduced_model(*syntax, text, true, *again);
    if (!again->failed()) {
      diagnostics = std::move(again);
      reduced = std::move(smooth);
    }
  }
  const auto expect_none = [&] {
    if (diagnostics->failed()) throw UsageError(diagnostics->errors());
  };
  expect_none();
  CompiledModel result;
  result.header = ModelCode(reduced, std::filesystem::path(file).filename().string()).text();
  expect_none();
  result.name = reduced.flat.name;
  result.warnings = diagnostics->warnings();
  result.notes = reduced.notes;
  result.variables = reduced.original_variables;
  result.equations = reduced.original_equations;
  result.aliases = reduced.aliases;
  result.structural_index = reduced.structural_index;
  result.freedoms = reduced.freedoms;
  for (const Node state : reduced.states) result.states.push_back(name_of_quantity(reduced.flat, state));
  for (const Node torn : reduced.torn) result.tearing_variables.push_back(name_of_quantity(reduced.flat, torn));
  result.dummy_derivatives = reduced.dummies;
  result.blocks = static_cast<int>(reduced.blocks.size());
  for (const Block& block : reduced.blocks) {
    result.largest_block = std::max(result.largest_block, static_cast<int>(block.equations.size()));
  }
  result.newton_dimension = static_cast<int>(result.states.size() + result.tearing_variables.size());
  result.stage_dimension = result.newton_dimension;
  if (reduced.stage.found) {
    result.stage_dimension = static_cast<int>(reduced.stage.torn.size());
    for (const Node torn : reduced.stage.torn) {
      result.stage_tearing_variables.push_back(name_of_quantity(reduced.flat, torn));
    }
  }
  result.explanation = explanation(reduced);
  result.picture = incidence_picture(reduced);
  return result;
}

}  // namespace manyfold::modelica
