#pragma once
// What is wrong with a model where its instances start, found by one evaluation of its functions. Host side only.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../algebra/pivoted_lu.hpp"
#include "../start/initial_conditions.hpp"
#include "describe.hpp"

namespace manyfold {

template <class Equations>
class Inspection {
 public:
  using S = System<Equations>;
  static constexpr int n = S::n;
  // What cannot be integrated does not compile.
  static_assert(sizeof(StartConditions<S, double>) > 0);

  explicit Inspection(std::vector<std::string>& problems) : problems_(problems) {
    describe_model<Equations>(model_);
    if (!model_.wrong.empty()) {
      problems_.push_back(model_.wrong);
      return;
    }
    if (!(model_.t_begin != model_.t_end) || !is_finite(model_.t_begin) || !is_finite(model_.t_end)) {
      say("t_span is from " + std::to_string(model_.t_begin) + " to " + std::to_string(model_.t_end) +
          ": needs two different finite numbers");
    }
    inspect_declarations();
    inspect_bounds();
    if (start()) {
      inspect_equations();
      inspect_functions();
    }
  }

 private:
  void say(const std::string& problem) { problems_.push_back(problem); }
  static std::string no_solution_of(const std::string& equations) {
    return equations.empty() ? "" : ": no solution was found of " + equations;
  }
  const std::string& variable(int j) const { return model_.variables[static_cast<std::size_t>(j)].name; }

  void inspect_declarations() {
    if constexpr (S::known_pattern) {
      for (int j = 0; j < n; ++j) {
        if (!S::algebraic(j) || !S::derivative_occurs(j)) continue;
        say("variable '" + variable(j) +
            "' states .algebraic = true, but its derivative stands in an equation: leave it out");
      }
    }
  }

  /// Bounds that contain nothing, and defaults of parameters that are out of theirs.
  void inspect_bounds() {
    const auto is_empty = [&](const std::string& what, const Bounds& bounds) {
      if (bounds.min <= bounds.max) return false;
      say(what + " has no value within its bounds: the minimum is above the maximum");
      return true;
    };
    for (const VariableDescription& variable : model_.variables) {
      is_empty("variable '" + variable.name + "'", variable.bounds);
    }
    for (const ParameterDescription& parameter : model_.parameters) {
      const std::string what = "parameter '" + parameter.name + "'";
      if (is_empty(what, parameter.bounds) || parameter.bounds.contain(parameter.value)) continue;
      say(what + " is " + out_of_bounds(parameter.value, parameter.bounds));
    }
  }

  /// Puts the values that instances start from; false where they are none.
  bool start() {
    double initial[S::initial_size];
    for (double& value : initial) value = std::numeric_limits<double>::quiet_NaN();
    for (int i = 0; i < S::parameters; ++i) p_[i] = model_.parameters[static_cast<std::size_t>(i)].value;
    S::complete_initial(p_, initial);
    S::derive(p_);
    S::distribute_initial(
        initial, [&](int j, double value) { y_[j] = value; }, [&](int j, double value) { dy_[j] = value; });
    S::start_discrete(y_, p_);
    const std::size_t before = problems_.size();
    for (int i = 0; i < S::constants; ++i) {
      if (is_finite(p_[i])) continue;
      const auto k = static_cast<std::size_t>(i);
      if (i < S::parameters) {
        say("parameter '" + model_.parameters[k].name + "' is not finite");
      } else if (i < S::first_discrete) {
        say("p[" + std::to_string(i) + "], which derive writes, is not finite with the default parameters");
      } else {
        say("discrete number '" + model_.discrete[k - S::first_discrete].name + "' is not finite at the start");
      }
    }
    for (int j = 0; j < n; ++j) {
      const std::string& from = model_.variables[static_cast<std::size_t>(j)].initial_from;
      if (!is_finite(y_[j])) say("the initial value of '" + variable(j) + "' is not finite" + no_solution_of(from));
      if (!is_finite(dy_[j])) say("the initial derivative of '" + variable(j) + "' is not finite");
    }
    return problems_.size() == before;
  }

  void inspect_equations() {
    double F[n];
    const std::size_t before = problems_.size();
    S::residual(model_.t_begin, y_, dy_, p_, F);
    for (int i = 0; i < n; ++i) {
      if (!is_finite(F[i])) say(model_.equation_label(i) + " is not finite at the initial values");
    }
    if (problems_.size() > before) return;
    if constexpr (S::semi_explicit) {
      for (int i = 0; i < n; ++i) {
        if (!S::algebraic(i)) dy_[i] -= F[i];
      }
    }
    double weight[n];
    for (double& one : weight) one = 1.0;
    double J[S::nonzeros_y];
    double M[S::nonzeros_dy];
    S::jacobian(model_.t_begin, y_, dy_, p_, weight, 1e-6, 1e-3, J, M);
    inspect_entries(S::entries_y, J, "");
    inspect_entries(S::entries_dy, M, "the derivative of ");
    if (problems_.size() == before) inspect_matrix(J, M);
  }

  void inspect_entries(const auto& entries, const auto& values, const char* of) {
    for (int k = 0; k < entries.size; ++k) {
      if (is_finite(values[k])) continue;
      say("the derivative of " + model_.equation_label(entries.row[k]) + " with respect to " + of + "'" +
          variable(entries.column[k]) + "' is not finite at the initial values");
    }
  }

  /// M + h J of a system that can be solved is singular for few steps h.
  void inspect_matrix(const auto& J, const auto& M) {
    if constexpr (!find_offsets(S::pattern_y, S::pattern_dy).regular) {
      say("the equations do not determine the variables, whatever the numbers: one equation too many contains the same "
          "variables as others, or a variable stands in no equation");
    } else {
      const auto lu = std::make_unique<PivotedLU<double, n>>();
      for (double share = 1e-6; share <= 1.0; share *= 10.0) {
        const double h = share * (model_.t_end - model_.t_begin);
        lu->assemble(true, [&](auto&& write) {
          double matrix[n][n] = {};
          for (int k = 0; k < S::entries_dy.size; ++k) matrix[S::entries_dy.row[k]][S::entries_dy.column[k]] += M[k];
          for (int k = 0; k < S::entries_y.size; ++k) matrix[S::entries_y.row[k]][S::entries_y.column[k]] += h * J[k];
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) write(i, j, matrix[i][j]);
          }
        });
        if (lu->factor(true)) return;
      }
      say("the matrix of Newton's method is singular at the initial values: equations depend on each other there, or "
          "do not change with a variable");
    }
  }

  void inspect_functions() {
    if constexpr (S::has_state_events) {
      double g[S::events_size] = {};
      S::root(model_.t_begin, y_, dy_, p_, g);
      for (int i = 0; i < S::events; ++i) {
        const auto& event = model_.events[static_cast<std::size_t>(i)];
        if (event.scheduled || is_finite(g[i])) continue;
        say("the root function of event '" + event.name + "' is not finite at the initial values");
      }
    }
    if constexpr (S::scheduled_times > 0) {
      double times[S::scheduled_size];
      S::event_times(p_, times);
      for (int i = 0; i < S::scheduled_times; ++i) {
        if (times[i] == times[i]) continue;
        say("a time of event '" + model_.events[static_cast<std::size_t>(S::event_of_time(i))].name +
            "' is not a number");
      }
    }
    if constexpr (S::observables > 0) {
      double o[S::observables_size];
      S::observe(model_.t_begin, y_, dy_, p_, o);
      for (int i = 0; i < S::observables; ++i) {
        if (is_finite(o[i])) continue;
        say("observable '" + model_.observables[static_cast<std::size_t>(i)].name +
            "' is not finite at the initial values");
      }
    }
    if constexpr (S::invariants > 0) {
      double g[S::invariants];
      S::invariant(model_.t_begin, y_, p_, g);
      for (int i = 0; i < S::invariants; ++i) {
        if (!is_finite(g[i])) {
          say("invariant " + std::to_string(i + 1) + " is not finite at the initial values");
        }
      }
    }
  }

  std::vector<std::string>& problems_;
  ModelDescription model_;
  double y_[n];
  double dy_[n];
  double p_[S::constants_size] = {};
};

}  // namespace manyfold

// The entry point of an inspection that is compiled by itself, of the model of the file included before.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_INSPECTION                                                                                        \
  extern "C" __attribute__((visibility("default"))) void manyfold_inspection(manyfold::ModelDescription& model,    \
                                                                             std::vector<std::string>& problems) { \
    manyfold::describe_model<manyfold::ModelOfFile>(model);                                                        \
    const auto inspection = std::make_unique<manyfold::Inspection<manyfold::ModelOfFile>>(problems);               \
  }
#endif
