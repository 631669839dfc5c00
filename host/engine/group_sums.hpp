#pragma once
// Sums over groups of instances, which a device may send in place of their rows.
#include <cstdint>
#include <memory>
#include <vector>

#include <manyfold/result.hpp>

#include "host/engine/kept_columns.hpp"
#include "kernels/statistics/ends.hpp"
#include "kernels/statistics/moments.hpp"
#include "kernels/statistics/outcomes.hpp"
#include "kernels/statistics/reduction.hpp"
#include "kernels/statistics/sketch.hpp"

namespace manyfold {

/// Which sums a sink wants, if it can do without rows. Those of events come with every model that has some.
struct SumRequest {
  bool values = false;               ///< moments of the saved values at all output times
  std::vector<ReductionTerm> terms;  ///< of all reductions, one after another
  std::vector<int> term_end;         ///< [reductions]: one past the last term of a reduction
  bool keeps_values = false;         ///< the values stay on the device, for their ranks
  int summary_values = 0;            ///< of a column in the summaries of a quantile sketch; 0: there is none
  /// [saved]: of what is saved among the end states, which are held after a terminal event; empty: they are not.
  std::vector<int> end_places;
  int reductions() const { return static_cast<int>(term_end.size()); }
};

/// A summary of a quantile sketch, and its place in the tree: host/io/quantile_sketch.hpp.
struct BatchSummary {
  int level = 0;  ///< counted from blocks of `rows_per_summary` instances
  std::int64_t number = 0;
  std::vector<SummaryColumn> columns;
  std::vector<double> values;  ///< [columns][room], of which `columns` says how many are there
};

/// What stands for the rows of a chunk, which has none: sums over groups of `rows_per_group` instances, of which the
/// last may have fewer.
struct GroupSums : ChunkDigest {
  std::vector<ColumnMoments> values;             ///< [groups][times][saved], if asked for
  std::vector<ColumnMoments> reductions;         ///< [groups][reductions]
  std::vector<OutcomeSums> outcomes;             ///< [groups]
  std::vector<ColumnMoments> first_event_times;  ///< [groups][events]
  std::vector<EventCount> event_counts;          ///< [groups][events][times]
  std::vector<BatchSummary> summaries;           ///< of all values, if asked for
  /// All values, [times][saved], and first event times of the device that the chunk was on, if asked for. Chunks of a
  /// device have them in common.
  std::shared_ptr<KeptColumns> kept_values;
  std::shared_ptr<KeptColumns> kept_event_times;

  /// Those of `chunk`, if it has them.
  static const GroupSums* of(const Chunk& chunk) { return dynamic_cast<const GroupSums*>(chunk.digest.get()); }
};

}  // namespace manyfold
