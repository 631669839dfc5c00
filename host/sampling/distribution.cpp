#include "host/sampling/distribution.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>

namespace manyfold {
namespace {

using StandardNormal = boost::math::normal_distribution<double>;

void require(bool condition, const char* distribution, const char* key, double got, std::string_view need) {
  if (!condition) {
    throw DistributionError(key,
                            fmt::format("{} of a {} distribution is {}, but must be {}", key, distribution, got, need));
  }
}

void require_finite(const char* distribution, std::initializer_list<std::pair<const char*, double>> arguments) {
  for (const auto& [key, value] : arguments) require(std::isfinite(value), distribution, key, value, "a finite number");
}

/// Beyond, quantiles cannot be computed, and a normal distribution is the same.
constexpr double largest_shape = 1e10;

void require_shape(const char* distribution, const char* key, double value) {
  require(value > 0.0, distribution, key, value, "greater than 0");
  require(value <= largest_shape, distribution, key, value,
          fmt::format("at most {}: take a normal distribution", largest_shape));
}

/// The farthest sample of a normal distribution, of all that [`Distribution::range`] covers.
constexpr double most_sigmas = 12.0;
constexpr const char* finite_samples = "less: samples are beyond what a double holds (1.8e308)";

void require_order(const char* distribution, double min, double max) {
  require(min < max, distribution, "max", max, fmt::format("greater than min ({})", min));
}

double beta_quantile(double alpha, double beta, double u) {
  const boost::math::beta_distribution<double> distribution(alpha, beta);
  try {
    return boost::math::quantile(distribution, u);
  } catch (const boost::math::evaluation_error&) {
    // Boost's search gives up in the tails of alpha = 1/2 and beta = 1/2. The order of numbers from 0 to 1 is that of
    // their bits.
    std::uint64_t low = 0;
    auto high = std::bit_cast<std::uint64_t>(1.0);
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (boost::math::cdf(distribution, std::bit_cast<double>(middle)) < u) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return std::bit_cast<double>(high);
  }
}

}  // namespace

Distribution Distribution::constant(double value) {
  require_finite("constant", {{"value", value}});
  return Distribution(Kind::constant, {value});
}

Distribution Distribution::uniform(double min, double max) {
  require_finite("uniform", {{"min", min}, {"max", max}});
  require_order("uniform", min, max);
  return Distribution(Law{Law::Kind::uniform, 0, {min, max}});
}

Distribution Distribution::loguniform(double min, double max) {
  require_finite("loguniform", {{"min", min}, {"max", max}});
  require(min > 0.0, "loguniform", "min", min, "greater than 0");
  require_order("loguniform", min, max);
  return Distribution(Law{Law::Kind::loguniform, 0, {min, max, exact::log(min), exact::log(max)}});
}

Distribution Distribution::normal(double mean, double sigma) {
  require_finite("normal", {{"mean", mean}, {"sigma", sigma}});
  require(sigma > 0.0, "normal", "sigma", sigma, "greater than 0");
  require(std::isfinite(std::fabs(mean) + most_sigmas * sigma), "normal", "sigma", sigma, finite_samples);
  return Distribution(Law{Law::Kind::normal, 0, {mean, sigma}});
}

Distribution Distribution::lognormal(double median, double sigma) {
  require_finite("lognormal", {{"median", median}, {"sigma", sigma}});
  require(median > 0.0, "lognormal", "median", median, "greater than 0");
  require(sigma > 0.0, "lognormal", "sigma", sigma, "greater than 0");
  require(std::isfinite(median * std::exp(most_sigmas * sigma)), "lognormal", "sigma", sigma, finite_samples);
  return Distribution(Law{Law::Kind::lognormal, 0, {median, sigma}});
}

Distribution Distribution::truncated_normal(double mean, double sigma, double min, double max) {
  const char* name = "truncated_normal";
  require_finite(name, {{"mean", mean}, {"sigma", sigma}, {"min", min}, {"max", max}});
  require(sigma > 0.0, name, "sigma", sigma, "greater than 0");
  require_order(name, min, max);
  // Beyond 37 sigma the probability of the interval underflows and nothing can be drawn from it.
  require((min - mean) / sigma < 37.0, name, "min", min, "less than 37 sigma above the mean");
  require((max - mean) / sigma > -37.0, name, "max", max, "less than 37 sigma below the mean");
  using boost::math::cdf;
  using boost::math::complement;
  const StandardNormal normal;
  const double low = (min - mean) / sigma;
  const double high = (max - mean) / sigma;
  return Distribution(Law{Law::Kind::truncated_normal,
                          0,
                          {mean, sigma, min, max, cdf(normal, low), cdf(normal, high), cdf(complement(normal, low)),
                           cdf(complement(normal, high))}});
}

Distribution Distribution::triangular(double min, double mode, double max) {
  require_finite("triangular", {{"min", min}, {"mode", mode}, {"max", max}});
  require_order("triangular", min, max);
  require(min <= mode && mode <= max, "triangular", "mode", mode,
          fmt::format("between min ({}) and max ({})", min, max));
  return Distribution(Law{Law::Kind::triangular, 0, {min, mode, max}});
}

Distribution Distribution::beta(double alpha, double beta, double min, double max) {
  require_finite("beta", {{"alpha", alpha}, {"beta", beta}, {"min", min}, {"max", max}});
  require_shape("beta", "alpha", alpha);
  require_shape("beta", "beta", beta);
  require_order("beta", min, max);
  return Distribution(Kind::beta, {alpha, beta, min, max});
}

Distribution Distribution::gamma(double shape, double scale) {
  require_finite("gamma", {{"shape", shape}, {"scale", scale}});
  require_shape("gamma", "shape", shape);
  require(scale > 0.0, "gamma", "scale", scale, "greater than 0");
  return Distribution(Kind::gamma, {shape, scale});
}

Distribution Distribution::choice(std::vector<double> values, std::vector<double> weights) {
  if (values.empty())
    throw DistributionError("values", "values of a choice is empty, but must have at least one value");
  for (const double value : values) require_finite("choice", {{"values", value}});
  if (weights.empty()) weights.assign(values.size(), 1.0);
  if (weights.size() != values.size()) {
    throw DistributionError("weights",
                            fmt::format("weights of a choice has {} entries, but must have one for each of the "
                                        "{} values",
                                        weights.size(), values.size()));
  }
  double sum = 0.0;
  for (double& weight : weights) {
    require_finite("choice", {{"weights", weight}});
    require(weight >= 0.0, "choice", "weights", weight, "at least 0");
    sum += weight;
    weight = sum;
  }
  require(sum > 0.0 && std::isfinite(sum), "choice", "weights", sum, "positive and finite in sum");
  const int count = static_cast<int>(values.size());
  for (const double weight : weights) values.push_back(weight / sum);
  return Distribution(Law{Law::Kind::choice, count, {}}, std::move(values));
}

double Distribution::quantile(double u) const {
  if (!(u > 0.0 && u < 1.0)) throw UsageError(fmt::format("u of a quantile is {}, but must be inside (0, 1)", u));
  switch (kind_) {
    case Kind::law:
      return manyfold::quantile(law_, table_.data(), u);
    case Kind::constant:
      return table_[0];
    case Kind::beta: {
      const double unit = beta_quantile(table_[0], table_[1], u);
      return std::clamp(table_[2] * (1.0 - unit) + table_[3] * unit, table_[2], table_[3]);
    }
    case Kind::gamma:
      return boost::math::quantile(boost::math::gamma_distribution<double>(table_[0], table_[1]), u);
  }
  return 0.0;
}

double Distribution::level(int index, int levels) const {
  if (levels < 1 || index < 0 || index >= levels) {
    throw UsageError(
        fmt::format("level {} of {} does not exist: levels must be at least 1, level inside", index, levels));
  }
  if (kind_ == Kind::law && law_.kind == Law::Kind::choice) {
    if (index >= law_.count) throw UsageError(fmt::format("a choice of {} values has no level {}", law_.count, index));
    return table_[static_cast<std::size_t>(index)];
  }
  const bool logarithmic = kind_ == Kind::law && law_.kind == Law::Kind::loguniform;
  const bool to_the_ends = logarithmic || (kind_ == Kind::law && law_.kind == Law::Kind::uniform);
  if (!to_the_ends || levels == 1) return quantile((index + 0.5) / levels);
  // exp(log(x)) is not x: the ends are what the user wrote.
  if (index == 0) return law_.a[0];
  if (index == levels - 1) return law_.a[1];
  return manyfold::quantile(law_, nullptr, static_cast<double>(index) / (levels - 1));
}

std::pair<double, double> Distribution::range() const {
  // Coordinates of 10^12 instances in a Latin hypercube, in strata of 2^-53 of which jitter takes the middle.
  constexpr double least = 0x1p-93;
  constexpr double most = 1.0 - 0x1p-53;
  if (kind_ == Kind::gamma) return {0.0, std::numeric_limits<double>::infinity()};
  if (kind_ == Kind::beta) return {table_[2], table_[3]};
  if (const int values = natural_levels(); values > 0) {
    const auto [low, high] = std::minmax_element(table_.begin(), table_.begin() + values);
    return {*low, *high};
  }
  return {quantile(least), quantile(most)};
}

bool Distribution::weighs_values() const {
  const int count = natural_levels();
  for (int k = 0; k < count; ++k) {
    const double even = static_cast<double>(k + 1) / count;
    if (std::abs(table_[static_cast<std::size_t>(count + k)] - even) > 1e-12) return true;
  }
  return false;
}

int Distribution::natural_levels() const {
  if (kind_ == Kind::law && law_.kind == Law::Kind::choice) return law_.count;
  return is_constant() ? 1 : 0;
}

}  // namespace manyfold
