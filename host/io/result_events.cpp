#include "host/io/result_events.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "host/io/no_value.hpp"
#include "host/io/wilson.hpp"

namespace manyfold {
namespace {

constexpr double most_bins = 1000.0;

/// What the edges of bins follow from: the extremes and the quartiles.
const std::vector<double> marks = {0.0, 0.25, 0.75, 1.0};

/// The edges of bins of equal width from the smallest to the largest of `count` values, whose quantiles at `marks` are
/// `found`; the width by the rule of Freedman and Diaconis (1981): twice the distance of the quartiles over the cube
/// root of their number.
std::vector<double> bin_edges(std::size_t count, const std::vector<double>& found) {
  if (count == 0) return {};
  const double width = 2.0 * (found[2] - found[1]) / std::cbrt(static_cast<double>(count));
  const double range = found[3] - found[0];
  const auto bins = static_cast<int>(width > 0.0 ? std::clamp(std::ceil(range / width), 1.0, most_bins) : 1.0);
  std::vector<double> edges;
  for (int k = 0; k <= bins; ++k) edges.push_back(std::lerp(found[0], found[3], k / static_cast<double>(bins)));
  return edges;
}

}  // namespace

ResultEvents::ResultEvents(const ResultTarget& target) : target_(target) {
  if (target.settings().instance_rows) {
    define_log();
    define_rows();
  } else if (!target.settings().sums_only) {
    first_times_ = std::make_unique<ColumnSpill>(target.path(), target.settings().model.events.size(),
                                                 target.settings().instances);
  }
  define_kinds();
}

// Ragged arrays: entry k of each belongs to instance `event_instance[k]`. CF-1.8, section 9.3.4.
void ResultEvents::define_log() {
  const ModelDescription& model = target_.settings().model;
  const int event_dimension = target_.define_dimension("event", NC_UNLIMITED);
  const auto define_entry = [&](const std::string& name, nc_type type, const std::string& units,
                                const std::string& long_name) {
    const int id = target_.define_variable(name, type, {event_dimension}, units, long_name);
    const std::size_t entries = 8192;
    target_.check(nc_def_var_chunking(target_.file(), id, NC_CHUNKED, &entries), "defined");
    const int level = target_.settings().compression;
    if (level > 0) target_.check(nc_def_var_deflate(target_.file(), id, 1, 1, level), "defined");
    return id;
  };
  event_instance_ = define_entry("event_instance", NC_INT64, "1", "instance of the event");
  target_.put_text(event_instance_, "instance_dimension", "instance");
  event_time_ = define_entry("event_time", NC_DOUBLE, model.time_unit, "time of the event");
  event_name_ = define_entry("event_name", NC_SHORT, "", "which event it was");
  target_.put_flags(event_name_, event_words(model));
  event_direction_ = define_entry("event_direction", NC_BYTE, "1",
                                  "direction of the crossing in the direction of integration; 0: scheduled");
  const auto define_pair = [&](const VariableDescription& variable) {
    for (const char* side : {"before", "after"}) {
      event_values_.push_back(define_entry(fmt::format("event_{}_{}", side, variable.name), NC_DOUBLE, variable.unit,
                                           fmt::format("{} {} the event", variable.name, side)));
    }
  };
  for (const int index : target_.settings().saved) define_pair(model.output_quantity(index));
  // Those that are saved have their variables already, be it as observables of their names.
  const std::vector<int>& saved = target_.settings().saved;
  for (const VariableDescription& number : model.discrete) {
    const bool is_saved = std::any_of(saved.begin(), saved.end(),
                                      [&](int index) { return model.output_quantity(index).name == number.name; });
    if (is_saved) {
      event_values_.insert(event_values_.end(), {-1, -1});
    } else {
      define_pair(number);
    }
  }
}

// What is known of every instance.
void ResultEvents::define_rows() {
  events_not_logged_ = target_.define_variable("events_not_logged", NC_INT64, {target_.instance_dimension()}, "1",
                                               "events of the instance that did not fit its log");
  last_event_ = target_.define_variable("event_last", NC_SHORT, {target_.instance_dimension()}, "",
                                        "the event that occurred last, which of an event storm is the one; -1: none");
  target_.put_flags(last_event_, event_words(target_.settings().model));
}

// What is known of the ensemble.
void ResultEvents::define_kinds() {
  const ModelDescription& model = target_.settings().model;
  event_kind_dimension_ = target_.define_dimension("event_kind", model.events.size());
  event_kind_ = target_.define_variable("event_kind", NC_SHORT, {event_kind_dimension_}, "", "events of the model");
  target_.put_flags(event_kind_, event_words(model));
  const auto define_probability = [&](const std::string& name, const std::string& long_name) {
    return target_.define_variable(name, NC_DOUBLE, {event_kind_dimension_, target_.time_dimension()}, "1", long_name);
  };
  event_probability_ = define_probability(
      "event_probability",
      "part of the instances in which the event has occurred, of those whose solution is known at the time");
  event_probability_low_ = define_probability(
      "event_probability_low", "lower end of the 95 % interval (Wilson) of the probability, for independent instances");
  event_probability_high_ =
      define_probability("event_probability_high",
                         "upper end of the 95 % interval (Wilson) of the probability, for independent instances");
  if (!target_.probabilities().empty()) {
    event_quantile_ = target_.define_variable("event_first_time_quantile", NC_DOUBLE,
                                              {event_kind_dimension_, target_.quantile_dimension()}, model.time_unit,
                                              "quantiles of the first event's time over the instances where it occurs");
  }
  counts_.resize(model.events.size() * target_.times());
  moments_.resize(model.events.size());
}

void ResultEvents::write(const Chunk& chunk, const ResultDigest& digest) {
  add(digest.event_counts);
  if (!target_.settings().instance_rows) return;
  write_instances(chunk);
  write_log(chunk);
}

void ResultEvents::write(const GroupSums& sums) {
  add(sums.event_counts);
  for (std::size_t k = 0; k < sums.first_event_times.size(); ++k) {
    const ColumnMoments& group = sums.first_event_times[k];
    ColumnMoments& all = moments_[k % moments_.size()];
    all.count += group.count;
    merge_extremes(all.min, all.max, group.min, group.max);
  }
  kept_.add(sums.kept_event_times);
}

/// `counts`: of all kinds and times, once or several times.
void ResultEvents::add(const std::vector<EventCount>& counts) {
  for (std::size_t k = 0; k < counts.size(); ++k) {
    counts_[k % counts_.size()].occurred += counts[k].occurred;
    counts_[k % counts_.size()].known += counts[k].known;
  }
}

void ResultEvents::forget() {
  first_times_.reset();
  kept_.forget();
}

void ResultEvents::write_instances(const Chunk& chunk) {
  std::vector<long long> not_logged(chunk.outcomes.size());
  for (std::size_t i = 0; i < not_logged.size(); ++i) {
    not_logged[i] = chunk.outcomes[i].counters.events - std::ssize(chunk.event_log(static_cast<std::int64_t>(i)));
  }
  const auto first = static_cast<std::size_t>(chunk.first);
  const std::size_t rows = not_logged.size();
  target_.check(nc_put_vara_longlong(target_.file(), events_not_logged_, &first, &rows, not_logged.data()), "written");
  target_.write_column(chunk, last_event_,
                       [&](std::size_t i) { return static_cast<double>(chunk.outcomes[i].last_event); });
}

void ResultEvents::write_log(const Chunk& chunk) {
  std::vector<long long> instances;
  std::vector<double> times;
  std::vector<short> names;
  std::vector<signed char> directions;
  std::vector<std::vector<double>> values(event_values_.size());
  const std::size_t row = entry_size();
  for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
    const auto log = chunk.event_log(static_cast<std::int64_t>(i));
    const double* entry =
        chunk.event_values.data() + i * static_cast<std::size_t>(chunk.shape.event_capacity) * 2 * row;
    for (const EventRecord& record : log) {
      instances.push_back(chunk.first + static_cast<long long>(i));
      times.push_back(record.time);
      names.push_back(static_cast<short>(record.event));
      directions.push_back(static_cast<signed char>(record.direction));
      for (std::size_t v = 0; v < row; ++v) {
        values[2 * v].push_back(entry[v]);
        values[2 * v + 1].push_back(entry[row + v]);
      }
      entry += 2 * row;
    }
  }
  if (instances.empty()) return;
  const std::size_t count = instances.size();
  target_.check(nc_put_vara_longlong(target_.file(), event_instance_, &events_, &count, instances.data()), "written");
  target_.check(nc_put_vara_double(target_.file(), event_time_, &events_, &count, times.data()), "written");
  target_.check(nc_put_vara_short(target_.file(), event_name_, &events_, &count, names.data()), "written");
  target_.check(nc_put_vara_schar(target_.file(), event_direction_, &events_, &count, directions.data()), "written");
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (event_values_[v] < 0) continue;
    target_.check(nc_put_vara_double(target_.file(), event_values_[v], &events_, &count, values[v].data()), "written");
  }
  events_ += count;
}

void ResultEvents::prepare(const Chunk& chunk, ResultDigest& digest) const {
  if (first_times_) first_times_->put(chunk.first, chunk.first_event_times);
  const std::size_t kinds = target_.settings().model.events.size();
  const std::size_t count = target_.times();
  digest.event_counts.assign(kinds * count, {});
  for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
    const double* times = chunk.times.data() + i * count;
    for (std::size_t k = 0; k < kinds; ++k) {
      const double first = chunk.first_event_times[i * kinds + k];
      for (std::size_t t = 0; t < count; ++t) {
        count_event(chunk.outcomes[i], first, times, static_cast<std::int64_t>(count), times[t],
                    digest.event_counts[k * count + t]);
      }
    }
  }
}

/// Times of the first event of a kind, of the instances in which it occurred.
std::vector<double> ResultEvents::first_times(std::size_t kind) const {
  if (first_times_) return first_times_->finite_values(kind);
  int id = -1;
  const std::string name = "event_first_time_" + event_words(target_.settings().model)[kind];
  target_.check(nc_inq_varid(target_.file(), name.c_str(), &id), "read");
  std::vector<double> times(static_cast<std::size_t>(target_.settings().instances));
  target_.check(nc_get_var_double(target_.file(), id, times.data()), "read");
  std::erase_if(times, [](double time) { return std::isnan(time); });
  return times;
}

ResultEvents::FirstTimes ResultEvents::first_times_on_host() const {
  FirstTimes result;
  // One after the other: each takes a number per instance.
  for (std::size_t k = 0; k < target_.settings().model.events.size(); ++k) {
    std::vector<double> times = first_times(k);
    const std::vector<double> found = quantiles_of(times, target_.probabilities());
    result.quantiles.insert(result.quantiles.end(), found.begin(), found.end());
    result.histograms.push_back(histogram_of(times));
  }
  return result;
}

ResultEvents::FirstTimes ResultEvents::first_times_on_devices() const {
  const std::vector<double>& probabilities = target_.probabilities();
  std::vector<double> all = probabilities;
  all.insert(all.end(), marks.begin(), marks.end());
  std::vector<KeptNumbers::Ranks> asked;
  for (const ColumnMoments& times : moments_) {
    asked.push_back({times.min, times.max, ranks_of(static_cast<std::size_t>(times.count), all)});
  }
  const std::vector<std::vector<double>> found = kept_.of_ranks(asked);
  FirstTimes result;
  std::vector<std::vector<double>> inner_edges;
  for (std::size_t k = 0; k < moments_.size(); ++k) {
    const auto count = static_cast<std::size_t>(moments_[k].count);
    const std::vector<double> quantiles = quantiles_between(count, all, found[k]);
    const auto end = quantiles.begin() + std::ssize(probabilities);
    result.quantiles.insert(result.quantiles.end(), quantiles.begin(), end);
    const std::vector<double> edges = bin_edges(count, {end, quantiles.end()});
    inner_edges.emplace_back();
    if (count > 0) inner_edges.back().assign(edges.begin() + 1, edges.end() - 1);
    result.histograms.push_back({edges, {}});
  }
  const std::vector<std::vector<std::int64_t>> counts = kept_.in_bins(inner_edges);
  for (std::size_t k = 0; k < moments_.size(); ++k) {
    if (moments_[k].count > 0) result.histograms[k].counts.assign(counts[k].begin(), counts[k].end());
  }
  return result;
}

void ResultEvents::write_statistics() {
  write_probabilities();
  const FirstTimes times = target_.settings().sums_only ? first_times_on_devices() : first_times_on_host();
  if (!target_.probabilities().empty())
    target_.check(nc_put_var_double(target_.file(), event_quantile_, times.quantiles.data()), "written");
  write_histograms(times.histograms);
}

void ResultEvents::write_probabilities() const {
  std::vector<double> probability;
  std::vector<double> low;
  std::vector<double> high;
  for (const EventCount& event : counts_) {
    const auto hits = static_cast<double>(event.occurred);
    const auto count = static_cast<double>(event.known);
    const Interval interval = wilson_interval(hits, count);
    probability.push_back(count > 0.0 ? hits / count : no_value);
    low.push_back(interval.low);
    high.push_back(interval.high);
  }
  target_.check(nc_put_var_double(target_.file(), event_probability_, probability.data()), "written");
  target_.check(nc_put_var_double(target_.file(), event_probability_low_, low.data()), "written");
  target_.check(nc_put_var_double(target_.file(), event_probability_high_, high.data()), "written");
}

ResultEvents::Histogram ResultEvents::histogram_of(std::vector<double>& times) {
  Histogram result;
  result.edges = bin_edges(times.size(), quantiles_of(times, marks));
  if (times.empty()) return result;
  result.counts.resize(result.edges.size() - 1);
  for (const double time : times) {
    const auto beyond = std::lower_bound(result.edges.begin() + 1, result.edges.end() - 1, time);
    ++result.counts[static_cast<std::size_t>(beyond - result.edges.begin() - 1)];
  }
  return result;
}

/// How many bins there are follows from the times, so they are defined now.
void ResultEvents::write_histograms(const std::vector<Histogram>& histograms) const {
  std::size_t bins = 1;
  for (const Histogram& of_kind : histograms) bins = std::max(bins, of_kind.counts.size());
  std::vector<double> edges;
  std::vector<long long> counts;
  for (const Histogram& of_kind : histograms) {
    edges.insert(edges.end(), of_kind.edges.begin(), of_kind.edges.end());
    edges.resize(edges.size() + bins + 1 - of_kind.edges.size(), no_value);
    counts.insert(counts.end(), of_kind.counts.begin(), of_kind.counts.end());
    counts.resize(counts.size() + bins - of_kind.counts.size());
  }
  const int bin_dimension = target_.define_dimension("event_bin", bins);
  const int edge_dimension = target_.define_dimension("event_bin_edge", bins + 1);
  const int edge = target_.define_variable("event_bin_edge", NC_DOUBLE, {event_kind_dimension_, edge_dimension},
                                           target_.settings().model.time_unit,
                                           "edges of the bins of first times, missing beyond those that an event has; "
                                           "a bin includes its later edge, the first one both");
  const int histogram =
      target_.define_variable("event_first_time_histogram", NC_INT64, {event_kind_dimension_, bin_dimension}, "1",
                              "instances whose first event falls in the bin");
  target_.check(nc_put_var_double(target_.file(), edge, edges.data()), "written");
  target_.check(nc_put_var_longlong(target_.file(), histogram, counts.data()), "written");
}

void ResultEvents::write_what_is_known() const {
  std::vector<short> kinds(target_.settings().model.events.size());
  std::iota(kinds.begin(), kinds.end(), short{0});
  target_.check(nc_put_var_short(target_.file(), event_kind_, kinds.data()), "written");
}

}  // namespace manyfold
