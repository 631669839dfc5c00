#pragma once
// What the run-time side asks of a model: its description.
#include <limits>

#include <manyfold/description.hpp>

#include "../constraints/projection.hpp"
#include "../methods/auto.hpp"
#include "model_use.hpp"

namespace manyfold {

inline std::string derivative_unit(const std::string& unit, const std::string& time_unit) {
  return unit == "1" ? time_unit + "-1" : unit + " " + time_unit + "-1";
}

/// The name of a method, without an instance of its class.
template <class Choice>
struct NameOfChoice;
template <template <class, class, class> class Family, class Tableau, class System, class Real>
struct NameOfChoice<Chosen<Family<Tableau, System, Real>>> {
  static constexpr const char* value = Tableau::name;
};

template <Accuracy accuracy, class System>
inline constexpr const char* automatic_method =
    NameOfChoice<decltype(choose_method<accuracy, System, double>())>::value;

template <class System>
AutomaticMethods automatic_methods() {
  return {automatic_method<Accuracy::loose, System>, automatic_method<Accuracy::medium, System>,
          automatic_method<Accuracy::tight, System>};
}

// The parts of `describe_model` are inlined by force, so that it stays one function: the sizes of functions decide what
// compilers inline in the rest of a kernel, and with that the last digits of its results.

template <Model Equations, class S>
MANYFOLD_INLINE void describe_variables(ModelDescription& description) {
  for (const Variable& variable : Equations::variables) {
    for (int k = 1; k <= variable.count; ++k) {
      const int i = static_cast<int>(description.variables.size());
      const std::string name = variable.name + (variable.count > 1 ? std::to_string(k) : std::string());
      description.variables.push_back({name,
                                       variable.unit,
                                       variable.description,
                                       variable.initial,
                                       !S::derivative_occurs(i),
                                       variable.index,
                                       variable.initial_from,
                                       {variable.min, variable.max},
                                       S::determined(i) && *variable.initial_from != '\0'});
      if (S::gives_derivative(i)) {
        description.given_derivatives.push_back({"der(" + name + ")",
                                                 derivative_unit(variable.unit, description.time_unit),
                                                 "derivative of " + name, variable.initial_derivative, false, 1});
      }
      if constexpr (model_check::HasEquationNames<Equations>) {
        description.equations.push_back(Equations::equations[i]);
      } else {
        description.equations.emplace_back();
      }
    }
  }
}

/// Parameters, events, discrete numbers, observables and the structural parameter.
template <Model Equations>
MANYFOLD_INLINE void describe_declarations(ModelDescription& description) {
  if constexpr (model_check::HasParameters<Equations>) {
    for (const Parameter& parameter : Equations::parameters) {
      description.parameters.push_back(
          {parameter.name, parameter.unit, parameter.description, parameter.value, {parameter.min, parameter.max}});
    }
  }
  if constexpr (model_check::HasFixedParameters<Equations>) {
    for (const FixedParameter& parameter : Equations::fixed_parameters) {
      description.fixed_parameters.push_back({parameter.name, parameter.reason});
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
      description.discrete.push_back({.name = number.name,
                                      .unit = number.unit,
                                      .description = number.description,
                                      .initial = number.initial,
                                      .internal = number.internal});
    }
  }
  if constexpr (model_check::HasObservables<Equations>) {
    for (const Observable& observable : Equations::observables) {
      description.observables.push_back({observable.name,
                                         observable.unit,
                                         observable.description,
                                         0.0,
                                         true,
                                         1,
                                         {},
                                         {observable.min, observable.max}});
    }
  }
  if constexpr (requires { Equations::structural.name; }) {
    const Structural structural = Equations::structural;
    description.structural = {structural.name, structural.value, structural.minimum, structural.maximum};
  }
}

/// What follows from the form of the equations: methods, freedoms, the index.
template <class S>
MANYFOLD_INLINE void describe_structure(ModelDescription& description) {
  description.form = S::semi_explicit     ? Form::semi_explicit
                     : S::mass_form       ? Form::mass_matrix
                     : S::constant_mass() ? Form::linear_residual
                                          : Form::residual;
  description.automatic = automatic_methods<S>();
  description.automatic_mixed = automatic_methods<MixedSystem<S>>();
  description.freedoms = 0;
  for (int i = 0; i < S::n; ++i) description.freedoms += S::derivative_occurs(i) ? 1 : 0;
  description.freedoms -= S::always_projected ? Manifold<S>::count : Manifold<S>::constraints;
  description.constraints = Manifold<S>::count;
  description.stage_unknowns = S::stage_unknowns;
  description.always_projected = S::always_projected;
  if constexpr (S::highest_index() > 1 && S::known_pattern) {
    description.differentiations = Structure<S>::differentiations;
  }
}

/// The initial values that follow from others, or from parameters.
template <class S>
MANYFOLD_INLINE void complete_initial_values(ModelDescription& description) {
  std::vector<double> values;
  for (const ParameterDescription& parameter : description.parameters) values.push_back(parameter.value);
  std::vector<double> initial(S::initial_size, std::numeric_limits<double>::quiet_NaN());
  S::complete_initial(values.data(), initial.data());
  for (std::size_t i = 0; i < description.variables.size(); ++i) description.variables[i].initial = initial[i];
}

/// A model, for the run-time side.
template <Model Equations, auto spec = KernelSpec<>{}>
void describe_model(ModelDescription& description) {
  description = ModelDescription{};
  description.wrong = wrong_with_model<Equations>();
  description.name = Equations::name;
  if constexpr (requires { Equations::description; }) description.description = Equations::description;
  if constexpr (requires { Equations::caution; }) description.caution = Equations::caution;
  if constexpr (requires { Equations::time_unit; }) description.time_unit = Equations::time_unit;
  description.t_begin = Equations::t_span[0];
  description.t_end = Equations::t_span[1];
  using S = System<Equations, spec>;
  describe_variables<Equations, S>(description);
  describe_declarations<Equations>(description);
  describe_structure<S>(description);
  complete_initial_values<S>(description);
}

}  // namespace manyfold
