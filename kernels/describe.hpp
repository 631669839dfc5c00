#pragma once
// What the run-time side asks of a model: its description, and initial values that depend on parameters.
#include <manyfold/description.hpp>

#include "projection.hpp"

namespace manyfold {

/// Initial values of `Equations` for the parameters given: from `initial(p, y)`, or the constants of the variables.
template <Model Equations>
void model_initial_values(const double* parameters, double* initial) {
  using S = System<Equations>;
  double p[S::constants_size] = {};
  for (int i = 0; i < S::parameters; ++i) p[i] = parameters[i];
  S::derive(p);
  double y[S::n];
  int i = 0;
  for (const Variable& variable : Equations::variables) {
    for (int k = 0; k < variable.count; ++k) y[i++] = variable.initial;
  }
  if constexpr (model_check::HasInitial<Equations>) Equations::initial(p, y);
  for (i = 0; i < S::n; ++i) initial[i] = y[i];
}

/// Names, units and defaults of a model, for the run-time side.
template <Model Equations>
void describe_model(ModelDescription& description) {
  description = ModelDescription{};
  description.name = Equations::name;
  if constexpr (requires { Equations::description; }) description.description = Equations::description;
  if constexpr (requires { Equations::time_unit; }) description.time_unit = Equations::time_unit;
  description.t_begin = Equations::t_span[0];
  description.t_end = Equations::t_span[1];
  for (const Variable& variable : Equations::variables) {
    for (int k = 1; k <= variable.count; ++k) {
      const std::string number = variable.count > 1 ? std::to_string(k) : std::string();
      description.variables.push_back(
          {variable.name + number, variable.unit, variable.description, variable.initial, variable.algebraic});
    }
  }
  if constexpr (model_check::HasParameters<Equations>) {
    for (const Parameter& parameter : Equations::parameters) {
      description.parameters.push_back({parameter.name, parameter.unit, parameter.description, parameter.value});
    }
  }
  if constexpr (model_check::HasEvents<Equations>) {
    for (const Event& event : Equations::events) {
      description.events.push_back({event.name, event.description, event.direction,
                                    event.terminal || event.stop_after > 0, event.scheduled > 0});
    }
  }
  if constexpr (model_check::HasDiscrete<Equations>) {
    for (const Discrete& number : Equations::discrete) {
      description.discrete.push_back({number.name, number.unit, number.description, number.initial, false});
    }
  }
  description.constraints = Manifold<System<Equations>>::count;
  if constexpr (requires { Equations::structural.name; }) {
    const Structural structural = Equations::structural;
    description.structural = {structural.name, structural.value, structural.minimum, structural.maximum};
  }
  std::vector<double> values;
  for (const ParameterDescription& parameter : description.parameters) values.push_back(parameter.value);
  std::vector<double> initial(description.variables.size());
  model_initial_values<Equations>(values.data(), initial.data());
  for (std::size_t i = 0; i < initial.size(); ++i) description.variables[i].initial = initial[i];
}

}  // namespace manyfold
