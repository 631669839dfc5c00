#pragma once
// The numbers of each instance that `[output] reduce` asks for, in a result file.
#include <optional>
#include <vector>

#include "host/io/result_digest.hpp"
#include "host/io/result_target.hpp"
#include "host/io/statistics.hpp"

namespace manyfold {

class ResultReductions {
 public:
  /// Defines the variables.
  explicit ResultReductions(const ResultTarget& target);
  /// By several threads at a time. `values`: as in the chunk, or with those that are held.
  void prepare(const Chunk& chunk, const std::vector<double>& values, ResultDigest& digest) const;
  void write(const Chunk& chunk, const ResultDigest& digest);
  /// The yields of criteria, after the last chunk.
  void write_statistics() const;
  /// Of all instances so far.
  std::vector<ReductionSummary> summaries() const;

 private:
  const ResultTarget& target_;
  std::vector<int> ids_;
  Statistics statistics_;
};

}  // namespace manyfold
