#pragma once
// Results leave the engine in chunks: values that a sink writes, merges or forgets.
#include <cstdint>
#include <vector>

#include <manyfold/outcome.hpp>

namespace manyfold {

/// Finished instances `first` ... `first + count - 1`, in order. All arrays are row-major with the instance outermost.
struct Chunk {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<InstanceOutcome> outcomes;  ///< [count]
  std::vector<double> parameters;         ///< [count][parameters of the model]
  std::vector<double> initial;  ///< [count][variables of the model], as sampled, before they were made consistent
  std::vector<double> t_span;   ///< [count][2]: start and end time
  std::vector<double> times;    ///< [count][times]: output times, in the order of integration
  std::vector<double> values;   ///< [count][times][saved variables]; NaN where an instance did not arrive
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
