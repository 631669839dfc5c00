#pragma once
// Distributions of one sampled quantity, as quantile functions, so that every sampler can drive every distribution.
#include <string>
#include <utility>
#include <vector>

#include <manyfold/error.hpp>

#include "kernels/sampling/law.hpp"

namespace manyfold {

/// An argument of a distribution has an impossible value; `key` is its name in sweep files ("sigma", "max", ...).
class DistributionError : public UsageError {
 public:
  DistributionError(std::string key_name, const std::string& message) : UsageError(message), key(std::move(key_name)) {}
  std::string key;
};

/// A distribution of real values. The factories throw DistributionError for values that are not finite or impossible.
/// Immutable after construction; all members may be called from many threads.
class Distribution {
 public:
  static Distribution constant(double value);
  static Distribution uniform(double min, double max);         ///< min < max
  static Distribution loguniform(double min, double max);      ///< 0 < min < max
  static Distribution normal(double mean, double sigma);       ///< sigma > 0
  static Distribution lognormal(double median, double sigma);  ///< median, sigma > 0; sigma is that of the log
  static Distribution truncated_normal(double mean, double sigma, double min, double max);
  static Distribution triangular(double min, double mode, double max);  ///< min <= mode <= max, min < max
  static Distribution beta(double alpha, double beta, double min = 0.0, double max = 1.0);
  static Distribution gamma(double shape, double scale);  ///< shape, scale > 0
  /// One of `values`, with probabilities proportional to `weights` (>= 0, not all 0; empty: all the same).
  static Distribution choice(std::vector<double> values, std::vector<double> weights = {});

  /// The value x with P(X <= x) = u, for u in (0, 1); throws UsageError outside.
  double quantile(double u) const;

  /// Grid value `index` of `levels`: evenly spaced from min to max (uniform), log-spaced (loguniform), the values
  /// themselves (choice), else the quantile of (index + 1/2) / levels. A single level is the median.
  double level(int index, int levels) const;

  /// The number of values of a choice, 1 for a constant, else 0: any number of levels is possible.
  int natural_levels() const;
  /// Has a choice values that are more probable than others?
  bool weighs_values() const;

  /// Two numbers between which all samples lie, whatever the sampler.
  std::pair<double, double> range() const;

  bool is_constant() const { return kind_ == Kind::constant; }

  /// As hosts and devices evaluate it alike, with the numbers of a choice in `table()`; null if it is a constant, or
  /// evaluated on the host alone.
  const Law* law() const { return kind_ == Kind::law ? &law_ : nullptr; }
  const std::vector<double>& table() const { return table_; }

 private:
  enum class Kind { law, constant, beta, gamma };

  explicit Distribution(const Law& law, std::vector<double> table = {})
      : kind_(Kind::law), law_(law), table_(std::move(table)) {}
  Distribution(Kind kind, std::vector<double> arguments) : kind_(kind), table_(std::move(arguments)) {}

  Kind kind_;
  Law law_;
  std::vector<double> table_;  // of the law; else the arguments, in the order of the factory
};

}  // namespace manyfold
