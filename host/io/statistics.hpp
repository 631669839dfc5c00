#pragma once
// Moments over the instances of an ensemble, column by column (a column is one variable at one output time).
//
// Instances are added up in the blocks and groups of kernels/statistics/moments.hpp, whatever chunks they came in. So
// the result does not depend, to the last bit, on threads and chunks, blocks can be added up by several threads, and
// groups by a device.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/statistics/moments.hpp"

namespace manyfold {

/// What can be asked for in `[output] statistics`.
struct StatisticRequest {
  enum class Kind { mean, std, min, max, quantile };
  Kind kind = Kind::mean;
  double probability = 0.0;  ///< quantile only, in [0, 1]
  /// "mean", "std", "min", "max" or "quantile(p)"; nothing for anything else.
  static std::optional<StatisticRequest> parse(std::string_view text);
};

/// Whether quantiles are exact or, in bounded memory, approximate. `automatic`: exact where all values fit the memory
/// that is meant for them.
enum class QuantileAccuracy { automatic, exact, approximate };

/// Count, mean, standard deviation, minimum and maximum of each column; of finite values only. Columns without values
/// give NaN, with a single value a NaN deviation.
class Moments {
 public:
  explicit Moments(std::size_t columns);

  std::size_t columns() const { return count_.size(); }
  std::int64_t count(std::size_t column) const { return static_cast<std::int64_t>(count_[column]); }
  double mean(std::size_t column) const;
  double standard_deviation(std::size_t column) const;  ///< of the sample: n - 1
  double min(std::size_t column) const;
  double max(std::size_t column) const;

  /// Those of `values` [rows][columns] alone.
  void assign(std::span<const double> values);
  void merge(const Moments& other);  ///< same number of columns, else UsageError
  /// `columns`: one for each column.
  void merge(std::span<const ColumnMoments> columns);

 private:
  // As in `ColumnMoments`.
  std::vector<double> count_;
  std::vector<double> mean_;
  std::vector<double> squares_;
  std::vector<double> min_;
  std::vector<double> max_;
};

/// The moments of the whole blocks among some rows.
class BlockMoments {
 public:
  /// `values` [rows][columns], of which the first is row number `first`.
  void assign(std::int64_t first, std::span<const double> values, std::size_t columns);
  const std::vector<Moments>& blocks() const { return blocks_; }

 private:
  std::vector<Moments> blocks_;
};

/// The moments of rows that come in their order.
class Statistics {
 public:
  explicit Statistics(std::size_t columns);
  /// `values` [rows][columns] from row number `first` on, and the blocks among them. Throws UsageError for parts of
  /// rows.
  void add(std::int64_t first, std::span<const double> values, const BlockMoments& blocks);
  void add(std::int64_t first, std::span<const double> values);
  /// The groups of `rows` rows from number `first` on, the first of a group: `groups` [groups][columns].
  void add_groups(std::int64_t first, std::int64_t rows, std::span<const ColumnMoments> groups);
  /// Of all rows so far.
  Moments moments() const;

 private:
  void add_rows(std::span<const double> values);
  void end_block();
  void end_group();

  Moments all_;
  Moments group_;  // the one that is not whole yet
  bool group_started_ = false;
  std::int64_t next_ = 0;        // number of the row that is expected
  std::vector<double> started_;  // rows of the block that is not whole yet
};

}  // namespace manyfold
