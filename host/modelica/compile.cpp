#include "host/modelica/compile.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/modelica/explanation.hpp"
#include "host/modelica/flattener.hpp"
#include "host/modelica/model_code.hpp"
#include "host/modelica/parser.hpp"
#include "host/modelica/reducer.hpp"
#include "host/modelica/units.hpp"

namespace manyfold::modelica {

namespace {

struct Attempt {
  std::unique_ptr<Diagnostics> diagnostics;
  ReducedModel model;  ///< complete if nothing is wrong
};

/// `zeros`: parameters whose value 0 is a constant of the model.
Attempt attempt(const Class& syntax, const std::string& text, const std::string& file, bool silent_kinks,
                const std::set<std::string>& zeros) {
  Attempt result{std::make_unique<Diagnostics>(file, text), {}};
  Diagnostics& diagnostics = *result.diagnostics;
  FlatModel flat = Flattener(text, diagnostics, silent_kinks).flatten(syntax);
  if (diagnostics.failed()) return result;
  check_units(flat, diagnostics);
  for (FlatVariable& one : flat.variables) {
    if (!zeros.contains(one.name)) continue;
    one.evaluated = true;
    diagnostics.warn(one.place, fmt::format("the parameter '{}' is 0, and an equation would be divided by it: it is a "
                                            "constant of the model",
                                            one.name));
  }
  result.model = Reducer(std::move(flat), diagnostics).reduce();
  return result;
}

/// What would divide by parameters that are zero gets the structure that it has without them.
Attempt reduced_model(const Class& syntax, const std::string& text, const std::string& file, bool silent_kinks) {
  std::set<std::string> zeros;
  for (;;) {
    Attempt result = attempt(syntax, text, file, silent_kinks, zeros);
    const std::size_t known = zeros.size();
    zeros.insert(result.model.zero_divisors.begin(), result.model.zero_divisors.end());
    if (zeros.size() == known || result.diagnostics->failed()) return result;
  }
}

}  // namespace

CompiledModel compile_model(const std::string& text, const std::string& file) {
  Diagnostics of_syntax(file, text);
  const auto syntax = parse(text, of_syntax);
  if (of_syntax.failed()) throw UsageError(of_syntax.errors());
  Attempt found = reduced_model(*syntax, text, file, false);
  if (found.model.loops_are_switched) {
    Attempt smooth = reduced_model(*syntax, text, file, true);
    if (!smooth.diagnostics->failed()) found = std::move(smooth);
  }
  const Diagnostics* const diagnostics = found.diagnostics.get();
  ReducedModel& reduced = found.model;
  const auto expect_none = [&] {
    if (diagnostics->failed()) throw UsageError(diagnostics->errors());
  };
  expect_none();
  CompiledModel result;
  try {
    result.header = ModelCode(reduced, std::filesystem::path(file).filename().string()).text();
  } catch (const UnknownQuantity& unknown) {
    const std::string name = name_of_quantity(reduced.flat, unknown.node);
    const int index = reduced.flat.graph[unknown.node].index;
    const FlatVariable& variable = reduced.flat.variables[static_cast<std::size_t>(index)];
    found.diagnostics->error(
        variable.place,
        variable.is_parameter()
            ? fmt::format("'{}' follows from what is discrete at the start, and is needed for that", name)
            : fmt::format(
                  "{0} is needed at an event or for the start of a discrete variable, and no equation of the model "
                  "has it: add a variable with the equation w = {0}",
                  name));
  }
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
