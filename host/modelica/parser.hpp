#pragma once
// Reads a Base Modelica file, or a plain flat model, into its syntax tree.
#include <memory>

#include "host/modelica/syntax.hpp"

namespace manyfold::modelica {

/// A class that holds all classes of the file. What is wrong is reported, and reading goes on after the next semicolon.
std::unique_ptr<Class> parse(const std::string& text, Diagnostics& diagnostics);

}  // namespace manyfold::modelica
