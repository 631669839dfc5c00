#pragma once
// Functions of the Modelica Standard Library that some exports call and do not declare.
#include "host/modelica/syntax.hpp"

namespace manyfold::modelica {

const Class& library_functions();

}  // namespace manyfold::modelica
