#pragma once
// What kernels are told of the steps of a run, beside the tolerances.

namespace manyfold {

/// The same for all instances.
struct StepSettings {
  double max_steps;   ///< step attempts per instance
  double first_step;  ///< |h|; 0: chosen from the initial values
  double max_step;    ///< largest |h|
  double fixed_step;  ///< > 0: every step has this length and none is rejected, for convergence studies
};

}  // namespace manyfold
