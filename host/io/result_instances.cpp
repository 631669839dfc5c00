#include "host/io/result_instances.hpp"

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "host/io/result_statuses.hpp"

namespace manyfold {
namespace {

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

double bytes_of_row(const ResultFileSettings& settings) {
  return 8.0 * static_cast<double>(std::size(counter_columns) + settings.sampled_parameters.size() +
                                   settings.sampled_initial.size() + 2);
}

ResultInstances::ResultInstances(const ResultTarget& target)
    : target_(target), per_instance_{target.instance_dimension()} {
  define_inputs();
  define_outcomes();
  define_plain_columns();
}

void ResultInstances::define_inputs() {
  const ModelDescription& model = target_.settings().model;
  for (const int index : target_.settings().sampled_parameters) {
    const auto& parameter = model.parameters[static_cast<std::size_t>(index)];
    parameters_.push_back(target_.define_variable("param_" + parameter.name, NC_DOUBLE, per_instance_, parameter.unit,
                                                  parameter.description));
  }
  for (const int index : target_.settings().sampled_initial) {
    const VariableDescription variable = model.initial_quantities()[static_cast<std::size_t>(index)];
    initial_.push_back(target_.define_variable("initial_" + variable.name, NC_DOUBLE, per_instance_, variable.unit,
                                               "sampled initial value of " + variable.name));
  }
  if (target_.settings().sampled_times[0]) {
    t_begin_ = target_.define_variable("t_begin", NC_DOUBLE, per_instance_, model.time_unit, "start of the time span");
  }
  if (target_.settings().sampled_times[1]) {
    t_end_ = target_.define_variable("t_end", NC_DOUBLE, per_instance_, model.time_unit, "end of the time span");
  }
}

void ResultInstances::define_outcomes() {
  status_ = target_.define_variable("status", NC_BYTE, per_instance_, "", "how the integration ended");
  // Every instance is cancelled until it is written: HDF5 reads so what is not there. Without the attribute, of which
  // readers make "missing", and of a status of bytes one of floating-point numbers.
  const auto cancelled = static_cast<signed char>(Status::cancelled);
  target_.check(nc_def_var_fill(target_.file(), status_, NC_FILL, &cancelled), "defined");
  target_.check(nc_del_att(target_.file(), status_, _FillValue), "defined");
  put_status_flags(target_, status_);
  t_reached_ = target_.define_variable("t_reached", NC_DOUBLE, per_instance_, target_.settings().model.time_unit,
                                       "time reached");
  residual_norm_ = target_.define_variable("residual_norm", NC_DOUBLE, per_instance_, "",
                                           "largest residual at inconsistent initial conditions, else 0");
  define_worst_equation();
  for (const CounterColumn& column : counter_columns) {
    counters_.push_back(target_.define_variable(column.name, NC_INT64, per_instance_, "1", column.long_name));
    // Of instances that an interrupted run has not begun.
    constexpr long long unknown = -1;
    target_.check(nc_def_var_fill(target_.file(), counters_.back(), NC_FILL, &unknown), "defined");
  }
}

void ResultInstances::define_worst_equation() {
  worst_equation_ = target_.define_variable("worst_equation", NC_SHORT, per_instance_, "",
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
}

// What the table of columns says all of.
void ResultInstances::define_plain_columns() {
  const ModelDescription& model = target_.settings().model;
  for_each_column(shape_of(model), [&](const Column& column) {
    if (column.in_file.name == nullptr) return;
    std::vector<int>& ids = plain_columns_[column.name];
    const auto define = [&](const std::string& name, const std::string& long_name) {
      ids.push_back(target_.define_variable(name, NC_DOUBLE, {target_.instance_dimension()},
                                            column.in_file.unit != nullptr ? column.in_file.unit : model.time_unit,
                                            long_name));
    };
    if (!column.in_file.per_event) return define(column.in_file.name, column.in_file.long_name);
    const std::vector<std::string> words = event_words(model);
    for (std::size_t k = 0; k < words.size(); ++k) {
      define(fmt::format("{}_{}", column.in_file.name, words[k]),
             fmt::format("{} {}", column.in_file.long_name, model.events[k].name));
    }
  });
}

void ResultInstances::write(const Chunk& chunk) const {
  write_outcomes(chunk);
  write_inputs(chunk);
  write_plain_columns(chunk);
}

void ResultInstances::write_plain_columns(const Chunk& chunk) const {
  for_each_column(
      chunk.shape,
      [&]<class T>(const Column& column, const std::vector<T>& array) {
        if constexpr (std::is_same_v<T, double>) {
          if (column.in_file.name == nullptr) return;
          const std::vector<int>& ids = plain_columns_.at(column.name);
          for (std::size_t k = 0; k < ids.size(); ++k) {
            target_.write_column(chunk, ids[k], [&](std::size_t i) { return array[i * ids.size() + k]; });
          }
        }
      },
      chunk);
}

void ResultInstances::write_outcomes(const Chunk& chunk) const {
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

void ResultInstances::write_inputs(const Chunk& chunk) const {
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
}

}  // namespace manyfold
