#pragma once
// Step sizes from error estimates, per lane. Hairer & Wanner II, IV.8: the standard controller (8.19)-(8.20) and
// Gustafsson's predictive one (8.25)-(8.26), the smaller of the two.
#include "../lane/scalar.hpp"

namespace manyfold {

/// x^(1/order) for an error estimate of that order; the powers that are square roots are taken as such.
template <int order, class Real>
MANYFOLD_INLINE Real order_root(const Real& x) {
  if constexpr (order == 2) {
    return sqrt(x);
  } else if constexpr (order == 4) {
    return sqrt(sqrt(x));
  } else {
    return pow(x, Real(1.0 / order));
  }
}

struct StepLimits {
  static constexpr double safety = 0.9;
  static constexpr double most_growth = 8.0;
  static constexpr double most_shrinkage = 5.0;
  /// Small changes of h are not worth a factorisation when the old factors could be kept.
  static constexpr double keep_below = 1.2;
};

/// Memory of the predictive controller.
template <class Real>
struct StepHistory {
  Real h;      ///< last accepted step; 0 before the first
  Real error;  ///< its error norm, at least 0.01
};

/// `fraction` in (0, 1] is smaller the more Newton iterations the step took.
template <class Real>
MANYFOLD_INLINE Real safety_factor(const Real& iterations, int most_iterations) {
  const double budget = 2.0 * most_iterations;
  return Real(StepLimits::safety) * Real(1.0 + budget) / (iterations + Real(budget));
}

/// Length of the step after one that had error norm `error`. `root_of(x)` is x^(1/q) for an estimate that is O(h^q).
template <class Real>
MANYFOLD_INLINE Real next_step(const Real& h, const Real& error, const Real& safety, const StepHistory<Real>& history,
                               const MaskOf<Real>& accepted, auto&& root_of) {
  const Real floor(1e-10);
  const Real size = max(error, floor);
  Real divisor = root_of(size) / safety;
  // (8.25): what the error would be if it went on changing as it did over the last two steps.
  const Real predicted = abs(history.h / h) * root_of(size * size / history.error) / safety;
  const MaskOf<Real> predictive = accepted & (history.h != Real(0.0));
  divisor = select(predictive, max(divisor, predicted), divisor);
  divisor = min(max(divisor, Real(1.0 / StepLimits::most_growth)), Real(StepLimits::most_shrinkage));
  return h / divisor;
}

}  // namespace manyfold
