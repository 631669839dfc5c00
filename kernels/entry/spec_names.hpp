#pragma once
// The choices of a KernelSpec as users write them, in the order of their enumerators, which have the same names.
#include <string>
#include <vector>

#include "../model/kernel_spec.hpp"

namespace manyfold {

inline const std::vector<std::string> precisions = {"float64", "mixed", "float32"};
inline const std::vector<std::string> jacobian_sources = {"automatic", "dual_numbers", "finite_differences"};
inline const std::vector<std::string> jacobian_reuses = {"automatic", "every_step", "contraction", "cameron", "dassl"};
inline const std::vector<std::string> error_tests = {"all", "differential"};
inline const std::vector<std::string> inline_integrations = {"automatic", "always", "never"};

}  // namespace manyfold
