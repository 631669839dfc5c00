#pragma once
// Short implicit Euler steps where the equations alone do not say what is to be found: derivatives of algebraic
// variables, forces of constraints, and combinations that a singular mass matrix hides. They land on the constraints,
// and the line through them leads back to where they began.
#include "../algebra/factors.hpp"
#include "../constraints/consistency.hpp"
#include "../control/error_norm.hpp"
#include "../stage/linearisation.hpp"
#include "initial_point.hpp"

namespace manyfold {

/// y' = f(t, y) of a semi-explicit system of higher index, whose values are taken as they are. Derivatives of algebraic
/// variables remain zero: no equation has them.
template <class System, class Real>
MANYFOLD_INLINE void differentiate(const Real& t, const Real (&y)[System::n], Real (&dy)[System::n],
                                   const Real (&p)[System::constants_size]) {
  constexpr int n = System::n;
  Real none[n];
  Real F[n];
  for (int i = 0; i < n; ++i) none[i] = Real(0.0);
  System::residual(t, y, none, p, F);
  static_for<n>([&](auto i) {
    if constexpr (!System::algebraic(i)) dy[i] = -F[i];
  });
}

template <class System, class Real>
class ShortSteps : SearchLimits {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

  /// Before all else: devices put this on raw memory. `matrices`: where the Jacobians are evaluated.
  MANYFOLD_INLINE void begin(double rtol, Linearisation<System, Real>& matrices) {
    rtol_ = rtol;
    matrices_ = &matrices;
    factors_.use(workspace_);
  }

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

  /// Errors of variables of index 2 and 3 count times h and h^2.
  static MANYFOLD_INLINE void scale_weights(const Real (&weight)[n], const Real& h, Real (&scaled)[n]) {
    static_for<n>([&](auto i) {
      constexpr int index = System::index(i);
      scaled[i] = weight[i];
      if constexpr (index > 1) scaled[i] *= h;
      if constexpr (index > 2) scaled[i] *= h;
    });
  }

  /// Are the equations met? The measure is what an implicit Euler step would have to correct, in the error norm of that
  /// step.
  MANYFOLD_INLINE void examine(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                               const Real (&p)[System::constants_size], const Real (&weight)[n],
                               InitialPoint<Real>& result) {
    const Real h = result.first_step;
    const Point point{t, y, dy, p, weight, rtol_, h};
    matrices_->evaluate(Mask(true), point);
    const Mask solvable = factor_euler(Mask(true), Real(1.0) / h);
    Real scaled[n];
    scale_weights(weight, h, scaled);
    Real F[n];
    System::residual(t, y, dy, p, F);
    factors_.solve(F);
    result.singular = !solvable;
    result.consistent = result.consistent & solvable & (weighted_norm(F, scaled) <= Real(1.0));
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
    differentiate<System>(t, y, slope, p);
    for (int i = 0; i < n; ++i) dy[i] = select(good, slope[i], dy[i]);
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
    matrices_->evaluate(converged, at);
    const Real shift = Real(1.0) / h;
    const Mask solvable = factor_euler(converged, shift);
    Real delta[n];
    System::residual(t, y, dy, p, delta);
    factors_.solve(delta);
    for (int i = 0; i < n; ++i) dy[i] = select(solvable, dy[i] - delta[i] * shift, dy[i]);
    result.consistent = converged;
  }

 private:
  /// Rounds of two short implicit Euler steps; the line through them may leave the solution by this part of the
  /// tolerance.
  static constexpr int most_slides = 4;
  static constexpr double most_curved = 0.01;

  using Point = LinearisationPoint<System, Real>;
  using EulerFactors = Factors<Real, IterationStructure<System>>;

  /// Factorises shift F_y' + F_y in the lanes of `lanes`; returns those where it is not singular.
  MANYFOLD_OUTLINE Mask factor_euler(const Mask& lanes, const Real& shift) {
    return factors_.template factor<false>(lanes, [&](auto k) { return matrices_->template shifted<Real>(k, shift); });
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
      matrices_->evaluate(searching, point);
      const Mask solvable = factor_euler(searching, shift);
      singular = singular | (searching & !solvable);
      searching = searching & solvable;
      Real delta[n];
      for (int i = 0; i < n; ++i) delta[i] = F[i];
      factors_.solve(delta);
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
        factors_.solve(simplified);
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

  double rtol_;
  Linearisation<System, Real>* matrices_;
  EulerFactors factors_;
  typename EulerFactors::Workspace workspace_;
};

}  // namespace manyfold
