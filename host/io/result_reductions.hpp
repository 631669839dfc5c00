#pragma once
// The numbers of each instance that `[output] reduce` asks for, in a result file.
#include <string>
#include <vector>

#include "host/engine/group_sums.hpp"
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
  void write(const Chunk& chunk, const GroupSums& sums);
  /// After the last chunk: the yields of criteria and, where there are no rows, statistics.
  void write_statistics() const;
  /// Of all instances so far.
  std::vector<ReductionSummary> summaries() const;

 private:
  /// The variables of one reduction: those of the statistics stand in place of rows.
  struct Variables {
    int rows = -1;
    int mean = -1;
    int std = -1;
    int min = -1;
    int max = -1;
    int count = -1;
  };

  Variables define(const Reduction& reduction, const std::string& name) const;
  void write_yield(int id, const ReductionSummary& summary) const;

  const ResultTarget& target_;
  std::vector<Variables> ids_;
  Statistics statistics_;
};

}  // namespace manyfold
