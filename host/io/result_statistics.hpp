#pragma once
// Trajectories, moments and quantiles of the saved variables in a result file.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/engine/group_sums.hpp"
#include "host/io/kept_numbers.hpp"
#include "host/io/quantile_sketch.hpp"
#include "host/io/quantiles.hpp"
#include "host/io/result_digest.hpp"
#include "host/io/result_target.hpp"
#include "host/io/statistics.hpp"

namespace manyfold {

/// Are quantiles of `columns` columns approximate, as far as the number of instances asks for it?
bool sketches_quantiles(QuantileAccuracy wish, std::size_t columns, std::int64_t instances);
bool sketches_quantiles(const ResultFileSettings& settings);
/// Values of a column in a summary of the sketch.
std::size_t summary_values(std::size_t columns, std::int64_t instances);

class ResultStatistics {
 public:
  /// Defines the variables.
  explicit ResultStatistics(const ResultTarget& target);
  /// Makes room for what is added up.
  void prepare();
  void write_what_is_known() const;
  /// By several threads at a time. `values`: as in the chunk, or with those that are held.
  void prepare(const Chunk& chunk, const std::vector<double>& values, ResultDigest& digest) const;
  void prepare(const GroupSums& sums) const;
  void write(const Chunk& chunk, const ResultDigest& digest);
  void write(const Chunk& chunk, const GroupSums& sums);
  /// After the last chunk.
  void write_statistics();
  void forget();
  /// As `ResultFile::quantile_error`.
  std::optional<double> quantile_error() const { return quantile_error_; }

 private:
  struct SavedVariable {
    int trajectory = -1;
    int count = -1;
    int quantiles = -1;
    std::vector<std::pair<StatisticRequest::Kind, int>> moments;  // what is asked for, and its netCDF variable
  };

  SavedVariable define(const VariableDescription& variable) const;
  void write_moments(const SavedVariable& variable, std::size_t place, const Moments& moments) const;
  void write_quantiles(const Moments& moments);
  /// The values of the ranks between which the quantiles lie, of each column, where these stayed on devices.
  std::vector<std::vector<double>> numbers_for_quantiles(const Moments& moments) const;

  const ResultTarget& target_;
  int quantile_ = -1;
  std::vector<SavedVariable> variables_;
  std::optional<Statistics> statistics_;
  std::unique_ptr<ColumnSpill> spill_;      // of all values: for exact quantiles
  std::unique_ptr<QuantileSketch> sketch_;  // for approximate ones
  KeptNumbers kept_;                        // of all values that stayed on devices: for exact ones
  std::optional<double> quantile_error_;
};

}  // namespace manyfold
