#include "host/io/result_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <netcdf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/result_names.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t elements_per_chunk = 65536;
constexpr std::size_t event_bins = 50;  // of the histogram of first times

// HDF5 closes what is open when the process exits. A file whose close failed because the disk is full is half freed
// then, and HDF5 (1.10) crashes; so it is told not to, before its first use, which is when it asks. All files are
// closed by their owners. HDF5 is a dependency of netCDF only, hence the look-up by name.
[[maybe_unused]] const bool hdf5_leaves_exit_alone = [] {
  const auto leave = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "H5dont_atexit"));
  return leave != nullptr && leave() >= 0;
}();

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

// As CF-1.8 wants the words of flag_meanings.
std::string one_word(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if (c == ' ') {
      word += '_';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("_-.+@").find(c) != std::string_view::npos) {
      word += c;
    }
  }
  return word;
}

}  // namespace

class ResultFile::Writer {
 public:
  Writer(ResultFileSettings settings, OutputFile output)
      : settings_(std::move(settings)),
        output_(std::move(output)),
        times_(static_cast<std::size_t>(settings_.times.count())),
        saved_(settings_.saved.size()) {
    check_settings();
    try {
      check(nc_create(output_.create().c_str(), NC_NETCDF4 | NC_CLOBBER, &file_), "created");
      open_ = true;
      define();
      prepare_statistics();
      write_what_is_known();
      check(nc_sync(file_), "written");
    } catch (...) {
      close_quietly();
      throw;
    }
  }

  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { close_quietly(); }

  void write(const Chunk& chunk) {
    check_chunk(chunk);
    if (chunk.count == 0) return;
    silence_hdf5_in_this_thread();
    try {
      write_outcomes(chunk);
      write_inputs(chunk);
      write_plain_columns(chunk);
      if (settings_.trajectories) write_trajectories(chunk);
      if (!settings_.model.events.empty()) write_events(chunk);
      if (statistics_) statistics_->add(chunk.values);
      if (spill_) spill_->add(chunk.values);
      finished_ += std::count_if(chunk.outcomes.begin(), chunk.outcomes.end(),
                                 [](const InstanceOutcome& outcome) { return outcome.status != Status::cancelled; });
      sync_now_and_then();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void write_verification(const Verification& verification) {
    silence_hdf5_in_this_thread();
    const VerificationPlan& plan = settings_.verification.value();
    if (verification.instances.size() != plan.instances.size()) {
      throw UsageError(fmt::format("a verification has {} instances, but the result file {}",
                                   verification.instances.size(), plan.instances.size()));
    }
    std::vector<short> variables(saved_);
    std::iota(variables.begin(), variables.end(), short{0});
    std::vector<long long> instances(plan.instances.begin(), plan.instances.end());
    std::vector<signed char> verdicts;
    std::vector<double> errors;
    std::vector<double> doubts;
    for (const VerifiedInstance& instance : verification.instances) {
      verdicts.push_back(static_cast<signed char>(instance.verdict));
      errors.insert(errors.end(), instance.error.begin(), instance.error.end());
      doubts.insert(doubts.end(), instance.doubt.begin(), instance.doubt.end());
    }
    check(nc_put_var_short(file_, verify_variable_, variables.data()), "written");
    check(nc_put_var_longlong(file_, verify_instance_, instances.data()), "written");
    check(nc_put_var_schar(file_, verify_verdict_, verdicts.data()), "written");
    check(nc_put_var_double(file_, verify_error_, errors.data()), "written");
    check(nc_put_var_double(file_, verify_doubt_, doubts.data()), "written");
    put_text(NC_GLOBAL, "verify_result", std::string(verdict_name(verification.verdict)));
  }

  void finish(bool interrupted) {
    if (failed_ || !open_) {
      throw std::runtime_error(fmt::format("{}: cannot be finished: an earlier write failed", output_.path().string()));
    }
    failed_ = true;  // until everything below has succeeded
    write_statistics();
    if (!settings_.model.events.empty()) write_event_statistics();
    if (interrupted || finished_ < settings_.instances) {
      put_text(NC_GLOBAL, "interrupted", "true");
      const long long finished = finished_;
      check(nc_put_att_longlong(file_, NC_GLOBAL, "instances_finished", NC_INT64, 1, &finished), "written");
    }
    open_ = false;
    check(nc_close(file_), "closed");
    spill_.reset();
    output_.commit();
    failed_ = false;
  }

 private:
  struct SavedVariable {
    int trajectory = -1;
    int count = -1;
    int quantiles = -1;
    std::vector<std::pair<StatisticRequest::Kind, int>> moments;  // what is asked for, and its netCDF variable
  };

  void check_settings() const {
    if (settings_.instances < 1) {
      throw UsageError(fmt::format("instances of a result file is {}, but must be at least 1", settings_.instances));
    }
    const auto require_indices = [](const std::vector<int>& indices, std::size_t size, const char* what) {
      for (const int index : indices) {
        if (index >= 0 && static_cast<std::size_t>(index) < size) continue;
        throw UsageError(fmt::format("{} of a result file has index {}, but must be below {}", what, index, size));
      }
    };
    require_indices(settings_.saved, settings_.model.variables.size(), "saved");
    require_indices(settings_.sampled_initial, settings_.model.initial_quantities().size(), "sampled_initial");
    require_indices(settings_.sampled_parameters, settings_.model.parameters.size(), "sampled_parameters");
  }

  void check_chunk(const Chunk& chunk) const {
    if (failed_ || !open_) {
      throw std::runtime_error(fmt::format("{}: cannot be written: an earlier write failed", output_.path().string()));
    }
    if (chunk.first < 0 || chunk.count < 0 || chunk.first > settings_.instances - chunk.count) {
      throw UsageError(fmt::format("a chunk has instances {} to {}, but the ensemble has {}", chunk.first,
                                   chunk.first + chunk.count - 1, settings_.instances));
    }
    InstanceShape shape = shape_of(settings_.model);
    shape.saved = static_cast<int>(saved_);
    shape.times = settings_.times.count();
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

  /// Numbers in an entry of the event log, before or after the event.
  std::size_t event_row() const { return saved_ + settings_.model.discrete.size(); }

  bool times_vary() const {
    return !settings_.times.absolute() && (settings_.sampled_times[0] || settings_.sampled_times[1]);
  }

  void check(int error, std::string_view what) const {
    if (error == NC_NOERR) return;
    std::string reason = nc_strerror(error);
    // HDF5 keeps the operating system's reason to itself.
    constexpr std::uintmax_t next_to_nothing = 1 << 18;
    std::error_code failure;
    const auto space = std::filesystem::space(std::filesystem::absolute(output_.path()).parent_path(), failure);
    if (!failure && space.available < next_to_nothing) reason = "no space left on device (" + reason + ")";
    const auto size = std::filesystem::file_size(output_.partial(), failure);
    rlimit limit{};
    if (!failure && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size + next_to_nothing >= limit.rlim_cur) {
      reason = fmt::format("the limit of file sizes, {} bytes (ulimit -f), is reached ({})", limit.rlim_cur, reason);
    }
    throw std::runtime_error(fmt::format("{}: cannot be {}: {}", output_.path().string(), what, reason));
  }

  void close_quietly() {
    if (open_) nc_close(file_);
    open_ = false;
  }

  void put_text(int variable, const char* name, const std::string& text) const {
    check(nc_put_att_text(file_, variable, name, text.size(), text.c_str()), "written");
  }

  // Defines a variable over `dimensions`, compressed when it has an instance dimension.
  int define_variable(const std::string& name, nc_type type, const std::vector<int>& dimensions,
                      const std::string& units, const std::string& long_name) const {
    const auto refuse = [&](std::string_view reason) {
      throw UsageError(fmt::format("output file {}: \"{}\" cannot be the name of a variable: {}",
                                   output_.path().string(), name, reason));
    };
    if (const std::string problem = unfit_for_netcdf(name); !problem.empty()) refuse("it " + problem);
    int id = -1;
    const int error =
        nc_def_var(file_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &id);
    if (error == NC_ENAMEINUSE || error == NC_EBADNAME) refuse(nc_strerror(error));
    check(error, "defined");
    if (!units.empty()) put_text(id, "units", units);
    if (!long_name.empty()) put_text(id, "long_name", long_name);
    // CF-1.8, section 2.5.1: coordinate variables have no missing values.
    const bool coordinate = dimensions.size() == 1 && (name == "time" || name == "quantile");
    if (type == NC_DOUBLE && !coordinate) check(nc_def_var_fill(file_, id, NC_FILL, &nan), "defined");
    if (dimensions.front() == instance_dimension_) compress(id, type, dimensions.size() == 2);
    return id;
  }

  void compress(int id, nc_type type, bool with_times) const {
    // Chunks of up to half a megabyte with whole trajectories where they fit; smaller for models with many variables,
    // because HDF5 keeps the chunk in work of every variable in memory.
    const std::int64_t target = std::clamp<std::int64_t>(
        (std::int64_t{1} << 24) / static_cast<std::int64_t>(saved_ + 1), 4096, elements_per_chunk);
    const std::int64_t times = with_times ? std::min<std::int64_t>(settings_.times.count(), 1024) : 1;
    const std::int64_t instances = std::clamp<std::int64_t>(target / times, 1, settings_.instances);
    const std::size_t sizes[2] = {static_cast<std::size_t>(instances), static_cast<std::size_t>(times)};
    check(nc_def_var_chunking(file_, id, NC_CHUNKED, sizes), "defined");
    check(nc_def_var_deflate(file_, id, 1, 1, 2), "defined");
    const std::size_t bytes = sizes[0] * sizes[1] * (type == NC_BYTE ? 1 : 8);
    check(nc_set_var_chunk_cache(file_, id, 2 * bytes, 101, 0.75F), "defined");
  }

  void define() {
    check(nc_def_dim(file_, "instance", static_cast<std::size_t>(settings_.instances), &instance_dimension_),
          "defined");
    check(nc_def_dim(file_, "time", times_, &time_dimension_), "defined");
    define_attributes();
    const std::vector<int> per_instance = {instance_dimension_};
    const ModelDescription& model = settings_.model;

    time_ =
        define_variable("time", NC_DOUBLE,
                        times_vary() ? std::vector{instance_dimension_, time_dimension_} : std::vector{time_dimension_},
                        model.time_unit, "time");
    define_saved_variables();
    for (const int index : settings_.sampled_parameters) {
      const auto& parameter = model.parameters[static_cast<std::size_t>(index)];
      parameters_.push_back(
          define_variable("param_" + parameter.name, NC_DOUBLE, per_instance, parameter.unit, parameter.description));
    }
    for (const int index : settings_.sampled_initial) {
      const VariableDescription variable = model.initial_quantities()[static_cast<std::size_t>(index)];
      initial_.push_back(define_variable("initial_" + variable.name, NC_DOUBLE, per_instance, variable.unit,
                                         "sampled initial value of " + variable.name));
    }
    if (settings_.sampled_times[0]) {
      t_begin_ = define_variable("t_begin", NC_DOUBLE, per_instance, model.time_unit, "start of the time span");
    }
    if (settings_.sampled_times[1]) {
      t_end_ = define_variable("t_end", NC_DOUBLE, per_instance, model.time_unit, "end of the time span");
    }
    define_outcomes(per_instance);
    define_plain_columns();
    if (!model.events.empty()) define_events();
    if (settings_.verification) define_verification();
    check(nc_enddef(file_), "defined");
  }

  void define_attributes() const {
    const SolverOptions& options = settings_.options;
    put_text(NC_GLOBAL, "Conventions", "CF-1.8");
    put_text(NC_GLOBAL, "history", settings_.history);
    put_text(NC_GLOBAL, "model", settings_.model.name);
    put_text(NC_GLOBAL, "method", options.method);
    check(nc_put_att_double(file_, NC_GLOBAL, "rtol", NC_DOUBLE, 1, &options.rtol), "written");
    check(nc_put_att_double(file_, NC_GLOBAL, "atol", NC_DOUBLE, options.atol.size(), options.atol.data()), "written");
    put_text(NC_GLOBAL, "sweep_file", settings_.sweep_file);
    const unsigned long long seed = settings_.seed;
    check(nc_put_att_ulonglong(file_, NC_GLOBAL, "seed", NC_UINT64, 1, &seed), "written");
    put_text(NC_GLOBAL, "sampler", settings_.sampler);
    put_text(NC_GLOBAL, "version", settings_.version);
    put_text(NC_GLOBAL, "backend", settings_.backend);
    put_text(NC_GLOBAL, "tier", settings_.tier);
    put_text(NC_GLOBAL, "precision", options.precision);
    put_text(NC_GLOBAL, "error_test", options.error_test);
    put_text(NC_GLOBAL, "projection", options.projection ? "true" : "false");
  }

  void define_saved_variables() {
    for (const StatisticRequest& request : settings_.statistics) {
      if (request.kind == StatisticRequest::Kind::quantile) probabilities_.push_back(request.probability);
    }
    if (!probabilities_.empty()) {
      check(nc_def_dim(file_, "quantile", probabilities_.size(), &quantile_dimension_), "defined");
      quantile_ = define_variable("quantile", NC_DOUBLE, {quantile_dimension_}, "1", "probability of the quantile");
    }
    for (const int index : settings_.saved) {
      const auto& variable = settings_.model.variables[static_cast<std::size_t>(index)];
      SavedVariable ids;
      if (settings_.trajectories) {
        ids.trajectory = define_variable(variable.name, NC_DOUBLE, {instance_dimension_, time_dimension_},
                                         variable.unit, variable.description);
      }
      const auto define_statistic = [&](std::string_view what, const std::string& long_name) {
        return define_variable(fmt::format("{}_{}", variable.name, what), NC_DOUBLE, {time_dimension_}, variable.unit,
                               fmt::format("{} of {} over the instances", long_name, variable.name));
      };
      for (const StatisticRequest& request : settings_.statistics) {
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
      if (!probabilities_.empty()) {
        ids.quantiles =
            define_variable(variable.name + "_quantile", NC_DOUBLE, {quantile_dimension_, time_dimension_},
                            variable.unit, fmt::format("quantiles of {} over the instances", variable.name));
      }
      if (!settings_.statistics.empty()) {
        ids.count = define_variable(variable.name + "_count", NC_INT64, {time_dimension_}, "1",
                                    fmt::format("instances with a finite value of {}", variable.name));
      }
      variables_.push_back(std::move(ids));
    }
  }

  void define_outcomes(const std::vector<int>& per_instance) {
    status_ = define_variable("status", NC_BYTE, per_instance, "", "how the integration ended");
    signed char values[status_count];
    std::string meanings;
    for (int i = 0; i < status_count; ++i) {
      values[i] = static_cast<signed char>(i);
      meanings += fmt::format("{}{}", i == 0 ? "" : " ", status_names[static_cast<std::size_t>(i)]);
    }
    check(nc_put_att_schar(file_, status_, "flag_values", NC_BYTE, status_count, values), "written");
    put_text(status_, "flag_meanings", meanings);
    t_reached_ = define_variable("t_reached", NC_DOUBLE, per_instance, settings_.model.time_unit, "time reached");
    residual_norm_ = define_variable("residual_norm", NC_DOUBLE, per_instance, "",
                                     "largest residual at inconsistent initial conditions, else 0");
    worst_equation_ = define_variable("worst_equation", NC_SHORT, per_instance, "",
                                      "equation, counted from 1, of the largest residual at inconsistent initial "
                                      "conditions, else -1");
    std::vector<short> equations;
    std::string names;
    for (int i = 0; i < settings_.model.equation_count(); ++i) {
      names += fmt::format("{}{}", i == 0 ? "" : " ", one_word(settings_.model.equation_label(i)));
      equations.push_back(static_cast<short>(i + 1));
    }
    check(nc_put_att_short(file_, worst_equation_, "flag_values", NC_SHORT, equations.size(), equations.data()),
          "written");
    put_text(worst_equation_, "flag_meanings", names);
    for (const CounterColumn& column : counter_columns) {
      counters_.push_back(define_variable(column.name, NC_INT64, per_instance, "1", column.long_name));
    }
  }

  // What the table of columns says all of.
  void define_plain_columns() {
    const ModelDescription& model = settings_.model;
    for_each_column(shape_of(model), [&](const Column& column) {
      if (column.in_file.name == nullptr) return;
      const auto define = [&](const std::string& name, const std::string& long_name) {
        plain_columns_[column.name].push_back(
            define_variable(name, NC_DOUBLE, {instance_dimension_},
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
              write_column(chunk, ids[k], [&](std::size_t i) { return array[i * ids.size() + k]; });
            }
          }
        },
        chunk);
  }

  // Ragged arrays: entry k of each belongs to instance `event_instance[k]`. CF-1.8, section 9.3.4.
  void define_events() {
    const ModelDescription& model = settings_.model;
    check(nc_def_dim(file_, "event", NC_UNLIMITED, &event_dimension_), "defined");
    check(nc_def_dim(file_, "event_kind", model.events.size(), &event_kind_dimension_), "defined");
    const auto define_entry = [&](const std::string& name, nc_type type, const std::string& units,
                                  const std::string& long_name) {
      const int id = define_variable(name, type, {event_dimension_}, units, long_name);
      const std::size_t entries = 8192;
      check(nc_def_var_chunking(file_, id, NC_CHUNKED, &entries), "defined");
      check(nc_def_var_deflate(file_, id, 1, 1, 2), "defined");
      return id;
    };
    std::vector<short> values;
    std::string meanings;
    for (const EventDescription& event : model.events) {
      if (!values.empty()) meanings += ' ';
      meanings += one_word(event.name);
      values.push_back(static_cast<short>(values.size()));
    }
    const auto name_kinds = [&](int id) {
      check(nc_put_att_short(file_, id, "flag_values", NC_SHORT, values.size(), values.data()), "written");
      put_text(id, "flag_meanings", meanings);
    };
    event_instance_ = define_entry("event_instance", NC_INT64, "1", "instance of the event");
    put_text(event_instance_, "instance_dimension", "instance");
    event_time_ = define_entry("event_time", NC_DOUBLE, model.time_unit, "time of the event");
    event_name_ = define_entry("event_name", NC_SHORT, "", "which event it was");
    name_kinds(event_name_);
    event_direction_ = define_entry("event_direction", NC_BYTE, "1",
                                    "direction of the crossing in the direction of integration; 0: scheduled");
    const auto define_pair = [&](const VariableDescription& variable) {
      for (const char* side : {"before", "after"}) {
        event_values_.push_back(define_entry(fmt::format("event_{}_{}", side, variable.name), NC_DOUBLE, variable.unit,
                                             fmt::format("{} {} the event", variable.name, side)));
      }
    };
    for (const int index : settings_.saved) define_pair(model.variables[static_cast<std::size_t>(index)]);
    for (const VariableDescription& number : model.discrete) define_pair(number);

    events_not_logged_ = define_variable("events_not_logged", NC_INT64, {instance_dimension_}, "1",
                                         "events of the instance that did not fit its log");
    last_event_ = define_variable("event_last", NC_SHORT, {instance_dimension_}, "",
                                  "the event that occurred last, which of an event storm is the one; -1: none");
    name_kinds(last_event_);
    event_kind_ = define_variable("event_kind", NC_SHORT, {event_kind_dimension_}, "", "events of the model");
    name_kinds(event_kind_);
    event_probability_ = define_variable(
        "event_probability", NC_DOUBLE, {event_kind_dimension_, time_dimension_}, "1",
        "part of the instances in which the event has occurred, of those whose solution is known at the time");
    if (!probabilities_.empty()) {
      event_quantile_ =
          define_variable("event_first_time_quantile", NC_DOUBLE, {event_kind_dimension_, quantile_dimension_},
                          model.time_unit, "quantiles of the first event's time over the instances where it occurs");
    }
    int bin_dimension = -1;
    int edge_dimension = -1;
    check(nc_def_dim(file_, "event_bin", event_bins, &bin_dimension), "defined");
    check(nc_def_dim(file_, "event_bin_edge", event_bins + 1, &edge_dimension), "defined");
    event_bin_edge_ = define_variable("event_bin_edge", NC_DOUBLE, {edge_dimension}, model.time_unit,
                                      "edges of the bins of first times; a bin includes its later edge");
    event_histogram_ = define_variable("event_first_time_histogram", NC_INT64, {event_kind_dimension_, bin_dimension},
                                       "1", "instances whose first event falls in the bin");
    occurred_.assign(model.events.size() * times_, 0);
    known_.assign(model.events.size() * times_, 0);
  }

  void define_verification() {
    const VerificationPlan& plan = *settings_.verification;
    int sample = -1;
    int variable = -1;
    check(nc_def_dim(file_, "verify_sample", plan.instances.size(), &sample), "defined");
    check(nc_def_dim(file_, "verify_variable", saved_, &variable), "defined");
    verify_variable_ = define_variable("verify_variable", NC_SHORT, {variable}, "", "variables that are verified");
    std::vector<short> values;
    std::string meanings;
    for (const int index : settings_.saved) {
      meanings += fmt::format("{}{}", values.empty() ? "" : " ",
                              one_word(settings_.model.variables[static_cast<std::size_t>(index)].name));
      values.push_back(static_cast<short>(values.size()));
    }
    check(nc_put_att_short(file_, verify_variable_, "flag_values", NC_SHORT, values.size(), values.data()), "written");
    put_text(verify_variable_, "flag_meanings", meanings);
    verify_instance_ = define_variable("verify_instance", NC_INT64, {sample}, "1", "instance that was verified");
    verify_verdict_ = define_variable("verify_verdict", NC_BYTE, {sample}, "", "whether its solution is accurate");
    signed char flags[verdict_names.size()];
    std::string names;
    for (std::size_t k = 0; k < verdict_names.size(); ++k) {
      flags[k] = static_cast<signed char>(k);
      names += fmt::format("{}{}", k == 0 ? "" : " ", verdict_names[k]);
    }
    check(nc_put_att_schar(file_, verify_verdict_, "flag_values", NC_BYTE, verdict_names.size(), flags), "written");
    put_text(verify_verdict_, "flag_meanings", names);
    verify_error_ = define_variable("verify_error", NC_DOUBLE, {sample, variable}, "1",
                                    "largest error over the output times, in units of atol + rtol |y|");
    verify_doubt_ = define_variable("verify_doubt", NC_DOUBLE, {sample, variable}, "1",
                                    "largest difference of the two references, in the same units");
    put_text(NC_GLOBAL, "verify_method", plan.references[0]);
    put_text(NC_GLOBAL, "verify_second_method", plan.references[1]);
    const auto put_number = [&](const char* name, double value) {
      check(nc_put_att_double(file_, NC_GLOBAL, name, NC_DOUBLE, 1, &value), "written");
    };
    put_number("verify_rtol", plan.rtol);
    put_number("verify_limit", verification_limit);
    put_number("verify_share", plan.share);
    put_text(NC_GLOBAL, "verify_result", "not finished");
  }

  void prepare_statistics() {
    if (settings_.statistics.empty()) return;
    statistics_.emplace(times_ * saved_);
    if (!probabilities_.empty()) spill_.emplace(output_.path(), times_ * saved_, settings_.instances);
  }

  void write_what_is_known() {
    if (!times_vary()) {
      std::vector<double> times(times_);
      settings_.times.fill(settings_.t_span[0], settings_.t_span[1], times.data());
      check(nc_put_var_double(file_, time_, times.data()), "written");
    }
    if (!probabilities_.empty()) check(nc_put_var_double(file_, quantile_, probabilities_.data()), "written");
    if (!settings_.model.events.empty()) {
      std::vector<short> kinds(settings_.model.events.size());
      std::iota(kinds.begin(), kinds.end(), short{0});
      check(nc_put_var_short(file_, event_kind_, kinds.data()), "written");
    }
    // Every instance is cancelled until it is written. Not by a _FillValue: readers turn that into "missing", and a
    // status of bytes into one of floating-point numbers.
    const std::vector<signed char> cancelled(
        static_cast<std::size_t>(std::min(settings_.instances, elements_per_chunk)),
        static_cast<signed char>(Status::cancelled));
    for (std::int64_t first = 0; first < settings_.instances; first += elements_per_chunk) {
      const auto start = static_cast<std::size_t>(first);
      const auto count = static_cast<std::size_t>(std::min(elements_per_chunk, settings_.instances - first));
      check(nc_put_vara_schar(file_, status_, &start, &count, cancelled.data()), "written");
    }
  }

  // Writes, for the instances of `chunk`, what `value` returns for each of them.
  template <class Value>
  void write_column(const Chunk& chunk, int id, Value value) {
    column_.resize(static_cast<std::size_t>(chunk.count));
    for (std::size_t i = 0; i < column_.size(); ++i) column_[i] = value(i);
    const auto start = static_cast<std::size_t>(chunk.first);
    const std::size_t count = column_.size();
    check(nc_put_vara_double(file_, id, &start, &count, column_.data()), "written");
  }

  void write_outcomes(const Chunk& chunk) {
    const auto start = static_cast<std::size_t>(chunk.first);
    const auto count = static_cast<std::size_t>(chunk.count);
    std::vector<signed char> statuses(count);
    for (std::size_t i = 0; i < count; ++i) statuses[i] = static_cast<signed char>(chunk.outcomes[i].status);
    check(nc_put_vara_schar(file_, status_, &start, &count, statuses.data()), "written");
    write_column(chunk, t_reached_, [&](std::size_t i) { return chunk.outcomes[i].t_reached; });
    write_column(chunk, residual_norm_, [&](std::size_t i) { return chunk.outcomes[i].residual_norm; });
    std::vector<short> equations(count);
    for (std::size_t i = 0; i < count; ++i) {
      const int equation = chunk.outcomes[i].worst_equation;
      equations[i] = static_cast<short>(equation < 0 ? -1 : equation + 1);
    }
    check(nc_put_vara_short(file_, worst_equation_, &start, &count, equations.data()), "written");
    std::vector<long long> numbers(count);
    for (std::size_t c = 0; c < counters_.size(); ++c) {
      for (std::size_t i = 0; i < count; ++i) numbers[i] = chunk.outcomes[i].counters.*counter_columns[c].member;
      check(nc_put_vara_longlong(file_, counters_[c], &start, &count, numbers.data()), "written");
    }
  }

  void write_inputs(const Chunk& chunk) {
    const std::size_t all_parameters = settings_.model.parameters.size();
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const auto index = static_cast<std::size_t>(settings_.sampled_parameters[p]);
      write_column(chunk, parameters_[p], [&](std::size_t i) { return chunk.parameters[i * all_parameters + index]; });
    }
    const std::size_t all_initial = settings_.model.initial_quantities().size();
    for (std::size_t v = 0; v < initial_.size(); ++v) {
      const auto index = static_cast<std::size_t>(settings_.sampled_initial[v]);
      write_column(chunk, initial_[v], [&](std::size_t i) { return chunk.initial[i * all_initial + index]; });
    }
    if (t_begin_ >= 0) write_column(chunk, t_begin_, [&](std::size_t i) { return chunk.t_span[2 * i]; });
    if (t_end_ >= 0) write_column(chunk, t_end_, [&](std::size_t i) { return chunk.t_span[2 * i + 1]; });
    if (times_vary()) write_rows(chunk, time_, chunk.times);
  }

  // Writes `values` [count][times].
  void write_rows(const Chunk& chunk, int id, const std::vector<double>& values) const {
    const std::size_t start[2] = {static_cast<std::size_t>(chunk.first), 0};
    const std::size_t count[2] = {static_cast<std::size_t>(chunk.count), times_};
    check(nc_put_vara_double(file_, id, start, count, values.data()), "written");
  }

  void write_trajectories(const Chunk& chunk) {
    for (std::size_t v = 0; v < saved_; ++v) {
      rows_.resize(static_cast<std::size_t>(chunk.count) * times_);
      for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = chunk.values[i * saved_ + v];
      write_rows(chunk, variables_[v].trajectory, rows_);
    }
  }

  void write_events(const Chunk& chunk) {
    std::vector<long long> instances;
    std::vector<double> times;
    std::vector<short> names;
    std::vector<signed char> directions;
    std::vector<std::vector<double>> values(event_values_.size());
    std::vector<long long> not_logged(static_cast<std::size_t>(chunk.count));
    const std::size_t row = event_row();
    for (std::size_t i = 0; i < not_logged.size(); ++i) {
      const auto log = chunk.event_log(static_cast<std::int64_t>(i));
      not_logged[i] = chunk.outcomes[i].counters.events - std::ssize(log);
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
    const auto first = static_cast<std::size_t>(chunk.first);
    const std::size_t rows = not_logged.size();
    check(nc_put_vara_longlong(file_, events_not_logged_, &first, &rows, not_logged.data()), "written");
    write_column(chunk, last_event_, [&](std::size_t i) { return static_cast<double>(chunk.outcomes[i].last_event); });
    for (std::size_t i = 0; i < rows; ++i) {
      earliest_ = std::min({earliest_, chunk.t_span[2 * i], chunk.t_span[2 * i + 1]});
      latest_ = std::max({latest_, chunk.t_span[2 * i], chunk.t_span[2 * i + 1]});
    }
    count_occurrences(chunk);
    if (instances.empty()) return;
    const std::size_t count = instances.size();
    check(nc_put_vara_longlong(file_, event_instance_, &events_, &count, instances.data()), "written");
    check(nc_put_vara_double(file_, event_time_, &events_, &count, times.data()), "written");
    check(nc_put_vara_short(file_, event_name_, &events_, &count, names.data()), "written");
    check(nc_put_vara_schar(file_, event_direction_, &events_, &count, directions.data()), "written");
    for (std::size_t v = 0; v < values.size(); ++v) {
      check(nc_put_vara_double(file_, event_values_[v], &events_, &count, values[v].data()), "written");
    }
    events_ += count;
  }

  // An instance that failed before an output time says nothing of the events up to it, unless they occurred.
  void count_occurrences(const Chunk& chunk) {
    const std::size_t kinds = settings_.model.events.size();
    for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
      const double* times = chunk.times.data() + i * times_;
      const double direction = times_ > 1 && times[times_ - 1] < times[0] ? -1.0 : 1.0;
      const InstanceOutcome& outcome = chunk.outcomes[i];
      for (std::size_t k = 0; k < kinds; ++k) {
        const double time = chunk.first_event_times[i * kinds + k];
        for (std::size_t t = 0; t < times_; ++t) {
          const bool occurred = direction * time <= direction * times[t];
          const bool arrived = direction * outcome.t_reached >= direction * times[t];
          occurred_[k * times_ + t] += occurred ? 1 : 0;
          known_[k * times_ + t] += occurred || arrived || succeeded(outcome.status) ? 1 : 0;
        }
      }
    }
  }

  void write_event_statistics() {
    std::vector<double> probability(occurred_.size());
    for (std::size_t k = 0; k < probability.size(); ++k) {
      probability[k] = known_[k] > 0 ? static_cast<double>(occurred_[k]) / static_cast<double>(known_[k]) : nan;
    }
    check(nc_put_var_double(file_, event_probability_, probability.data()), "written");
    std::vector<double> edges;
    for (std::size_t k = 0; k <= event_bins; ++k) {
      edges.push_back(std::lerp(earliest_, latest_, static_cast<double>(k) / static_cast<double>(event_bins)));
    }
    check(nc_put_var_double(file_, event_bin_edge_, edges.data()), "written");
    std::vector<long long> histogram;
    std::vector<double> quantiles;
    std::vector<double> times(static_cast<std::size_t>(settings_.instances));
    for (const int id : plain_columns_.at("first_event_times")) {
      times.resize(static_cast<std::size_t>(settings_.instances));
      check(nc_get_var_double(file_, id, times.data()), "read");
      std::erase_if(times, [](double time) { return std::isnan(time); });
      std::vector<long long> bins(event_bins);
      for (const double time : times) {
        const auto beyond = std::lower_bound(edges.begin() + 1, edges.end() - 1, time);
        ++bins[static_cast<std::size_t>(beyond - edges.begin() - 1)];
      }
      histogram.insert(histogram.end(), bins.begin(), bins.end());
      for (const double level : probabilities_) quantiles.push_back(select_quantile(times, level));
    }
    check(nc_put_var_longlong(file_, event_histogram_, histogram.data()), "written");
    if (!probabilities_.empty()) check(nc_put_var_double(file_, event_quantile_, quantiles.data()), "written");
  }

  // What a kill leaves behind is at most some seconds old.
  void sync_now_and_then() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sync_ < std::chrono::seconds(5)) return;
    check(nc_sync(file_), "written");
    last_sync_ = now;
  }

  double moment(StatisticRequest::Kind kind, std::size_t column) const {
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

  void write_statistics() {
    if (!statistics_) return;
    for (std::size_t v = 0; v < saved_; ++v) {
      const auto column = [&](std::size_t time) { return time * saved_ + v; };
      std::vector<double> series(times_);
      for (const auto& [kind, id] : variables_[v].moments) {
        for (std::size_t t = 0; t < times_; ++t) series[t] = moment(kind, column(t));
        check(nc_put_var_double(file_, id, series.data()), "written");
      }
      std::vector<long long> counts(times_);
      for (std::size_t t = 0; t < times_; ++t) counts[t] = statistics_->count(column(t));
      check(nc_put_var_longlong(file_, variables_[v].count, counts.data()), "written");
      if (!spill_) continue;
      std::vector<double> quantiles(probabilities_.size() * times_);
      for (std::size_t t = 0; t < times_; ++t) {
        std::vector<double> values = spill_->finite_values(column(t));
        for (std::size_t q = 0; q < probabilities_.size(); ++q) {
          quantiles[q * times_ + t] = select_quantile(values, probabilities_[q]);
        }
      }
      check(nc_put_var_double(file_, variables_[v].quantiles, quantiles.data()), "written");
    }
  }

  ResultFileSettings settings_;
  OutputFile output_;
  std::size_t times_;
  std::size_t saved_;
  int file_ = -1;
  bool open_ = false;
  bool failed_ = false;
  std::int64_t finished_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();

  int instance_dimension_ = -1;
  int time_dimension_ = -1;
  int quantile_dimension_ = -1;
  int time_ = -1;
  int quantile_ = -1;
  int status_ = -1;
  int t_reached_ = -1;
  int residual_norm_ = -1;
  int worst_equation_ = -1;
  int verify_variable_ = -1;
  int verify_instance_ = -1;
  int verify_verdict_ = -1;
  int verify_error_ = -1;
  int verify_doubt_ = -1;
  int t_begin_ = -1;
  int t_end_ = -1;
  int event_dimension_ = -1;
  int event_kind_dimension_ = -1;
  int event_instance_ = -1;
  int event_time_ = -1;
  int event_name_ = -1;
  int event_direction_ = -1;
  int event_kind_ = -1;
  int event_probability_ = -1;
  int event_quantile_ = -1;
  int events_not_logged_ = -1;
  int last_event_ = -1;
  int event_bin_edge_ = -1;
  int event_histogram_ = -1;
  double earliest_ = std::numeric_limits<double>::infinity();  // ends of the time spans of all instances
  double latest_ = -std::numeric_limits<double>::infinity();
  std::vector<int> event_values_;  // before and after, of each saved variable and discrete number
  std::map<std::string, std::vector<int>> plain_columns_;  // by the name in the table: one, or one per event
  std::size_t events_ = 0;                                 // entries written
  std::vector<std::int64_t> occurred_;  // [events of the model][times]: instances in which it has occurred
  std::vector<std::int64_t> known_;     // instances that say whether it has
  std::vector<int> counters_;
  std::vector<int> parameters_;
  std::vector<int> initial_;
  std::vector<SavedVariable> variables_;
  std::vector<double> probabilities_;

  std::optional<Statistics> statistics_;
  std::optional<ColumnSpill> spill_;
  std::vector<double> column_;
  std::vector<double> rows_;
};

std::uintmax_t largest_size(const ResultFileSettings& settings) {
  const double solution = 8.0 * settings.times.count() * static_cast<double>(settings.saved.size());
  const bool scratch =
      std::any_of(settings.statistics.begin(), settings.statistics.end(),
                  [](const StatisticRequest& request) { return request.kind == StatisticRequest::Kind::quantile; });
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

void ResultFile::write(const Chunk& chunk) {
  writer_->write(chunk);
}

void ResultFile::write_verification(const Verification& verification) {
  writer_->write_verification(verification);
}

void ResultFile::finish(bool interrupted) {
  writer_->finish(interrupted);
}

}  // namespace manyfold
