#pragma once
// Iterators without a range: for i loop x[i] = ... end for.
#include <vector>

#include "host/modelica/syntax.hpp"

namespace manyfold::modelica {

/// Notes where the iterators that have no range are subscripts.
void note_indexed(std::vector<Iterator>& iterators, const Expression& body);
void note_indexed(std::vector<Iterator>& iterators, const std::vector<Statement>& body);

}  // namespace manyfold::modelica
