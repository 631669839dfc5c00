#pragma once
// Consistent initial conditions for index-1 systems: of the 2n numbers (y, y') as many are given as there are
// differential variables, and the others found with F(t, y, y') = 0. Given are their values, the problem that IDACalcIC
// calls YA_YDP in Brown, Hindmarsh & Petzold, SIAM J. Sci. Comput. 19 (1998), or what the model says: their
// derivatives (Y_INIT), as for a start at rest, or any other choice. Damping by the natural monotonicity test,
// Deuflhard, Newton Methods for Nonlinear Problems, section 3.3. Of systems of higher index the differential variables
// are the model's, or projected on the constraints; algebraic ones are found from hidden constraints.
#include "../algebra/factors.hpp"
#include "../constraints/projection.hpp"
#include "../control/error_norm.hpp"
#include "../stage/linearisation.hpp"
#include "initial_unknowns.hpp"

namespace manyfold {

template <class Real>
struct InitialPoint {
  MaskOf<Real> consistent;
  MaskOf<Real> singular;  ///< a matrix of the search was singular
  Real residual_norm;     ///< max-norm of F where the search failed, else 0
  Real worst_equation;    ///< number of the equation that has it
  Real first_step;        ///< |h| that suits y and y'
  MaskOf<Real> moved;     ///< the search began off the constraints
  MaskOf<Real> close;     ///< it took full steps that contracted: no other solution is nearer
};

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
class InitialConditions {
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
    search_factors_.use(search_workspace_);
    euler_factors_.use(euler_workspace_);
    Real weight[n];
    error_weights(tolerances, y, weight);
    rtol_ = tolerances.rtol;
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
      differentiate(t, y, dy, p);
    } else if constexpr (System::singular_mass_matrix() && (!at_start || System::gives_by_kind())) {
      slide(active, t, span, y, dy, p, weight, result);
    } else {
      search(active, t, span, y, dy, p, tolerances, weight, result);
      if constexpr (takes_given_values && System::semi_explicit && (!at_start || System::gives_by_kind())) {
        const Mask degenerate = active & result.singular;
        if (any(degenerate)) stay(degenerate, t, span, y, dy, p, tolerances, weight, result);
      }
    }
    error_weights(tolerances, y, weight);
    result.first_step = characteristic_time(y, dy, weight, span) * Real(first_step_fraction);
    if constexpr (System::highest_index() > 1) {
      // Components at zero may ask for a step so short that the matrix, whose condition grows like h^(1-index), is
      // singular to working precision.
      result.first_step = max(result.first_step, Real(1e-6) * abs(span));
      examine(t, y, dy, p, weight, result);
    } else if constexpr (!System::singular_mass_matrix() && has_algebraic()) {
      differentiate_algebraic(active, t, y, dy, p, weight, result);
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
  static constexpr double first_step_fraction = 0.01;
  /// Length of the auxiliary implicit Euler steps relative to the first step.
  static constexpr double euler_fraction = 1e-3;
  /// A correction below this part of the tolerance is the last: the error after it is far smaller still.
  static constexpr double small_correction = 1e-3;
  /// A correction below this part of the tolerance that cannot be made smaller is one of rounding errors.
  static constexpr double rounding_correction = 0.1;
  /// Derivatives that change by less, relative to themselves, are found.
  static constexpr double small_change = 1e-6;
  /// Exponentials of diodes bring Newton's method closer by one thermal voltage per iteration: a guess that is too high
  /// by a volt needs 40 or 80.
  static constexpr int most_iterations = 100;
  /// Rounds of two short implicit Euler steps; the line through them may leave the solution by this part of the
  /// tolerance.
  static constexpr int most_slides = 4;
  static constexpr double most_curved = 0.01;
  /// Derivatives that still change after this many iterations do so by rounding errors of terms that cancel.
  static constexpr int most_slope_iterations = 12;

  using Point = LinearisationPoint<System, Real>;

  static constexpr bool has_algebraic() {
    for (int i = 0; i < n; ++i) {
      if (!System::derivative_occurs(i)) return true;
    }
    return false;
  }

  using Unknowns = InitialUnknowns<System, at_start>;
  static constexpr Unknowns unknowns = {};
  static_assert(System::highest_index() > 1 || unknowns.count == n,
                "manyfold: as many initial values and derivatives must be given as there are variables whose "
                "derivative stands in an equation");

  // What the structure says of the stated indices. Where M or F_y' may be singular in combinations of rows, the index
  // by the structure may be above the true one, and nothing is said.
  static constexpr bool determines_algebraic() {
    if constexpr (!System::gives_by_kind() || !System::known_pattern || System::highest_index() > 1 ||
                  System::singular_mass_matrix()) {
      return true;
    } else {
      return SymbolicLU<SearchStructure>::ordering.nonsingular;
    }
  }
  static constexpr bool semi_explicit_structure =
      System::semi_explicit && System::known_pattern && System::highest_index() > 1;
  static constexpr int structural_index() {
    if constexpr (semi_explicit_structure) {
      return Structure<System>::offsets.index();
    } else {
      return 1;
    }
  }
  static constexpr bool determines_stated_index_1() {
    if constexpr (semi_explicit_structure) {
      return determines_index_1<System>();
    } else {
      return true;
    }
  }
  static constexpr MANYFOLD_INLINE int variable_of(int unknown) { return unknowns.variable[unknown]; }
  static constexpr MANYFOLD_INLINE bool is_derivative(int unknown) { return unknowns.derivative[unknown]; }

  using SearchStructure = manyfold::SearchStructure<System, at_start>;
  static_assert(
      determines_algebraic(),
      "manyfold: all variables state index 1 (the default), but the equations as they are do not determine the "
      "variables without derivatives: a constraint contains none of them, or several contain too few. State "
      ".index = 2 for variables that take a derivative of such a constraint to find (forces of constraints on "
      "velocities), .index = 3 for those that take two (of constraints on positions; .index = 2 for the "
      "velocities then), or singular_mass_matrix = true where rows hide algebraic relations in combinations");
  static_assert(determines_stated_index_1(),
                "manyfold: algebraic variables state index 1 (the default), but the algebraic equations as they are do "
                "not determine them: a constraint contains none of them, or several contain too few. State .index = 2 "
                "for the forces of constraints on velocities, .index = 3 for those of constraints on positions");
  static_assert(
      structural_index() < 3 || System::highest_index() > 2,
      "manyfold: variables state index 2 at most, but the equations have index 3: a constraint must be "
      "differentiated twice before it contains an algebraic variable. State .index = 3 for the variables that "
      "are found then (forces of constraints on positions), .index = 2 for those that are found from its first "
      "derivative (velocities)");
  static_assert(
      structural_index() < 4,
      "manyfold: the equations have index 4 or more: a constraint must be differentiated three times before it "
      "contains an algebraic variable. Methods here take index 3 at most: state a derivative of the constraint "
      "in its place");
  using SearchFactors = Factors<Real, SearchStructure>;
  using EulerFactors = Factors<Real, IterationStructure<System>>;

  /// 1 / (|y'| / |y|), both in the error norm, within the span.
  static MANYFOLD_INLINE Real characteristic_time(const Real (&y)[n], const Real (&dy)[n], const Real (&weight)[n],
                                                  const Real& span) {
    const Real size = weighted_norm(y, weight);
    const Real speed = weighted_norm(dy, weight);
    const Real longest = Real(0.1) * abs(span);
    const Real time = size / speed;
    // At rest, or at zero within the tolerance, the span is all there is to go by: rounding errors of zero would give
    // steps so short that the matrix is singular.
    return select((size > Real(1.0)) & (time > Real(0.0)), min(time, longest),
                  select(speed > Real(0.0), Real(1e-4) * longest, longest));
  }

  /// Does the model state bounds of a value that is to be found?
  static constexpr bool bounds_unknowns() {
    for (int i = 0; i < n; ++i) {
      if (bounds_unknown(i)) return true;
    }
    return false;
  }
  static constexpr bool bounds_unknown(int i) {
    return unknowns.of_value[i] >= 0 && (System::least(i) > -no_bound || System::greatest(i) < no_bound);
  }

  /// Lanes in which a value that is to be found is out of its bounds by more than `slack` tolerances.
  static MANYFOLD_INLINE Mask leaves_bounds(const Real (&y)[n], const Real (&weight)[n], double slack) {
    Mask leaves(false);
    static_for<n>([&](auto i) {
      if constexpr (bounds_unknown(i)) {
        const Real beyond = max(Real(System::least(i)) - y[i], y[i] - Real(System::greatest(i)));
        leaves = leaves | (beyond * weight[i] > Real(slack));
      }
    });
    return leaves;
  }

  /// Finds the unknowns. Beyond the bounds that the model states the equations may have other solutions. Where Newton's
  /// method finds none within, it begins again, and makes no step that leaves them; if that fails, the first one
  /// counts.
  MANYFOLD_INLINE void search(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                              const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                              Real (&weight)[n], InitialPoint<Real>& result) {
    if constexpr (!bounds_unknowns()) {
      iterate(active, Mask(false), t, span, y, dy, p, tolerances, weight, result);
    } else {
      const InitialPoint<Real> before = result;
      Real guess[n];
      Real guess_dy[n];
      for (int i = 0; i < n; ++i) {
        guess[i] = y[i];
        guess_dy[i] = dy[i];
      }
      Mask lanes = active;
      for (int attempt = 0; attempt < 2 && any(lanes); ++attempt) {
        const Mask within(attempt > 0);
        InitialPoint<Real> found = before;
        Real found_y[n];
        Real found_dy[n];
        static_for<n>([&](auto i) {
          found_y[i] = guess[i];
          found_dy[i] = guess_dy[i];
          if constexpr (bounds_unknown(i)) {
            const Real nearest = min(max(guess[i], Real(System::least(i))), Real(System::greatest(i)));
            found_y[i] = select(within, nearest, guess[i]);
          }
        });
        iterate(lanes, within, t, span, found_y, found_dy, p, tolerances, weight, found);
        const Mask inside = found.consistent & !leaves_bounds(found_y, weight, 1.0);
        const Mask take = lanes & (inside | !within);
        for (int i = 0; i < n; ++i) {
          y[i] = select(take, found_y[i], y[i]);
          dy[i] = select(take, found_dy[i], dy[i]);
        }
        const auto put = [&](Mask& to, const Mask& from) { to = (take & from) | (!take & to); };
        put(result.consistent, found.consistent);
        put(result.singular, found.singular);
        put(result.moved, found.moved | within);
        put(result.close, found.close & !within);
        lanes = lanes & !inside & !found.singular;
      }
    }
  }

  /// Damped Newton iteration for the unknowns, with the error norm of each iterate. `within`: lanes whose iterates stay
  /// within the bounds that the model states.
  MANYFOLD_INLINE void iterate(const Mask& active, const Mask& within, const Real& t, const Real& span, Real (&y)[n],
                               Real (&dy)[n], const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                               Real (&weight)[n], InitialPoint<Real>& result) {
    Mask searching = active;
    Real F[n];
    System::residual(t, y, dy, p, F);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      // Guesses of zero are of another size than what is found: the tolerance is that of the values themselves.
      error_weights(tolerances, y, weight);
      const Real step = Real(1e-6) * span;
      const Point point{t, y, dy, p, weight, rtol_, step};
      matrices_.evaluate(searching, point);
      const Mask solvable = search_factors_.template factor<false>(searching, [&](auto k) {
        const int i = search_entries.row[k];
        const int unknown = search_entries.column[k];
        const int j = variable_of(unknown);
        return is_derivative(unknown) ? matrices_.entry_dy(System::entries_dy.slot(i, j)) : matrices_.entry_y(i, j);
      });
      // Singular where the search begins is a property of the model; on its way it is a search that failed.
      if (iteration == 0) result.singular = searching & !solvable;
      result.consistent = result.consistent & (solvable | !searching);
      searching = searching & solvable;

      Real delta[n];
      for (int i = 0; i < n; ++i) delta[i] = F[i];
      search_factors_.solve(delta);
      Real slope[n];
      if constexpr (!System::mass_form) find_slopes(y, dy, delta, slope);
      const Real size = correction_size(delta, slope, weight);
      // Converged: what is left to correct is far below the tolerance, and the correction is still applied.
      const Mask small =
          searching & (size <= Real(small_correction)) &
          ((slope_change(delta, slope) <= Real(small_change)) | Mask(iteration >= most_slope_iterations));

      Real damping(1.0);
      Mask improving = searching;
      if (iteration == 0) result.moved = searching & (size > Real(rounding_correction));
      Real trial_y[n];
      Real trial_dy[n];
      Real trial_F[n];
      while (any(improving)) {
        for (int i = 0; i < n; ++i) {
          trial_y[i] = y[i];
          trial_dy[i] = dy[i];
        }
        for (int k = 0; k < n; ++k) {
          Real& number = is_derivative(k) ? trial_dy[variable_of(k)] : trial_y[variable_of(k)];
          number -= damping * delta[k];
        }
        System::residual(t, trial_y, trial_dy, p, trial_F);
        Real simplified[n];
        for (int i = 0; i < n; ++i) simplified[i] = trial_F[i];
        search_factors_.solve(simplified);
        const Real next_size = correction_size(simplified, slope, weight);
        Mask closer = next_size <= (Real(1.0) - Real(0.25) * damping) * size;
        if constexpr (bounds_unknowns()) closer = closer & !(within & leaves_bounds(trial_y, weight, 0.0));
        const Mask accept = improving & (small | closer);
        for (int i = 0; i < n; ++i) {
          y[i] = select(accept, trial_y[i], y[i]);
          dy[i] = select(accept, trial_dy[i], dy[i]);
          F[i] = select(accept, trial_F[i], F[i]);
        }
        const Mask slow = (damping < Real(1.0)) | (next_size > Real(0.5) * size);
        result.close = result.close & !(accept & !small & slow);
        improving = improving & !accept;
        damping = select(improving, Real(0.5) * damping, damping);
        const Mask hopeless = improving & (damping < Real(least_damping));
        searching = searching & !hopeless;
        improving = improving & !hopeless;
        result.consistent = result.consistent & (Mask(!hopeless) | (size <= Real(rounding_correction)));
      }
      Mask finite(true);
      for (int i = 0; i < n; ++i) finite = finite & is_finite(F[i]);
      result.consistent = result.consistent & (finite | !small);
      searching = searching & !small;
    }
    result.consistent = result.consistent & !searching & !result.singular;
  }

  /// y' = f(t, y) of a semi-explicit system of higher index, whose values are taken as they are. Derivatives of
  /// algebraic variables remain zero: no equation has them.
  MANYFOLD_INLINE void differentiate(const Real& t, const Real (&y)[n], Real (&dy)[n],
                                     const Real (&p)[System::constants_size]) {
    Real none[n];
    Real F[n];
    for (int i = 0; i < n; ++i) none[i] = Real(0.0);
    System::residual(t, y, none, p, F);
    static_for<n>([&](auto i) {
      if constexpr (!System::algebraic(i)) dy[i] = -F[i];
    });
  }

  /// Are the equations met? The measure is what an implicit Euler step would have to correct, in the error norm of that
  /// step.
  MANYFOLD_INLINE void examine(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                               const Real (&p)[System::constants_size], const Real (&weight)[n],
                               InitialPoint<Real>& result) {
    const Real h = result.first_step;
    const Point point{t, y, dy, p, weight, rtol_, h};
    matrices_.evaluate(Mask(true), point);
    const Mask solvable = factor_euler(Mask(true), Real(1.0) / h);
    Real scaled[n];
    scale_weights(weight, h, scaled);
    Real F[n];
    System::residual(t, y, dy, p, F);
    euler_factors_.solve(F);
    result.singular = !solvable;
    result.consistent = result.consistent & solvable & (weighted_norm(F, scaled) <= Real(1.0));
  }

  /// Where the structure has a lower index than the equations, the matrix of consistent values is singular: values that
  /// meet the equations are taken as they are, but for multipliers that short steps determine.
  MANYFOLD_OUTLINE void take(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                             const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                             InitialPoint<Real>& result) {
    Real weight[n];
    error_weights(tolerances, y, weight);
    InitialPoint<Real> as_given = result;
    as_given.consistent = active;
    examine(t, y, dy, p, weight, as_given);
    const Mask met = active & as_given.consistent;
    result.consistent = result.consistent | met;
    result.singular = result.singular & !met;
    result.residual_norm = select(met, Real(0.0), result.residual_norm);
    result.worst_equation = select(met, Real(-1.0), result.worst_equation);
    const Real h = as_given.first_step * Real(euler_fraction);
    find_multipliers(met, t, select(span < Real(0.0), -h, h), y, dy, p, weight);
  }

  /// Algebraic variables of index 2 and 3 at values of the others that meet the equations: the line through those after
  /// two and three implicit Euler steps of length h leads back to t. Those after one step may be off, where it changes
  /// velocities of index 3. Nothing changes where these steps fail, or leave the values.
  MANYFOLD_INLINE void find_multipliers(const Mask& lanes, const Real& t, const Real& h, Real (&y)[n], Real (&dy)[n],
                                        const Real (&p)[System::constants_size], const Real (&weight)[n]) {
    Real at[n];
    Real v[n];
    Real second[n];
    Real lenient[n];
    static_for<n>([&](auto i) {
      at[i] = second[i] = y[i];
      v[i] = System::derivative_occurs(i) ? dy[i] : Real(0.0);
      // Newton's method is to end where the variables that the step determines do.
      lenient[i] = System::index(i) > 1 && !System::derivative_occurs(i) ? weight[i] * Real(small_change) : weight[i];
    });
    Mask good = lanes;
    Mask singular(false);
    for (int step = 0; step < 3 && any(good); ++step) {
      good = good & euler_step(good, t + Real(double(step)) * h, h, at, v, p, lenient, singular, 1.0);
      static_for<n>([&](auto i) {
        at[i] += h * v[i];
        if (step == 1) second[i] = at[i];
        if constexpr (!System::derivative_occurs(i)) v[i] = Real(0.0);
      });
    }
    Real moved[n];
    static_for<n>(
        [&](auto i) { moved[i] = System::derivative_occurs(i) ? second[i] - y[i] - Real(2.0) * h * v[i] : Real(0.0); });
    good = good & (weighted_norm(moved, weight) <= Real(1.0));
    static_for<n>([&](auto i) {
      if constexpr (System::index(i) > 1 && !System::derivative_occurs(i)) {
        const Real value = second[i] - Real(2.0) * (at[i] - second[i]);
        // What is within the tolerance is better known than by these steps.
        const Mask wrong = abs(value - y[i]) * weight[i] > Real(1.0);
        y[i] = select(good & is_finite(value) & wrong, value, y[i]);
      }
    });
    Real slope[n];
    for (int i = 0; i < n; ++i) slope[i] = dy[i];
    differentiate(t, y, slope, p);
    for (int i = 0; i < n; ++i) dy[i] = select(good, slope[i], dy[i]);
  }

  /// Errors of variables of index 2 and 3 count times h and h^2.
  static MANYFOLD_INLINE void scale_weights(const Real (&weight)[n], const Real& h, Real (&scaled)[n]) {
    static_for<n>([&](auto i) {
      constexpr int index = System::index(i);
      scaled[i] = weight[i];
      if constexpr (index > 1) scaled[i] *= h;
      if constexpr (index > 2) scaled[i] *= h;
    });
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
    if constexpr (System::semi_explicit) differentiate(t, y, dy, p);
    Real slope[n];
    for_each_index<n>([&](auto i) { slope[i] = System::derivative_occurs(i) ? dy[i] : Real(0.0); });
    error_weights(tolerances, y, weight);
    const Real time = characteristic_time(y, slope, weight, span);
    // Components at zero may ask for a step so short that the matrix, whose condition grows like h^(1-index), is
    // singular to working precision.
    result.first_step = max(time * Real(first_step_fraction), Real(1e-6) * abs(span));
    if constexpr (highest > 1) result.first_step = max(result.first_step, Real(1e-5) * inertial_time<Stages>(x));

    // A velocity that violates its constraint moves positions away from theirs.
    Real scaled[n];
    scale_weights(weight, time, scaled);
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

  /// The scales of changes of derivatives: the larger of their values before and after the correction, but at least the
  /// errors that rounding errors of the residual cause in them, for a derivative that is zero is zero up to these.
  MANYFOLD_INLINE void find_slopes(const Real (&y)[n], const Real (&dy)[n], const Real (&delta)[n],
                                   Real (&slope)[n]) const {
    Real rounding[n];
    matrices_.magnitudes(y, dy, rounding);
    for (int i = 0; i < n; ++i) rounding[i] *= Real(100.0 * epsilon<Real>);
    search_factors_.solve(rounding);
    for (int k = 0; k < n; ++k) {
      const int i = variable_of(k);
      slope[k] = max(max(abs(dy[i]), abs(dy[i] - delta[k])), abs(rounding[k]) * Real(1.0 / small_change));
    }
  }

  /// Corrections of variables in the error norm, those of derivatives relative to `slope`.
  static MANYFOLD_INLINE Real correction_size(const Real (&delta)[n], const Real (&slope)[n], const Real (&weight)[n]) {
    Real sum(0.0);
    for (int k = 0; k < n; ++k) {
      if (!is_derivative(k)) sum += square(delta[k] * weight[variable_of(k)]);
    }
    return sqrt(sum * Real(1.0 / n)) + slope_change(delta, slope);
  }

  /// Largest relative change of a derivative. The mass-matrix form is linear in them: there is nothing to wait for.
  static MANYFOLD_INLINE Real slope_change(const Real (&delta)[n], const Real (&slope)[n]) {
    Real largest(0.0);
    if constexpr (!System::mass_form) {
      for (int k = 0; k < n; ++k) {
        if (!is_derivative(k)) continue;
        const Real scale = max(slope[k], abs(delta[k]));
        largest = max(largest, select(delta[k] == Real(0.0), Real(0.0), abs(delta[k]) / scale));
      }
    }
    return largest;
  }

  /// Factorises shift F_y' + F_y in the lanes of `lanes`; returns those where it is not singular.
  MANYFOLD_OUTLINE Mask factor_euler(const Mask& lanes, const Real& shift) {
    return euler_factors_.template factor<false>(lanes,
                                                 [&](auto k) { return matrices_.template shifted<Real>(k, shift); });
  }

  /// One implicit Euler step of length `h` from y with all derivatives unknown: F(t + h, y + h v, v) = 0, damped like
  /// the search. Returns the lanes in which Newton's method converged. With `tolerances` the weights are brought up to
  /// date with each iterate; how often depends on the other lanes.
  MANYFOLD_OUTLINE Mask euler_step(const Mask& active, const Real& t, const Real& h, const Real (&y)[n], Real (&v)[n],
                                   const Real (&p)[System::constants_size], Real (&weight)[n], Mask& singular,
                                   double rounding = rounding_correction, const Tolerances<n>* tolerances = nullptr) {
    const Real shift = Real(1.0) / h;
    const Real end = t + h;
    Mask searching = active;
    Mask converged(false);
    Real F[n];
    Real trial_F[n];
    const auto residual = [&](const Real(&slope)[n], Real(&result)[n]) {
      Real value[n];
      for (int i = 0; i < n; ++i) value[i] = y[i] + h * slope[i];
      System::residual(end, value, slope, p, result);
    };
    residual(v, F);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      Real value[n];
      for (int i = 0; i < n; ++i) value[i] = y[i] + h * v[i];
      if (tolerances != nullptr) error_weights(*tolerances, value, weight);
      const Point point{end, value, v, p, weight, rtol_, h};
      matrices_.evaluate(searching, point);
      const Mask solvable = factor_euler(searching, shift);
      singular = singular | (searching & !solvable);
      searching = searching & solvable;
      Real delta[n];
      for (int i = 0; i < n; ++i) delta[i] = F[i];
      euler_factors_.solve(delta);
      const Real size = weighted_norm(delta, weight);
      const Mask done = searching & (size <= Real(small_correction));
      searching = searching & is_finite(size);
      Real damping(1.0);
      Mask improving = searching;
      Mask stuck(false);
      while (any(improving)) {
        Real trial[n];
        for (int i = 0; i < n; ++i) trial[i] = v[i] - damping * delta[i] * shift;
        residual(trial, trial_F);
        Real simplified[n];
        for (int i = 0; i < n; ++i) simplified[i] = trial_F[i];
        euler_factors_.solve(simplified);
        const Real next_size = weighted_norm(simplified, weight);
        const Mask accept = improving & (done | (next_size <= (Real(1.0) - Real(0.25) * damping) * size));
        for (int i = 0; i < n; ++i) {
          v[i] = select(accept, trial[i], v[i]);
          F[i] = select(accept, trial_F[i], F[i]);
        }
        improving = improving & !accept;
        damping = select(improving, Real(0.5) * damping, damping);
        const Mask hopeless = improving & (damping < Real(least_damping));
        stuck = stuck | hopeless;
        improving = improving & !hopeless;
      }
      converged = converged | done | (stuck & (size <= Real(rounding)));
      searching = searching & !converged;
      // M / h magnifies rounding errors: what seems no progress may be one.
      stuck = stuck & searching;
      if (any(stuck)) {
        for (int i = 0; i < n; ++i) v[i] = select(stuck, v[i] - delta[i] * shift, v[i]);
        residual(v, trial_F);
        for (int i = 0; i < n; ++i) F[i] = select(stuck, trial_F[i], F[i]);
      }
    }
    return converged;
  }

  /// Derivatives of the algebraic variables: of a short implicit Euler step, for they stand in no equation.
  MANYFOLD_INLINE void differentiate_algebraic(const Mask& active, const Real& t, const Real (&y)[n], Real (&dy)[n],
                                               const Real (&p)[System::constants_size], Real (&weight)[n],
                                               const InitialPoint<Real>& point) {
    Real v[n];
    for (int i = 0; i < n; ++i) v[i] = dy[i];
    Mask singular(false);
    const Real h = point.first_step * Real(euler_fraction);
    const Mask converged = euler_step(active, t, h, y, v, p, weight, singular);
    for (int i = 0; i < n; ++i) {
      if (!System::derivative_occurs(i)) dy[i] = select(converged & is_finite(v[i]), v[i], Real(0.0));
    }
  }

  /// For mass matrices that are singular in combinations of variables: short implicit Euler steps land on the
  /// constraints and keep the differential combinations; their line is followed back to t.
  MANYFOLD_INLINE void slide(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                             const Real (&p)[System::constants_size], Real (&weight)[n], InitialPoint<Real>& result,
                             double first = 1e-10, const Tolerances<n>* tolerances = nullptr) {
    const auto weigh = [&](const Real(&value)[n]) {
      if (tolerances != nullptr) error_weights(*tolerances, value, weight);
    };
    // The first round finds the time scale, the second has steps that suit it. Where the line is too curved to be
    // followed back that far, shorter ones follow.
    Real h = abs(span) * Real(first);
    Mask converged = active;
    Mask sliding = active;
    for (int round = 0; round < most_slides && any(sliding); ++round) {
      Real v[n];
      Real curvature[n];  // between the slopes of both steps
      for (int i = 0; i < n; ++i) v[i] = dy[i];
      // In the first round M / h magnifies rounding errors of the constraints. The next one corrects them.
      const double rounding = round == 0 ? 1e3 : rounding_correction;
      Mask good = sliding & euler_step(sliding, t, h, y, v, p, weight, result.singular, rounding, tolerances);
      Real landed[n];
      for (int i = 0; i < n; ++i) {
        landed[i] = y[i] + h * v[i];
        curvature[i] = -h * v[i];
      }
      weigh(landed);
      // Where the first step moved to the constraints, its slope says nothing of the next.
      const Mask moved = weighted_norm(curvature, weight) > Real(1.0);
      for (int i = 0; i < n; ++i) v[i] = select(moved, Real(0.0), v[i]);
      good = good & euler_step(good, t + h, h, landed, v, p, weight, result.singular, rounding, tolerances);
      // A lane that converged may have waited for another one, with other weights.
      weigh(landed);
      for (int i = 0; i < n; ++i) curvature[i] += h * v[i];
      converged = converged & (good | !sliding);
      const Real curved = weighted_norm(curvature, weight);
      // A line that is too curved says little of values that are given.
      const Mask straight = Mask(round == 0) | !(curved > Real(most_curved));
      for (int i = 0; i < n; ++i) {
        const bool given = !System::singular_mass_matrix() && System::derivative_occurs(i);
        y[i] = select(good & (straight | Mask(!given)), landed[i] - h * v[i], y[i]);
        dy[i] = select(good, v[i], dy[i]);
      }
      sliding = round == 0 ? good : good & !straight;
      const Real next = round == 0
                            ? Real(first_step_fraction * euler_fraction) * characteristic_time(y, dy, weight, span)
                            : h * Real(0.5) * sqrt(Real(most_curved) / curved);
      h = select(sliding, next, h);
    }
    // What the combinations of rows with derivatives say of y' is exact at t; the rest keeps the slope of the steps.
    weigh(y);
    const Point at{t, y, dy, p, weight, rtol_, h};
    matrices_.evaluate(converged, at);
    const Real shift = Real(1.0) / h;
    const Mask solvable = factor_euler(converged, shift);
    Real delta[n];
    System::residual(t, y, dy, p, delta);
    euler_factors_.solve(delta);
    for (int i = 0; i < n; ++i) dy[i] = select(solvable, dy[i] - delta[i] * shift, dy[i]);
    result.consistent = converged;
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
    slide(active, t, span, y, dy, p, found_weight, found, 1e-7, &tolerances);
    Real moved[n];
    for (int i = 0; i < n; ++i) {
      moved[i] = System::derivative_occurs(i) ? select(active, y[i] - given[i], Real(0.0)) : Real(0.0);
    }
    const Mask near = active & found.consistent & (weighted_norm(moved, weight) <= Real(1.0));
    result.consistent = result.consistent | near;
    result.singular = result.singular & !near;
  }

  static constexpr auto search_entries = entries_of<SearchStructure::matrix.size()>(SearchStructure::matrix);

  double rtol_;
  SearchFactors search_factors_;
  EulerFactors euler_factors_;
  typename SearchFactors::Workspace search_workspace_;
  typename EulerFactors::Workspace euler_workspace_;
  Linearisation<System, Real> matrices_;
};

/// Those of the start, which need not be compiled twice where they are found as after events.
template <class System, class Real>
using StartConditions = InitialConditions<System, Real, !starts_as_after_events<System>()>;

}  // namespace manyfold
