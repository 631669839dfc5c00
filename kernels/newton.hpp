#pragma once
// Simplified Newton iteration in lockstep: every lane has its own rate, stop and failure. Hairer & Wanner II, IV.8,
// (8.10)-(8.13).
#include "lane/scalar.hpp"

namespace manyfold {

struct NewtonControl {
  double tolerance;  ///< stop when the estimated remaining error, in the error norm, is below this
  int most_iterations;
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

/// Solves in the lanes of `active`. `correct(lanes)` performs one iteration in those lanes and returns the norm of the
/// correction. `contraction` holds theta/(1-theta) of the last solve of each lane and is brought up to date.
template <class Real>
MANYFOLD_INLINE NewtonResult<Real> solve_newton(const NewtonControl& control, const MaskOf<Real>& active,
                                                Real& contraction, auto&& correct) {
  using Mask = MaskOf<Real>;
  const Real tolerance(control.tolerance);
  NewtonResult<Real> result{Mask(false), Mask(true), Real(0.0), 0, Real(0.0), Real(0.0)};
  Mask iterating = active;
  // (8.11) with the exponent 3/4 in place of 0.8: two square roots instead of a power.
  const Real root = sqrt(max(contraction, Real(2.2e-16)));
  Real factor = root * sqrt(root);
  Real previous(0.0);
  Real previous_theta(0.0);
  for (int k = 1; any(iterating); ++k) {
    const Real size = correct(iterating);
    result.passes = k;
    result.iterations = result.iterations + select(iterating, Real(1.0), Real(0.0));
    const Mask finite = is_finite(size) | !iterating;
    result.finite = result.finite & finite;
    Mask diverging = !finite;
    Mask hopeless(k >= control.most_iterations);
    if (k > 1) {
      const Real theta = size / previous;
      const Real ratio = theta / (Real(1.0) - theta);
      factor = select(iterating, max(ratio, Real(1e-10)), factor);
      result.rate = select(iterating, max(result.rate, theta), result.rate);
      const Real mean = k == 2 ? theta : sqrt(theta * previous_theta);
      result.last_rate = select(iterating, mean, result.last_rate);
      previous_theta = theta;
      diverging = diverging | !(theta < Real(0.99));
      // What the remaining iterations can still achieve, (8.12).
      Real reachable = ratio * size;
      for (int left = k; left < control.most_iterations; ++left) reachable *= theta;
      hopeless = hopeless | !(reachable <= tolerance);
    }
    const Mask done = iterating & !diverging & (factor * size <= tolerance);
    result.converged = result.converged | done;
    iterating = iterating & !done & !diverging & !hopeless;
    previous = size;
  }
  contraction = select(result.converged, factor, select(active, Real(1.0), contraction));
  return result;
}

}  // namespace manyfold
