#pragma once
// Simplified Newton iteration in lockstep: every lane has its own rate, stop and failure. Hairer & Wanner II, IV.8,
// (8.10)-(8.13).
#include "../control/error_norm.hpp"
#include "../lane/rough.hpp"
#include "../lane/static_for.hpp"

namespace manyfold {

struct NewtonControl {
  double tolerance;  ///< stop when the estimated remaining error, in the error norm, is below this
  int most_iterations;
  double rounding = 0.0;  ///< corrections below this that fall no further are rounding errors; for index 2 and 3
};

template <class Real>
struct NewtonResult {
  MaskOf<Real> converged;
  MaskOf<Real> finite;  ///< every correction was finite
  Real iterations;      ///< per lane
  int passes = 0;       ///< iterations of the pack: of its slowest lane
  Real rate;            ///< contraction theta = ||delta_k|| / ||delta_(k-1)||, the largest seen; 0 after one iteration
  Real last_rate;       ///< geometric mean of the last two contractions; 0 after one iteration
};

/// Sum of squares of a weighted correction. The slope of an exponential that contains a force holds nearby only: its
/// corrections must be small where its errors may be large.
template <class System, class Real>
MANYFOLD_INLINE Real correction_square(const Real (&x)[System::n], const Real (&weight)[System::n]) {
  Real sum = weighted_square(x, weight);
  if constexpr (System::has_bent_forces()) {
    constexpr double more = 10.0;
    static_for<System::n>([&](auto i) {
      if constexpr (System::is_force(i)) sum += Real(more * more - 1.0) * square(x[i] * weight[i]);
    });
  }
  return sum;
}

/// The iteration between its linear solves: what it knows after some corrections, and its verdict on the next. At index
/// 3 the first correction moves the positions, and only the second sees the curvature of their constraints, which
/// forces of its size keep up with, however small h is: the ratio of these two says nothing of convergence.
template <class Real, int index = 1>
class NewtonIteration {
 public:
  using Mask = MaskOf<Real>;

  /// Begins in the lanes of `active`. `contraction`: theta/(1-theta) of the last solve of each lane. `patient`: lanes
  /// that may iterate four times as often as others, as long as they converge.
  MANYFOLD_INLINE void begin(const Mask& active, const Mask& patient, const Real& contraction) {
    patient_ = patient;
    result_ = {Mask(false), Mask(true), Real(0.0), 0, Real(0.0), Real(0.0)};
    iterating_ = active;
    // (8.11) with the exponent 3/4 in place of 0.8: two square roots instead of a power.
    const Real root = rough_sqrt(max(contraction, Real(least_contraction)));
    factor_ = root * rough_sqrt(root);
    previous_ = Real(0.0);
    previous_theta_ = Real(0.0);
  }

  /// Lanes that need a further correction.
  MANYFOLD_INLINE const Mask& iterating() const { return iterating_; }

  /// Judges a correction of norm `size`.
  MANYFOLD_INLINE void judge(const NewtonControl& control, const Real& size) {
    const Real tolerance(control.tolerance);
    const int k = ++result_.passes;
    result_.iterations = result_.iterations + select(iterating_, Real(1.0), Real(0.0));
    const Mask finite = is_finite(size) | !iterating_;
    result_.finite = result_.finite & finite;
    Mask diverging = !finite;
    Mask stuck(false);
    Mask settled(false);
    Mask patient = patient_;
    if constexpr (index > 1) patient = patient | (max(size, previous_) <= Real(control.rounding));
    Mask hopeless = (Mask(k >= control.most_iterations) & !patient) | Mask(k >= 4 * control.most_iterations);
    if (k > 1 && k < first_judged) {
      const Real theta = rough_quotient(size, previous_);
      const Real ratio = select(theta < Real(1.0), rough_quotient(theta, Real(1.0) - theta), Real(largest_number));
      factor_ = select(iterating_, max(ratio, Real(least_contraction)), factor_);
    } else if (k > 1) {
      const Real theta = rough_quotient(size, previous_);
      const Real ratio = rough_quotient(theta, Real(1.0) - theta);
      Mask falling = iterating_;
      if constexpr (index > 1) {
        settled = finite & !(theta < Real(0.99)) & (max(size, previous_) <= Real(control.rounding));
        falling = falling & !settled;
      }
      factor_ = select(falling, max(ratio, Real(least_contraction)), factor_);
      result_.rate = select(falling, max(result_.rate, theta), result_.rate);
      const Real mean = k == first_judged ? theta : rough_sqrt(theta * previous_theta_);
      result_.last_rate = select(falling, mean, result_.last_rate);
      previous_theta_ = theta;
      diverging = diverging | !(theta < Real(0.99));
      stuck = patient_ & (size <= Real(negligible)) & (theta >= Real(0.99)) & (theta < Real(slow_growth));
      // What the remaining iterations can still achieve, (8.12).
      Real reachable = ratio * size;
      for (int left = k; left < control.most_iterations; ++left) reachable *= theta;
      hopeless = hopeless | (Mask(!(reachable <= tolerance)) & !patient);
    }
    const Mask done = iterating_ & (stuck | settled | ((factor_ * size <= tolerance) & !diverging));
    result_.converged = result_.converged | done;
    iterating_ = iterating_ & !done & !diverging & !hopeless;
    previous_ = size;
  }

  /// The result, once no lane iterates; brings `contraction` up to date in the lanes of `active`.
  MANYFOLD_INLINE const NewtonResult<Real>& end(const Mask& active, Real& contraction) {
    contraction = select(result_.converged, factor_, select(active, Real(1.0), contraction));
    return result_;
  }

 private:
  /// No better contraction is taken for granted. Equations that were linear over the last step need not be so over this
  /// one, where a diode may begin to conduct. And a first correction that is large in the variables of linear
  /// equations, which it puts right at once, makes the second look small beside it, while exponentials are still far
  /// from their solution: stages of a transistor that turned off passed with errors of hundreds of tolerances.
  static constexpr double least_contraction = 0.03;
  /// Where an equation has a kink that no step crosses, corrections go to and fro between its branches, and however
  /// short the step is they do not fall, or grow slowly. After failed attempts those far below the tolerance do, on
  /// either branch.
  static constexpr double negligible = 0.01;
  static constexpr double slow_growth = 2.0;
  /// The correction whose ratio to the one before is the first that is judged.
  static constexpr int first_judged = index > 2 ? 3 : 2;

  NewtonResult<Real> result_;
  Mask iterating_;
  Mask patient_;
  Real factor_;          ///< theta/(1-theta), or what takes its place before the second correction
  Real previous_;        ///< norm of the last correction
  Real previous_theta_;  ///< contraction by the last correction
};

/// Solves in the lanes of `active`. `correct(lanes)` performs one iteration in those lanes and returns the norm of the
/// correction. `patient` as for `NewtonIteration::begin`. `contraction` holds theta/(1-theta) of the last solve of each
/// lane and is brought up to date. `index`: of the system.
template <class Real, int index = 1>
MANYFOLD_INLINE NewtonResult<Real> solve_newton(const NewtonControl& control, const MaskOf<Real>& active,
                                                const MaskOf<Real>& patient, Real& contraction, auto&& correct) {
  NewtonIteration<Real, index> iteration;
  iteration.begin(active, patient, contraction);
  while (any(iteration.iterating())) iteration.judge(control, correct(iteration.iterating()));
  return iteration.end(active, contraction);
}

}  // namespace manyfold
