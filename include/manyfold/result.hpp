#pragma once
// Results leave the engine in chunks: values that a sink writes, merges or forgets.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <manyfold/outcome.hpp>

namespace manyfold {

/// Finished instances `first` ... `first + count - 1`, in order. All arrays are row-major with the instance outermost.
struct Chunk {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<InstanceOutcome> outcomes;  ///< [count]
  std::vector<double> parameters;         ///< [count][parameters of the model]
  std::vector<double> initial;  ///< [count][variables, derivatives that are given], before they were made consistent
  std::vector<double> t_span;   ///< [count][2]: start and end time
  std::vector<double> times;    ///< [count][times]: output times, in the order of integration
  std::vector<double> values;   ///< [count][times][saved variables]; NaN where an instance did not arrive

  std::vector<double> end_states;  ///< [count][2][variables]: y and y' where an instance ended; empty if not asked for

  int event_capacity = 0;           ///< entries per instance in the two arrays below
  std::vector<EventRecord> events;  ///< [count][event_capacity]; the first min(counters.events, event_capacity) are set
  std::vector<double> event_values;  ///< [count][event_capacity][2][saved variables, discrete numbers]: before, after
  std::vector<double> first_event_times;  ///< [count][events of the model]; NaN where an event did not occur

  /// The entries in the log of instance `first + i`.
  std::span<const EventRecord> event_log(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t filled = std::min<std::int64_t>(outcomes[at].counters.events, event_capacity);
    return {events.data() + at * static_cast<std::size_t>(event_capacity), static_cast<std::size_t>(filled)};
  }
};

/// Where chunks go. `write` is called in the order of the instances, from one thread at a time.
class ResultSink {
 public:
  ResultSink() = default;
  ResultSink(const ResultSink&) = delete;
  ResultSink& operator=(const ResultSink&) = delete;
  virtual ~ResultSink() = default;
  virtual void write(const Chunk& chunk) = 0;
};

}  // namespace manyfold
