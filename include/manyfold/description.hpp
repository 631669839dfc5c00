#pragma once
// What a model says of itself at run time: names, units, defaults. Host side only.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <manyfold/columns.hpp>
#include <manyfold/method_limits.hpp>

namespace manyfold {

/// From a minimum to a maximum; without bounds unless the model says otherwise.
struct Bounds {
  double min = -std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::max();

  bool contain(double value) const { return value >= min && value <= max; }
};

/// "-1, below its minimum 0", of a value that the bounds do not contain.
inline std::string out_of_bounds(double value, const Bounds& bounds) {
  const bool below = value < bounds.min;
  char text[100];
  std::snprintf(text, sizeof text, "%.9g, %s %.9g", value, below ? "below its minimum" : "above its maximum",
                below ? bounds.min : bounds.max);
  return text;
}

struct VariableDescription {
  std::string name;
  std::string unit;         ///< UDUNITS spelling, "1" when dimensionless
  std::string description;  ///< becomes `long_name` in result files
  double initial = 0.0;     ///< default initial value
  bool algebraic = false;   ///< its derivative does not appear in the equations
  int index = 1;
  std::string initial_from = {};  ///< equations that its initial value follows from, if the model says so
  Bounds bounds = {};             ///< of values that make sense
  bool determined = false;        ///< by those equations: another value would contradict them
  bool internal = false;          ///< a discrete number that nobody reads: tables and lists leave it out

  /// What is wrong with an initial value that is set; empty: nothing.
  std::string problem_of_initial() const {
    if (!determined) return "";
    return "the initial value of '" + name + "' follows from equations of the start (" + initial_from +
           "): set their parameters, or name the variables whose values are given in initial_conditions";
  }
};

struct ParameterDescription {
  std::string name;
  std::string unit;
  std::string description;
  double value = 0.0;  ///< default value
  Bounds bounds = {};  ///< of values that are accepted
};

/// A number that users may take for a parameter, and that nobody can set.
struct FixedParameterDescription {
  std::string name;
  std::string reason;
};

struct EventDescription {
  std::string name;
  std::string description;
  int direction = 0;  ///< +1 upwards, -1 downwards, 0 both
  bool terminal = false;
  bool scheduled = false;  ///< at times that are known beforehand
};

/// An integer that shapes the equations (for instance a number of grid points); fixed when the model is compiled.
struct StructuralParameter {
  std::string name;  ///< empty: the model has none
  int value = 0;     ///< the value this description was made for
  int minimum = 0;
  int maximum = 0;
};

/// The methods that "auto" stands for.
struct AutomaticMethods {
  std::string loose;   ///< for rtol from 1e-3 up
  std::string medium;  ///< from 1e-6 up
  std::string tight;

  const std::string& at(double rtol) const { return rtol >= 1e-3 ? loose : rtol >= 1e-6 ? medium : tight; }
};

struct ModelDescription {
  std::string wrong;  ///< what forbids to use the model; empty: nothing
  std::string name;
  std::string description;
  std::string caution;  ///< what users are warned of at every run
  Form form = Form::residual;
  std::string time_unit = "s";
  std::vector<VariableDescription> variables;
  /// Derivatives that are given at the start, by the name of der(variable). An instance starts from as many numbers
  /// after those of the variables.
  std::vector<VariableDescription> given_derivatives;
  std::vector<std::string> equations;  ///< names for messages, one per variable; empty where the model gives none
  int differentiations = 0;            ///< how often equations are differentiated, at most, for consistent values
  std::vector<ParameterDescription> parameters;
  std::vector<FixedParameterDescription> fixed_parameters;
  std::vector<EventDescription> events;
  std::vector<VariableDescription> discrete;     ///< numbers that change at events only
  std::vector<VariableDescription> observables;  ///< numbers that follow from the solution
  int constraints = 0;                           ///< that projection can keep: those of higher index, invariants
  int stage_unknowns = -1;                       ///< that stages leave to Newton's method; -1: it solves for all of y
  bool always_projected = false;                 ///< on these, at every step, whatever the options say
  int freedoms = 0;                              ///< of how many numbers the initial values are free
  StructuralParameter structural;
  AutomaticMethods automatic;        ///< in precision float64 and float32
  AutomaticMethods automatic_mixed;  ///< in precision mixed
  double t_begin = 0.0;              ///< default time span
  double t_end = 1.0;

  /// Why a parameter of this name cannot be set; empty: there is none of those.
  std::string problem_of_parameter(std::string_view parameter) const {
    for (const FixedParameterDescription& fixed : fixed_parameters) {
      if (fixed.name != parameter) continue;
      return "the parameter '" + fixed.name + "' of model '" + name + "' cannot be set: " + fixed.reason;
    }
    return "";
  }

  /// The numbers that an instance starts from, in their order: values of all variables, then given derivatives.
  std::vector<VariableDescription> initial_quantities() const {
    std::vector<VariableDescription> all = variables;
    all.insert(all.end(), given_derivatives.begin(), given_derivatives.end());
    return all;
  }

  /// What is saved unless something else is asked for: variables, then observables.
  std::vector<VariableDescription> output_quantities() const {
    std::vector<VariableDescription> all = variables;
    all.insert(all.end(), observables.begin(), observables.end());
    return all;
  }
  /// What can be saved, in the order of the numbers that stand for it: those, then the discrete numbers.
  std::vector<VariableDescription> all_quantities() const {
    std::vector<VariableDescription> all = output_quantities();
    all.insert(all.end(), discrete.begin(), discrete.end());
    return all;
  }
  /// Number `i` of what can be saved.
  const VariableDescription& output_quantity(int i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::size_t followers = variables.size() + observables.size();
    if (at >= followers) return discrete[at - followers];
    return at < variables.size() ? variables[at] : observables[at - variables.size()];
  }

  int highest_index() const {
    int highest = 1;
    for (const VariableDescription& variable : variables) highest = std::max(highest, variable.index);
    return highest;
  }

  bool has_algebraic_variables() const {
    return std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.algebraic; });
  }

  /// Equations and their derivatives, which consistent values meet.
  int equation_count() const { return static_cast<int>(variables.size()) * (1 + differentiations); }

  /// Equation number `i`, counted from 0, as messages call it: counted from 1, and by its name or its variable. After
  /// the equations come their derivatives, in the same order.
  std::string equation_label(int i) const {
    const auto n = static_cast<int>(variables.size());
    if (i >= n) return (i < 2 * n ? "derivative of " : "second derivative of ") + equation_label(i % n);
    const auto at = static_cast<std::size_t>(i);
    const std::string number = "equation " + std::to_string(i + 1);
    if (at < equations.size() && !equations[at].empty()) return number + " (\"" + equations[at] + "\")";
    // Only where M y' = f(t, y) is stated so has every equation its variable.
    if (form < Form::mass_matrix || at >= variables.size()) return number;
    return number + " (of variable \"" + variables[at].name + "\")";
  }
};

/// The sizes of the model's instances.
inline InstanceShape shape_of(const ModelDescription& model) {
  InstanceShape shape;
  shape.parameters = static_cast<int>(model.parameters.size());
  shape.variables = static_cast<int>(model.variables.size());
  shape.initial = shape.variables + static_cast<int>(model.given_derivatives.size());
  shape.discrete = static_cast<int>(model.discrete.size());
  shape.events = static_cast<int>(model.events.size());
  shape.observables = static_cast<int>(model.observables.size());
  return shape;
}

}  // namespace manyfold
