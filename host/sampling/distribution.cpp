#include "host/sampling/distribution.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <initializer_list>

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

void require_order(const char* distribution, double min, double max) {
  require(min < max, distribution, "max", max, fmt::format("greater than min ({})", min));
}

}  // namespace

Distribution Distribution::constant(double value) {
  require_finite("constant", {{"value", value}});
  return Distribution(Constant{value});
}

Distribution Distribution::uniform(double min, double max) {
  require_finite("uniform", {{"min", min}, {"max", max}});
  require_order("uniform", min, max);
  return Distribution(Uniform{min, max});
}

Distribution Distribution::loguniform(double min, double max) {
  require_finite("loguniform", {{"min", min}, {"max", max}});
  require(min > 0.0, "loguniform", "min", min, "greater than 0");
  require_order("loguniform", min, max);
  return Distribution(LogUniform{min, max});
}

Distribution Distribution::normal(double mean, double sigma) {
  require_finite("normal", {{"mean", mean}, {"sigma", sigma}});
  require(sigma > 0.0, "normal", "sigma", sigma, "greater than 0");
  return Distribution(Normal{mean, sigma});
}

Distribution Distribution::lognormal(double median, double sigma) {
  require_finite("lognormal", {{"median", median}, {"sigma", sigma}});
  require(median > 0.0, "lognormal", "median", median, "greater than 0");
  require(sigma > 0.0, "lognormal", "sigma", sigma, "greater than 0");
  return Distribution(LogNormal{median, sigma});
}

Distribution Distribution::truncated_normal(double mean, double sigma, double min, double max) {
  const char* name = "truncated_normal";
  require_finite(name, {{"mean", mean}, {"sigma", sigma}, {"min", min}, {"max", max}});
  require(sigma > 0.0, name, "sigma", sigma, "greater than 0");
  require_order(name, min, max);
  // Beyond 37 sigma the probability of the interval underflows and nothing can be drawn from it.
  require((min - mean) / sigma < 37.0, name, "min", min, "less than 37 sigma above the mean");
  require((max - mean) / sigma > -37.0, name, "max", max, "less than 37 sigma below the mean");
  return Distribution(TruncatedNormal{mean, sigma, min, max});
}

Distribution Distribution::triangular(double min, double mode, double max) {
  require_finite("triangular", {{"min", min}, {"mode", mode}, {"max", max}});
  require_order("triangular", min, max);
  require(min <= mode && mode <= max, "triangular", "mode", mode,
          fmt::format("between min ({}) and max ({})", min, max));
  return Distribution(Triangular{min, mode, max});
}

Distribution Distribution::beta(double alpha, double beta, double min, double max) {
  require_finite("beta", {{"alpha", alpha}, {"beta", beta}, {"min", min}, {"max", max}});
  require(alpha > 0.0, "beta", "alpha", alpha, "greater than 0");
  require(beta > 0.0, "beta", "beta", beta, "greater than 0");
  require_order("beta", min, max);
  return Distribution(Beta{alpha, beta, min, max});
}

Distribution Distribution::gamma(double shape, double scale) {
  require_finite("gamma", {{"shape", shape}, {"scale", scale}});
  require(shape > 0.0, "gamma", "shape", shape, "greater than 0");
  require(scale > 0.0, "gamma", "scale", scale, "greater than 0");
  return Distribution(Gamma{shape, scale});
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
  for (double& weight : weights) weight /= sum;
  return Distribution(Choice{std::move(values), std::move(weights)});
}

double Distribution::value_at(const Constant& law, double) {
  return law.value;
}

double Distribution::value_at(const Uniform& law, double u) {
  // Not min + u * (max - min): the difference of two large bounds of opposite sign overflows.
  return std::clamp(law.min * (1.0 - u) + law.max * u, law.min, law.max);
}

double Distribution::value_at(const LogUniform& law, double u) {
  return std::clamp(std::exp(std::log(law.min) * (1.0 - u) + std::log(law.max) * u), law.min, law.max);
}

double Distribution::value_at(const Normal& law, double u) {
  return law.mean + law.sigma * boost::math::quantile(StandardNormal(), u);
}

double Distribution::value_at(const LogNormal& law, double u) {
  return law.median * std::exp(law.sigma * boost::math::quantile(StandardNormal(), u));
}

double Distribution::value_at(const TruncatedNormal& law, double u) {
  using boost::math::cdf;
  using boost::math::complement;
  const StandardNormal normal;
  const double low = (law.min - law.mean) / law.sigma;
  const double high = (law.max - law.mean) / law.sigma;
  double z = 0.0;
  if (low > 0.0) {
    // In the upper tail the probabilities above the bounds are the small, accurate numbers.
    const double above_low = cdf(complement(normal, low));
    const double above_high = cdf(complement(normal, high));
    z = boost::math::quantile(complement(normal, above_low * (1.0 - u) + above_high * u));
  } else {
    const double below_low = cdf(normal, low);
    if (high > 0.0 && u > 0.5) {
      // Around the middle take the tail that is nearer, so that neither loses digits.
      const double above_high = cdf(complement(normal, high));
      const double above_low = cdf(complement(normal, low));
      z = boost::math::quantile(complement(normal, above_low * (1.0 - u) + above_high * u));
    } else {
      z = boost::math::quantile(normal, below_low * (1.0 - u) + cdf(normal, high) * u);
    }
  }
  return std::clamp(law.mean + law.sigma * z, law.min, law.max);
}

double Distribution::value_at(const Triangular& law, double u) {
  // Each side from its own end: boost's triangular distribution subtracts two nearly equal numbers near the ends.
  const double width = law.max - law.min;
  const double rise = (law.mode - law.min) / width;
  const double value =
      u < rise ? law.min + width * std::sqrt(u * rise) : law.max - width * std::sqrt((1.0 - u) * (1.0 - rise));
  return std::clamp(value, law.min, law.max);
}

double Distribution::value_at(const Beta& law, double u) {
  const double unit = boost::math::quantile(boost::math::beta_distribution<double>(law.alpha, law.beta), u);
  return std::clamp(law.min * (1.0 - unit) + law.max * unit, law.min, law.max);
}

double Distribution::value_at(const Gamma& law, double u) {
  return boost::math::quantile(boost::math::gamma_distribution<double>(law.shape, law.scale), u);
}

double Distribution::value_at(const Choice& law, double u) {
  const auto place = std::upper_bound(law.cumulative.begin(), law.cumulative.end() - 1, u);
  return law.values[static_cast<std::size_t>(place - law.cumulative.begin())];
}

double Distribution::quantile(double u) const {
  if (!(u > 0.0 && u < 1.0)) throw UsageError(fmt::format("u of a quantile is {}, but must be inside (0, 1)", u));
  return std::visit([u](const auto& law) { return value_at(law, u); }, law_);
}

double Distribution::level(int index, int levels) const {
  if (levels < 1 || index < 0 || index >= levels) {
    throw UsageError(
        fmt::format("level {} of {} does not exist: levels must be at least 1, level inside", index, levels));
  }
  if (const auto* choice = std::get_if<Choice>(&law_)) return choice->values.at(static_cast<std::size_t>(index));
  const bool to_the_ends = std::holds_alternative<Uniform>(law_) || std::holds_alternative<LogUniform>(law_);
  if (!to_the_ends || levels == 1) return quantile((index + 0.5) / levels);
  const double u = static_cast<double>(index) / (levels - 1);
  if (const auto* uniform = std::get_if<Uniform>(&law_)) return value_at(*uniform, u);
  const auto& law = std::get<LogUniform>(law_);
  // exp(log(x)) is not x: the ends are what the user wrote.
  return index == 0 ? law.min : index == levels - 1 ? law.max : value_at(law, u);
}

int Distribution::natural_levels() const {
  if (const auto* choice = std::get_if<Choice>(&law_)) return static_cast<int>(choice->values.size());
  return is_constant() ? 1 : 0;
}

}  // namespace manyfold
