#pragma once
// The built-in models and methods.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <manyfold/description.hpp>
#include <manyfold/method_limits.hpp>

namespace manyfold {

/// Descriptions of the built-in models, in the order in which `manyfold list` shows them.
const std::vector<ModelDescription>& builtin_models();

struct MethodDescription {
  std::string name;  ///< as in sweep files
  std::string family;
  int order = 0;
  std::string template_name;  ///< of the class template in kernels/methods
  bool in_phases = false;     ///< the phased tier of a GPU has it
  MethodLimits limits;
};

/// The methods of this version.
const std::vector<MethodDescription>& methods();

/// The method of this name; null if there is none.
const MethodDescription* described_method(std::string_view name);

/// The names of those that the phased tier has.
const std::vector<std::string>& phased_methods();

/// The names that `method` may have in sweep files and on the command line: all methods and `auto`.
const std::vector<std::string>& method_names();

/// Whether `method` can integrate the model: returns what the user should be warned of, or an empty text. Throws
/// UsageError, with the method to take instead, if the form or the index rule it out.
std::string check_method(const ModelDescription& model, const std::string& method);

/// The size of the model's largest variable at the start.
double largest_initial_value(const ModelDescription& model);

/// What remains of the rounding errors of a large variable may be far above the `atol` of a small one. Newton's method
/// corrects those of its linear systems, a Rosenbrock method carries them on. Is that so here? `atol`: of the settings.
bool carries_rounding_errors(const ModelDescription& model, const MethodDescription& method,
                             const std::vector<double>& atol);

/// Two methods to verify solutions of `method` with, the better one first: of families that share as little with it and
/// with one another as there is for the form and the index of the model.
std::array<std::string, 2> reference_methods(const ModelDescription& model, const std::string& method);

/// The table of docs/choosing.md: what each method takes.
std::string method_table();

}  // namespace manyfold
