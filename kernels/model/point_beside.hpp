#pragma once
// Derivatives of F may be infinite or undefined at single points: that of sqrt(x) at zero, or that of the product
// x |x|^(1/4). A point beside serves in their place.
#include "../lane/scalar.hpp"

namespace manyfold {

/// On devices the code would cost every step registers.
#if defined(__CUDACC__)
inline constexpr bool looks_beside = false;
#else
inline constexpr bool looks_beside = true;
#endif

/// Is the first Jacobian after a start or an event that of a point ahead? An event leaves x at rounding errors from the
/// zero of sqrt(x). The slope there, of 1e8, is that of no other point of the step: corrections and estimates of errors
/// that it divides are all below the tolerance, and x stays where it is.
template <class System>
constexpr bool begins_ahead() {
  return System::steep();
}

/// By what part of a distance the number i is moved, 0.5 to 1: each by another one, because differences of two may be
/// what vanishes.
constexpr double part_beside(int i) {
  const double turns = 0.6180339887498949 * (i + 1);
  return 0.5 + 0.5 * (turns - static_cast<int>(turns));
}

/// Calls evaluate(lanes, at) for the lanes of `undefined`, those where y is no place to evaluate, with points beside y:
/// every variable moves by another part of its tolerance, first upwards, then downwards. `evaluate` returns the lanes
/// in which that is no place either. In other lanes `at` is the point found, or y.
template <class Real, int n>
MANYFOLD_RARE void look_beside(MaskOf<Real> undefined, const Real (&y)[n], const Real (&weight)[n], auto&& evaluate) {
  Real at[n];
  for (int i = 0; i < n; ++i) at[i] = y[i];
  for (const double side : {1.0, -1.0}) {
    if (!any(undefined)) return;
    for (int i = 0; i < n; ++i) {
      at[i] = select(undefined, y[i] + Real(side * part_beside(i)) / weight[i], at[i]);
    }
    undefined = evaluate(undefined, at);
  }
}

/// Lanes in which all of the numbers are finite.
template <class Real, int count>
MANYFOLD_INLINE MaskOf<Real> all_finite(const Real (&numbers)[count]) {
  MaskOf<Real> result(true);
  for (int k = 0; k < count; ++k) result = result & is_finite(numbers[k]);
  return result;
}

}  // namespace manyfold
