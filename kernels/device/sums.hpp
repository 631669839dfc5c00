#pragma once
// Sums over the instances of a batch, computed where it was integrated, in the groups and the order of the host.
#include "../statistics/ends.hpp"
#include "../statistics/moments.hpp"
#include "../statistics/outcomes.hpp"
#include "../statistics/reduction.hpp"

namespace manyfold {

/// Results of a batch in the memory of a device, and where their sums go. A column is a saved number at an output time.
struct DeviceSums {
  int count;  ///< instances; the first one is the first of a group
  int times;
  int saved;
  int columns;                      ///< times * saved, or 0: their moments are not asked for
  const double* time;               ///< [count][times]
  double* values;                   ///< [count][times][saved]
  const InstanceOutcome* outcomes;  ///< [count]
  const double* t_span;             ///< [count][2]
  const double* end_states;         ///< [count][end_width]
  int end_width;
  const int* end_places;  ///< [saved]: of what is saved among the end states, where they are held; null: they are not
  int events;             ///< of the model
  const double* first_event_times;  ///< [count][events]
  int reductions;
  const ReductionTerm* terms;      ///< of all reductions
  const int* term_end;             ///< [reductions]: one past the last term of a reduction
  double* reduced;                 ///< [count][reductions]
  ColumnMoments* value_moments;    ///< [groups][columns]
  ColumnMoments* reduced_moments;  ///< [groups][reductions]
  ColumnMoments* event_moments;    ///< [groups][events]: of the first times
  EventCount* event_counts;        ///< [groups][events][times]
  OutcomeSums* outcome_sums;       ///< [groups]
};

MANYFOLD_INLINE int groups_of(int count) {
  return static_cast<int>((count + rows_per_group - 1) / rows_per_group);
}

/// Holds the values of instance `i` after its end, if that is asked for, and finds its reductions; of one that failed
/// these are not known.
MANYFOLD_INLINE void reduce_instance(const DeviceSums& sums, int i) {
  const std::int64_t row = i;
  if (sums.end_places != nullptr) {
    hold_end(sums.outcomes[i], sums.t_span + 2 * row, sums.time + row * sums.times, sums.times,
             sums.end_states + row * sums.end_width, sums.end_places, sums.saved,
             sums.values + row * sums.times * sums.saved);
  }
  const std::int64_t reached = times_reached(sums.outcomes[i], sums.t_span + 2 * row, sums.time + row * sums.times,
                                             sums.times, sums.end_places != nullptr);
  int term = 0;
  for (int r = 0; r < sums.reductions; ++r) {
    const int end = sums.term_end[r];
    sums.reduced[row * sums.reductions + r] =
        succeeded(sums.outcomes[i].status)
            ? reduction_of(sums.terms + term, end - term, sums.time + row * sums.times, reached,
                           sums.values + row * sums.times * sums.saved, sums.saved)
            : missing<double>();
    term = end;
  }
}

/// Of event `place / times` at output time `place % times`, over the rows from `first` up to `end`.
MANYFOLD_INLINE EventCount count_events(const DeviceSums& sums, std::int64_t first, std::int64_t end, int place) {
  EventCount count;
  for (std::int64_t i = first; i < end; ++i) {
    const double* time = sums.time + i * sums.times;
    count_event(sums.outcomes[i], sums.first_event_times[i * sums.events + place / sums.times], time, sums.times,
                time[place % sums.times], count);
  }
  return count;
}

/// Numbers of a group, each of which a thread finds.
MANYFOLD_INLINE int numbers_of_group(const DeviceSums& sums) {
  return sums.columns + sums.reductions + sums.events + sums.events * sums.times + outcome_numbers;
}

MANYFOLD_INLINE int threads_of_sums(const DeviceSums& sums) {
  return groups_of(sums.count) * numbers_of_group(sums);
}

/// Neighbouring threads read neighbouring numbers.
MANYFOLD_INLINE void add_up(const DeviceSums& sums, int thread) {
  const std::int64_t group = thread / numbers_of_group(sums);
  int place = thread % numbers_of_group(sums);
  const std::int64_t first = group * rows_per_group;
  const std::int64_t rows = sums.count - first < rows_per_group ? sums.count - first : rows_per_group;
  const auto moments = [&](const double* values, int width, ColumnMoments* result) {
    result[group * width + place] = moments_of_group(values + first * width + place, rows, width);
  };
  if (place < sums.columns) return moments(sums.values, sums.columns, sums.value_moments);
  place -= sums.columns;
  if (place < sums.reductions) return moments(sums.reduced, sums.reductions, sums.reduced_moments);
  place -= sums.reductions;
  if (place < sums.events) return moments(sums.first_event_times, sums.events, sums.event_moments);
  place -= sums.events;
  const int counts = sums.events * sums.times;
  if (place < counts) {
    sums.event_counts[group * counts + place] = count_events(sums, first, first + rows, place);
    return;
  }
  add_up_outcomes(sums.outcomes, first, first + rows, place - counts, sums.outcome_sums[group]);
}

}  // namespace manyfold
