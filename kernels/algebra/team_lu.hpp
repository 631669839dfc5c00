#pragma once
// Dense LU of one matrix by a team of threads, with implicit row exchanges: rows stay where they are, each with the
// thread that owns it (row i with thread i mod size), and remember the step in which they were the pivot. Golub & Van
// Loan, Matrix Computations (4th ed.), section 3.4, with rows scaled to maximum one when pivots are compared.
#include "../lane/team.hpp"
#include "complex.hpp"

namespace manyfold {

template <class Number, int n, class Team>
class TeamLU {
 public:
  /// An odd stride, so that the threads' rows begin in different banks of a GPU's shared memory.
  static constexpr int stride = n | 1;

  /// What the team shares. L below and U above the diagonal in the order of the pivots, reciprocals on it.
  struct Workspace {
    Number value[n][stride];
    Number right[n];     ///< the right-hand side, as it is worked off
    short pivot_row[n];  ///< row of the pivot of step k
  };

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    shared_ = &workspace;
    team_ = team;
  }

  /// Factorises the matrix that `fill(i, row)` writes row by row over zeros. Returns false, in all threads, if it is
  /// singular to working precision.
  MANYFOLD_INLINE bool factor(auto&& fill) {
    team_.synchronize();  // others may still be solving with the factors before
    double weight[rows];
    for_own_rows([&](int r, int i) {
      Number(&row)[stride] = shared_->value[i];
      for (int j = 0; j < n; ++j) row[j] = Number(0.0);
      fill(i, row);
      double largest = 0.0;
      for (int j = 0; j < n; ++j) largest = max(largest, static_cast<double>(magnitude(row[j])));
      weight[r] = 1.0 / largest;
      step_[r] = n;
    });
    for (int k = 0; k < n; ++k) {
      double best = 0.0;
      int pivot = n;
      double above = 0.0;
      int row_above = n;
      for_own_rows([&](int r, int i) {
        const double size = static_cast<double>(magnitude(shared_->value[i][k])) * weight[r];
        if (step_[r] != n) {
          above = max(above, size);
        } else if (size > best) {
          best = size;
          pivot = i;
        }
      });
      team_.largest(best, pivot);
      team_.largest(above, row_above);
      // As in PivotedLU.
      if (!(best > n * 1e-16 * max(best, above)) || !is_finite(best)) return false;
      for_own_rows([&](int r, int i) {
        if (i != pivot) return;
        step_[r] = k;
        shared_->pivot_row[k] = static_cast<short>(pivot);
        shared_->value[i][k] = reciprocal(shared_->value[i][k]);
      });
      team_.synchronize();
      const Number(&upper)[stride] = shared_->value[pivot];
      for_own_rows([&](int r, int i) {
        if (step_[r] != n) return;
        Number(&row)[stride] = shared_->value[i];
        const Number multiplier = row[k] * upper[k];
        row[k] = multiplier;
        for (int j = k + 1; j < n; ++j) row[j] = row[j] - multiplier * upper[j];
      });
    }
    return true;
  }

  /// b := A^-1 b; every thread has all of b before and after.
  MANYFOLD_INLINE void solve(Number (&b)[n]) {
    team_.synchronize();  // others may still be reading the last right-hand side
    for_own_rows([&](int, int i) { shared_->right[i] = b[i]; });
    for (int k = 0; k < n; ++k) {
      team_.synchronize();
      const Number x = shared_->right[shared_->pivot_row[k]];
      for_own_rows([&](int r, int i) {
        if (step_[r] > k) shared_->right[i] = shared_->right[i] - shared_->value[i][k] * x;
      });
    }
    for (int k = n - 1; k >= 0; --k) {
      team_.synchronize();
      const int pivot = shared_->pivot_row[k];
      const Number x = shared_->right[pivot] * shared_->value[pivot][k];
      for_own_rows([&](int r, int i) {
        if (step_[r] < k) shared_->right[i] = shared_->right[i] - shared_->value[i][k] * x;
      });
      b[k] = x;
    }
  }

  /// b := A^-T b, without conjugation; every thread has all of b before and after. Here a thread owns entries of the
  /// right-hand side, not rows, for the rows are read as columns.
  MANYFOLD_INLINE void solve_transposed(Number (&b)[n]) {
    team_.synchronize();
    for_own_rows([&](int, int i) { shared_->right[i] = b[i]; });
    for (int k = 0; k < n; ++k) {
      team_.synchronize();
      const Number(&row)[stride] = shared_->value[shared_->pivot_row[k]];
      const Number x = shared_->right[k] * row[k];
      for_own_rows([&](int, int j) {
        if (j > k) shared_->right[j] = shared_->right[j] - row[j] * x;
      });
      b[k] = x;
    }
    team_.synchronize();
    for_own_rows([&](int, int i) { shared_->right[i] = b[i]; });
    for (int k = n - 1; k >= 0; --k) {
      team_.synchronize();
      const int pivot = shared_->pivot_row[k];
      const Number(&row)[stride] = shared_->value[pivot];
      const Number x = shared_->right[k];
      for_own_rows([&](int, int j) {
        if (j < k) shared_->right[j] = shared_->right[j] - row[j] * x;
      });
      b[pivot] = x;
    }
  }

 private:
  static constexpr int rows = (n + Team::size - 1) / Team::size;

  MANYFOLD_INLINE void for_own_rows(auto&& body) const {
    for (int r = 0; r < rows; ++r) {
      const int i = team_.rank() + r * Team::size;
      if (i < n) body(r, i);
    }
  }

  Workspace* shared_;
  Team team_;
  int step_[rows];  ///< of this thread's rows: the step in which the row was the pivot; n: not yet
};

}  // namespace manyfold
