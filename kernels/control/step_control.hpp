#pragma once
// Step sizes from error estimates, per lane. Hairer & Wanner II, IV.8: the standard controller (8.19)-(8.20) and
// Gustafsson's predictive one (8.25)-(8.26), the smaller of the two.
#include "../lane/rough.hpp"

namespace manyfold {

struct StepLimits {
  static constexpr double safety = 0.9;
  /// A step sees what happens at its stages and between, at distances of a quarter of h or so. If it grows faster than
  /// this, they exceed the time since the last pulse, and the next one may fall between them.
  static constexpr double most_growth = 2.0;
  /// Where equations contain the time and nothing moves: the points between are at most an eighth of h apart then, a
  /// sixteenth of the time since the last pulse.
  static constexpr double most_growth_at_rest = 1.5;
  /// Smaller errors say that nothing moves.
  static constexpr double error_at_rest = 1e-5;
  static constexpr double most_shrinkage = 5.0;
  /// Small changes of h are not worth a factorisation when the old factors could be kept.
  static constexpr double keep_below = 1.2;
};

/// x^(1/order) of 0 < x < 1, by Newton's method.
constexpr double constant_root(double x, int order) {
  double root = 1.0;
  for (int pass = 0; pass < 64; ++pass) {
    double power = 1.0;
    for (int k = 1; k < order; ++k) power *= root;
    root -= (root - x / power) / order;
  }
  return root;
}

/// Memory of the predictive controller.
template <class Real>
struct StepHistory {
  Real h;           ///< last accepted step; 0 before the first
  Real error_root;  ///< the root of its error norm, which counts as 0.01 at least
};

/// `growth` of h after a step with the error norm `error`, or less where only a source or a contact may end the rest.
template <class System, class Real>
MANYFOLD_INLINE Real wary_growth(const Real& growth, const Real& error) {
  if constexpr (System::abrupt()) {
    const auto at_rest = error < Real(StepLimits::error_at_rest);
    return select(at_rest, min(growth, Real(StepLimits::most_growth_at_rest)), growth);
  } else {
    return growth;
  }
}

/// The reciprocal of the safety factor, which is smaller the more Newton iterations the step took.
template <class Real>
MANYFOLD_INLINE Real safety_divisor(const Real& iterations, int most_iterations) {
  const double budget = 2.0 * most_iterations;
  return (iterations + Real(budget)) * Real(1.0 / (StepLimits::safety * (1.0 + budget)));
}

/// What to multiply a step of length h by that had an error norm with the root `error_root`, its power 1/q for an
/// estimate that is O(h^q).
template <class Real>
MANYFOLD_INLINE Real step_factor(const Real& h, const Real& error_root, const Real& safety_divisor,
                                 const StepHistory<Real>& history, const MaskOf<Real>& accepted) {
  Real divisor = error_root * safety_divisor;
  // (8.25): what the error would be if it went on changing as it did over the last two steps.
  const Real predicted = abs(rough_quotient(history.h * error_root * divisor, h * history.error_root));
  const MaskOf<Real> predictive = accepted & (history.h != Real(0.0));
  divisor = select(predictive, max(divisor, predicted), divisor);
  divisor = min(max(divisor, Real(1.0 / StepLimits::most_growth)), Real(StepLimits::most_shrinkage));
  return rough_quotient(Real(1.0), divisor);
}

}  // namespace manyfold
