#include "host/io/result_statistics.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "host/engine/processors.hpp"
#include "host/io/no_value.hpp"
#include "host/io/result_names.hpp"

namespace manyfold {
namespace {

std::size_t columns_of(const ResultFileSettings& settings) {
  return static_cast<std::size_t>(settings.times.count()) * settings.saved.size();
}

}  // namespace

bool sketches_quantiles(QuantileAccuracy wish, std::size_t columns, std::int64_t instances) {
  if (wish != QuantileAccuracy::automatic) return wish == QuantileAccuracy::approximate;
  const double all = 8.0 * static_cast<double>(columns) * static_cast<double>(instances);
  // With few instances and very many output times a sketch takes as much.
  const std::size_t most_values = summary_values(columns, instances);
  return all > memory_for_quantiles && QuantileSketch::bytes_of(columns, instances, most_values) < 0.5 * all;
}

std::size_t summary_values(std::size_t columns, std::int64_t instances) {
  return QuantileSketch::most_values_within(memory_for_quantiles, columns, instances);
}

bool sketches_quantiles(const ResultFileSettings& settings) {
  return sketches_quantiles(settings.quantiles, columns_of(settings), settings.instances);
}

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
  const auto name = [&](std::string_view what) {
    return statistic_name(target_.settings().model, variable.name, what);
  };
  const auto define_statistic = [&](std::string_view what, const std::string& long_name) {
    return target_.define_variable(name(what), NC_DOUBLE, {target_.time_dimension()}, variable.unit,
                                   fmt::format("{} of {} over the instances", long_name, variable.name));
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
    ids.quantiles =
        target_.define_variable(name("quantile"), NC_DOUBLE, {target_.quantile_dimension(), target_.time_dimension()},
                                variable.unit, fmt::format("quantiles of {} over the instances", variable.name));
  }
  if (!target_.settings().statistics.empty()) {
    ids.count = target_.define_variable(name("count"), NC_INT64, {target_.time_dimension()}, "1",
                                        fmt::format("instances with a finite value of {}", variable.name));
  }
  return ids;
}

void ResultStatistics::prepare() {
  if (target_.settings().statistics.empty()) return;
  statistics_.emplace(target_.times() * target_.saved());
  if (target_.probabilities().empty()) return;
  const ResultFileSettings& settings = target_.settings();
  const std::size_t columns = columns_of(settings);
  if (sketches_quantiles(settings)) {
    sketch_ =
        std::make_unique<QuantileSketch>(columns, settings.instances, summary_values(columns, settings.instances));
  } else if (!settings.sums_only) {
    spill_ = std::make_unique<ColumnSpill>(target_.path(), columns, settings.instances);
  }
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
  if (sketch_) sketch_->put(chunk.first, values);
}

void ResultStatistics::prepare(const GroupSums& sums) const {
  if (!sketch_) return;
  for (const BatchSummary& summary : sums.summaries) sketch_->put(summary);
}

void ResultStatistics::write(const Chunk& chunk, const ResultDigest& digest) {
  for (std::size_t v = 0; v < digest.trajectories.size(); ++v) {
    target_.write_rows(chunk, variables_[v].trajectory, digest.trajectories[v]);
  }
  if (statistics_) statistics_->add(chunk.first, digest.held.empty() ? chunk.values : digest.held, digest.moments);
}

void ResultStatistics::write(const Chunk& chunk, const GroupSums& sums) {
  if (statistics_) statistics_->add_groups(chunk.first, chunk.count, sums.values);
  kept_.add(sums.kept_values);
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
  return no_value;
}

}  // namespace

void ResultStatistics::write_statistics() {
  if (!statistics_) return;
  const Moments moments = statistics_->moments();
  for (std::size_t v = 0; v < target_.saved(); ++v) write_moments(variables_[v], v, moments);
  if (!target_.probabilities().empty()) write_quantiles(moments);
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

std::vector<std::vector<double>> ResultStatistics::numbers_for_quantiles(const Moments& moments) const {
  std::vector<KeptNumbers::Ranks> columns;
  for (std::size_t column = 0; column < moments.columns(); ++column) {
    const auto count = static_cast<std::size_t>(moments.count(column));
    columns.push_back({moments.min(column), moments.max(column), ranks_of(count, target_.probabilities())});
  }
  return kept_.of_ranks(columns);
}

void ResultStatistics::write_quantiles(const Moments& moments) {
  const std::size_t times = target_.times();
  const std::size_t columns = times * target_.saved();
  if (sketch_) sketch_->end();
  const std::vector<double>& levels = target_.probabilities();
  std::vector<std::vector<double>> kept;
  if (!sketch_ && !spill_) kept = numbers_for_quantiles(moments);
  const auto quantiles_of_column = [&](std::size_t column) -> ApproximateQuantiles {
    if (sketch_) return sketch_->quantiles(column, levels, moments.min(column), moments.max(column));
    if (!spill_) {
      return {quantiles_between(static_cast<std::size_t>(moments.count(column)), levels, kept[column]), 0.0};
    }
    std::vector<double> values = spill_->finite_values(column);
    return {quantiles_of(values, levels), 0.0};
  };
  std::vector<double> quantiles(target_.saved() * levels.size() * times);
  std::vector<double> errors(columns);
  in_threads(target_.settings().options.threads, columns, [&](std::size_t column) {
    const ApproximateQuantiles found = quantiles_of_column(column);
    const std::size_t variable = column % target_.saved();
    for (std::size_t q = 0; q < levels.size(); ++q) {
      quantiles[(variable * levels.size() + q) * times + column / target_.saved()] = found.values[q];
    }
    errors[column] = found.rank_error;
  });
  double error = 0.0;
  for (const double one : errors) error = std::max(error, one);
  for (std::size_t v = 0; v < target_.saved(); ++v) {
    const int id = variables_[v].quantiles;
    target_.check(nc_put_var_double(target_.file(), id, quantiles.data() + v * levels.size() * times), "written");
    target_.put_text(id, "accuracy", error > 0.0 ? "approximate" : "exact");
    target_.check(nc_put_att_double(target_.file(), id, "rank_error", NC_DOUBLE, 1, &error), "written");
  }
  quantile_error_ = error;
}

void ResultStatistics::forget() {
  spill_.reset();
  sketch_.reset();
  kept_.forget();
}

}  // namespace manyfold
