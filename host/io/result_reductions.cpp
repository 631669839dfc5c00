#include "host/io/result_reductions.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace manyfold {

ResultReductions::ResultReductions(const ResultTarget& target)
    : target_(target), statistics_(target.settings().reductions.size()) {
  const ModelDescription& model = target.settings().model;
  for (const Reduction& reduction : target.settings().reductions) {
    const Reduction::Term& term = reduction.terms().front();
    const bool time = term.kind == Reduction::Kind::time_of_minimum || term.kind == Reduction::Kind::time_of_maximum;
    const int variable = target.settings().saved[static_cast<std::size_t>(term.place)];
    const std::string unit = reduction.criterion() ? "1"
                             : time                ? model.time_unit
                                                   : model.output_quantity(variable).unit;
    ids_.push_back(target.define_variable(fmt::format("reduce_{}", ids_.size() + 1), NC_DOUBLE,
                                          {target.instance_dimension()}, unit, reduction.text()));
  }
}

void ResultReductions::prepare(const Chunk& chunk, const std::vector<double>& values, ResultDigest& digest) const {
  const std::vector<Reduction>& reductions = target_.settings().reductions;
  const std::size_t times = target_.times();
  const std::size_t row = times * target_.saved();
  digest.reductions.assign(chunk.outcomes.size() * reductions.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
    // What an instance would have come to is not known if it failed.
    if (!succeeded(chunk.outcomes[i].status)) continue;
    for (std::size_t r = 0; r < reductions.size(); ++r) {
      digest.reductions[i * reductions.size() + r] =
          reductions[r].of({chunk.times.data() + i * times, times}, values.data() + i * row, target_.saved());
    }
  }
}

void ResultReductions::write(const Chunk& chunk, const ResultDigest& digest) {
  for (std::size_t r = 0; r < ids_.size(); ++r) {
    target_.write_column(chunk, ids_[r], [&](std::size_t i) { return digest.reductions[i * ids_.size() + r]; });
  }
  statistics_.add(chunk.first, digest.reductions);
}

std::vector<ReductionSummary> ResultReductions::summaries() const {
  const Moments moments = statistics_.moments();
  std::vector<ReductionSummary> result;
  for (std::size_t r = 0; r < ids_.size(); ++r) {
    const Reduction& reduction = target_.settings().reductions[r];
    ReductionSummary summary{
        reduction.text(), reduction.criterion(), moments.count(r), moments.mean(r), moments.min(r), moments.max(r), {}};
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
    if (!all[r].criterion) continue;
    const auto put = [&](const char* name, const std::vector<double>& values) {
      target_.check(nc_put_att_double(target_.file(), ids_[r], name, NC_DOUBLE, values.size(), values.data()),
                    "written");
    };
    put("yield", {all[r].mean});
    put("yield_interval", {all[r].interval.low, all[r].interval.high});
    const long long instances = all[r].instances;
    target_.check(nc_put_att_longlong(target_.file(), ids_[r], "yield_instances", NC_INT64, 1, &instances), "written");
  }
}

}  // namespace manyfold
