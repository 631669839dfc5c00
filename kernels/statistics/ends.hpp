#pragma once
// What the end of an instance and its events mean for statistics, the same on the host and on a device.
#include <manyfold/integers.hpp>
#include <manyfold/outcome.hpp>

#include "../lane/qualifiers.hpp"

namespace manyfold {

/// Gives an instance that ended by an event, at the output times after it, the values that it had there. `values`
/// [count][saved] at `times` [count]; `places` [saved]: of what is saved in `end_state`.
MANYFOLD_INLINE void hold_end(const InstanceOutcome& outcome, const double* t_span, const double* times,
                              std::int64_t count, const double* end_state, const int* places, std::int64_t saved,
                              double* values) {
  if (outcome.status != Status::terminated_by_event) return;
  const double direction = t_span[1] < t_span[0] ? -1.0 : 1.0;
  for (std::int64_t t = 0; t < count; ++t) {
    if (direction * times[t] <= direction * outcome.t_reached) continue;
    for (std::int64_t v = 0; v < saved; ++v) values[t * saved + v] = end_state[places[v]];
  }
}

/// How many of the output times `times` [count] an instance has values at: those up to its end, all if later ones are
/// held.
MANYFOLD_INLINE std::int64_t times_reached(const InstanceOutcome& outcome, const double* t_span, const double* times,
                                           std::int64_t count, bool held) {
  if (held || outcome.status == Status::success) return count;
  const double direction = t_span[1] < t_span[0] ? -1.0 : 1.0;
  std::int64_t reached = 0;
  while (reached < count && direction * times[reached] <= direction * outcome.t_reached) ++reached;
  return reached;
}

/// Instances in which an event has occurred by a time, and those that say whether it has.
struct EventCount {
  std::int64_t occurred = 0;
  std::int64_t known = 0;
};

/// Adds an instance, of which `times` [count] are the output times and `time` is one. One that failed before says
/// nothing of an event up to it, unless that occurred. `first_time`: of the event; NaN: never.
MANYFOLD_INLINE void count_event(const InstanceOutcome& outcome, double first_time, const double* times,
                                 std::int64_t count, double time, EventCount& counts) {
  const double direction = count > 1 && times[count - 1] < times[0] ? -1.0 : 1.0;
  const bool occurred = direction * first_time <= direction * time;
  const bool arrived = direction * outcome.t_reached >= direction * time;
  counts.occurred += occurred ? 1 : 0;
  counts.known += occurred || arrived || succeeded(outcome.status) ? 1 : 0;
}

}  // namespace manyfold
