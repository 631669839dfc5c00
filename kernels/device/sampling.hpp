#pragma once
// The inputs of a batch, computed where it is integrated.
#include "../sampling/input_plan.hpp"

namespace manyfold {

/// Inputs in the memory of a device, the instance outermost.
struct DeviceInputs {
  double* parameters;  ///< [count][parameters of the model]
  double* initial;     ///< [count][values and derivatives that are given]
  double* t_span;      ///< [count][2]
  double* times;       ///< [count][time_count]
};

/// Writes the inputs of instance `i` of a batch, which is instance `first + i` of the ensemble.
MANYFOLD_INLINE void sample_instance(const InputPlan& plan, const DeviceInputs& inputs, std::int64_t first, int i) {
  const std::int64_t at = i;
  double* t_span = inputs.t_span + 2 * at;
  fill_inputs(plan, first + at, inputs.parameters + at * plan.parameter_count, inputs.initial + at * plan.initial_count,
              t_span);
  double* times = inputs.times + at * plan.time_count;
  if (plan.times == nullptr) {
    fill_equal_steps(t_span[0], t_span[1], plan.time_count, times);
  } else {
    for (int k = 0; k < plan.time_count; ++k) times[k] = plan.times[k];
  }
}

}  // namespace manyfold
