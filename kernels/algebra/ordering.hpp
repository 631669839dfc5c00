#pragma once
// Symbolic factorisation of one sparsity pattern, at compile time: which entry is the pivot of each step, and where
// fill appears. Duff, Erisman & Reid, Direct Methods for Sparse Matrices (2nd ed.), sections 6.2 and 7.2.
#include "sparsity.hpp"

namespace manyfold {

template <int n>
struct Ordering {
  /// False if no choice of pivots exists: the matrix is singular whatever its entries.
  bool nonsingular = false;
  short row[n] = {};     ///< pivot row of step k
  short column[n] = {};  ///< pivot column of step k
  Pattern<n> filled;     ///< pattern of L + U in pivot order
};

/// Finds a pivot for every row by augmenting paths. `preferred` entries are tried first: those of F_y', which grow like
/// 1/h, then those on the diagonal.
template <int n>
class Matching {
 public:
  constexpr Matching(const Pattern<n>& pattern, const Pattern<n>& preferred)
      : pattern_(pattern), preferred_(preferred) {
    for (int j = 0; j < n; ++j) row_of_column[j] = -1;
    for (int i = 0; i < n; ++i) {
      IndexSet<n> visited;
      complete = augment(i, visited) && complete;
    }
  }
  short row_of_column[n] = {};
  bool complete = true;

 private:
  constexpr bool augment(int i, IndexSet<n>& visited) {
    // Four passes from the most to the least welcome pivot.
    for (int pass = 0; pass < 4; ++pass) {
      for (int j = pattern_.row[i].next(0); j >= 0; j = pattern_.row[i].next(j + 1)) {
        if (visited.contains(j)) continue;
        const int rank = (preferred_.contains(i, j) ? 0 : 2) + (i == j ? 0 : 1);
        if (rank != pass) continue;
        visited.insert(j);
        if (row_of_column[j] < 0 || augment(row_of_column[j], visited)) {
          row_of_column[j] = static_cast<short>(i);
          return true;
        }
      }
    }
    return false;
  }

  const Pattern<n>& pattern_;
  const Pattern<n>& preferred_;
};

/// Pivots on the matched entries, in the order of least Markowitz count.
template <int n>
constexpr Ordering<n> order(const Pattern<n>& pattern, const Pattern<n>& preferred) {
  Ordering<n> result;
  const Matching<n> matching(pattern, preferred);
  result.nonsingular = matching.complete;
  if (!matching.complete) return result;

  // Rows permuted so that matched entries stand on the diagonal; the same entries by rows and by columns.
  Pattern<n> rows;
  for (int i = 0; i < n; ++i) rows.row[i] = pattern.row[matching.row_of_column[i]];
  Pattern<n> columns = rows.transposed();

  // Of the part that is left: its rows and columns, their entries, and the Markowitz counts.
  IndexSet<n> open;
  int in_row[n] = {};
  int in_column[n] = {};
  int cost[n] = {};
  for (int i = 0; i < n; ++i) {
    open.insert(i);
    in_row[i] = rows.row[i].size();
    in_column[i] = columns.row[i].size();
    cost[i] = (in_row[i] - 1) * (in_column[i] - 1);
  }
  short step_of[n] = {};
  for (int k = 0; k < n; ++k) {
    int pivot = open.next(0);
    for (int i = pivot + 1; i < n; ++i) {
      if (cost[i] < cost[pivot]) pivot = i;
    }
    open.erase(pivot);
    cost[pivot] = n * n;
    step_of[pivot] = static_cast<short>(k);
    result.row[k] = matching.row_of_column[pivot];
    result.column[k] = static_cast<short>(pivot);
    // Every remaining row with an entry in the pivot column gains the entries of the pivot row.
    const IndexSet<n> column = columns.row[pivot].intersection(open);
    const IndexSet<n> row = rows.row[pivot].intersection(open);
    for (int i = column.next(0); i >= 0; i = column.next(i + 1)) {
      rows.row[i] |= row;
      in_row[i] = rows.row[i].common(open);
    }
    for (int j = row.next(0); j >= 0; j = row.next(j + 1)) {
      columns.row[j] |= column;
      in_column[j] = columns.row[j].common(open);
    }
    IndexSet<n> changed = column;
    changed |= row;
    for (int i = changed.next(0); i >= 0; i = changed.next(i + 1)) cost[i] = (in_row[i] - 1) * (in_column[i] - 1);
  }
  for (int i = 0; i < n; ++i) {
    for (int j = rows.row[i].next(0); j >= 0; j = rows.row[i].next(j + 1)) result.filled.insert(step_of[i], step_of[j]);
  }
  return result;
}

}  // namespace manyfold
