#pragma once
// Ensembles from C++: a model struct, parameters per instance, and the results in memory.
//
//   manyfold::Ensemble<Decay> ensemble(1000);
//   ensemble.set("k", rates);                       // one value per instance, or one for all
//   const auto result = ensemble.solve({.rtol = 1e-8}, {0.5, 1.0});
//   result.value(instance, time, variable);
//
// The kernel is compiled with the program, in lanes as wide as the instruction set the program is compiled for.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <manyfold/accepted_step.hpp>
#include <manyfold/error.hpp>
#include <manyfold/method_limits.hpp>
#include <manyfold/options.hpp>
#include <manyfold/result.hpp>
#include <manyfold/tolerances.hpp>

#include "host/engine/ensemble_run.hpp"
#include "host/engine/memory.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "kernels/entry/method_limits.hpp"

namespace manyfold {

/// The results of an ensemble, in memory.
struct EnsembleResult {
  std::vector<InstanceOutcome> outcomes;  ///< [instances]
  std::vector<double> times;              ///< [times]
  std::vector<double> values;  ///< [instances][times][variables, observables]; NaN where an instance did not arrive
  int variable_count = 0;      ///< and observables
  std::vector<std::vector<EventRecord>> events;  ///< [instances]: what occurred, up to SolverOptions::event_log entries
  RunSummary summary;

  /// Variable number `variable`, observables after the variables, of instance `instance` at `times[time]`. Throws
  /// std::out_of_range.
  double value(std::int64_t instance, int time, int variable) const {
    check("instance", instance, std::ssize(outcomes));
    check("time", time, std::ssize(times));
    check("variable", variable, variable_count);
    const auto at = (static_cast<std::size_t>(instance) * times.size() + static_cast<std::size_t>(time)) *
                        static_cast<std::size_t>(variable_count) +
                    static_cast<std::size_t>(variable);
    return values[at];
  }

 private:
  static void check(const char* what, std::int64_t index, std::int64_t count) {
    if (index >= 0 && index < count) return;
    throw std::out_of_range("EnsembleResult::value: " + std::string(what) + " is " + std::to_string(index) +
                            ", but there are " + std::to_string(count));
  }
};

/// Whether a method converges for the index of a model, as far as its tableau says.
template <class Method>
constexpr bool converges() {
  using Tableau = typename Method::Tableau;
  if constexpr (requires { Tableau::order_of_index2; }) {
    return suitability(limits_of_tableau<Tableau>(), Method::System::highest_index()) != Suitability::refused;
  } else {
    return true;
  }
}

/// `spec`: precision, projection, Jacobians and the error test, as in Ensemble<Model, Radau5, KernelSpec<>{.projection
/// = true}>.
template <Model Equations, template <class, class> class Method = Radau5, auto spec = KernelSpec<>{}>
class Ensemble {
  using Stepper = KernelStepper<Equations, Method, spec>;
  static_assert(converges<Stepper>(),
                "manyfold: this method does not converge for models of this index: take Radau5 for index 2 and Radau9 "
                "for index 3; docs/choosing.md has the table");

 public:
  /// `instances` > 0 instances with the model's default parameters, initial values and time span. Throws UsageError if
  /// they do not fit the memory.
  explicit Ensemble(std::int64_t instances) : instances_(instances) {
    if (instances <= 0)
      throw UsageError("Ensemble: instances is " + std::to_string(instances) + ", needs to be positive");
    describe_model<Equations>(model_);
    if (!model_.wrong.empty()) throw UsageError("Ensemble: model " + model_.name + ": " + model_.wrong);
    t_begin_ = model_.t_begin;
    t_end_ = model_.t_end;
    check_memory(model_.parameters.size() + model_.initial_quantities().size(), "parameters and initial values");
    for (std::int64_t i = 0; i < instances; ++i) {
      for (const ParameterDescription& parameter : model_.parameters) parameters_.push_back(parameter.value);
    }
    initial_.assign(static_cast<std::size_t>(instances) * model_.initial_quantities().size(),
                    std::numeric_limits<double>::quiet_NaN());
  }

  const ModelDescription& model() const { return model_; }

  /// Sets parameter or initial value `name`, or der(name) where that is given, in every instance. Throws UsageError for
  /// an unknown name.
  void set(std::string_view name, double value) {
    const std::vector<double> values(static_cast<std::size_t>(instances_), value);
    set(name, values);
  }
  /// The same with one value [instances] for each. Throws UsageError for an unknown name, another number of values,
  /// values that are not finite, and those out of the bounds of a parameter or a variable.
  void set(std::string_view name, std::span<const double> values) {
    if (std::ssize(values) != instances_) {
      throw UsageError("Ensemble: " + std::string(name) + " got " + std::to_string(values.size()) +
                       " values, needs one or " + std::to_string(instances_));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      throw UsageError("Ensemble: " + std::string(name) + " of instance " + std::to_string(i) + " is " +
                       in_words(values[i]) + ", needs a finite number");
    }
    if (fill_column(name, model_.parameters, parameters_, values)) return;
    if (fill_column(name, model_.initial_quantities(), initial_, values)) return;
    if (const std::string fixed = model_.problem_of_parameter(name); !fixed.empty()) {
      throw UsageError("Ensemble: " + fixed);
    }
    throw UsageError("Ensemble: model " + model_.name + " has no parameter or variable '" + std::string(name) + "'");
  }
  /// Throws UsageError for ends that are equal, or closer than `least_span`, or not finite.
  void t_span(double t_begin, double t_end) {
    if (!(std::abs(t_end - t_begin) >= least_span) || !std::isfinite(t_begin) || !std::isfinite(t_end)) {
      throw UsageError("Ensemble: t_span is from " + in_words(t_begin) + " to " + in_words(t_end) +
                       ", needs two different finite numbers");
    }
    t_begin_ = t_begin;
    t_end_ = t_end;
  }

  /// Integrates all instances and saves all variables at `times` (in the order of integration, within the time span;
  /// empty: at the end). Throws UsageError for options that are out of range, of the wrong number, or not what this
  /// ensemble is compiled for, and for times that it cannot reach. `observer(step)` sees every accepted step, from
  /// several threads at once: see `AcceptedStep`.
  EnsembleResult solve(SolverOptions options = {}, std::vector<double> times = {}) const {
    NoObserver nobody;
    return solve(std::move(options), std::move(times), nobody);
  }
  template <class Observer>
  EnsembleResult solve(SolverOptions options, std::vector<double> times, Observer&& observer) const {
    using Watching = std::remove_reference_t<Observer>;
    check_compiled(options);
    check_ranges(options);
    check_defaults();
    if (times.empty()) times.push_back(t_end_);
    check_times(times);
    check_memory(times.size() * model_.output_quantities().size(), "results");
    if (options.atol.size() == 1) options.atol.assign(model_.variables.size(), options.atol[0]);
    if (options.atol.size() != model_.variables.size()) {
      throw UsageError("Ensemble: atol has " + std::to_string(options.atol.size()) + " values, needs one or " +
                       std::to_string(model_.variables.size()));
    }
    for (std::size_t i = 0; i < options.atol.size(); ++i) {
      if (const std::string problem = atol_problem(options.atol[i]); !problem.empty()) {
        throw UsageError("Ensemble: atol of " + model_.variables[i].name + " " + problem);
      }
    }
    EnsembleResult result;
    result.times = times;
    result.variable_count = static_cast<int>(model_.output_quantities().size());

    EnsembleRun run;
    run.kernel = &kernel<Equations, Method, spec, KernelLane<spec.precision>, Watching>();
    run.observer = const_cast<std::remove_const_t<Watching>*>(&observer);
    run.shape = shape_of(model_);
    run.instances = instances_;
    run.fill_instance = [this](std::int64_t instance, double* parameters, double* initial, double* t_span) {
      copy_row(parameters_, instance, model_.parameters.size(), parameters);
      copy_row(initial_, instance, model_.initial_quantities().size(), initial);
      t_span[0] = t_begin_;
      t_span[1] = t_end_;
    };
    run.shape.times = static_cast<int>(times.size());
    run.fill_times = [&times](double, double, double* out) {
      for (std::size_t k = 0; k < times.size(); ++k) out[k] = times[k];
    };
    for (int i = 0; i < result.variable_count; ++i) run.saved.push_back(i);
    run.options = options;
    InMemoryResult memory;
    result.summary = run_ensemble(run, memory);
    const Chunk& all = memory.results();
    result.outcomes = all.outcomes;
    result.values = all.values;
    for (std::int64_t i = 0; i < all.count; ++i) {
      const auto log = all.event_log(i);
      result.events.emplace_back(log.begin(), log.end());
    }
    return result;
  }

 private:
  static std::string in_words(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", number);
    return text;
  }

  void check_memory(std::size_t numbers, const std::string& what) const {
    const double gigabytes = 8e-9 * static_cast<double>(numbers) * static_cast<double>(instances_);
    const double there = 1e-9 * static_cast<double>(available_memory());
    if (gigabytes <= there) return;
    throw UsageError("Ensemble: " + what + " of " + std::to_string(instances_) + " instances take " +
                     std::to_string(std::llround(gigabytes)) + " GB, but there are " +
                     std::to_string(std::llround(there)));
  }

  /// What the command compiles a kernel for is a part of the type here.
  static void check_compiled(const SolverOptions& options) {
    const std::string method = Stepper::Tableau::name;
    if (!options.method.empty() && options.method != method) {
      throw UsageError("Ensemble: method is '" + options.method + "', but '" + method +
                       "' is compiled in: needs the method's class, as in Ensemble<Model, manyfold::Esdirk54>");
    }
    if (options.backend != "auto" && options.backend != "cpu") {
      throw UsageError("Ensemble: backend is '" + options.backend +
                       "', but ensembles of a program run on the processor: needs 'auto' or 'cpu', or a manyfold::Job");
    }
    if (options.tier != "auto" && options.tier != "fused") {
      throw UsageError(
          "Ensemble: tier is '" + options.tier +
          "', but ensembles of a program run on the processor: needs 'auto' or 'fused', or a manyfold::Job");
    }
    if (options.linear_solver != "auto" && options.linear_solver != "own") {
      throw UsageError("Ensemble: linear_solver is '" + options.linear_solver +
                       "', but ensembles of a program run on the processor: needs 'auto' or 'own', or a manyfold::Job");
    }
    spec.for_each_choice([&](const char* name, auto compiled) {
      const ChoiceSetting& setting = choice_setting(name);
      const std::string& choice = options.*setting.field;
      const std::string& own = setting.names[static_cast<std::size_t>(compiled)];
      if (choice == setting.names[0] || choice == own) return;
      throw UsageError("Ensemble: " + (name + (" is '" + choice)) + "', but '" + own +
                       "' is compiled in: needs Ensemble<Model, Method, manyfold::KernelSpec<>{." + name +
                       " = manyfold::" + setting.type + "::" + choice + "}>");
    });
    if (options.projection && !spec.projection) {
      throw UsageError(
          "Ensemble: projection is asked for, but not compiled in: needs "
          "Ensemble<Model, Method, manyfold::KernelSpec<>{.projection = true}>");
    }
    if (!options.initial_conditions.empty()) {
      throw UsageError("Ensemble: initial_conditions are a part of the model here: set Variable::given");
    }
  }

  static void check_ranges(const SolverOptions& options) {
    const std::string& precision = choice_setting("precision").names[static_cast<std::size_t>(spec.precision)];
    if (const std::string problem = rtol_problem(options.rtol, precision); !problem.empty()) {
      throw UsageError("Ensemble: rtol " + problem);
    }
    for (const NumberSetting& setting : number_settings) {
      const double value = setting.get(options);
      if (setting.allows(value)) continue;
      throw UsageError("Ensemble: " + (setting.name + (" is " + in_words(value))) + ", needs " + setting.need);
    }
  }

  void check_times(const std::vector<double>& times) const {
    const auto [low, high] = std::minmax(t_begin_, t_end_);
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (!(times[k] >= low && times[k] <= high)) {
        throw UsageError("Ensemble: times[" + std::to_string(k) + "] is " + in_words(times[k]) +
                         ", needs to be within the time span from " + in_words(t_begin_) + " to " + in_words(t_end_));
      }
      if (k > 0 && (times[k] - times[k - 1]) * (t_end_ - t_begin_) <= 0.0) {
        throw UsageError("Ensemble: times[" + std::to_string(k) + "] is " + in_words(times[k]) + " after " +
                         in_words(times[k - 1]) + ", but times need the order of integration");
      }
    }
  }

  template <class Descriptions>
  static bool fill_column(std::string_view name, const Descriptions& descriptions, std::vector<double>& rows,
                          std::span<const double> values) {
    for (std::size_t j = 0; j < descriptions.size(); ++j) {
      if (descriptions[j].name != name) continue;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (descriptions[j].bounds.contain(values[i])) continue;
        throw UsageError("Ensemble: " + descriptions[j].name + " of instance " + std::to_string(i) + " is " +
                         out_of_bounds(values[i], descriptions[j].bounds));
      }
      for (std::size_t i = 0; i < values.size(); ++i) rows[i * descriptions.size() + j] = values[i];
      return true;
    }
    return false;
  }
  /// What is not set is the same in all instances.
  void check_defaults() const {
    for (std::size_t j = 0; j < model_.parameters.size(); ++j) {
      const ParameterDescription& parameter = model_.parameters[j];
      if (parameter.bounds.contain(parameters_[j])) continue;
      throw UsageError("Ensemble: model " + model_.name + ": parameter " + parameter.name + " is " +
                       out_of_bounds(parameters_[j], parameter.bounds));
    }
  }
  static void copy_row(const std::vector<double>& rows, std::int64_t row, std::size_t width, double* out) {
    for (std::size_t j = 0; j < width; ++j) out[j] = rows[static_cast<std::size_t>(row) * width + j];
  }

  std::int64_t instances_;
  ModelDescription model_;
  std::vector<double> parameters_;  ///< [instances][parameters]
  std::vector<double> initial_;     ///< [instances][initial quantities]; NaN: the model's own
  double t_begin_ = 0.0;
  double t_end_ = 1.0;
};

}  // namespace manyfold
