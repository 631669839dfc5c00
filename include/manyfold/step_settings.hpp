#pragma once
// What kernels are told of the steps of a run, beside the tolerances.

namespace manyfold {

/// The same for all instances.
struct StepSettings {
  double max_steps = 1e6;   ///< step attempts per instance
  double first_step = 0.0;  ///< |h|; 0: chosen from the initial values
  double max_step = __builtin_huge_val();
  double fixed_step = 0.0;  ///< > 0: every step has this length and none is rejected, for convergence studies
};

}  // namespace manyfold
