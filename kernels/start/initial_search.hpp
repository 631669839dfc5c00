#pragma once
// The search for those of the numbers (y, y') that are not given, with F(t, y, y') = 0: Newton's method, damped by the
// natural monotonicity test, Deuflhard, Newton Methods for Nonlinear Problems, section 3.3.
#include "../algebra/factors.hpp"
#include "../constraints/consistency.hpp"
#include "../control/error_norm.hpp"
#include "../model/point_beside.hpp"
#include "../stage/linearisation.hpp"
#include "initial_point.hpp"
#include "initial_unknowns.hpp"

namespace manyfold {

template <class System, class Real, bool at_start>
class InitialSearch : SearchLimits {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  using Unknowns = InitialUnknowns<System, at_start>;

  /// Before all else: devices put this on raw memory. `matrices`: where the Jacobians are evaluated.
  MANYFOLD_INLINE void begin(double rtol, Linearisation<System, Real>& matrices) {
    rtol_ = rtol;
    matrices_ = &matrices;
    factors_.use(workspace_);
  }

  /// Finds the unknowns. Beyond the bounds that the model states the equations may have other solutions. Where Newton's
  /// method finds none within, it begins again, and makes no step that leaves them; if that fails, the first one
  /// counts.
  MANYFOLD_INLINE void find(const Mask& active, const Real& t, const Real& span, Real (&y)[n], Real (&dy)[n],
                            const Real (&p)[System::constants_size], const Tolerances<n>& tolerances, Real (&weight)[n],
                            InitialPoint<Real>& result) {
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

  /// Finds them from close by, where the matrix is singular at the guess in the lanes of `active`: that of q |q| = c at
  /// q = 0. Newton's method does not cross places where it is singular, so the search begins on one side and, if it
  /// fails, on the other.
  MANYFOLD_INLINE void find_from_beside(const Mask& active, const Real& t, const Real& span, Real (&y)[n],
                                        Real (&dy)[n], const Real (&p)[System::constants_size],
                                        const Tolerances<n>& tolerances, Real (&weight)[n],
                                        InitialPoint<Real>& result) {
    Mask searching = active;
    for (const double distance : {2e-3, -2e-3}) {
      if (!any(searching)) return;
      InitialPoint<Real> found = result;
      found.consistent = searching;
      Real found_y[n];
      Real found_dy[n];
      for (int i = 0; i < n; ++i) {
        found_y[i] = y[i];
        found_dy[i] = dy[i];
      }
      for (int k = 0; k < n; ++k) {
        Real& number = is_derivative(k) ? found_dy[variable_of(k)] : found_y[variable_of(k)];
        number += Real(distance * part_beside(k)) * max(abs(number), Real(1.0));
      }
      find(searching, t, span, found_y, found_dy, p, tolerances, weight, found);
      const Mask take = searching & found.consistent;
      for (int i = 0; i < n; ++i) {
        y[i] = select(take, found_y[i], y[i]);
        dy[i] = select(take, found_dy[i], dy[i]);
      }
      result.consistent = result.consistent | take;
      result.singular = result.singular & !take;
      result.moved = result.moved | take;
      result.close = result.close & !take;
      searching = searching & !take;
    }
  }

 private:
  static constexpr Unknowns unknowns = {};
  static constexpr MANYFOLD_INLINE int variable_of(int unknown) { return unknowns.variable[unknown]; }
  static constexpr MANYFOLD_INLINE bool is_derivative(int unknown) { return unknowns.derivative[unknown]; }

  /// Derivatives that still change after this many iterations do so by rounding errors of terms that cancel.
  static constexpr int most_slope_iterations = 12;

  using Point = LinearisationPoint<System, Real>;
  using Structure = SearchStructure<System, at_start>;
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);

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

  /// Damped Newton iteration for the unknowns, with the error norm of each iterate. `within`: lanes whose iterates stay
  /// within the bounds that the model states.
  MANYFOLD_OUTLINE void iterate(const Mask& active, const Mask& within, const Real& t, const Real& span, Real (&y)[n],
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
      matrices_->evaluate(searching, point);
      const Mask solvable = factors_.template factor<false>(searching, [&](auto k) {
        const int i = entries.row[k];
        const int unknown = entries.column[k];
        const int j = variable_of(unknown);
        return is_derivative(unknown) ? matrices_->entry_dy(System::entries_dy.slot(i, j)) : matrices_->entry_y(i, j);
      });
      // Singular where the search begins is a property of the model; on its way it is a search that failed.
      if (iteration == 0) result.singular = searching & !solvable;
      result.consistent = result.consistent & (solvable | !searching);
      searching = searching & solvable;

      Real delta[n];
      for (int i = 0; i < n; ++i) delta[i] = F[i];
      factors_.solve(delta);
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
        factors_.solve(simplified);
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

  /// The scales of changes of derivatives: the larger of their values before and after the correction, but at least the
  /// errors that rounding errors of the residual cause in them, for a derivative that is zero is zero up to these.
  MANYFOLD_INLINE void find_slopes(const Real (&y)[n], const Real (&dy)[n], const Real (&delta)[n],
                                   Real (&slope)[n]) const {
    Real rounding[n];
    matrices_->magnitudes(y, dy, rounding);
    for (int i = 0; i < n; ++i) rounding[i] *= Real(100.0 * epsilon<Real>);
    factors_.solve(rounding);
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

  double rtol_;
  Linearisation<System, Real>* matrices_;
  Factors<Real, Structure> factors_;
  typename Factors<Real, Structure>::Workspace workspace_;
};

}  // namespace manyfold
