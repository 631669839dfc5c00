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

namespace manyfold {

/// Which sums a sink wants, if it can do without rows. Those of events come with every model that has some.
struct SumRequest {
  bool values = false;               ///< moments of the saved values at all output times
  std::vector<ReductionTerm> terms;  ///< of all reductions, one after another
  std::vector<int> term_end;         ///< [reductions]: one past the last term of a reduction
  bool keeps_values = false;         ///< the values stay on the device, for their ranks
  /// [saved]: of what is saved among the end states, which are held after a terminal event; empty: they are not.
  std::vector<int> end_places;
  int reductions() const { return static_cast<int>(term_end.size()); }
};

/// What stands for the rows of a chunk, which has none: sums over groups of `rows_per_group` instances, of which the
/// last may have fewer.
struct GroupSums : ChunkDigest {
  std::vector<ColumnMoments> values;             ///< [groups][times][saved], if asked for
  std::vector<ColumnMoments> reductions;         ///< [groups][reductions]
  std::vector<OutcomeSums> outcomes;             ///< [groups]
  std::vector<ColumnMoments> first_event_times;  ///< [groups][events]
  std::vector<EventCount> event_counts;          ///< [groups][events][times]
  /// All values, [times][saved], and first event times of the device that the chunk was on, if asked for. Chunks of a
  /// device have them in common.
  std::shared_ptr<KeptColumns> kept_values;
  std::shared_ptr<KeptColumns> kept_event_times;

  /// Those of `chunk`, if it has them.
  static const GroupSums* of(const Chunk& chunk) { return dynamic_cast<const GroupSums*>(chunk.digest.get()); }
};

}  // namespace manyfold
