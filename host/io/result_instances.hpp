#pragma once
// The rows of a result file: inputs, outcomes and work of every instance.
#include <map>
#include <string>
#include <vector>

#include "host/io/result_target.hpp"

namespace manyfold {

/// Bytes of a row.
double bytes_of_row(const ResultFileSettings& settings);

class ResultInstances {
 public:
  /// Defines the variables.
  explicit ResultInstances(const ResultTarget& target);
  void write(const Chunk& chunk) const;

 private:
  void define_inputs();
  void define_outcomes();
  void define_worst_equation();
  void define_plain_columns();
  void write_inputs(const Chunk& chunk) const;
  void write_outcomes(const Chunk& chunk) const;
  void write_plain_columns(const Chunk& chunk) const;

  const ResultTarget& target_;
  const std::vector<int> per_instance_;  // dimensions
  int status_ = -1;
  int t_reached_ = -1;
  int residual_norm_ = -1;
  int worst_equation_ = -1;
  int t_begin_ = -1;
  int t_end_ = -1;
  std::map<std::string, std::vector<int>> plain_columns_;  // by the name in the table: one, or one per event
  std::vector<int> counters_;
  std::vector<int> parameters_;
  std::vector<int> initial_;
};

}  // namespace manyfold
