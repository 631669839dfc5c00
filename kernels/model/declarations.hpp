#pragma once
// What a model declares: how many of what it has, its form, and of what kind its variables and events are.
#include <manyfold/model.hpp>

namespace manyfold {

template <Model Equations>
struct ModelDeclarations {
  static constexpr int n = model_check::variable_count<Equations>();
  static constexpr int parameters = model_check::parameter_count<Equations>();
  /// Numbers per instance that the equations see as p: parameters, then derived ones, then the discrete state.
  static constexpr int constants = model_check::constant_count<Equations>();
  static constexpr int constants_size = constants > 0 ? constants : 1;
  static constexpr int discrete = model_check::discrete_count<Equations>();
  static constexpr int discrete_size = discrete > 0 ? discrete : 1;
  static constexpr int first_discrete = constants - discrete;
  static constexpr int events = model_check::event_count<Equations>();
  static constexpr int events_size = events > 0 ? events : 1;
  static constexpr int scheduled_times = model_check::schedule_count<Equations>();
  static constexpr int scheduled_size = scheduled_times > 0 ? scheduled_times : 1;
  /// What the model states to vanish along every solution.
  static constexpr int invariants = model_check::invariant_count<Equations>();
  static constexpr bool always_projected = model_check::always_projected<Equations>();
  /// Do the equations take long to compile, in the many forms in which kernels need them?
  static constexpr bool is_large = model_check::operation_count<Equations>() > model_check::most_operations;
  static constexpr int observables = model_check::observable_count<Equations>();
  static constexpr int observables_size = observables > 0 ? observables : 1;
  /// Of stages as the model gives them; -1: it does not.
  static constexpr int stage_unknowns = model_check::stage_unknown_count<Equations>();
  static constexpr int stage_constants = model_check::stage_constant_count<Equations>();
  static constexpr int stage_constants_size = stage_constants > 0 ? stage_constants : 1;
  static constexpr int terms_of_stage = model_check::stage_term_count<Equations>();
  static constexpr int stage_terms_size = terms_of_stage > 0 ? terms_of_stage : 1;
  static constexpr bool has_events = events > 0;
  static constexpr bool has_state_events = model_check::has_state_events<Equations>();
  static constexpr bool acts_together = model_check::HasActions<Equations>;
  static constexpr bool mass_form = model_check::HasRhs<Equations>;
  /// y' = f(t, y) with algebraic equations 0 = g(t, y), every variable declared as the one or the other.
  static constexpr bool semi_explicit = mass_form && !model_check::HasMassMatrix<Equations>;

  template <class Number>
  using Vector = Number[n];

  /// Is variable i algebraic, as the model declares it?
  static constexpr bool algebraic(int i) {
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.algebraic;
      i -= variable.count;
    }
    return false;
  }

  /// The index of variable i, as the model declares it.
  static constexpr int index(int i) {
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.index;
      i -= variable.count;
    }
    return 1;
  }

  /// The least and the greatest value of variable i that make sense, as the model declares them.
  static constexpr double least(int i) {
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.min;
      i -= variable.count;
    }
    return -no_bound;
  }
  static constexpr double greatest(int i) {
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.max;
      i -= variable.count;
    }
    return no_bound;
  }

  static constexpr bool has_indices_in_range() {
    for (const Variable& variable : Equations::variables) {
      if (variable.index < 1 || variable.index > 3) return false;
    }
    return true;
  }
  static constexpr int highest_index() {
    int highest = 1;
    for (const Variable& variable : Equations::variables) highest = variable.index > highest ? variable.index : highest;
    return highest;
  }
  static constexpr bool singular_mass_matrix() {
    if constexpr (requires { Equations::singular_mass_matrix; }) {
      return Equations::singular_mass_matrix;
    } else {
      return false;
    }
  }

  /// The event as the model declares it; `k` is a compile-time constant.
  static constexpr Event event(int k) { return Equations::events[k]; }
  /// The event that scheduled time number `slot` belongs to.
  static constexpr int event_of_time(int slot) {
    int event = 0;
    for (const Event& candidate : Equations::events) {
      if (slot < candidate.scheduled) break;
      slot -= candidate.scheduled;
      ++event;
    }
    return event;
  }

  /// Does the discrete state say on which side of root functions an instance is?
  static constexpr bool remembers_sides = events > 0 && model_check::HasSides<Equations>;
};

}  // namespace manyfold
