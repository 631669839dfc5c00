#pragma once
// From the text of a model to the C++ that integrates it.
#include <string>
#include <vector>

namespace manyfold::modelica {

/// What became of a model, in numbers and words.
struct CompiledModel {
  std::string header;  ///< C++ for the kernel
  std::string name;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  int variables = 0;
  int equations = 0;
  int aliases = 0;
  int structural_index = 0;
  int freedoms = 0;
  std::vector<std::string> states;
  std::vector<std::string> tearing_variables;
  int dummy_derivatives = 0;
  int blocks = 0;
  int largest_block = 0;
  int newton_dimension = 0;  ///< of the integrator: states and tearing variables
  /// What is left of an implicit stage for Newton's method by inline integration; without it as `newton_dimension`.
  int stage_dimension = 0;
  std::vector<std::string> stage_tearing_variables;
  std::string explanation;
  std::string picture;  ///< SVG
};

/// Throws UsageError with all that is wrong, each with its place. `file`: its name, for messages.
CompiledModel compile_model(const std::string& text, const std::string& file);

}  // namespace manyfold::modelica
