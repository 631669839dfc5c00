#pragma once
// The solution over the last accepted step as a polynomial. It serves saved times, event location and, extrapolated,
// the starting values of the next step's Newton iteration.
#include "lane/scalar.hpp"

namespace manyfold {

/// P(u) = end + sum_k coefficient[k] u^(k+1) for u = (t - t_end_of_step) / h, so u = -1 ... 0 inside the step.
template <class Real, int n, int degree>
struct DensePolynomial {
  Real h;  ///< length of the step it belongs to
  Real coefficient[degree][n];

  /// P(u) - end, for component i.
  MANYFOLD_INLINE Real increment(int i, const Real& u) const {
    Real sum = coefficient[degree - 1][i];
    for (int k = degree - 2; k >= 0; --k) sum = sum * u + coefficient[k][i];
    return sum * u;
  }

  /// P'(u), for component i.
  MANYFOLD_INLINE Real slope(int i, const Real& u) const {
    Real sum = Real(double(degree)) * coefficient[degree - 1][i];
    for (int k = degree - 2; k >= 0; --k) sum = sum * u + Real(double(k + 1)) * coefficient[k][i];
    return sum;
  }

  /// P''(u), for component i.
  MANYFOLD_INLINE Real curvature(int i, const Real& u) const {
    Real sum(0.0);
    for (int k = degree - 1; k >= 1; --k) sum = sum * u + Real(double((k + 1) * k)) * coefficient[k][i];
    return sum;
  }

  /// Before the first step: the straight line with the initial derivative.
  MANYFOLD_INLINE void start(const Real& step, const Real (&dy)[n]) {
    h = step;
    for (int i = 0; i < n; ++i) {
      coefficient[0][i] = step * dy[i];
      for (int k = 1; k < degree; ++k) coefficient[k][i] = Real(0.0);
    }
  }
};

}  // namespace manyfold
