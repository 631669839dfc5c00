#pragma once
// What a run adds up over its instances.
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <manyfold/result.hpp>

namespace manyfold {

/// How the instances of a run fared with one event of the model.
struct EventSummary {
  std::int64_t instances = 0;                                 ///< in which it occurred
  double earliest = std::numeric_limits<double>::infinity();  ///< of its first times; infinite: it never occurred
  double latest = -std::numeric_limits<double>::infinity();
};

struct RunSummary {
  std::int64_t instances = 0;
  std::array<std::int64_t, status_count> by_status{};
  Counters totals;
  std::vector<EventSummary> events;  ///< [events of the model]
  double wall_seconds = 0.0;
  double lane_utilisation = 0.0;    ///< step attempts of live lanes / of all lanes
  double newton_utilisation = 0.0;  ///< Newton iterations needed / carried out by all lanes
  int threads = 0;
  bool interrupted = false;

  /// Adds the outcomes and first events of a chunk.
  void add(const Chunk& chunk);
  /// Adds what another one has added up.
  void add(const RunSummary& other);
};

}  // namespace manyfold
