#include "host/io/result_statistics.hpp"

#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

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

void ResultStatistics::write(const Chunk& chunk) {
  if (target_.settings().trajectories) write_trajectories(chunk);
  if (statistics_) statistics_->add(chunk.values);
  if (spill_) spill_->add(chunk.values);
}

void ResultStatistics::write_trajectories(const Chunk& chunk) {
  for (std::size_t v = 0; v < target_.saved(); ++v) {
    rows_.resize(static_cast<std::size_t>(chunk.count) * target_.times());
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = chunk.values[i * target_.saved() + v];
    target_.write_rows(chunk, variables_[v].trajectory, rows_);
  }
}

double ResultStatistics::moment(StatisticRequest::Kind kind, std::size_t column) const {
  using Kind = StatisticRequest::Kind;
  switch (kind) {
    case Kind::mean:
      return statistics_->mean(column);
    case Kind::std:
      return statistics_->standard_deviation(column);
    case Kind::min:
      return statistics_->min(column);
    case Kind::max:
      return statistics_->max(column);
    case Kind::quantile:
      break;
  }
  return nan;
}

void ResultStatistics::write_statistics() {
  if (!statistics_) return;
  for (std::size_t v = 0; v < target_.saved(); ++v) {
    const auto column = [&](std::size_t time) { return time * target_.saved() + v; };
    std::vector<double> series(target_.times());
    for (const auto& [kind, id] : variables_[v].moments) {
      for (std::size_t t = 0; t < target_.times(); ++t) series[t] = moment(kind, column(t));
      target_.check(nc_put_var_double(target_.file(), id, series.data()), "written");
    }
    std::vector<long long> counts(target_.times());
    for (std::size_t t = 0; t < target_.times(); ++t) counts[t] = statistics_->count(column(t));
    target_.check(nc_put_var_longlong(target_.file(), variables_[v].count, counts.data()), "written");
    if (!spill_) continue;
    std::vector<double> quantiles(target_.probabilities().size() * target_.times());
    for (std::size_t t = 0; t < target_.times(); ++t) {
      std::vector<double> values = spill_->finite_values(column(t));
      for (std::size_t q = 0; q < target_.probabilities().size(); ++q) {
        quantiles[q * target_.times() + t] = select_quantile(values, target_.probabilities()[q]);
      }
    }
    target_.check(nc_put_var_double(target_.file(), variables_[v].quantiles, quantiles.data()), "written");
  }
}

}  // namespace manyfold
