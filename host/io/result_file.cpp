#include "host/io/result_file.hpp"

#include <dlfcn.h>
#include <netcdf.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/engine/group_sums.hpp"
#include "host/io/result_events.hpp"
#include "host/io/result_instances.hpp"
#include "host/io/result_reductions.hpp"
#include "host/io/result_statistics.hpp"
#include "host/io/result_statuses.hpp"
#include "host/io/result_target.hpp"
#include "host/io/result_verification.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

// netCDF turns HDF5's own printing of errors off in the thread that opened the first file only; chunks are written by
// others.
void silence_hdf5_in_this_thread() {
  using Setter = int (*)(std::int64_t stack, int (*print)(std::int64_t, void*), void* data);
  static const auto set_auto = reinterpret_cast<Setter>(::dlsym(RTLD_DEFAULT, "H5Eset_auto2"));
  thread_local const bool silent = set_auto != nullptr && set_auto(0, nullptr, nullptr) >= 0;
  static_cast<void>(silent);
}

}  // namespace

class ResultFile::Writer {
 public:
  Writer(ResultFileSettings settings, OutputFile output) : target_(checked(std::move(settings)), std::move(output)) {
    define();
    statistics_->prepare();
    write_what_is_known();
    target_.check(nc_sync(target_.file()), "written");
  }

  void prepare(const Chunk& chunk, ResultDigest& digest) const {
    hold(chunk, digest);
    const std::vector<double>& values = digest.held.empty() ? chunk.values : digest.held;
    statistics_->prepare(chunk, values, digest);
    reductions_->prepare(chunk, values, digest);
    if (events_) events_->prepare(chunk, digest);
  }

  void prepare(const GroupSums& sums) const { statistics_->prepare(sums); }

  void write(const Chunk& chunk) {
    if (const GroupSums* sums = GroupSums::of(chunk)) return write(chunk, *sums);
    check_chunk(chunk);
    if (chunk.count == 0) return;
    if (const auto* digest = dynamic_cast<const ResultDigest*>(chunk.digest.get())) return write(chunk, *digest);
    ResultDigest digest;
    prepare(chunk, digest);
    write(chunk, digest);
  }

  void write(const Chunk& chunk, const ResultDigest& digest) {
    silence_hdf5_in_this_thread();
    try {
      if (rows_) rows_->write(chunk);
      if (rows_ && times_vary()) target_.write_rows(chunk, time_, chunk.times);
      statistics_->write(chunk, digest);
      reductions_->write(chunk, digest);
      if (events_) events_->write(chunk, digest);
      for (const InstanceOutcome& outcome : chunk.outcomes) ++by_status_[static_cast<std::size_t>(outcome.status)];
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void write(const Chunk& chunk, const GroupSums& sums) {
    statistics_->write(chunk, sums);
    reductions_->write(chunk, sums);
    if (events_) events_->write(sums);
    for (const OutcomeSums& group : sums.outcomes) {
      for (std::size_t k = 0; k < by_status_.size(); ++k) by_status_[k] += group.by_status[k];
    }
  }

  std::vector<ReductionSummary> reductions() const { return reductions_->summaries(); }
  std::optional<double> quantile_error() const { return statistics_->quantile_error(); }

  void write_verification(const Verification& verification) {
    silence_hdf5_in_this_thread();
    verification_.value().write(verification);
  }

  void finish(bool interrupted) {
    if (failed_ || !target_.open()) {
      throw std::runtime_error(
          fmt::format("{}: cannot be finished: an earlier write failed", printable(target_.path().string())));
    }
    failed_ = true;  // until everything below has succeeded
    statistics_->write_statistics();
    reductions_->write_statistics();
    if (events_) events_->write_statistics();
    // Those that were not written.
    std::int64_t& cancelled = by_status_[static_cast<std::size_t>(Status::cancelled)];
    cancelled += target_.settings().instances - std::accumulate(by_status_.begin(), by_status_.end(), std::int64_t{0});
    if (statuses_) statuses_->write(by_status_);
    if (interrupted || cancelled > 0) {
      target_.put_text(NC_GLOBAL, "interrupted", "true");
      const long long finished = target_.settings().instances - cancelled;
      target_.check(nc_put_att_longlong(target_.file(), NC_GLOBAL, "instances_finished", NC_INT64, 1, &finished),
                    "written");
    }
    statistics_->forget();
    if (events_) events_->forget();
    target_.commit();
    failed_ = false;
  }

 private:
  static ResultFileSettings checked(ResultFileSettings settings) {
    if (settings.instances < 1) {
      throw UsageError(fmt::format("instances of a result file is {}, but must be at least 1", settings.instances));
    }
    if (settings.trajectories && !settings.instance_rows) {
      throw UsageError("a result file without rows of the instances has no trajectories");
    }
    const auto require_indices = [](const std::vector<int>& indices, std::size_t size, const char* what) {
      for (const int index : indices) {
        if (index >= 0 && static_cast<std::size_t>(index) < size) continue;
        throw UsageError(fmt::format("{} of a result file has index {}, but must be below {}", what, index, size));
      }
    };
    require_indices(settings.saved, settings.model.all_quantities().size(), "saved");
    require_indices(settings.sampled_initial, settings.model.initial_quantities().size(), "sampled_initial");
    require_indices(settings.sampled_parameters, settings.model.parameters.size(), "sampled_parameters");
    return settings;
  }

  /// The values with those at the end of instances that ended by an event, at the output times after it.
  void hold(const Chunk& chunk, ResultDigest& digest) const {
    digest.held.clear();
    if (!target_.settings().hold) return;
    digest.held = chunk.values;
    const std::vector<int>& saved = target_.settings().saved;
    const std::size_t variables = target_.settings().model.variables.size();
    const std::size_t end_states = chunk.end_states.size() / chunk.outcomes.size();
    const std::vector<int> places = places_at_end(saved, variables);
    const std::size_t times = target_.times();
    for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
      hold_end(chunk.outcomes[i], chunk.t_span.data() + 2 * i, chunk.times.data() + i * times,
               static_cast<std::int64_t>(times), chunk.end_states.data() + i * end_states, places.data(),
               std::ssize(saved), digest.held.data() + i * times * saved.size());
    }
  }

  void check_chunk(const Chunk& chunk) const {
    if (failed_ || !target_.open()) {
      throw std::runtime_error(
          fmt::format("{}: cannot be written: an earlier write failed", printable(target_.path().string())));
    }
    if (chunk.first < 0 || chunk.count < 0 || chunk.first > target_.settings().instances - chunk.count) {
      throw UsageError(fmt::format("a chunk has instances {} to {}, but the ensemble has {}", chunk.first,
                                   chunk.first + chunk.count - 1, target_.settings().instances));
    }
    InstanceShape shape = shape_of(target_.settings().model);
    shape.saved = static_cast<int>(target_.saved());
    shape.times = target_.settings().times.count();
    shape.event_capacity = chunk.shape.event_capacity;
    shape.has_end_states = chunk.shape.has_end_states;
    for_each_column(
        shape,
        [&](const Column& column, const auto& array) {
          if (std::ssize(array) == chunk.count * column.width) return;
          throw UsageError(fmt::format("{} of a chunk has {} entries, but needs {}", column.name, array.size(),
                                       chunk.count * column.width));
        },
        chunk);
  }

  bool times_vary() const {
    return !target_.settings().times.absolute() &&
           (target_.settings().sampled_times[0] || target_.settings().sampled_times[1]);
  }

  void define() {
    define_attributes();
    define_time();
    statistics_.emplace(target_);
    reductions_.emplace(target_);
    if (target_.settings().instance_rows) rows_.emplace(target_);
    if (!target_.settings().instance_rows) statuses_.emplace(target_);
    if (!target_.settings().model.events.empty()) events_.emplace(target_);
    if (target_.settings().verification) verification_.emplace(target_);
    target_.check(nc_enddef(target_.file()), "defined");
  }

  /// Where each instance has times of its own, and no row for them, statistics are over equal shares of the time spans.
  void define_time() {
    const std::string& unit = target_.settings().model.time_unit;
    const std::vector<int> dimensions = {target_.time_dimension()};
    if (!times_vary()) {
      time_ = target_.define_variable("time", NC_DOUBLE, dimensions, unit, "time");
    } else if (target_.settings().instance_rows) {
      time_ = target_.define_variable("time", NC_DOUBLE, {target_.instance_dimension(), target_.time_dimension()}, unit,
                                      "time");
    } else {
      time_ = target_.define_variable("time_fraction", NC_DOUBLE, dimensions, "1",
                                      "output time as a share of the time span of the instance");
    }
  }

  void define_attributes() const {
    const SolverOptions& options = target_.settings().options;
    target_.put_text(NC_GLOBAL, "Conventions", "CF-1.8");
    target_.put_text(NC_GLOBAL, "history", target_.settings().history);
    target_.put_text(NC_GLOBAL, "model", target_.settings().model.name);
    target_.put_text(NC_GLOBAL, "method", options.method);
    target_.check(nc_put_att_double(target_.file(), NC_GLOBAL, "rtol", NC_DOUBLE, 1, &options.rtol), "written");
    target_.check(
        nc_put_att_double(target_.file(), NC_GLOBAL, "atol", NC_DOUBLE, options.atol.size(), options.atol.data()),
        "written");
    target_.put_text(NC_GLOBAL, "sweep_file", target_.settings().sweep_file);
    if (!target_.settings().instance_rows) {
      const long long instances = target_.settings().instances;
      target_.check(nc_put_att_longlong(target_.file(), NC_GLOBAL, "instances", NC_INT64, 1, &instances), "written");
    }
    const unsigned long long seed = target_.settings().seed;
    target_.check(nc_put_att_ulonglong(target_.file(), NC_GLOBAL, "seed", NC_UINT64, 1, &seed), "written");
    target_.put_text(NC_GLOBAL, "sampler", target_.settings().sampler);
    target_.put_text(NC_GLOBAL, "version", target_.settings().version);
    target_.put_text(NC_GLOBAL, "backend", target_.settings().backend);
    target_.put_text(NC_GLOBAL, "tier", target_.settings().tier);
    target_.put_text(NC_GLOBAL, "linear_solver", target_.settings().linear_solver);
    target_.put_text(NC_GLOBAL, "precision", options.precision);
    target_.put_text(NC_GLOBAL, "error_test", options.error_test);
    target_.put_text(NC_GLOBAL, "inline", options.inline_integration);
    const bool projects = options.projection || target_.settings().model.always_projected;
    target_.put_text(NC_GLOBAL, "projection", projects ? "true" : "false");
  }

  void write_what_is_known() {
    if (!times_vary() || statuses_) {
      const std::array<double, 2> span = times_vary() ? std::array{0.0, 1.0} : target_.settings().t_span;
      std::vector<double> times(target_.times());
      target_.settings().times.fill(span[0], span[1], times.data());
      target_.check(nc_put_var_double(target_.file(), time_, times.data()), "written");
    }
    statistics_->write_what_is_known();
    if (statuses_) statuses_->write_what_is_known();
    if (events_) events_->write_what_is_known();
  }

  ResultTarget target_;
  std::optional<ResultStatistics> statistics_;
  std::optional<ResultReductions> reductions_;
  std::optional<ResultInstances> rows_;     // either these
  std::optional<ResultStatuses> statuses_;  // or these
  std::optional<ResultEvents> events_;
  std::optional<ResultVerification> verification_;
  bool failed_ = false;
  std::array<std::int64_t, status_count> by_status_{};
  int time_ = -1;
};

std::vector<int> places_at_end(const std::vector<int>& saved, std::size_t variables) {
  std::vector<int> places;
  // Derivatives come after the variables.
  for (const int index : saved) {
    const auto quantity = static_cast<std::size_t>(index);
    places.push_back(static_cast<int>(quantity < variables ? quantity : quantity + variables));
  }
  return places;
}

std::uintmax_t largest_size(const ResultFileSettings& settings) {
  const double solution = 8.0 * settings.times.count() * static_cast<double>(settings.saved.size());
  const bool scratch =
      std::any_of(settings.statistics.begin(), settings.statistics.end(),
                  [](const StatisticRequest& request) { return request.kind == StatisticRequest::Kind::quantile; }) &&
      !sketches_quantiles(settings) && !settings.sums_only;
  const bool own_times = !settings.times.absolute() && (settings.sampled_times[0] || settings.sampled_times[1]);
  double per_instance = settings.instance_rows ? bytes_of_row(settings)
                        : settings.sums_only   ? 0.0
                                               : 8.0 * static_cast<double>(settings.model.events.size());
  if (settings.trajectories) per_instance += solution;
  if (scratch) per_instance += solution;
  if (settings.instance_rows && own_times) per_instance += 8.0 * settings.times.count();
  return static_cast<std::uintmax_t>(std::min(per_instance * static_cast<double>(settings.instances), 1e18));
}

ResultFile::ResultFile(ResultFileSettings settings, OutputFile output)
    : writer_(std::make_unique<Writer>(std::move(settings), std::move(output))) {}

ResultFile::~ResultFile() = default;

void ResultFile::prepare(Chunk& chunk) const {
  if (const GroupSums* sums = GroupSums::of(chunk)) return writer_->prepare(*sums);
  // Copies of a chunk have their digest in common.
  if (chunk.digest.use_count() != 1) chunk.digest = std::make_shared<ResultDigest>();
  writer_->prepare(chunk, dynamic_cast<ResultDigest&>(*chunk.digest));
}

void ResultFile::write(const Chunk& chunk) {
  writer_->write(chunk);
}

std::vector<ReductionSummary> ResultFile::reductions() const {
  return writer_->reductions();
}

std::optional<double> ResultFile::quantile_error() const {
  return writer_->quantile_error();
}

void ResultFile::write_verification(const Verification& verification) {
  writer_->write_verification(verification);
}

void ResultFile::finish(bool interrupted) {
  writer_->finish(interrupted);
}

}  // namespace manyfold
