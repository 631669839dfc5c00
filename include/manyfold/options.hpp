#pragma once
// What a user asks of the integrator; the same for every instance of an ensemble.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <manyfold/step_settings.hpp>

namespace manyfold {

struct SolverOptions {
  /// A name that `manyfold info` lists. Empty: radau5, and for `Ensemble` the method that it is compiled with.
  std::string method = "";
  double rtol = 1e-6;                 ///< relative tolerance, at least ten times the rounding error
  std::vector<double> atol = {1e-9};  ///< absolute tolerance: one for all variables, or one each; >= 0
  /// What is given at the start: variables and derivatives, der(variable), as many as there are differential variables;
  /// or "steady_state" alone. Empty: what the model says, else the values of its differential variables.
  std::vector<std::string> initial_conditions = {};
  std::string backend = "auto";        ///< auto | cpu | cuda
  std::string precision = "float64";   ///< float64 | float32 | mixed
  std::string tier = "auto";           ///< auto | fused | phased: how a GPU integrates
  bool projection = false;             ///< after every step, project y on the model's constraints and invariants
  std::string jacobian = "automatic";  ///< automatic | dual_numbers | finite_differences
  /// automatic | every_step | contraction | cameron | dassl: when Jacobian and factors are renewed
  std::string jacobian_reuse = "automatic";
  std::string error_test = "all";  ///< all | differential: whether errors of algebraic variables count
  /// automatic | always | never: whether diagonally implicit methods solve for the unknowns that are left of a stage
  std::string inline_integration = "automatic";
  double device_memory = 0.0;          ///< MiB of a GPU's memory to use at most; 0: half of what is free
  int device_tile = 0;                 ///< threads of a GPU per instance: 1, 2, ... 32; 0: chosen by the kernel
  int device_block = 0;                ///< threads of a GPU's block, a multiple of 32; 0: chosen from the occupancy
  int threads = 0;                     ///< worker threads; 0: one per processor
  std::int64_t max_steps = 1'000'000;  ///< step attempts per instance before it ends with `max_steps`
  double first_step = 0.0;             ///< |h| of the first step in the model's time unit; 0: chosen from y and y'
  int event_log = 64;                  ///< events per instance that are kept with time and values; the rest is counted
  double max_step = std::numeric_limits<double>::infinity();  ///< largest |h|

  /// What of this kernels are told.
  StepSettings step_settings(double fixed_step = 0.0) const {
    return {static_cast<double>(max_steps), first_step, max_step, fixed_step};
  }
};

}  // namespace manyfold
