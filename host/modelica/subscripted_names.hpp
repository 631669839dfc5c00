#pragma once
// Subscripts that exports write within quoted names: 'm.x[\'i\']', 'm.x[\'Color\'.\'red\']'.
#include <string>
#include <vector>

#include "host/modelica/syntax.hpp"

namespace manyfold::modelica {

/// The parts of what stands between the quotes of a name; one, where no names are among its subscripts.
std::vector<NamePart> parts_of_quoted(const std::string& content, Place place, Diagnostics& diagnostics);

/// Declarations of single elements have numbers as subscripts then, where they had literals of enumerations.
void number_elements(Class& file, Diagnostics& diagnostics);

}  // namespace manyfold::modelica
