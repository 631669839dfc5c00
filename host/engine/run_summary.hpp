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

/// The instance with the smallest number that failed. Those that were cancelled do not count.
struct FirstFailure {
  std::int64_t instance = -1;  ///< -1: none failed
  InstanceOutcome outcome;

  void add(std::int64_t other, const InstanceOutcome& its_outcome) {
    if (other >= 0 && (instance < 0 || other < instance)) *this = {other, its_outcome};
  }
};

struct RunSummary {
  std::int64_t instances = 0;
  std::array<std::int64_t, status_count> by_status{};
  Counters totals;
  FirstFailure first_failure;
  std::vector<EventSummary> events;  ///< [events of the model]
  double wall_seconds = 0.0;
  double lane_utilisation = 0.0;    ///< step attempts of live lanes / of all lanes
  double newton_utilisation = 0.0;  ///< Newton iterations needed / carried out by all lanes
  int threads = 0;
  bool interrupted = false;

  /// Instances that did not succeed.
  std::int64_t failures() const;
  /// Adds the outcomes and first events of a chunk.
  void add(const Chunk& chunk);
  /// Adds what another one has added up.
  void add(const RunSummary& other);
};

}  // namespace manyfold
