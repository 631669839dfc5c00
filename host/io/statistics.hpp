#pragma once
// Statistics over the instances of an ensemble, column by column (a column is one variable at one output time).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manyfold {

/// What can be asked for in `[output] statistics`.
struct StatisticRequest {
  enum class Kind { mean, std, min, max, quantile };
  Kind kind = Kind::mean;
  double probability = 0.0;  ///< quantile only, in [0, 1]
  /// "mean", "std", "min", "max" or "quantile(p)"; nothing for anything else.
  static std::optional<StatisticRequest> parse(std::string_view text);
};

/// Count, mean, standard deviation, minimum and maximum per column. Only finite values count. Values are taken in the
/// order of the instances (Welford 1962), so the result does not depend on how they were cut into chunks; `merge` adds
/// another set (Chan, Golub, LeVeque 1979). Columns without values give NaN, with a single value a NaN deviation.
class Statistics {
 public:
  explicit Statistics(std::size_t columns);
  void add(std::span<const double> values);  ///< [instances][columns]
  void merge(const Statistics& other);       ///< same number of columns, else UsageError
  std::size_t columns() const { return moments_.size(); }
  std::int64_t count(std::size_t column) const { return moments_[column].count; }
  double mean(std::size_t column) const;
  double standard_deviation(std::size_t column) const;  ///< of the sample: n - 1
  double min(std::size_t column) const;
  double max(std::size_t column) const;

 private:
  struct Moments {
    std::int64_t count = 0;
    double mean = 0.0;
    double squares = 0.0;  // sum of the squared distances from the mean
    double min = 0.0;
    double max = 0.0;
  };
  std::vector<Moments> moments_;
};

/// The quantile of ascending-sortable `values` by linear interpolation (type 7 of Hyndman & Fan 1996, numpy's default).
/// Reorders `values`; NaN when there are none. `probability` in [0, 1].
double select_quantile(std::span<double> values, double probability);

/// All values, on disk, column by column, for exact quantiles with the memory of one column. The scratch file has no
/// name on disk once opened, so it goes away however the process ends. Throws std::runtime_error when the disk is full.
class ColumnSpill {
 public:
  /// A scratch file beside `beside`, for at most `instances` rows.
  ColumnSpill(const std::filesystem::path& beside, std::size_t columns, std::int64_t instances);
  ColumnSpill(const ColumnSpill&) = delete;
  ColumnSpill& operator=(const ColumnSpill&) = delete;
  ~ColumnSpill();
  void add(std::span<const double> values);  ///< [instances][columns]
  std::vector<double> finite_values(std::size_t column) const;

 private:
  std::filesystem::path path_;
  std::size_t columns_;
  std::int64_t capacity_;
  std::int64_t rows_ = 0;
  int descriptor_ = -1;
};

}  // namespace manyfold
