#pragma once
// Whether what is asked for fits the memory that there is.
#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "host/engine/chunk_queue.hpp"
#include "host/engine/memory.hpp"
#include "host/engine/processors.hpp"

namespace manyfold {

/// What is wrong with so many numbers per instance in a run of `threads` threads (0: one per processor), which has some
/// chunks of instances in memory, where there are `memory` bytes; empty: nothing.
inline std::string memory_problem(double numbers_per_instance, std::int64_t instances, int threads,
                                  std::int64_t memory = available_memory()) {
  constexpr double most = 1e15;
  const auto bytes = static_cast<std::int64_t>(std::min(8.0 * numbers_per_instance, most));
  const ChunkSizes chunks = chunk_sizes(bytes, threads > 0 ? threads : available_processors());
  const std::int64_t together =
      std::clamp<std::int64_t>(instances, 1, chunks.largest * static_cast<std::int64_t>(chunks.most_open));
  const double need = static_cast<double>(bytes) * static_cast<double>(together);
  const double there = static_cast<double>(memory);
  if (need <= there) return "";
  return fmt::format("takes {:.1f} GB for the {} instances that are in memory at once, but there are {:.1f}",
                     need / 1e9, together, there / 1e9);
}

}  // namespace manyfold
