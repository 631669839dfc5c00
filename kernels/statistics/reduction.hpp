#pragma once
// Numbers of an instance that follow from its saved values, the same to the last bit on the host and on a device.
#include <manyfold/columns.hpp>
#include <manyfold/integers.hpp>

#include "../lane/qualifiers.hpp"

namespace manyfold {

enum class ReductionKind { minimum, maximum, mean, final, time_of_minimum, time_of_maximum };
enum class Relation { none, less, at_most, greater, at_least };

/// One number of an instance and, in a criterion, what it is compared with.
struct ReductionTerm {
  ReductionKind kind = ReductionKind::final;
  int place = -1;  ///< of the variable among those that are saved
  Relation relation = Relation::none;
  double bound = 0.0;
};

MANYFOLD_INLINE bool holds(double value, Relation relation, double bound) {
  return relation == Relation::less      ? value < bound
         : relation == Relation::at_most ? value <= bound
         : relation == Relation::greater ? value > bound
                                         : value >= bound;
}

/// Of `values` [count][saved] at `times` [count]. The mean is that over time, by the trapezoidal rule. NaN where there
/// are no values, or one is NaN.
MANYFOLD_INLINE double number_of(const ReductionTerm& term, const double* times, std::int64_t count,
                                 const double* values, std::int64_t saved) {
  using enum ReductionKind;
  const bool lowest = term.kind == minimum || term.kind == time_of_minimum;
  bool found = false;
  double result = missing<double>();
  double time = missing<double>();  // of the result; for the mean, of the last value
  double area = 0.0;
  double span = 0.0;
  for (std::int64_t t = 0; t < count; ++t) {
    const double value = values[t * saved + term.place];
    if (value != value) return missing<double>();
    if (term.kind == mean) {
      if (found) {
        area += 0.5 * (result + value) * (times[t] - time);
        span += times[t] - time;
      }
    } else if (found && term.kind != final && !(lowest ? value < result : value > result)) {
      continue;
    }
    found = true;
    result = value;
    time = times[t];
  }
  if (term.kind == mean && span != 0.0) return area / span;
  return term.kind == time_of_minimum || term.kind == time_of_maximum ? time : result;
}

/// Of a number, its only term; of a criterion, 1 if all terms hold, else 0. `Term`: a ReductionTerm.
template <class Term>
MANYFOLD_INLINE double reduction_of(const Term* terms, int term_count, const double* times, std::int64_t count,
                                    const double* values, std::int64_t saved) {
  bool all = true;
  for (int k = 0; k < term_count; ++k) {
    const double number = number_of(terms[k], times, count, values, saved);
    if (terms[k].relation == Relation::none || number != number) return number;
    all = all && holds(number, terms[k].relation, terms[k].bound);
  }
  return all ? 1.0 : 0.0;
}

}  // namespace manyfold
