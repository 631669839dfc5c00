#pragma once
// Dense LU of one matrix per lane with row exchanges: every lane picks its own pivots, and rows move by masked
// exchange. Golub & Van Loan, Matrix Computations (4th ed.), section 3.4, with rows scaled to maximum one when pivots
// are compared.
#include "complex.hpp"

namespace manyfold {

template <class Number, int n>
class PivotedLU {
 public:
  using Real = typename LaneOf<Number>::type;
  using Mask = MaskOf<Real>;

  /// The matrix in the lanes of `mask`, whose entries fill(write) writes by write(row, column, value); the other lanes
  /// keep their factors.
  MANYFOLD_INLINE void assemble(const Mask& mask, auto&& fill) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) value_[i][j] = select(mask, Number(0.0), value_[i][j]);
    }
    fill([&](int i, int j, const Number& value) { value_[i][j] = select(mask, value, value_[i][j]); });
  }

  /// Factorises it. Returns the lanes of `mask` whose matrix is not singular to working precision.
  MANYFOLD_NOINLINE Mask factor(const Mask& mask) {
    Real weight[n];
    for (int i = 0; i < n; ++i) {
      Real largest(0.0);
      for (int j = 0; j < n; ++j) largest = max(largest, magnitude(value_[i][j]));
      weight[i] = Real(1.0) / largest;
    }
    Mask good = mask;
    for (int k = 0; k < n; ++k) {
      Real pivot_row(static_cast<double>(k));
      Real best = magnitude(value_[k][k]) * weight[k];
      for (int i = k + 1; i < n; ++i) {
        const Real size = magnitude(value_[i][k]) * weight[i];
        const Mask larger = size > best;
        best = select(larger, size, best);
        pivot_row = select(larger, Real(static_cast<double>(i)), pivot_row);
      }
      // Below n rounding errors of what stood in the column, what is left is noise: of double precision, in which the
      // matrix was made. That factors of single precision are too coarse, Newton's method finds out. A column may be
      // small as a whole: that of a rate of reaction of 1e15, say.
      Real largest = best;
      for (int i = 0; i < k; ++i) largest = max(largest, magnitude(value_[i][k]) * weight[i]);
      good = good & (best > Real(n * 1e-16) * largest) & is_finite(best);
      pivot_[k] = select(mask, pivot_row, pivot_[k]);
      for (int i = k + 1; i < n; ++i) {
        const Mask exchange = mask & (pivot_row == Real(static_cast<double>(i)));
        if (!any(exchange)) continue;
        for (int j = 0; j < n; ++j) {
          const Number upper = value_[k][j];
          value_[k][j] = select(exchange, value_[i][j], upper);
          value_[i][j] = select(exchange, upper, value_[i][j]);
        }
        const Real moved = weight[k];
        weight[k] = select(exchange, weight[i], moved);
        weight[i] = select(exchange, moved, weight[i]);
      }
      value_[k][k] = select(mask, reciprocal(value_[k][k]), value_[k][k]);
      for (int i = k + 1; i < n; ++i) {
        const Number multiplier = value_[i][k] * value_[k][k];
        value_[i][k] = select(mask, multiplier, value_[i][k]);
        for (int j = k + 1; j < n; ++j) {
          value_[i][j] = select(mask, value_[i][j] - multiplier * value_[k][j], value_[i][j]);
        }
      }
    }
    return good;
  }

  /// 1 or -1
  MANYFOLD_INLINE Real sign_of_determinant() const {
    Real sign(1.0);
    for (int k = 0; k < n; ++k) {
      sign = select(value_[k][k] < Real(0.0), -sign, sign);
      sign = select(pivot_[k] == Real(static_cast<double>(k)), sign, -sign);
    }
    return sign;
  }

  MANYFOLD_INLINE Real reciprocal_of_determinant() const {
    Real product = sign_of_determinant();
    for (int k = 0; k < n; ++k) product *= abs(value_[k][k]);
    return product;
  }

  /// Both, for a matrix that is there.
  MANYFOLD_INLINE Mask factor(const Mask& mask, const Number (&matrix)[n][n]) {
    assemble(mask, [&](auto&& write) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) write(i, j, matrix[i][j]);
      }
    });
    return factor(mask);
  }

  /// b := A^-1 b
  MANYFOLD_NOINLINE void solve(Number (&b)[n]) const {
    for (int k = 0; k < n; ++k) exchange_rows(k, b);
    for (int k = 0; k < n; ++k) {
      for (int i = k + 1; i < n; ++i) b[i] = b[i] - value_[i][k] * b[k];
    }
    for (int k = n - 1; k >= 0; --k) {
      for (int j = k + 1; j < n; ++j) b[k] = b[k] - value_[k][j] * b[j];
      b[k] = b[k] * value_[k][k];
    }
  }

  /// b := A^-T b, without conjugation
  MANYFOLD_NOINLINE void solve_transposed(Number (&b)[n]) const {
    for (int k = 0; k < n; ++k) {
      b[k] = b[k] * value_[k][k];
      for (int j = k + 1; j < n; ++j) b[j] = b[j] - value_[k][j] * b[k];
    }
    for (int k = n - 1; k >= 0; --k) {
      for (int j = 0; j < k; ++j) b[j] = b[j] - value_[k][j] * b[k];
    }
    for (int k = n - 1; k >= 0; --k) exchange_rows(k, b);
  }

 private:
  /// The exchange of row k, which is its own inverse.
  MANYFOLD_INLINE void exchange_rows(int k, Number (&b)[n]) const {
    for (int i = k + 1; i < n; ++i) {
      const Mask exchange = pivot_[k] == Real(static_cast<double>(i));
      const Number upper = b[k];
      b[k] = select(exchange, b[i], upper);
      b[i] = select(exchange, upper, b[i]);
    }
  }

  Number value_[n][n];
  Real pivot_[n];  ///< row exchanged with row k, as a number of the lane
};

}  // namespace manyfold
