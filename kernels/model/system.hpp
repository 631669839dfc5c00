#pragma once
// A model as the integrator sees it: F(t, y, y', p) = 0 with the matrices F_y and F_y' stored on their nonzeros.
#include <manyfold/model.hpp>

#include "../algebra/dual.hpp"
#include "../algebra/sparsity.hpp"
#include "../lane/static_for.hpp"
#include "../lane/team.hpp"
#include "kernel_spec.hpp"

namespace manyfold {

template <Model Equations, auto spec_ = KernelSpec<>{}>
struct System {
  static constexpr auto spec = spec_;
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

  /// Directions that one pass of dual numbers carries at most, so that they stay in the first-level cache.
  static constexpr int most_directions = 12;

 private:
  using Mark = Dependency<2 * n>;

  struct MarkEntries {
    Pattern<n>& pattern;
    double ignored = 0.0;
    constexpr double& operator()(int i, int j) {
      pattern.insert(i, j);
      return ignored;
    }
  };

  static constexpr Pattern<n> mass_pattern() {
    Pattern<n> pattern;
    if constexpr (model_check::HasMassMatrix<Equations>) {
      const double p[constants_size] = {};
      MarkEntries entries{pattern};
      Equations::mass_matrix(p, entries);
    } else {
      for (int i = 0; i < n; ++i) {
        if (!algebraic(i)) pattern.insert(i, i);
      }
    }
    return pattern;
  }

  struct Patterns {
    Pattern<n> by_y;
    Pattern<n> by_dy;
  };

  static constexpr Patterns evaluate_patterns() {
    Mark y[n];
    Mark dy[n];
    Mark F[n];
    const Mark p[constants_size] = {};
    for (int i = 0; i < n; ++i) {
      y[i].on.insert(i);
      dy[i].on.insert(n + i);
    }
    Patterns result;
    if constexpr (mass_form) {
      Equations::rhs(Mark(0.0), y, p, F);
      result.by_dy = mass_pattern();
    } else {
      Equations::residual(Mark(0.0), y, dy, p, F);
    }
    for (int i = 0; i < n; ++i) {
      for (int k = F[i].on.next(0); k >= 0; k = F[i].on.next(k + 1)) {
        if (k < n) {
          result.by_y.insert(i, k);
        } else {
          result.by_dy.insert(i, k - n);
        }
      }
    }
    return result;
  }

 public:
  /// Equations that are not `constexpr` can still be integrated: with full matrices.
  static constexpr bool known_pattern = requires { typename Constant<(evaluate_patterns(), 0)>; };
  static_assert(highest_index() == 1 || semi_explicit || known_pattern,
                "manyfold: variables of index 2 or 3 need constexpr equations, or the semi-explicit form: rhs(t, y, p, "
                "f) without mass_matrix");

 private:
  static constexpr Patterns patterns() {
    if constexpr (known_pattern) {
      return evaluate_patterns();
    } else if constexpr (semi_explicit) {
      return {Pattern<n>::dense(), mass_pattern()};
    } else {
      return {Pattern<n>::dense(), Pattern<n>::dense()};
    }
  }

  static constexpr Patterns found = patterns();

 public:
  static constexpr Pattern<n> pattern_y = found.by_y;
  static constexpr Pattern<n> pattern_dy = found.by_dy;
  static constexpr auto entries_y = entries_of<pattern_y.size()>(pattern_y);
  static constexpr auto entries_dy = entries_of<pattern_dy.size()>(pattern_dy);
  static constexpr int nonzeros_y = entries_y.size > 0 ? entries_y.size : 1;
  static constexpr int nonzeros_dy = entries_dy.size > 0 ? entries_dy.size : 1;

 private:
  /// Systems beyond have loops over their equations where smaller ones have straight code.
  static constexpr int unrolled_equations = 64;

  static constexpr IndexSet<n> find_algebraic() {
    IndexSet<n> result;
    for (int i = 0; i < n; ++i) {
      if (algebraic(i)) result.insert(i);
    }
    return result;
  }
  static constexpr IndexSet<n> algebraic_variables = find_algebraic();
  static constexpr IndexSet<n> find_occurring_derivatives() {
    IndexSet<n> result;
    for (int i = 0; i < n; ++i) result |= pattern_dy.row[i];
    return result;
  }
  static constexpr IndexSet<n> occurring_derivatives = find_occurring_derivatives();

 public:
  /// Does the derivative of variable i stand in an equation?
  static constexpr bool derivative_occurs(int i) { return occurring_derivatives.contains(i); }

  static constexpr bool derivative_of_algebraic_occurs() {
    for (int i = 0; i < n; ++i) {
      if (algebraic(i) && derivative_occurs(i)) return true;
    }
    return false;
  }
  static_assert(
      highest_index() == 1 || !known_pattern || !derivative_of_algebraic_occurs(),
      "manyfold: a variable states .algebraic = true, but its derivative stands in an equation, if only with a "
      "factor of zero");

  /// Does equation i have no derivative in it?
  static constexpr bool algebraic_equation(int i) { return pattern_dy.row[i].next(0) < 0; }
  /// Are there equations without derivatives, or combinations of equations that have none?
  static constexpr bool constrained() {
    if (singular_mass_matrix()) return true;
    for (int i = 0; i < n; ++i) {
      if (algebraic_equation(i)) return true;
    }
    return false;
  }

  /// What is given of variable i at the start: as the kernel was asked for, else as the model declares it.
  static constexpr Given given(int i) {
    if (spec.says_what_is_given) return spec.given[i];
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.given;
      i -= variable.count;
    }
    return Given::by_kind;
  }
  static constexpr bool gives_value(int i) {
    if (given(i) == Given::by_kind) return derivative_occurs(i);
    return given(i) == Given::value || given(i) == Given::value_and_derivative || given(i) == Given::projected;
  }
  static constexpr bool gives_derivative(int i) {
    return given(i) == Given::derivative || given(i) == Given::value_and_derivative;
  }
  /// Is nothing but the values of the differential variables given?
  static constexpr bool gives_by_kind() {
    for (int i = 0; i < n; ++i) {
      if (gives_value(i) != derivative_occurs(i) || gives_derivative(i)) return false;
    }
    return true;
  }
  static constexpr bool starts_projected() {
    for (int i = 0; i < n; ++i) {
      if (given(i) == Given::projected) return true;
    }
    return false;
  }
  static constexpr int count_given_derivatives() {
    int count = 0;
    for (int i = 0; i < n; ++i) count += gives_derivative(i) ? 1 : 0;
    return count;
  }
  static constexpr int given_derivatives = count_given_derivatives();
  /// Numbers that an instance starts from: all initial values, then the derivatives that are given.
  static constexpr int initial_size = n + given_derivatives;
  static_assert(given_derivatives == 0 || highest_index() == 1,
                "manyfold: of variables of index 2 and 3 the values are given, not derivatives");
  /// Are values of differential variables no more than guesses?
  static constexpr bool guesses_values() {
    for (int i = 0; i < n; ++i) {
      if (derivative_occurs(i) && given(i) == Given::nothing) return true;
    }
    return false;
  }

  /// The constants of the variables, as initial values are numbered.
  struct Defaults {
    double number[initial_size] = {};
  };
  static constexpr Defaults find_defaults() {
    Defaults defaults;
    int i = 0;
    int next = n;
    for (const Variable& variable : Equations::variables) {
      for (int k = 0; k < variable.count; ++k) {
        if (gives_derivative(i)) defaults.number[next++] = variable.initial_derivative;
        defaults.number[i++] = variable.initial;
      }
    }
    return defaults;
  }

  /// Splits the numbers that an instance starts from; `put_y(i, value)` and `put_dy(i, value)` take them.
  static MANYFOLD_INLINE void distribute_initial(const double* initial, auto&& put_y, auto&& put_dy) {
    for (int i = 0; i < n; ++i) put_y(i, initial[i]);
    int next = n;
    for_each_index<n>([&](auto i) {
      if (gives_derivative(i)) {
        put_dy(static_cast<int>(i), initial[next++]);
      } else {
        put_dy(static_cast<int>(i), 0.0);
      }
    });
  }

  /// Puts the model's own numbers for an instance with these parameters, those of `initial(p, y)` or the constants of
  /// the variables, where `initial` [initial_size] has NaN.
  static MANYFOLD_INLINE void complete_initial(const double* parameter_values, double* initial) {
    constexpr Defaults defaults = find_defaults();
    double own[initial_size];
    for (int i = 0; i < initial_size; ++i) own[i] = defaults.number[i];
    if constexpr (model_check::HasInitial<Equations>) {
      double p[constants_size] = {};
      for (int i = 0; i < parameters; ++i) p[i] = parameter_values[i];
      derive(p);
      double y[n];
      for (int i = 0; i < n; ++i) y[i] = own[i];
      Equations::initial(p, y);
      for (int i = 0; i < n; ++i) own[i] = y[i];
    }
    for (int i = 0; i < initial_size; ++i) {
      if (!(initial[i] == initial[i])) initial[i] = own[i];
    }
  }

  /// Completes `p` with the derived numbers.
  template <class Real>
  static MANYFOLD_INLINE void derive(Real (&p)[constants_size]) {
    if constexpr (first_discrete > parameters) Equations::derive(p);
  }

  /// Completes `p` with the initial discrete state. `y`: initial values, which need not be consistent yet.
  template <class Real>
  static MANYFOLD_INLINE void start_discrete(const Real (&y)[n], Real (&p)[constants_size]) {
    if constexpr (discrete > 0) {
      Real d[discrete_size];
      static_for<discrete>([&](auto k) {
        constexpr double initial = Equations::discrete[k].initial;
        p[first_discrete + k] = d[k] = Real(initial);
      });
      if constexpr (model_check::HasInitialDiscrete<Equations>) Equations::initial_discrete(y, p, d);
      for (int k = 0; k < discrete; ++k) p[first_discrete + k] = d[k];
    }
  }

  /// The first `invariants` of g.
  template <class Time, class Number, class Real>
  static MANYFOLD_INLINE void invariant(const Time& t, const Number (&y)[n], const Real (&p)[constants_size], auto& g) {
    if constexpr (invariants > 0) Equations::invariant(t, y, p, g);
  }

  template <class Real>
  static MANYFOLD_INLINE void observe(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                      const Real (&p)[constants_size], Real (&o)[observables_size]) {
    if constexpr (observables > 0) Equations::observe(t, y, dy, p, o);
  }

  /// The event as the model declares it; `k` is a compile-time constant.
  static constexpr Event event(int k) { return Equations::events[k]; }

  /// Root functions of the events that are not scheduled.
  template <class Number, class Real>
  static MANYFOLD_INLINE void root(const Number& t, const Number (&y)[n], const Number (&dy)[n],
                                   const Real (&p)[constants_size], Number (&g)[events_size]) {
    Equations::root(t, y, dy, p, g);
  }

  /// Does the discrete state say on which side of root functions an instance is?
  static constexpr bool remembers_sides = events > 0 && model_check::HasSides<Equations>;
  /// Where it does, 1 or -1; 0 elsewhere.
  template <class Real>
  static MANYFOLD_INLINE void sides(const Real (&p)[constants_size], Real (&side)[events_size]) {
    if constexpr (remembers_sides) Equations::sides(p, side);
  }

  /// Times of the scheduled events. With several times for one event, they follow each other.
  template <class Real>
  static MANYFOLD_INLINE void event_times(const Real (&p)[constants_size], Real (&times)[scheduled_size]) {
    if constexpr (scheduled_times > 0) Equations::event_times(p, times);
  }
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

  /// Carries out the action of event `k` in the lanes of `mask`.
  template <class Real>
  static MANYFOLD_INLINE void act(auto k, const MaskOf<Real>& mask, const Real& t, Real (&y)[n], const Real (&dy)[n],
                                  Real (&p)[constants_size]) {
    if constexpr (model_check::HasAction<Equations>) {
      Real new_y[n];
      Real d[discrete_size];
      for (int i = 0; i < n; ++i) new_y[i] = y[i];
      for (int i = 0; i < discrete; ++i) d[i] = p[first_discrete + i];
      const Real(&constants_before)[constants_size] = p;
      Equations::action(k, t, new_y, dy, constants_before, d);
      for (int i = 0; i < n; ++i) y[i] = select(mask, new_y[i], y[i]);
      for (int i = 0; i < discrete; ++i) p[first_discrete + i] = select(mask, d[i], p[first_discrete + i]);
    }
  }

  /// F(t, y, y', p); for the mass-matrix form M y' - f(t, y, p).
  template <class Time, class Number, class Derivative, class Real>
  static MANYFOLD_INLINE void residual(const Time& t, const Number (&y)[n], const Derivative (&dy)[n],
                                       const Real (&p)[constants_size], auto(&F)[n]) {
    if constexpr (mass_form) {
      Equations::rhs(t, y, p, F);
      if constexpr (model_check::HasMassMatrix<Equations>) {
        Real mass[nonzeros_dy];
        evaluate_mass(p, mass);
        for (int i = 0; i < n; ++i) F[i] = -F[i];
        static_for<entries_dy.size>([&](auto k) {
          constexpr int i = entries_dy.row[k];
          constexpr int j = entries_dy.column[k];
          F[i] = F[i] + mass[k] * dy[j];
        });
      } else {
        for_each_index<n, unrolled_equations>([&](auto i) {
          if (algebraic_variables.contains(i)) {
            F[i] = -F[i];
          } else {
            F[i] = dy[i] - F[i];
          }
        });
      }
    } else {
      Equations::residual(t, y, dy, p, F);
    }
  }

  /// What all stages of a step of gamma h share.
  template <class Real>
  static MANYFOLD_INLINE void share_stages(const Real& gamma_h, const Real& over_gamma_h,
                                           const Real (&p)[constants_size], Real (&constants)[stage_constants_size]) {
    if constexpr (stage_constants > 0) Equations::stage_constants(gamma_h, over_gamma_h, p, constants);
  }

  /// The unknowns z of a stage for given y.
  template <class Real>
  static MANYFOLD_INLINE void stage_guess(const Real& t, const Real (&y)[n], const Real (&p)[constants_size], auto& z) {
    Equations::stage_guess(t, y, p, z);
  }

  /// What all iterations of a stage share.
  static constexpr MANYFOLD_INLINE void stage_terms(const auto& t, const auto& gamma_h, const auto& over_gamma_h,
                                                    const auto& constants, const auto& base, const auto& p,
                                                    auto& terms) {
    if constexpr (terms_of_stage > 0) Equations::stage_terms(t, gamma_h, over_gamma_h, constants, base, p, terms);
  }

  /// y of the stage y = base + gamma h y' for unknowns z, and their residuals r. The residuals of algebraic equations
  /// are to be `offset`.
  static constexpr MANYFOLD_INLINE void stage(const auto& t, const auto& gamma_h, const auto& over_gamma_h,
                                              const auto& constants, const auto& terms, const auto& base,
                                              const auto& offset, const auto& z, const auto& p, auto& y, auto& r) {
    Equations::stage(t, gamma_h, over_gamma_h, constants, terms, base, offset, z, p, y, r);
  }

  /// The partial derivative of F with respect to t.
  template <class Real>
  static MANYFOLD_INLINE void time_derivative(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                              const Real (&p)[constants_size], Real (&by_t)[n]) {
    Dual<Real, 1> seeded(t);
    seeded.tangent[0] = Real(1.0);
    Dual<Real, 1> F[n];
    residual(seeded, y, dy, p, F);
    for (int i = 0; i < n; ++i) by_t[i] = F[i].tangent[0];
  }

  /// The nonzeros of F_y into `J` and of F_y' into `M`, in the order of `entries_y` and `entries_dy`. A team divides
  /// the work among `shares`: every one of them calls with its number as `share`. What the model writes itself is
  /// written by the first. `weight` and `rtol` of the error norm and step `h`: the scales of
  /// finite differences.
  template <int shares = 1, class Real>
  static MANYFOLD_INLINE void jacobian(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                       const Real (&p)[constants_size], const Real (&weight)[n], double rtol,
                                       const Real& h, Real (&J)[nonzeros_y], Real (&M)[nonzeros_dy], auto share) {
    constexpr bool may_use_own = spec.jacobian == JacobianSource::automatic;
    if constexpr (spec.jacobian == JacobianSource::finite_differences) {
      Real step_y[n];
      Real step_dy[n];
      difference_steps(y, dy, weight, rtol, h, step_y, step_dy);
      difference<true, shares>(y, step_y, J, share,
                               [&](const auto& shifted, auto& F) { residual(t, shifted, dy, p, F); });
      if constexpr (mass_form) {
        if (share == 0) evaluate_mass(p, M);
      } else {
        difference<false, shares>(dy, step_dy, M, share,
                                  [&](const auto& shifted, auto& F) { residual(t, y, shifted, p, F); });
      }
    } else if constexpr (mass_form) {
      if (share == 0) evaluate_mass(p, M);
      if constexpr (may_use_own && model_check::HasRhsJacobian<Equations>) {
        if (share != 0) return;
        for (int k = 0; k < nonzeros_y; ++k) J[k] = Real(0.0);
        EntryWriter<Real, nonzeros_y, true> write_J{J};
        Equations::jacobian(t, y, p, write_J);
        for (int k = 0; k < nonzeros_y; ++k) J[k] = -J[k];
      } else {
        differentiate<true, shares>(y, J, share, [&](const auto& seeded, auto& F) {
          Equations::rhs(t, seeded, p, F);
          for (int i = 0; i < n; ++i) F[i] = -F[i];
        });
      }
    } else if constexpr (may_use_own && model_check::HasResidualJacobian<Equations>) {
      if (share != 0) return;
      for (int k = 0; k < nonzeros_y; ++k) J[k] = Real(0.0);
      for (int k = 0; k < nonzeros_dy; ++k) M[k] = Real(0.0);
      EntryWriter<Real, nonzeros_y, true> write_J{J};
      EntryWriter<Real, nonzeros_dy, false> write_M{M};
      Equations::jacobian(t, y, dy, p, write_J, write_M);
    } else {
      differentiate<true, shares>(y, J, share,
                                  [&](const auto& seeded, auto& F) { Equations::residual(t, seeded, dy, p, F); });
      differentiate<false, shares>(dy, M, share,
                                   [&](const auto& seeded, auto& F) { Equations::residual(t, y, seeded, p, F); });
    }
  }

  template <class Real>
  static MANYFOLD_INLINE void jacobian(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                       const Real (&p)[constants_size], const Real (&weight)[n], double rtol,
                                       const Real& h, Real (&J)[nonzeros_y], Real (&M)[nonzeros_dy]) {
    jacobian(t, y, dy, p, weight, rtol, h, J, M, Constant<0>{});
  }

  /// Evaluations of F that a Jacobian costs beyond those that its dual numbers stand for.
  static constexpr int residuals_of_jacobian() {
    if constexpr (spec.jacobian != JacobianSource::finite_differences) return 0;
    const int of_y = groups<true>.count + 1;
    return mass_form ? of_y : of_y + groups<false>.count + 1;
  }

 private:
  /// What a model's `jacobian` writes to: (i, j) -> the slot of that entry. Structural zeros go nowhere.
  template <class Real, int Count, bool by_y>
  struct EntryWriter {
    Real (&values)[Count];
    Real structural_zero = Real(0.0);
    MANYFOLD_INLINE Real& operator()(int i, int j) {
      const int slot = entries<by_y>().slot(i, j);
      return slot >= 0 ? values[slot] : structural_zero;
    }
  };

  template <class Real>
  static MANYFOLD_INLINE void evaluate_mass(const Real (&p)[constants_size], Real (&M)[nonzeros_dy]) {
    if constexpr (model_check::HasMassMatrix<Equations>) {
      EntryWriter<Real, nonzeros_dy, false> write_M{M};
      Equations::mass_matrix(p, write_M);
    } else {
      for (int k = 0; k < nonzeros_dy; ++k) M[k] = Real(1.0);
    }
  }

  /// The derivatives of `function` with respect to `x`, on the nonzeros of F_y or F_y', group of columns by group.
  template <bool by_y, int shares, class Real, int Count>
  static MANYFOLD_INLINE void differentiate(const Real (&x)[n], Real (&values)[Count], auto share, auto&& function) {
    constexpr int groups_of_share = (groups<by_y>.count + shares - 1) / shares;
    constexpr int passes = (groups_of_share + most_directions - 1) / most_directions;
    const int begin = share * groups_of_share;
    static_for<passes>([&](auto pass) {
      constexpr int done = pass * most_directions;
      constexpr int directions = groups_of_share - done < most_directions ? groups_of_share - done : most_directions;
      const int first = begin + done;
      if (first >= groups<by_y>.count) return;
      Dual<Real, directions> seeded[n];
      Dual<Real, directions> F[n];
      for_each_index<n>([&](auto j) {
        seeded[j] = Dual<Real, directions>(x[j]);
        const int group = groups<by_y>.group[j] - first;
        if (group >= 0 && group < directions) seeded[j].tangent[group] = Real(1.0);
      });
      function(seeded, F);
      for_each_index<entries<by_y>().size>([&](auto k) {
        const int group = groups<by_y>.group[entries<by_y>().column[k]] - first;
        if (group >= 0 && group < directions) values[k] = F[entries<by_y>().row[k]].tangent[group];
      });
    });
  }

  /// Steps of finite differences: sqrt(epsilon) max(|y| + atol/rtol, |h y'|), in the direction of the solution; those
  /// of y' the same over h, for both change together in an iteration matrix. IDA and DASSL have atol alone in place of
  /// atol/rtol, which beside larger terms of an equation is lost to rounding.
  template <class Real>
  static MANYFOLD_INLINE void difference_steps(const Real (&y)[n], const Real (&dy)[n], const Real (&weight)[n],
                                               double rtol, const Real& h, Real (&step_y)[n], Real (&step_dy)[n]) {
    constexpr double root = epsilon<Real> < 1e-10 ? 1.4901161193847656e-8 : 3.4526698300124393e-4;
    for (int i = 0; i < n; ++i) {
      const Real change = h * dy[i];
      const Real size = Real(root) * max(max(abs(y[i]), Real(1.0 / rtol) / weight[i]), abs(change));
      step_y[i] = select(change < Real(0.0), -size, size);
      step_dy[i] = size / h;
    }
  }

  /// As `differentiate`, by forward differences: columns that share no row are shifted together. Curtis, Powell & Reid,
  /// J. Inst. Math. Appl. 13 (1974).
  template <bool by_y, int shares, class Real, int Count>
  static MANYFOLD_INLINE void difference(const Real (&x)[n], const Real (&step)[n], Real (&values)[Count], auto share,
                                         auto&& function) {
    Real F[n];
    function(x, F);
    for (int group = share; group < groups<by_y>.count; group += shares) {
      Real shifted[n];
      for_each_index<n>([&](auto j) { shifted[j] = groups<by_y>.group[j] == group ? x[j] + step[j] : x[j]; });
      Real G[n];
      function(shifted, G);
      for_each_index<entries<by_y>().size>([&](auto k) {
        const int j = entries<by_y>().column[k];
        const int i = entries<by_y>().row[k];
        // The difference of the arguments as they were rounded.
        if (groups<by_y>.group[j] == group) values[k] = (G[i] - F[i]) / (shifted[j] - x[j]);
      });
    }
  }

  template <bool by_y>
  static constexpr MANYFOLD_INLINE const auto& entries() {
    if constexpr (by_y) {
      return entries_y;
    } else {
      return entries_dy;
    }
  }
  template <bool by_y>
  static constexpr auto groups = group_columns(by_y ? pattern_y : pattern_dy);
};

/// `Base` in mixed precision: what Newton's method solves with is factorised in single precision, all else is double.
template <class Base>
struct MixedSystem : Base {
  static constexpr bool single_precision_factors = true;
};
template <class Base>
struct AloneSystem<MixedSystem<Base>> : AloneSystem<Base> {};

/// The system of a kernel that is compiled for `spec`.
template <Model Equations, auto spec = KernelSpec<>{}>
using KernelSystem = typename Either<spec.precision == Precision::mixed, MixedSystem<System<Equations, spec>>,
                                     System<Equations, spec>>::type;

/// `Base` for the phased tier, where linear systems are solved for many instances at once.
template <class Base>
struct BatchedSystem : Base {
  static constexpr bool batched = true;
};
template <class Base>
struct AloneSystem<BatchedSystem<Base>> : AloneSystem<Base> {};

template <class System>
constexpr bool has_single_precision_factors() {
  return requires {
    System::single_precision_factors;
  };
}

}  // namespace manyfold
