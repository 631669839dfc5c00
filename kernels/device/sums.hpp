#pragma once
// Sums over the instances of a batch, computed where it was integrated, in the groups and the order of the host.
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
  const double* values;             ///< [count][times][saved]
  const InstanceOutcome* outcomes;  ///< [count]
  int reductions;
  const ReductionTerm* terms;      ///< of all reductions
  const int* term_end;             ///< [reductions]: one past the last term of a reduction
  double* reduced;                 ///< [count][reductions]
  ColumnMoments* value_moments;    ///< [groups][columns]
  ColumnMoments* reduced_moments;  ///< [groups][reductions]
  OutcomeSums* outcome_sums;       ///< [groups]
};

MANYFOLD_INLINE int groups_of(int count) {
  return static_cast<int>((count + rows_per_group - 1) / rows_per_group);
}

/// The reductions of instance `i`; of one that failed they are not known.
MANYFOLD_INLINE void reduce_instance(const DeviceSums& sums, int i) {
  const std::int64_t row = i;
  int term = 0;
  for (int r = 0; r < sums.reductions; ++r) {
    const int end = sums.term_end[r];
    sums.reduced[row * sums.reductions + r] =
        succeeded(sums.outcomes[i].status)
            ? reduction_of(sums.terms + term, end - term, sums.time + row * sums.times, sums.times,
                           sums.values + row * sums.times * sums.saved, sums.saved)
            : missing<double>();
    term = end;
  }
}

/// Threads that the sums of a batch take: one for each column, reduction and number of the outcomes in each group.
MANYFOLD_INLINE int threads_of_sums(const DeviceSums& sums) {
  return groups_of(sums.count) * (sums.columns + sums.reductions + outcome_numbers);
}

/// Neighbouring threads read neighbouring numbers.
MANYFOLD_INLINE void add_up(const DeviceSums& sums, int thread) {
  const int of_group = sums.columns + sums.reductions + outcome_numbers;
  const std::int64_t group = thread / of_group;
  int place = thread % of_group;
  const std::int64_t first = group * rows_per_group;
  const std::int64_t rows = sums.count - first < rows_per_group ? sums.count - first : rows_per_group;
  if (place < sums.columns) {
    sums.value_moments[group * sums.columns + place] =
        moments_of_group(sums.values + first * sums.columns + place, rows, sums.columns);
    return;
  }
  place -= sums.columns;
  if (place < sums.reductions) {
    sums.reduced_moments[group * sums.reductions + place] =
        moments_of_group(sums.reduced + first * sums.reductions + place, rows, sums.reductions);
    return;
  }
  place -= sums.reductions;
  add_up_outcomes(sums.outcomes, first, first + rows, place, sums.outcome_sums[group]);
}

}  // namespace manyfold
