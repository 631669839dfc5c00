#pragma once
// The solution over the last accepted step as a polynomial. It serves saved times, event location and, extrapolated,
// the starting values of the next step's Newton iteration.
#include "../lane/scalar.hpp"

namespace manyfold {

/// P(u) = end + sum_k coefficient[k] u^(k+1) for u = (t - t_end_of_step) / h, so u = -1 ... 0 inside the step.
template <class Real, int n, int degree>
struct DensePolynomial {
  static constexpr int size = degree;
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

  /// For an end that has moved by `shift`: the begin of the step stays where it is.
  MANYFOLD_INLINE void move_end(const Real (&shift)[n]) {
    for (int i = 0; i < n; ++i) coefficient[0][i] += shift[i];
  }

  /// Component i rests in the lanes of `lanes`.
  MANYFOLD_INLINE void rest(const MaskOf<Real>& lanes, int i) {
    for (int k = 0; k < degree; ++k) coefficient[k][i] = select(lanes, Real(0.0), coefficient[k][i]);
  }

  /// Takes over what `other` has in the lanes of `lanes`.
  MANYFOLD_INLINE void copy(const MaskOf<Real>& lanes, const DensePolynomial& other) {
    h = select(lanes, other.h, h);
    for (int k = 0; k < degree; ++k) {
      for (int i = 0; i < n; ++i) coefficient[k][i] = select(lanes, other.coefficient[k][i], coefficient[k][i]);
    }
  }

  /// What `other` has in its lanes, in another order.
  MANYFOLD_INLINE void take(const auto& order, const DensePolynomial& other) {
    h = order(other.h);
    for (int k = 0; k < degree; ++k) {
      for (int i = 0; i < n; ++i) coefficient[k][i] = order(other.coefficient[k][i]);
    }
  }

  /// Before the first step: the straight line with the initial derivative.
  MANYFOLD_INLINE void start(const MaskOf<Real>& lanes, const Real& step, const Real (&dy)[n]) {
    h = select(lanes, step, h);
    for (int i = 0; i < n; ++i) {
      coefficient[0][i] = select(lanes, step * dy[i], coefficient[0][i]);
      for (int k = 1; k < degree; ++k) coefficient[k][i] = select(lanes, Real(0.0), coefficient[k][i]);
    }
  }
};

/// Weights of what a method keeps of its stages, x_i, in the dense output around the end of the step: P(u) - y_(n+1) =
/// sum_k u^(k+1) sum_i at[k][i] x_i with u = theta - 1.
template <int stages, int degree>
struct DenseWeights {
  double at[degree][stages] = {};
};

/// The weights of the x_i in P(u) - y_(n+1) and in P'(u).
template <int stages, int degree>
constexpr auto dense_weights_at(const DenseWeights<stages, degree>& weights, double u) {
  struct {
    double value[stages] = {};
    double slope[stages] = {};
  } result;
  for (int i = 0; i < stages; ++i) {
    for (int k = degree - 1; k >= 0; --k) {
      result.slope[i] = result.slope[i] * u + (k + 1) * weights.at[k][i];
      result.value[i] = (result.value[i] + weights.at[k][i]) * u;
    }
  }
  return result;
}

/// From the weights around the start, y_n + sum_i x_i sum_k dense_ik theta^(k+1).
template <int stages, int degree>
constexpr auto dense_weights_at_end(const double (&dense)[stages][degree]) {
  DenseWeights<stages, degree> result;
  for (int i = 0; i < stages; ++i) {
    // sum_k dense_ik (1 + u)^(k+1), expanded in powers of u by Horner's scheme.
    double power[degree + 1] = {};
    for (int k = degree; k >= 0; --k) {
      for (int m = degree; m > 0; --m) power[m] += power[m - 1];
      power[0] += k > 0 ? dense[i][k - 1] : 0.0;
    }
    // power[0] belongs to y_(n+1): the end of the step is met exactly.
    for (int k = 0; k < degree; ++k) result.at[k][i] = power[k + 1];
  }
  return result;
}

}  // namespace manyfold
