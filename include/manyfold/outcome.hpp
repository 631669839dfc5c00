#pragma once
// How one instance ended, as kernels report it.
#include <manyfold/status.hpp>

namespace manyfold {

/// The outcome of one instance apart from its saved values.
struct InstanceOutcome {
  Status status = Status::cancelled;
  double t_reached = 0.0;
  double residual_norm = 0.0;  ///< max-norm of F at the initial point, for `inconsistent_initial_conditions`; else 0
  Counters counters;
};

}  // namespace manyfold
