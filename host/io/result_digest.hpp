#pragma once
// What the threads that finish chunks make of them for the result file.
#include <vector>

#include <manyfold/result.hpp>

#include "host/io/statistics.hpp"
#include "kernels/statistics/ends.hpp"

namespace manyfold {

struct ResultDigest : ChunkDigest {
  std::vector<double> held;  ///< `Chunk::values` with what is held after the end; empty: nothing is
  std::vector<std::vector<double>> trajectories;  ///< [saved]: [instances][times]
  BlockMoments moments;                           ///< of the columns [times][saved]
  std::vector<EventCount> event_counts;           ///< [events of the model][times]
  std::vector<double> reductions;                 ///< [instances][reductions]
};

}  // namespace manyfold
