#pragma once
// What was done to a model, step by step, in words, and as a picture.
#include <string>

#include "host/modelica/reduced.hpp"

namespace manyfold::modelica {

std::string explanation(const ReducedModel& model);

/// The incidence of equations and unknowns, as they are written and in the order in which they are solved: an SVG.
std::string incidence_picture(const ReducedModel& model);

}  // namespace manyfold::modelica
