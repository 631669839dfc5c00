#pragma once
// What a model says of itself at run time: names, units, defaults. Host side only.
#include <string>
#include <vector>

namespace manyfold {

struct VariableDescription {
  std::string name;
  std::string unit;         ///< UDUNITS spelling, "1" when dimensionless
  std::string description;  ///< becomes `long_name` in result files
  double initial = 0.0;     ///< default initial value
  bool algebraic = false;   ///< its derivative does not appear in the equations
  int index = 1;
};

struct ParameterDescription {
  std::string name;
  std::string unit;
  std::string description;
  double value = 0.0;  ///< default value
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

struct ModelDescription {
  std::string name;
  std::string description;
  std::string time_unit = "s";
  std::vector<VariableDescription> variables;
  /// Derivatives that are given at the start, by the name of der(variable). An instance starts from as many numbers
  /// after those of the variables.
  std::vector<VariableDescription> given_derivatives;
  /// Names for messages, one per variable; then, at index 2 and 3, of the derivatives of the equations, in their order.
  std::vector<std::string> equations;
  std::vector<ParameterDescription> parameters;
  std::vector<EventDescription> events;
  std::vector<VariableDescription> discrete;  ///< numbers that change at events only
  int constraints = 0;                        ///< that projection can keep: those of higher index, invariants
  int freedoms = 0;                           ///< of how many numbers the initial values are free
  StructuralParameter structural;
  double t_begin = 0.0;  ///< default time span
  double t_end = 1.0;

  /// The numbers that an instance starts from, in their order: values of all variables, then given derivatives.
  std::vector<VariableDescription> initial_quantities() const {
    std::vector<VariableDescription> all = variables;
    all.insert(all.end(), given_derivatives.begin(), given_derivatives.end());
    return all;
  }
};

}  // namespace manyfold
