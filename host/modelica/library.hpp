#pragma once
// Functions of the Modelica Standard Library that some exports call and do not declare: with inlineFunctions,
// OpenModelica leaves out what is only called from other functions.
#include <string>

#include "host/modelica/syntax.hpp"

namespace manyfold::modelica {

/// By its name; of functions in packages that a model replaces, such as friction correlations, by the end of it. Null:
/// unknown.
const Class* library_function(const std::string& name);

// The texts that they are parsed from.
extern const char* const library_of_math;
extern const char* const library_of_blocks;
extern const char* const library_of_fluid;
std::string library_of_units();

}  // namespace manyfold::modelica
