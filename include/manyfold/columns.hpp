#pragma once
// Whatever an instance has, each input and result a column, listed once: the table below makes the arrays of a chunk,
// of a device's batch and of what a kernel is handed for one instance, their checks, and the plain variables of a
// result file. A new column is a member of `Columns` and an entry of `for_each_column`.
#include <manyfold/outcome.hpp>

namespace manyfold {

/// The numbers that the widths of columns follow from, the same for all instances of an ensemble.
struct InstanceShape {
  int parameters = 0;      ///< of the model
  int initial = 0;         ///< numbers that an instance starts from: all variables and the derivatives that are given
  int variables = 0;       ///< of the model
  int discrete = 0;        ///< discrete numbers of the model
  int events = 0;          ///< of the model
  int observables = 0;     ///< of the model
  int saved = 0;           ///< variables, observables and discrete numbers that are saved
  int times = 1;           ///< output times
  int event_capacity = 0;  ///< entries in the event log
  bool has_end_states = false;  ///< states at the end are asked for

  /// What can be saved: variables, observables and discrete numbers, in this order.
  constexpr int quantities() const { return variables + observables + discrete; }
};

enum class ColumnRole {
  input,
  result,  ///< missing (NaN, `cancelled`) until an instance has written it
  log      ///< a result of which an instance writes the first counters.events entries alone
};

/// How a column of numbers is called in result files; null `name`: sinks treat it by itself.
struct ColumnInFile {
  const char* name = nullptr;
  const char* unit = nullptr;  ///< UDUNITS spelling; null: the model's time unit
  const char* long_name = nullptr;
  bool per_event = false;  ///< a variable for each event of the model, whose name follows; else one number per instance
};

struct Column {
  const char* name;  ///< of the member
  ColumnRole role;
  std::int64_t width;  ///< elements per instance
  ColumnInFile in_file = {};
};

/// All columns. What `Array<T>` is decides what they are of: vectors for a chunk, pointers for one instance. The
/// comments give the elements of one instance, row-major.
template <template <class> class Array>
struct Columns {
  Array<double> parameters;         ///< [parameters]
  Array<double> initial;            ///< [variables, given derivatives]; NaN where the model's own value is to be used
  Array<double> t_span;             ///< [2]: start and end time
  Array<double> times;              ///< [times]: output times, in the order of integration
  Array<InstanceOutcome> outcomes;  ///< [1]
  Array<double> values;             ///< [times][saved]; NaN where an instance did not arrive
  Array<double> end_states;    ///< [variables, variables, observables, discrete]: y, y', what follows from them and the
                               ///< discrete state where an instance ended; none if not asked for
  Array<EventRecord> events;   ///< [event_capacity], in the order of time
  Array<double> event_values;  ///< [event_capacity][2][saved, discrete]: before and after the event
  Array<double> first_event_times;  ///< [events]; NaN where an event did not occur
};

/// Calls `visit(column, sets.member...)` for every column. `sets`: of type `Columns`, or derived from it.
template <class Visit, class... Sets>
constexpr void for_each_column(const InstanceShape& shape, Visit&& visit, Sets&... sets) {
  using enum ColumnRole;
  const std::int64_t times = shape.times;
  const std::int64_t log_size = shape.event_capacity;
  visit(Column{"parameters", input, shape.parameters}, sets.parameters...);
  visit(Column{"initial", input, shape.initial}, sets.initial...);
  visit(Column{"t_span", input, 2}, sets.t_span...);
  visit(Column{"times", input, times}, sets.times...);
  visit(Column{"outcomes", result, 1}, sets.outcomes...);
  visit(Column{"values", result, times * shape.saved}, sets.values...);
  visit(Column{"end_states", result, shape.has_end_states ? shape.variables + shape.quantities() : 0},
        sets.end_states...);
  visit(Column{"events", log, log_size}, sets.events...);
  visit(Column{"event_values", log, log_size * 2 * (shape.saved + shape.discrete)}, sets.event_values...);
  visit(
      Column{"first_event_times", result, shape.events, {"event_first_time", nullptr, "time of the first event", true}},
      sets.first_event_times...);
}

/// What a column holds before an instance has written it.
template <class T>
constexpr T missing() {
  if constexpr (requires(T x) { x * 1.0; }) {
    return __builtin_bit_cast(T, 0x7ff8ULL << 48);  // NaN
  } else {
    return {};
  }
}

template <class T>
using ColumnPointer = T*;

/// Memory that an instance takes.
constexpr std::int64_t bytes_of_instance(const InstanceShape& shape) {
  std::int64_t bytes = 0;
  const Columns<ColumnPointer> none{};
  for_each_column(
      shape, [&]<class T>(const Column& column, T*) { bytes += column.width * static_cast<std::int64_t>(sizeof(T)); },
      none);
  return bytes;
}

/// Instance `at` of `columns`.
constexpr Columns<ColumnPointer> row_of(const InstanceShape& shape, const Columns<ColumnPointer>& columns,
                                        std::int64_t at) {
  Columns<ColumnPointer> row{};
  for_each_column(
      shape, [at](const Column& column, auto* all, auto*& own) { own = all + at * column.width; }, columns, row);
  return row;
}

}  // namespace manyfold
