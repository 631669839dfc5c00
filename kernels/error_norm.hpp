#pragma once
// The norm in which errors and Newton corrections are small or not: weighted root mean square,
// ||x|| = sqrt(mean((x_i / (atol_i + rtol |y_i|))^2)). Hairer & Wanner II, (IV.8.21).
#include "lane/scalar.hpp"

namespace manyfold {

/// Which errors the error test bounds; what a kernel that is compiled on demand may be asked for.
enum class ErrorTest {
  all = 0,           ///< of all variables, over the whole step
  differential = 1,  ///< what the embedded formula of the method sees at the end of the step
};

#if defined(MANYFOLD_ERROR_TEST)
inline constexpr auto error_test = static_cast<ErrorTest>(MANYFOLD_ERROR_TEST);
#else
inline constexpr auto error_test = ErrorTest::all;
#endif

/// Tolerances of all instances.
template <int n>
struct Tolerances {
  double rtol;
  double atol[n];
};

/// What rounding errors of variables of size 1 come to in the error norm. Iterations cannot end below; at most 0.03,
/// since variables with an atol that small are expected to be small themselves.
template <class Real, int n>
MANYFOLD_INLINE double rounding_in_norm(const Tolerances<n>& tolerances) {
  double least = largest_number;
  for (int i = 0; i < n; ++i) {
    if (tolerances.atol[i] > 0.0) least = min(least, tolerances.atol[i]);
  }
  return max(45.0 * epsilon<Real> / tolerances.rtol, min(0.03, 45.0 * epsilon<Real> / least));
}

/// weight_i = 1 / (atol_i + rtol |y_i|)
template <class Real, int n>
MANYFOLD_INLINE void error_weights(const Tolerances<n>& tolerances, const Real (&y)[n], Real (&weight)[n]) {
  for (int i = 0; i < n; ++i) {
    weight[i] = Real(1.0) / (Real(tolerances.atol[i]) + Real(tolerances.rtol) * abs(y[i]));
  }
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
  return sqrt(weighted_square(x, weight) * Real(1.0 / n));
}

}  // namespace manyfold
