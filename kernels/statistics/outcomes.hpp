#pragma once
// How the instances of a group ended, and what they cost together.
#include <manyfold/outcome.hpp>

#include "moments.hpp"

namespace manyfold {

struct OutcomeSums {
  std::int64_t by_status[status_count] = {};
  Counters totals;
  std::int64_t first_failed = -1;  ///< row of the first instance that failed and was not cancelled; -1: none
  InstanceOutcome failure;         ///< its outcome
};

inline constexpr int counter_count = sizeof(Counters) / sizeof(std::int64_t);

constexpr bool failed(Status status) {
  return !succeeded(status) && status != Status::cancelled;
}

/// Numbers of `OutcomeSums` that `add_up_outcomes` finds.
inline constexpr int outcome_numbers = status_count + counter_count + 1;

/// Number `number` of `sums`, of the rows from `first` up to `end`: a count by status, a counter, or the failure.
MANYFOLD_INLINE void add_up_outcomes(const InstanceOutcome* outcomes, std::int64_t first, std::int64_t end, int number,
                                     OutcomeSums& sums) {
  if (number < status_count) {
    std::int64_t count = 0;
    for (std::int64_t i = first; i < end; ++i) count += outcomes[i].status == static_cast<Status>(number) ? 1 : 0;
    sums.by_status[number] = count;
  } else if (number < status_count + counter_count) {
    // The counters are numbers of one type, side by side.
    const auto counter = [number](auto& counters) {
      return reinterpret_cast<decltype(&counters.steps)>(&counters) + (number - status_count);
    };
    std::int64_t total = 0;
    for (std::int64_t i = first; i < end; ++i) total += *counter(outcomes[i].counters);
    *counter(sums.totals) = total;
  } else {
    std::int64_t i = first;
    while (i < end && !failed(outcomes[i].status)) ++i;
    sums.first_failed = i < end ? i : -1;
    sums.failure = i < end ? outcomes[i] : InstanceOutcome();
  }
}

}  // namespace manyfold
