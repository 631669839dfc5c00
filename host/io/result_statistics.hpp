#pragma once
// Trajectories, moments and quantiles of the saved variables in a result file.
#include <optional>
#include <utility>
#include <vector>

#include "host/io/result_target.hpp"
#include "host/io/statistics.hpp"

namespace manyfold {

class ResultStatistics {
 public:
  /// Defines the variables.
  explicit ResultStatistics(const ResultTarget& target);
  /// Makes room for what is added up.
  void prepare();
  void write_what_is_known() const;
  void write(const Chunk& chunk);
  /// After the last chunk.
  void write_statistics();
  void forget() { spill_.reset(); }

 private:
  struct SavedVariable {
    int trajectory = -1;
    int count = -1;
    int quantiles = -1;
    std::vector<std::pair<StatisticRequest::Kind, int>> moments;  // what is asked for, and its netCDF variable
  };

  SavedVariable define(const VariableDescription& variable) const;
  double moment(StatisticRequest::Kind kind, std::size_t column) const;
  void write_trajectories(const Chunk& chunk);

  const ResultTarget& target_;
  int quantile_ = -1;
  std::vector<SavedVariable> variables_;
  std::optional<Statistics> statistics_;
  std::optional<ColumnSpill> spill_;
  std::vector<double> rows_;
};

}  // namespace manyfold
