#include "host/io/result_reductions.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/statistics/ends.hpp"

namespace manyfold {

ResultReductions::ResultReductions(const ResultTarget& target)
    : target_(target), statistics_(target.settings().reductions.size()) {
  for (const Reduction& reduction : target.settings().reductions) {
    ids_.push_back(define(reduction, fmt::format("reduce_{}", ids_.size() + 1)));
  }
}

ResultReductions::Variables ResultReductions::define(const Reduction& reduction, const std::string& name) const {
  const ModelDescription& model = target_.settings().model;
  const Reduction::Term& term = reduction.terms().front();
  const bool time = term.kind == ReductionKind::time_of_minimum || term.kind == ReductionKind::time_of_maximum;
  const int variable = target_.settings().saved[static_cast<std::size_t>(term.place)];
  const std::string unit = reduction.criterion() ? "1" : time ? model.time_unit : model.output_quantity(variable).unit;
  Variables ids;
  if (target_.settings().instance_rows) {
    ids.rows = target_.define_variable(name, NC_DOUBLE, {target_.instance_dimension()}, unit, reduction.text());
    return ids;
  }
  const auto define_statistic = [&](const char* suffix, const char* what) {
    return target_.define_variable(name + suffix, NC_DOUBLE, {}, unit,
                                   fmt::format("{} of {} over the instances", what, reduction.text()));
  };
  ids.mean = define_statistic("_mean", "mean");
  ids.count = target_.define_variable(name + "_count", NC_INT64, {}, "1",
                                      fmt::format("instances for which {} is known", reduction.text()));
  if (reduction.criterion()) return ids;
  ids.std = define_statistic("_std", "standard deviation (n - 1)");
  ids.min = define_statistic("_min", "minimum");
  ids.max = define_statistic("_max", "maximum");
  return ids;
}

void ResultReductions::prepare(const Chunk& chunk, const std::vector<double>& values, ResultDigest& digest) const {
  const std::vector<Reduction>& reductions = target_.settings().reductions;
  const std::size_t times = target_.times();
  const std::size_t row = times * target_.saved();
  digest.reductions.assign(chunk.outcomes.size() * reductions.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
    // What an instance would have come to is not known if it failed.
    if (!succeeded(chunk.outcomes[i].status)) continue;
    const double* time = chunk.times.data() + i * times;
    const std::int64_t reached = times_reached(chunk.outcomes[i], chunk.t_span.data() + 2 * i, time,
                                               static_cast<std::int64_t>(times), target_.settings().hold);
    for (std::size_t r = 0; r < reductions.size(); ++r) {
      digest.reductions[i * reductions.size() + r] =
          reductions[r].of({time, static_cast<std::size_t>(reached)}, values.data() + i * row, target_.saved());
    }
  }
}

void ResultReductions::write(const Chunk& chunk, const ResultDigest& digest) {
  for (std::size_t r = 0; r < ids_.size(); ++r) {
    if (ids_[r].rows < 0) continue;
    target_.write_column(chunk, ids_[r].rows, [&](std::size_t i) { return digest.reductions[i * ids_.size() + r]; });
  }
  statistics_.add(chunk.first, digest.reductions);
}

void ResultReductions::write(const Chunk& chunk, const GroupSums& sums) {
  statistics_.add_groups(chunk.first, chunk.count, sums.reductions);
}

std::vector<ReductionSummary> ResultReductions::summaries() const {
  const Moments moments = statistics_.moments();
  std::vector<ReductionSummary> result;
  for (std::size_t r = 0; r < ids_.size(); ++r) {
    const Reduction& reduction = target_.settings().reductions[r];
    ReductionSummary summary{reduction.text(),
                             reduction.criterion(),
                             moments.count(r),
                             moments.mean(r),
                             moments.standard_deviation(r),
                             moments.min(r),
                             moments.max(r),
                             {}};
    if (summary.criterion && summary.instances > 0) {
      // Without what blocks of instances have rounded.
      const auto count = static_cast<double>(summary.instances);
      const double hits = std::round(summary.mean * count);
      summary.mean = hits / count;
      summary.interval = wilson_interval(hits, count);
    }
    result.push_back(std::move(summary));
  }
  return result;
}

void ResultReductions::write_statistics() const {
  const std::vector<ReductionSummary> all = summaries();
  for (std::size_t r = 0; r < ids_.size(); ++r) {
    const auto put = [&](int id, double value) {
      if (id >= 0) target_.check(nc_put_var_double(target_.file(), id, &value), "written");
    };
    put(ids_[r].mean, all[r].mean);
    put(ids_[r].std, all[r].std);
    put(ids_[r].min, all[r].min);
    put(ids_[r].max, all[r].max);
    put(ids_[r].count, static_cast<double>(all[r].instances));
    if (all[r].criterion) write_yield(ids_[r].rows >= 0 ? ids_[r].rows : ids_[r].mean, all[r]);
  }
}

void ResultReductions::write_yield(int id, const ReductionSummary& summary) const {
  const auto put = [&](const char* name, const std::vector<double>& values) {
    target_.check(nc_put_att_double(target_.file(), id, name, NC_DOUBLE, values.size(), values.data()), "written");
  };
  put("yield", {summary.mean});
  put("yield_interval", {summary.interval.low, summary.interval.high});
  const long long instances = summary.instances;
  target_.check(nc_put_att_longlong(target_.file(), id, "yield_instances", NC_INT64, 1, &instances), "written");
}

}  // namespace manyfold
