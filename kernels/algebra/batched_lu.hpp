#pragma once
// Dense LU of one matrix of many by batched routines of a library (getrf and trsm, as LAPACK and BLAS name them): what
// is done to a matrix before and after, and to a right-hand side. Rows are scaled to maximum one before, so that the
// routine's pivots are those of `PivotedLU`, and so is what counts as singular.
#include "complex.hpp"

namespace manyfold {

template <class Number, int n>
struct BatchedLU {
  using Real = typename LaneOf<Number>::type;

  // The routines want their complex numbers aligned to their size.
  alignas(16) Number matrix[n * n];  ///< by columns; the routine overwrites it by L and U
  alignas(16) Number solution[n];    ///< the right-hand side in the order of the pivots; the routine solves in place
  Number right[n];                   ///< the right-hand side
  Real scale[n];                     ///< of the rows
  int place[n];                      ///< of row i after the row exchanges
  int singular;                      ///< 1: singular to working precision

  /// Writes row i: fill(write) calls write(column, value) for its entries.
  MANYFOLD_INLINE void assemble_row(int i, auto&& fill) {
    for (int j = 0; j < n; ++j) matrix[j * n + i] = Number(0.0);
    Real largest(0.0);
    fill([&](int j, const Number& value) {
      matrix[j * n + i] = value;
      largest = max(largest, magnitude(value));
    });
    scale[i] = Real(1.0) / largest;
    for (int j = 0; j < n; ++j) matrix[j * n + i] = scale[i] * matrix[j * n + i];
  }

  /// After the factorisation, in whose step k row `pivots[k]`, counted from one, was exchanged with row k.
  MANYFOLD_INLINE void finish(const int* pivots) {
    int row_at[n];
    for (int i = 0; i < n; ++i) row_at[i] = i;
    singular = 0;
    for (int k = 0; k < n; ++k) {
      int other = pivots[k] - 1;
      if (other < k || other >= n) {  // as routines may say of what is not finite
        other = k;
        singular = 1;
      }
      const int row = row_at[k];
      row_at[k] = row_at[other];
      row_at[other] = row;
      const Real pivot = magnitude(matrix[k * n + k]);
      Real largest = pivot;
      for (int i = 0; i < k; ++i) largest = max(largest, magnitude(matrix[k * n + i]));
      // As in PivotedLU.
      if (!(pivot > Real(n * 1e-16) * largest) || !is_finite(pivot)) singular = 1;
    }
    for (int k = 0; k < n; ++k) place[row_at[k]] = k;
  }

  /// Component i of the right-hand side, to where the triangular solves want it.
  MANYFOLD_INLINE void permute(int i) { solution[place[i]] = scale[i] * right[i]; }
};

}  // namespace manyfold
