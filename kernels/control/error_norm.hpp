#pragma once
// The norm in which errors and Newton corrections are small or not: weighted root mean square,
// ||x|| = sqrt(mean((x_i / (atol_i + rtol |y_i|))^2)). Hairer & Wanner II, (IV.8.21).
#include "../lane/rough.hpp"

namespace manyfold {

/// Tolerances of all instances.
template <int n>
struct Tolerances {
  double rtol;
  double atol[n];
};

/// weight_i = 1 / (atol_i + rtol |y_i|)
template <class Real, int n>
MANYFOLD_INLINE Real error_weight(const Tolerances<n>& tolerances, int i, const Real& y) {
  return rough_quotient(Real(1.0), Real(tolerances.atol[i]) + Real(tolerances.rtol) * abs(y));
}

template <class Real, int n>
MANYFOLD_INLINE void error_weights(const Tolerances<n>& tolerances, const Real (&y)[n], Real (&weight)[n]) {
  for (int i = 0; i < n; ++i) weight[i] = error_weight(tolerances, i, y[i]);
}

/// Sum of squares of weighted components; several vectors may be added up before the root is taken.
template <class Real, int n>
MANYFOLD_INLINE Real weighted_square(const Real (&x)[n], const Real (&weight)[n]) {
  Real sum(0.0);
  for (int i = 0; i < n; ++i) sum += square(x[i] * weight[i]);
  return sum;
}

template <class Real, int n>
MANYFOLD_INLINE Real weighted_norm(const Real (&x)[n], const Real (&weight)[n]) {
  return rough_sqrt(weighted_square(x, weight) * Real(1.0 / n));
}

/// Rounding errors of the variables in this norm, with room: Newton's method does not wait for smaller corrections.
template <class Real>
MANYFOLD_INLINE double norm_of_rounding(double rtol) {
  return 45.0 * epsilon<Real> / rtol;
}

/// What errors within a step count beside those at its end, where the dense output is less accurate than the method:
/// four times the tolerance is allowed there. With 1 rodas4 and esdirk54 take up to twice the steps at tight
/// tolerances.
inline constexpr double reduced_interior_weight = 0.25;
/// In the rows of derivatives what counts is a pulse that no stage has seen. The dense output's own error is not to
/// choose the step.
inline constexpr double slope_interior_weight = 0.1;

}  // namespace manyfold
