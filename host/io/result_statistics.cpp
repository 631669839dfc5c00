#include "host/io/result_statistics.hpp"

#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "host/engine/processors.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ResultStatistics::ResultStatistics(const ResultTarget& target) : target_(target) {
  const ResultFileSettings& settings = target.settings();
  if (!target.probabilities().empty()) {
    quantile_ = target.define_variable("quantile", NC_DOUBLE, {target.quantile_dimension()}, "1",
                                       "probability of the quantile");
  }
  for (const int index : settings.saved) {
    variables_.push_back(define(settings.model.output_quantity(index)));
  }
}

ResultStatistics::SavedVariable ResultStatistics::define(const VariableDescription& variable) const {
  SavedVariable ids;
  if (target_.settings().trajectories) {
    ids.trajectory =
        target_.define_variable(variable.name, NC_DOUBLE, {target_.instance_dimension(), target_.time_dimension()},
                                variable.unit, variable.description);
  }
  const auto define_statistic = [&](std::string_view what, const std::string& long_name) {
    return target_.define_variable(fmt::format("{}_{}", variable.name, what), NC_DOUBLE, {target_.time_dimension()},
                                   variable.unit, fmt::format("{} of {} over the instances", long_name, variable.name));
  };
  for (const StatisticRequest& request : target_.settings().statistics) {
    using Kind = StatisticRequest::Kind;
    switch (request.kind) {
      case Kind::mean:
        ids.moments.emplace_back(request.kind, define_statistic("mean", "mean"));
        break;
      case Kind::std:
        ids.moments.emplace_back(request.kind, define_statistic("std", "standard deviation (n - 1)"));
        break;
      case Kind::min:
        ids.moments.emplace_back(request.kind, define_statistic("min", "minimum"));
        break;
      case Kind::max:
        ids.moments.emplace_back(request.kind, define_statistic("max", "maximum"));
        break;
      case Kind::quantile:
        break;
    }
  }
  if (!target_.probabilities().empty()) {
    ids.quantiles = target_.define_variable(variable.name + "_quantile", NC_DOUBLE,
                                            {target_.quantile_dimension(), target_.time_dimension()}, variable.unit,
                                            fmt::format("quantiles of {} over the instances", variable.name));
  }
  if (!target_.settings().statistics.empty()) {
    ids.count = target_.define_variable(variable.name + "_count", NC_INT64, {target_.time_dimension()}, "1",
                                        fmt::format("instances with a finite value of {}", variable.name));
  }
  return ids;
}

void ResultStatistics::prepare() {
  if (target_.settings().statistics.empty()) return;
  statistics_.emplace(target_.times() * target_.saved());
  if (!target_.probabilities().empty())
    spill_.emplace(target_.path(), target_.times() * target_.saved(), target_.settings().instances);
}

void ResultStatistics::write_what_is_known() const {
  if (quantile_ < 0) return;
  target_.check(nc_put_var_double(target_.file(), quantile_, target_.probabilities().data()), "written");
}

void ResultStatistics::prepare(const Chunk& chunk, const std::vector<double>& values, ResultDigest& digest) const {
  const std::size_t saved = target_.saved();
  if (target_.settings().trajectories) {
    digest.trajectories.resize(saved);
    for (std::size_t v = 0; v < saved; ++v) {
      std::vector<double>& rows = digest.trajectories[v];
      rows.resize(static_cast<std::size_t>(chunk.count) * target_.times());
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = values[i * saved + v];
    }
  }
  if (statistics_) digest.moments.assign(chunk.first, values, target_.times() * saved);
  if (spill_) spill_->put(chunk.first, values);
}

void ResultStatistics::write(const Chunk& chunk, const ResultDigest& digest) {
  for (std::size_t v = 0; v < digest.trajectories.size(); ++v) {
    target_.write_rows(chunk, variables_[v].trajectory, digest.trajectories[v]);
  }
  if (statistics_) statistics_->add(chunk.first, digest.held.empty() ? chunk.values : digest.held, digest.moments);
}

namespace {

double moment(const Moments& moments, StatisticRequest::Kind kind, std::size_t column) {
  using Kind = StatisticRequest::Kind;
  switch (kind) {
    case Kind::mean:
      return moments.mean(column);
    case Kind::std:
      return moments.standard_deviation(column);
    case Kind::min:
      return moments.min(column);
    case Kind::max:
      return moments.max(column);
    case Kind::quantile:
      break;
  }
  return nan;
}

}  // namespace

void ResultStatistics::write_statistics() {
  if (!statistics_) return;
  const Moments moments = statistics_->moments();
  for (std::size_t v = 0; v < target_.saved(); ++v) write_moments(variables_[v], v, moments);
  if (spill_) write_quantiles();
}

void ResultStatistics::write_moments(const SavedVariable& variable, std::size_t place, const Moments& moments) const {
  const auto column = [&](std::size_t time) { return time * target_.saved() + place; };
  std::vector<double> series(target_.times());
  for (const auto& [kind, id] : variable.moments) {
    for (std::size_t t = 0; t < target_.times(); ++t) series[t] = moment(moments, kind, column(t));
    target_.check(nc_put_var_double(target_.file(), id, series.data()), "written");
  }
  std::vector<long long> counts(target_.times());
  for (std::size_t t = 0; t < target_.times(); ++t) counts[t] = moments.count(column(t));
  target_.check(nc_put_var_longlong(target_.file(), variable.count, counts.data()), "written");
}

void ResultStatistics::write_quantiles() const {
  const std::vector<double>& levels = target_.probabilities();
  const std::size_t times = target_.times();
  const std::size_t columns = times * target_.saved();
  std::vector<double> quantiles(target_.saved() * levels.size() * times);
  in_threads(target_.settings().options.threads, columns, [&](std::size_t column) {
    std::vector<double> values = spill_->finite_values(column);
    const std::vector<double> found = quantiles_of(values, levels);
    const std::size_t variable = column % target_.saved();
    for (std::size_t q = 0; q < levels.size(); ++q) {
      quantiles[(variable * levels.size() + q) * times + column / target_.saved()] = found[q];
    }
  });
  for (std::size_t v = 0; v < target_.saved(); ++v) {
    const double* from = quantiles.data() + v * levels.size() * times;
    target_.check(nc_put_var_double(target_.file(), variables_[v].quantiles, from), "written");
  }
}

}  // namespace manyfold
