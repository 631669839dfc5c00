#pragma once
// Derivatives of F that are infinite or undefined at single points, as that of sqrt(x), or of x |x|^(1/4) written as a
// product, at zero: what is evaluated there is taken from a point beside.
#include "../lane/scalar.hpp"

namespace manyfold {

/// On devices the code would cost every step registers.
#if defined(__CUDACC__)
inline constexpr bool looks_beside = false;
#else
inline constexpr bool looks_beside = true;
#endif

/// Calls evaluate(lanes, at) with y, and in the lanes that it returns, those where it is undefined, with points beside:
/// every variable moves by another part of its tolerance, first upwards, then downwards.
template <class Real, int n>
MANYFOLD_INLINE void look_beside(const Real (&y)[n], const Real (&weight)[n], const MaskOf<Real>& lanes,
                                 auto&& evaluate) {
  if constexpr (looks_beside) {
    constexpr double golden = 0.6180339887498949;
    constexpr double sides[] = {0.0, 1.0, -1.0};
    MaskOf<Real> undefined = lanes;
    for (int k = 0; k < 3 && (k == 0 || any(undefined)); ++k) {
      Real at[n];
      for (int i = 0; i < n; ++i) {
        const double turns = golden * (i + 1);
        const double part = 0.5 + 0.5 * (turns - static_cast<int>(turns));
        at[i] = y[i];
        if (k > 0) at[i] = select(undefined, at[i] + Real(sides[k] * part) / weight[i], at[i]);
      }
      undefined = evaluate(undefined, at);
    }
  } else {
    evaluate(lanes, y);
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
