#include "host/io/initial_conditions.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <manyfold/error.hpp>
#include <manyfold/model.hpp>

#include "host/text/nearest_name.hpp"

namespace manyfold {

namespace {

/// Of a model with constraints: the values that stay. The others are guesses.
std::vector<int> given_beside_constraints(const ModelDescription& model, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  std::vector<int> given;
  const Given guess = model.always_projected ? Given::projected : Given::nothing;
  for (const VariableDescription& variable : model.variables) {
    if (!variable.algebraic) known.push_back(variable.name);
    given.push_back(static_cast<int>(variable.algebraic ? Given::by_kind : guess));
  }
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (model.variables[i].name != name || model.variables[i].algebraic) continue;
      if (given[i] == static_cast<int>(Given::value)) {
        throw UsageError(fmt::format("initial_conditions: \"{}\" is named twice", name));
      }
      given[i] = static_cast<int>(Given::value);
      found = true;
    }
    if (!found) {
      throw UsageError(
          fmt::format("initial_conditions: \"{}\" is no variable whose derivative stands in the equations of model "
                      "\"{}\", which has constraints: what is given of it are values of such variables{}",
                      name, model.name, did_you_mean(name, known)));
    }
  }
  if (names.size() > static_cast<std::size_t>(model.freedoms)) {
    throw UsageError(
        fmt::format("initial_conditions names {}, but of model \"{}\" {} initial values are free: the "
                    "others follow from its constraints",
                    names.size(), model.name, model.freedoms));
  }
  return given;
}

}  // namespace

std::vector<int> given_at_start(const ModelDescription& model, const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"projected"}) {
    if (model.constraints == 0) {
      throw UsageError(
          fmt::format("initial_conditions: model \"{}\" has nothing to project on: it needs constraints of "
                      "index 2 or 3, or invariants",
                      model.name));
    }
    std::vector<int> given;
    for (const VariableDescription& variable : model.variables) {
      given.push_back(static_cast<int>(variable.algebraic ? Given::by_kind : Given::projected));
    }
    return given;
  }
  if (model.always_projected) return given_beside_constraints(model, names);
  std::vector<std::string> differential;
  std::vector<std::string> known;
  if (names.size() == 1) known = {"steady_state", "projected"};
  for (const VariableDescription& variable : model.variables) {
    if (variable.index > 1) return given_beside_constraints(model, names);
    known.push_back(variable.name);
    if (variable.algebraic) continue;
    differential.push_back(variable.name);
    known.push_back("der(" + variable.name + ")");
  }
  std::vector<std::string> wanted = names;
  if (names == std::vector<std::string>{"steady_state"}) {
    wanted.clear();
    for (const std::string& name : differential) wanted.push_back("der(" + name + ")");
  }

  std::vector<bool> value(model.variables.size(), false);
  std::vector<bool> derivative(model.variables.size(), false);
  for (const std::string& name : wanted) {
    bool found = false;
    for (std::size_t i = 0; i < model.variables.size(); ++i) {
      const bool is_value = model.variables[i].name == name;
      const bool is_derivative = !model.variables[i].algebraic && "der(" + model.variables[i].name + ")" == name;
      if (!is_value && !is_derivative) continue;
      std::vector<bool>& given = is_value ? value : derivative;
      if (given[i]) throw UsageError(fmt::format("initial_conditions: \"{}\" is named twice", name));
      given[i] = found = true;
    }
    if (!found) {
      throw UsageError(
          fmt::format("initial_conditions: \"{}\" is no variable of model \"{}\" and no derivative of one "
                      "that stands in its equations{}",
                      name, model.name, did_you_mean(name, known)));
    }
  }
  if (wanted.size() != differential.size()) {
    throw UsageError(
        fmt::format("initial_conditions names {}, but model \"{}\" needs {}: as many as it has differential variables "
                    "({})",
                    wanted.size(), model.name, differential.size(), fmt::join(differential, ", ")));
  }

  std::vector<int> given;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Given of_variable = value[i] ? (derivative[i] ? Given::value_and_derivative : Given::value)
                                       : (derivative[i] ? Given::derivative : Given::nothing);
    given.push_back(static_cast<int>(of_variable));
  }
  return given;
}

}  // namespace manyfold
