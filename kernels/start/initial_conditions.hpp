#pragma once
// Consistent initial conditions for index-1 systems: of the 2n numbers (y, y') as many are given as there are
// differential variables, and the others found with F(t, y, y') = 0. Given are their values, the problem that IDACalcIC
// calls YA_YDP in Brown, Hindmarsh & Petzold, SIAM J. Sci. Comput. 19 (1998), or what the model says: their
// derivatives (Y_INIT), as for a start at rest, or any other choice. Of systems of higher index the differential
// variables are the model's, or projected on the constraints; algebraic ones are found from hidden constraints.
#include "../constraints/projection.hpp"
#include "initial_search.hpp"
#include "short_steps.hpp"
#include "stated_indices.hpp"

namespace manyfold {

/// May algebraic variables that the equations alone do not determine follow from short steps? On devices the kernel of
/// the start would be twice as long.
#if defined(__CUDACC__)
inline constexpr bool takes_given_values = false;
#else
inline constexpr bool takes_given_values = true;
#endif

/// Are conditions found at the start as after events? Where the values of the differential variables are given, they
/// are all that index-1 systems need.
template <class System>
constexpr bool starts_as_after_events() {
  return System::gives_by_kind() && System::highest_index() == 1 && System::invariants == 0;
}

template <class System, class Real, bool at_start>
class InitialConditions : SearchLimits {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

  /// Makes (y, dy) consistent at t in the lanes of `active`; what it leaves in the others has no meaning. Numbers that
  /// are not given are where the search starts; derivatives among them are taken for zero. `span`: t_end - t, which
  /// bounds the first step.
  MANYFOLD_OUTLINE InitialPoint<Real> solve(const Mask& active, const Real& t, const Real& span, Real (&y)[n],
                                            Real (&dy)[n], const Real (&p)[System::constants_size],
                                            const Tolerances<n>& tolerances) {
    InitialPoint<Real> result{Mask(true), Mask(false), Real(0.0), Real(-1.0), Real(0.0), Mask(false), Mask(true)};
    search_.begin(tolerances.rtol, matrices_);
    steps_.begin(tolerances.rtol, matrices_);
    Real weight[n];
    error_weights(tolerances, y, weight);
    for_each_index<n>([&](auto i) {
      if (!Unknowns::knows_derivative(i)) dy[i] = Real(0.0);
    });
    if constexpr (structural) {
      settle(active, t, span, y, dy, p, tolerances, result);
      if constexpr (takes_given_values && System::semi_explicit && (!at_start || System::gives_by_kind())) {
        const Mask degenerate = active & result.singular;
        if (any(degenerate)) take(degenerate, t, span, y, dy, p, tolerances, result);
      }
      return result;
    }
    Mask met(true);
    Real violation(0.0);
    if constexpr (System::invariants > 0) {
      met = meet_invariants(active, t, y, p, tolerances, weight, violation) | !active;
      result.consistent = met;
    }
    if constexpr (System::highest_index() > 1) {
      differentiate<System>(t, y, dy, p);
    } else if constexpr (System::singular_mass_matrix() && (!at_start || System::gives_by_kind())) {
      steps_.slide(active, t, span, y, dy, p, weight, result);
    } else {
      search_.find(active, t, span, y, dy, p, tolerances, weight, result);
      if constexpr (takes_given_values && System::semi_explicit && (!at_start || System::gives_by_kind())) {
        const Mask degenerate = active & result.singular;
        if (any(degenerate)) stay(degenerate, t, span, y, dy, p, tolerances, weight, result);
      }
      if constexpr (takes_given_values && has_algebraic()) {
        const Mask degenerate = active & result.singular;
        if (any(degenerate)) search_.find_from_beside(degenerate, t, span, y, dy, p, tolerances, weight, result);
      }
    }
    error_weights(tolerances, y, weight);
    result.first_step = steps_.characteristic_time(y, dy, weight, span) * Real(first_step_fraction);
    if constexpr (System::highest_index() > 1) {
      // Components at zero may ask for a step so short that the matrix, whose condition grows like h^(1-index), is
      // singular to working precision.
      result.first_step = max(result.first_step, Real(1e-6) * abs(span));
      steps_.examine(t, y, dy, p, weight, result);
    } else if constexpr (!System::singular_mass_matrix() && has_algebraic()) {
      steps_.differentiate_algebraic(active, t, y, dy, p, weight, result);
    }

    Real F[n];
    System::residual(t, y, dy, p, F);
    Real largest(-1.0);
    Real worst(-1.0);
    for (int i = 0; i < n; ++i) {
      // What is not finite is worse than anything, and the first of them the worst.
      const Mask finite = is_finite(F[i]);
      const Mask worse = (abs(F[i]) > largest) | (is_finite(largest) & !finite);
      largest = select(worse, abs(F[i]), largest);
      worst = select(worse, Real(static_cast<double>(i)), worst);
    }
    result.consistent = result.consistent & met;
    result.residual_norm = select(result.consistent, Real(0.0), select(met, largest, violation));
    result.worst_equation = select(result.consistent | !met, Real(-1.0), worst);
    return result;
  }

 private:
  static constexpr bool has_algebraic() {
    for (int i = 0; i < n; ++i) {
      if (!System::derivative_occurs(i)) return true;
    }
    return false;
  }

  using Unknowns = InitialUnknowns<System, at_start>;
  static_assert(System::highest_index() > 1 || Unknowns().count == n,
                "manyfold: as many initial values and derivatives must be given as there are variables whose "
                "derivative stands in an equation");

  static_assert(StatedIndices<System, at_start>::possible);

  /// Where the structure has a lower index than the equations, the matrix of consistent values is singular: values that
  /// meet the equations are taken as they are, but for multipliers that short steps determine.
  MANYFOLD_OUTLINE void take(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                             const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                             InitialPoint<Real>& result) {
    Real weight[n];
    error_weights(tolerances, y, weight);
    InitialPoint<Real> as_given = result;
    as_given.consistent = active;
    steps_.examine(t, y, dy, p, weight, as_given);
    const Mask met = active & as_given.consistent;
    result.consistent = result.consistent | met;
    result.singular = result.singular & !met;
    result.residual_norm = select(met, Real(0.0), result.residual_norm);
    result.worst_equation = select(met, Real(-1.0), result.worst_equation);
    const Real h = as_given.first_step * Real(euler_fraction);
    steps_.find_multipliers(met, t, select(span < Real(0.0), -h, h), y, dy, p, weight);
  }

  /// Is the structure known by which a system of higher index is made consistent?
  static constexpr bool structural = System::highest_index() > 1 && System::known_pattern;

  /// Does the value of variable i stay what it was, up to errors below the tolerance?
  static constexpr bool gives(int i) {
    if (!at_start) return System::derivative_occurs(i);
    return System::gives_value(i) && System::given(i) != Given::projected;
  }
  /// How far given values may be from where the constraints hold, in tolerances. At the start they are the user's: they
  /// are within the tolerance, or wrong. After an event they are those of dense output, which may have lost half of the
  /// digits; more than that is an action that contradicts the constraints.
  static MANYFOLD_INLINE double farthest(double rtol) { return at_start ? 1.0 : 1.0 / sqrt(rtol); }

  /// Moves y to where the invariants hold: at the start where values are said to be near them, after an event where
  /// every step is projected. Returns the lanes where they hold; values that are given there may move by no more than
  /// `farthest`. Those that meet them as they are remain to the last bit: an event that has just occurred stays behind.
  MANYFOLD_INLINE Mask meet_invariants(const Mask& active, const Real& t, Real (&y)[n],
                                       const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                                       const Real (&weight)[n], Real& violation) {
    if constexpr (at_start ? !System::starts_projected() : !projects<System>()) {
      return Mask(true);
    } else {
      Real moved[n];
      for (int i = 0; i < n; ++i) moved[i] = y[i];
      const auto found = project < System,
                 at_start ? Distance::far : Distance::near > (active, t, moved, p, tolerances);
      Real sum(0.0);
      static_for<n>([&](auto i) {
        if constexpr (gives(i)) sum += square((moved[i] - y[i]) * weight[i]);
      });
      const Mask keep = Mask(!at_start) & (sum <= Real(n * small_correction * small_correction));
      for (int i = 0; i < n; ++i) y[i] = select(found.met & !keep, moved[i], y[i]);
      violation = found.violation;
      return found.met & (sum <= Real(n * square(farthest(tolerances.rtol))));
    }
  }

  /// (|y| / |y''|)^(1/2) of the variables whose second derivatives are known; 0 where they vanish.
  template <class Stages>
  static MANYFOLD_INLINE Real inertial_time(const typename Stages::template Derivatives<Real>& x) {
    Real size(0.0);
    Real force(0.0);
    static_for<n>([&](auto i) {
      if constexpr (Stages::Form::of_variable(i) > 1) {
        size += square(x[0][i]);
        force += square(x[2][i]);
      }
    });
    return select(force > Real(0.0), sqrt(sqrt(size / force)), Real(0.0));
  }

  /// Consistent values of a system of higher index.
  MANYFOLD_OUTLINE void settle(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                               const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                               InitialPoint<Real>& result) {
    using Stages = Consistency<System, Real>;
    constexpr bool guesses = at_start && System::guesses_values();
    constexpr Move how = guesses ? Move::nearest : Move::along_forces;
    constexpr int highest = Stages::highest;
    Mask good = active;
    if constexpr (at_start && System::starts_projected() && System::invariants > 0) {
      good = project<System, Distance::far>(active, t, y, p, tolerances).met;
    }
    Real weight[n];
    error_weights(tolerances, y, weight);
    Stages stages;
    typename Stages::Workspace workspace;
    stages.use(workspace);
    typename Stages::template Derivatives<Real> x;
    Stages::begin(t, y, p, x);
    typename Stages::Search search{good, Mask(false), Real(-1.0), {}};
    stages.template find<how, highest, 0>(good, t, span, x, p, weight, tolerances, search,
                                          [](auto i) { return gives(i); });
    result.consistent = search.found | !active;
    result.singular = search.singular;

    Real moved[n];
    Real sum(0.0);
    static_for<n>([&](auto i) {
      moved[i] = x[0][i] - y[i];
      if constexpr (gives(i) && System::derivative_occurs(i)) sum += square(moved[i] * weight[i]);
    });
    // Values that are consistent as they are remain to the last bit: an event that has just occurred stays behind.
    const Mask keep = Mask(at_start) | (sum <= Real(n * small_correction * small_correction));
    static_for<n>([&](auto i) {
      constexpr bool given = gives(i) && System::derivative_occurs(i);
      y[i] = select(search.found & !(Mask(given) & keep), x[0][i], y[i]);
      dy[i] = select(search.found, x[1][i], Real(0.0));
    });
    if constexpr (System::semi_explicit) differentiate<System>(t, y, dy, p);
    Real slope[n];
    for_each_index<n>([&](auto i) { slope[i] = System::derivative_occurs(i) ? dy[i] : Real(0.0); });
    error_weights(tolerances, y, weight);
    const Real time = steps_.characteristic_time(y, slope, weight, span);
    // Components at zero may ask for a step so short that the matrix, whose condition grows like h^(1-index), is
    // singular to working precision.
    result.first_step = max(time * Real(first_step_fraction), Real(1e-6) * abs(span));
    if constexpr (highest > 1) result.first_step = max(result.first_step, Real(1e-5) * inertial_time<Stages>(x));

    // A velocity that violates its constraint moves positions away from theirs.
    Real scaled[n];
    steps_.scale_weights(weight, time, scaled);
    sum = Real(0.0);
    static_for<highest + 1>([&](auto stage) {
      constexpr int lag = highest - stage;
      if constexpr (!guesses) {
        static_for<n>([&](auto i) {
          if constexpr (gives(i) && System::derivative_occurs(i) && Stages::Form::of_variable(i) == lag) {
            sum += square(moved[i] * scaled[i]);
          }
        });
      }
      // The first stage that the values contradict has the constraint that they violate.
      const Mask far = active & ((search.failed == Real(static_cast<double>(lag))) |
                                 (sum > Real(n * square(farthest(tolerances.rtol)))));
      const Mask named = far & (result.worst_equation < Real(0.0)) & (search.violation[lag].size > Real(0.0));
      result.residual_norm = select(named, search.violation[lag].size, result.residual_norm);
      result.worst_equation = select(named, search.violation[lag].equation, result.worst_equation);
      result.consistent = result.consistent & !far;
    });
  }

  /// Where the equations do not determine the algebraic variables, but those of a short implicit Euler step do: charges
  /// of nodes that no capacitor joins to the ground add up to a constant, and only the currents into these nodes tell
  /// their voltages. Given values that meet the equations within the tolerance are taken.
  MANYFOLD_OUTLINE void stay(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                             const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                             const Real (&weight)[n], InitialPoint<Real>& result) {
    Real given[n];
    Real found_weight[n];
    for (int i = 0; i < n; ++i) {
      given[i] = y[i];
      found_weight[i] = weight[i];
    }
    InitialPoint<Real> found = result;
    // Guesses of zero are of another size than what is found. And what the charges have of rounding errors becomes one
    // of voltages, divided by the step.
    steps_.slide(active, t, span, y, dy, p, found_weight, found, 1e-7, &tolerances);
    Real moved[n];
    for (int i = 0; i < n; ++i) {
      moved[i] = System::derivative_occurs(i) ? select(active, y[i] - given[i], Real(0.0)) : Real(0.0);
    }
    const Mask near = active & found.consistent & (weighted_norm(moved, weight) <= Real(1.0));
    result.consistent = result.consistent | near;
    result.singular = result.singular & !near;
  }

  Linearisation<System, Real> matrices_;
  InitialSearch<System, Real, at_start> search_;
  ShortSteps<System, Real> steps_;
};

/// Those of the start, which need not be compiled twice where they are found as after events.
template <class System, class Real>
using StartConditions = InitialConditions<System, Real, !starts_as_after_events<System>()>;

}  // namespace manyfold
