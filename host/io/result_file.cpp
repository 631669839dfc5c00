#include "host/io/result_file.hpp"

#include <dlfcn.h>
#include <netcdf.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/result_events.hpp"
#include "host/io/result_reductions.hpp"
#include "host/io/result_statistics.hpp"
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

struct CounterColumn {
  const char* name;
  std::int64_t Counters::*member;
  const char* long_name;
};

constexpr CounterColumn counter_columns[] = {
    {"stat_steps", &Counters::steps, "accepted steps"},
    {"stat_rejected", &Counters::rejected, "steps rejected by the error test"},
    {"stat_newton_failures", &Counters::newton_failures, "step attempts given up because Newton's method failed"},
    {"stat_newton_iterations", &Counters::newton_iterations, "Newton iterations"},
    {"stat_residuals", &Counters::residuals, "residual evaluations"},
    {"stat_jacobians", &Counters::jacobians, "Jacobian evaluations"},
    {"stat_factorizations", &Counters::factorizations, "factorizations of the iteration matrix"},
    {"stat_solves", &Counters::solves, "linear solves"},
    {"stat_events", &Counters::events, "located events"},
};

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

  void write(const Chunk& chunk) {
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
      write_outcomes(chunk);
      write_inputs(chunk);
      write_plain_columns(chunk);
      statistics_->write(chunk, digest);
      reductions_->write(chunk, digest);
      if (events_) events_->write(chunk, digest);
      finished_ += std::count_if(chunk.outcomes.begin(), chunk.outcomes.end(),
                                 [](const InstanceOutcome& outcome) { return outcome.status != Status::cancelled; });
    } catch (...) {
      failed_ = true;
      throw;
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
    if (interrupted || finished_ < target_.settings().instances) {
      target_.put_text(NC_GLOBAL, "interrupted", "true");
      const long long finished = finished_;
      target_.check(nc_put_att_longlong(target_.file(), NC_GLOBAL, "instances_finished", NC_INT64, 1, &finished),
                    "written");
    }
    statistics_->forget();
    target_.commit();
    failed_ = false;
  }

 private:
  static ResultFileSettings checked(ResultFileSettings settings) {
    if (settings.instances < 1) {
      throw UsageError(fmt::format("instances of a result file is {}, but must be at least 1", settings.instances));
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
    for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
      if (chunk.outcomes[i].status != Status::terminated_by_event) continue;
      const double direction = chunk.t_span[2 * i + 1] < chunk.t_span[2 * i] ? -1.0 : 1.0;
      for (std::size_t t = i * target_.times(); t < (i + 1) * target_.times(); ++t) {
        if (direction * chunk.times[t] <= direction * chunk.outcomes[i].t_reached) continue;
        for (std::size_t v = 0; v < saved.size(); ++v) {
          // In end states, derivatives come after the variables.
          const auto quantity = static_cast<std::size_t>(saved[v]);
          const std::size_t place = quantity < variables ? quantity : quantity + variables;
          digest.held[t * saved.size() + v] = chunk.end_states[i * end_states + place];
        }
      }
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
    const std::vector<int> per_instance = {target_.instance_dimension()};
    const ModelDescription& model = target_.settings().model;

    time_ = target_.define_variable("time", NC_DOUBLE,
                                    times_vary() ? std::vector{target_.instance_dimension(), target_.time_dimension()}
                                                 : std::vector{target_.time_dimension()},
                                    model.time_unit, "time");
    statistics_.emplace(target_);
    reductions_.emplace(target_);
    for (const int index : target_.settings().sampled_parameters) {
      const auto& parameter = model.parameters[static_cast<std::size_t>(index)];
      parameters_.push_back(target_.define_variable("param_" + parameter.name, NC_DOUBLE, per_instance, parameter.unit,
                                                    parameter.description));
    }
    for (const int index : target_.settings().sampled_initial) {
      const VariableDescription variable = model.initial_quantities()[static_cast<std::size_t>(index)];
      initial_.push_back(target_.define_variable("initial_" + variable.name, NC_DOUBLE, per_instance, variable.unit,
                                                 "sampled initial value of " + variable.name));
    }
    if (target_.settings().sampled_times[0]) {
      t_begin_ = target_.define_variable("t_begin", NC_DOUBLE, per_instance, model.time_unit, "start of the time span");
    }
    if (target_.settings().sampled_times[1]) {
      t_end_ = target_.define_variable("t_end", NC_DOUBLE, per_instance, model.time_unit, "end of the time span");
    }
    define_outcomes(per_instance);
    define_plain_columns();
    if (!model.events.empty()) events_.emplace(target_);
    if (target_.settings().verification) verification_.emplace(target_);
    target_.check(nc_enddef(target_.file()), "defined");
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

  void define_outcomes(const std::vector<int>& per_instance) {
    status_ = target_.define_variable("status", NC_BYTE, per_instance, "", "how the integration ended");
    // Every instance is cancelled until it is written: HDF5 reads so what is not there. Without the attribute, of which
    // readers make "missing", and of a status of bytes one of floating-point numbers.
    const auto cancelled = static_cast<signed char>(Status::cancelled);
    target_.check(nc_def_var_fill(target_.file(), status_, NC_FILL, &cancelled), "defined");
    target_.check(nc_del_att(target_.file(), status_, _FillValue), "defined");
    signed char values[status_count];
    std::string meanings;
    for (int i = 0; i < status_count; ++i) {
      values[i] = static_cast<signed char>(i);
      meanings += fmt::format("{}{}", i == 0 ? "" : " ", status_names[static_cast<std::size_t>(i)]);
    }
    target_.check(nc_put_att_schar(target_.file(), status_, "flag_values", NC_BYTE, status_count, values), "written");
    target_.put_text(status_, "flag_meanings", meanings);
    t_reached_ = target_.define_variable("t_reached", NC_DOUBLE, per_instance, target_.settings().model.time_unit,
                                         "time reached");
    residual_norm_ = target_.define_variable("residual_norm", NC_DOUBLE, per_instance, "",
                                             "largest residual at inconsistent initial conditions, else 0");
    worst_equation_ =
        target_.define_variable("worst_equation", NC_SHORT, per_instance, "",
                                "equation, counted from 1, of the largest residual at inconsistent initial "
                                "conditions, else -1");
    std::vector<short> equations;
    std::string names;
    for (int i = 0; i < target_.settings().model.equation_count(); ++i) {
      names += fmt::format("{}{}", i == 0 ? "" : " ", one_word(target_.settings().model.equation_label(i)));
      equations.push_back(static_cast<short>(i + 1));
    }
    target_.check(
        nc_put_att_short(target_.file(), worst_equation_, "flag_values", NC_SHORT, equations.size(), equations.data()),
        "written");
    target_.put_text(worst_equation_, "flag_meanings", names);
    for (const CounterColumn& column : counter_columns) {
      counters_.push_back(target_.define_variable(column.name, NC_INT64, per_instance, "1", column.long_name));
      // Of instances that an interrupted run has not begun.
      constexpr long long unknown = -1;
      target_.check(nc_def_var_fill(target_.file(), counters_.back(), NC_FILL, &unknown), "defined");
    }
  }

  // What the table of columns says all of.
  void define_plain_columns() {
    const ModelDescription& model = target_.settings().model;
    for_each_column(shape_of(model), [&](const Column& column) {
      if (column.in_file.name == nullptr) return;
      const auto define = [&](const std::string& name, const std::string& long_name) {
        plain_columns_[column.name].push_back(
            target_.define_variable(name, NC_DOUBLE, {target_.instance_dimension()},
                                    column.in_file.unit != nullptr ? column.in_file.unit : model.time_unit, long_name));
      };
      if (!column.in_file.per_event) return define(column.in_file.name, column.in_file.long_name);
      for (const EventDescription& event : model.events) {
        define(fmt::format("{}_{}", column.in_file.name, one_word(event.name)),
               fmt::format("{} {}", column.in_file.long_name, event.name));
      }
    });
  }

  void write_plain_columns(const Chunk& chunk) {
    for_each_column(
        chunk.shape,
        [&]<class T>(const Column& column, const std::vector<T>& array) {
          if constexpr (std::is_same_v<T, double>) {
            if (column.in_file.name == nullptr) return;
            const std::vector<int>& ids = plain_columns_[column.name];
            for (std::size_t k = 0; k < ids.size(); ++k) {
              target_.write_column(chunk, ids[k], [&](std::size_t i) { return array[i * ids.size() + k]; });
            }
          }
        },
        chunk);
  }

  void write_what_is_known() {
    if (!times_vary()) {
      std::vector<double> times(target_.times());
      target_.settings().times.fill(target_.settings().t_span[0], target_.settings().t_span[1], times.data());
      target_.check(nc_put_var_double(target_.file(), time_, times.data()), "written");
    }
    statistics_->write_what_is_known();
    if (events_) events_->write_what_is_known();
  }

  void write_outcomes(const Chunk& chunk) {
    const auto start = static_cast<std::size_t>(chunk.first);
    const auto count = static_cast<std::size_t>(chunk.count);
    std::vector<signed char> statuses(count);
    for (std::size_t i = 0; i < count; ++i) statuses[i] = static_cast<signed char>(chunk.outcomes[i].status);
    target_.check(nc_put_vara_schar(target_.file(), status_, &start, &count, statuses.data()), "written");
    target_.write_column(chunk, t_reached_, [&](std::size_t i) { return chunk.outcomes[i].t_reached; });
    target_.write_column(chunk, residual_norm_, [&](std::size_t i) { return chunk.outcomes[i].residual_norm; });
    std::vector<short> equations(count);
    for (std::size_t i = 0; i < count; ++i) {
      const int equation = chunk.outcomes[i].worst_equation;
      equations[i] = static_cast<short>(equation < 0 ? -1 : equation + 1);
    }
    target_.check(nc_put_vara_short(target_.file(), worst_equation_, &start, &count, equations.data()), "written");
    std::vector<long long> numbers(count);
    for (std::size_t c = 0; c < counters_.size(); ++c) {
      for (std::size_t i = 0; i < count; ++i) numbers[i] = chunk.outcomes[i].counters.*counter_columns[c].member;
      target_.check(nc_put_vara_longlong(target_.file(), counters_[c], &start, &count, numbers.data()), "written");
    }
  }

  void write_inputs(const Chunk& chunk) {
    const std::size_t all_parameters = target_.settings().model.parameters.size();
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const auto index = static_cast<std::size_t>(target_.settings().sampled_parameters[p]);
      target_.write_column(chunk, parameters_[p],
                           [&](std::size_t i) { return chunk.parameters[i * all_parameters + index]; });
    }
    const std::size_t all_initial = target_.settings().model.initial_quantities().size();
    for (std::size_t v = 0; v < initial_.size(); ++v) {
      const auto index = static_cast<std::size_t>(target_.settings().sampled_initial[v]);
      target_.write_column(chunk, initial_[v], [&](std::size_t i) { return chunk.initial[i * all_initial + index]; });
    }
    if (t_begin_ >= 0) target_.write_column(chunk, t_begin_, [&](std::size_t i) { return chunk.t_span[2 * i]; });
    if (t_end_ >= 0) target_.write_column(chunk, t_end_, [&](std::size_t i) { return chunk.t_span[2 * i + 1]; });
    if (times_vary()) target_.write_rows(chunk, time_, chunk.times);
  }

  ResultTarget target_;
  std::optional<ResultStatistics> statistics_;
  std::optional<ResultReductions> reductions_;
  std::optional<ResultEvents> events_;
  std::optional<ResultVerification> verification_;
  bool failed_ = false;
  std::int64_t finished_ = 0;
  int time_ = -1;
  int status_ = -1;
  int t_reached_ = -1;
  int residual_norm_ = -1;
  int worst_equation_ = -1;
  int t_begin_ = -1;
  int t_end_ = -1;
  std::map<std::string, std::vector<int>> plain_columns_;  // by the name in the table: one, or one per event
  std::vector<int> counters_;
  std::vector<int> parameters_;
  std::vector<int> initial_;
};

std::uintmax_t largest_size(const ResultFileSettings& settings) {
  const double solution = 8.0 * settings.times.count() * static_cast<double>(settings.saved.size());
  const bool scratch =
      std::any_of(settings.statistics.begin(), settings.statistics.end(),
                  [](const StatisticRequest& request) { return request.kind == StatisticRequest::Kind::quantile; }) &&
      !sketches_quantiles(settings);
  const bool own_times = !settings.times.absolute() && (settings.sampled_times[0] || settings.sampled_times[1]);
  double per_instance = 8.0 * static_cast<double>(std::size(counter_columns) + settings.sampled_parameters.size() +
                                                  settings.sampled_initial.size() + 2);
  if (settings.trajectories) per_instance += solution;
  if (scratch) per_instance += solution;
  if (own_times) per_instance += 8.0 * settings.times.count();
  return static_cast<std::uintmax_t>(std::min(per_instance * static_cast<double>(settings.instances), 1e18));
}

ResultFile::ResultFile(ResultFileSettings settings, OutputFile output)
    : writer_(std::make_unique<Writer>(std::move(settings), std::move(output))) {}

ResultFile::~ResultFile() = default;

void ResultFile::prepare(Chunk& chunk) const {
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
