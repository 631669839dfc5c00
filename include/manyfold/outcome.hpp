#pragma once
// How one instance ended, as kernels report it.
#include <manyfold/status.hpp>

namespace manyfold {

/// One entry of the log of an instance.
struct EventRecord {
  double time = 0.0;
  int event = 0;      ///< index in the model's `events`
  int direction = 0;  ///< of the crossing; 0 for scheduled events
};

/// The outcome of one instance apart from its saved values.
struct InstanceOutcome {
  Status status = Status::cancelled;
  double t_reached = 0.0;
  double residual_norm = 0.0;  ///< max-norm of F for `inconsistent_initial_conditions`, else 0
  int worst_equation = -1;     ///< index of the equation that residual_norm belongs to; -1: none
  int last_event = -1;         ///< index of the event that occurred last; -1: none
  Counters counters;
};

}  // namespace manyfold
