#pragma once
// LU of one small matrix per lane on a fixed sparsity pattern with a fixed order of pivots, both known at compile time.
// The factorisation is a list of scalar operations, unrolled while it is short. Fixed pivots can be bad ones for some
// entries: `factor` measures that per lane, and the caller turns to `PivotedLU` for those lanes.
#include "../lane/static_for.hpp"
#include "complex.hpp"
#include "ordering.hpp"

namespace manyfold {

namespace sparse_lu {

enum class Kind : char { reciprocal, multiplier, update };

/// value[target] = 1/value[target] | value[target] *= value[left] | value[target] -= value[left] * value[right]
/// Of a reciprocal, `left` to `right` are the entries right of the diagonal that the elimination has changed.
struct Operation {
  Kind kind = Kind::update;
  short target = 0;
  short left = 0;
  short right = 0;
};

template <int Count>
struct Program {
  Operation operation[Count > 0 ? Count : 1] = {};
};

/// Calls visit(kind, target, left, right) for the operations of the elimination on the pattern of L + U in order.
template <int n, int Slots>
constexpr void for_each_operation(const Pattern<n>& pattern, const Entries<n, Slots>& filled, auto&& visit) {
  const Pattern<n> columns = pattern.transposed();
  for (int k = 0; k < n; ++k) {
    const int diagonal = filled.slot(k, k);
    const bool changed = diagonal > filled.begin[k];
    visit(Kind::reciprocal, diagonal, changed ? diagonal + 1 : 0, changed ? filled.begin[k + 1] : 0);
    for (int i = columns.row[k].next(k + 1); i >= 0; i = columns.row[k].next(i + 1)) {
      const int below = filled.slot(i, k);
      visit(Kind::multiplier, below, diagonal, diagonal);
      for (int right = diagonal + 1; right < filled.begin[k + 1]; ++right) {
        visit(Kind::update, filled.slot(i, filled.column[right]), below, right);
      }
    }
  }
}

/// Number of operations of the elimination on the pattern of L + U.
template <int n>
constexpr int count_operations(const Pattern<n>& filled) {
  int below[n] = {};
  int right[n] = {};
  for (int i = 0; i < n; ++i) {
    for (int j = filled.row[i].next(0); j >= 0; j = filled.row[i].next(j + 1)) {
      if (i > j) ++below[j];
      if (i < j) ++right[i];
    }
  }
  int total = 0;
  for (int k = 0; k < n; ++k) total += 1 + below[k] * (1 + right[k]);
  return total;
}

template <int Count, int n, int Slots>
constexpr Program<Count> write_program(const Pattern<n>& pattern, const Entries<n, Slots>& filled) {
  Program<Count> program;
  int at = 0;
  for_each_operation(pattern, filled, [&](Kind kind, int target, int left, int right) {
    program.operation[at++] = {kind, static_cast<short>(target), static_cast<short>(left), static_cast<short>(right)};
  });
  return program;
}

}  // namespace sparse_lu

/// What the pattern alone says of the factors. `Structure` names the dimension `n`, the pattern `matrix` and the
/// pattern `preferred` of entries that make good pivots.
template <class Structure>
struct SymbolicLU {
  static constexpr int n = Structure::n;
  /// Beyond this many operations the pattern is as good as full, and a list of them would only be long.
  static constexpr int longest_program = 20000;
  /// Full matrices of many rows are beyond that whatever their order, which would take long to find.
  static constexpr bool large_and_full = Structure::matrix.full() && static_cast<long>(n) * n * n / 3 > longest_program;
  static constexpr Ordering<n> find_ordering() {
    if constexpr (!large_and_full) return order(Structure::matrix, Structure::preferred);
    Ordering<n> any;
    any.nonsingular = true;
    return any;
  }
  static constexpr Ordering<n> ordering = find_ordering();
  static constexpr int operations = large_and_full ? longest_program + 1 : sparse_lu::count_operations(ordering.filled);
  static constexpr bool fixed_pivots = ordering.nonsingular && operations <= longest_program;
  /// Work of one factorisation, in multiplications and additions.
  static constexpr long work = fixed_pivots ? operations : static_cast<long>(n) * n * n / 3 + 1;
  static constexpr bool sparse = is_sparse(n, work);
};

/// An array of numbers among those of other instances, which take turns: neighbouring threads of a GPU read
/// neighbouring words.
template <class Number>
struct Strided {
  Number* first = nullptr;
  int stride = 0;
  MANYFOLD_INLINE Number& operator[](int k) const { return first[static_cast<long long>(k) * stride]; }
};

/// `Structure` where the values of the factors are strided.
template <class Structure>
struct StridedStructure : Structure {
  static constexpr bool batched = false;
  static constexpr bool strided = true;
};
template <class Structure>
struct SymbolicLU<StridedStructure<Structure>> : SymbolicLU<Structure> {};

template <class Structure>
constexpr bool is_strided() {
  if constexpr (requires { Structure::strided; }) {
    return Structure::strided;
  } else {
    return false;
  }
}

template <class Number, class Structure>
class SparseLU {
 public:
  static constexpr int n = Structure::n;
  using Real = typename LaneOf<Number>::type;
  using Mask = MaskOf<Real>;
  static constexpr Ordering<n> ordering = SymbolicLU<Structure>::ordering;
  static constexpr auto filled = entries_of<ordering.filled.size()>(ordering.filled);
  static constexpr int operations = SymbolicLU<Structure>::operations;
  using Values = typename Either<is_strided<Structure>(), Strided<Number>, Number[filled.size]>::type;

  /// Multipliers beyond this, measured between rows scaled to maximum one, cost more digits than Newton's method can
  /// spare: the matrix entries are good to 1e-16, the iteration wants 1e-6 or better. In single precision row exchanges
  /// hardly help where that happens (measured on Robertson's problem), so the limit is the same.
  static constexpr double growth_limit = 1e8;

  /// Where strided values are.
  MANYFOLD_INLINE void use(const Values& values) requires(is_strided<Structure>()) { value_ = values; }

  /// Factorises the matrix with entries `entry(i, j)`, asked for on the pattern; i, j are compile-time constants while
  /// n is small. Returns the lanes in which the fixed pivots were good enough.
  MANYFOLD_INLINE Mask factor(auto&& entry) {
    each<filled.size>([&](auto k) { value_[k] = Number(0.0); });
    Real scale[n];
    each<n>([&](auto i) { scale[i] = Real(0.0); });
    each<source.size>([&](auto k) {
      const int i = row_of(k);
      const Number value = entry(k);
      value_[target_of(k)] = value;
      scale[i] = max(scale[i], magnitude(value));
    });
    Mask good(true);
    if constexpr (operations <= unrolled_operations) {
      static_for<operations>([&](auto k) {
        constexpr auto operation = program.operation[k];
        apply<operation.kind>(operation, scale, good);
      });
    } else {
      for (int k = 0; k < operations; ++k) {
        const auto operation = program.operation[k];
        if (operation.kind == sparse_lu::Kind::update) {
          apply<sparse_lu::Kind::update>(operation, scale, good);
        } else if (operation.kind == sparse_lu::Kind::multiplier) {
          apply<sparse_lu::Kind::multiplier>(operation, scale, good);
        } else {
          apply<sparse_lu::Kind::reciprocal>(operation, scale, good);
        }
      }
    }
    return good;
  }

  /// b := A^-1 b, an array of n numbers or what stands for one.
  MANYFOLD_INLINE void solve(auto& b) const {
    Number x[n];
    each<n>([&](auto k) { x[k] = b[pivot_row(k)]; });
    each<lower.size>([&](auto k) {
      const int i = lower_row(k);
      x[i] = x[i] - value_[lower_slot(k)] * x[lower_column(k)];
    });
    each<upper.size>([&](auto k) {
      const int i = upper_row(k);
      if (upper_column(k) == i) {
        x[i] = x[i] * value_[upper_slot(k)];
      } else {
        x[i] = x[i] - value_[upper_slot(k)] * x[upper_column(k)];
      }
    });
    each<n>([&](auto k) { b[pivot_column(k)] = x[k]; });
  }

  /// b := A^-T b, without conjugation: the same triangles from their other ends.
  MANYFOLD_INLINE void solve_transposed(auto& b) const {
    Number x[n];
    each<n>([&](auto k) { x[k] = b[pivot_column(k)]; });
    each<upper.size>([&](auto reverse) {
      const int k = upper.size - 1 - reverse;
      const int i = upper_row(k);
      if (upper_column(k) == i) {
        x[i] = x[i] * value_[upper_slot(k)];
      } else {
        x[upper_column(k)] = x[upper_column(k)] - value_[upper_slot(k)] * x[i];
      }
    });
    each<lower.size>([&](auto reverse) {
      const int k = lower.size - 1 - reverse;
      x[lower_column(k)] = x[lower_column(k)] - value_[lower_slot(k)] * x[lower_row(k)];
    });
    each<n>([&](auto k) { b[pivot_row(k)] = x[k]; });
  }

  /// 1 or -1
  MANYFOLD_INLINE Real sign_of_determinant() const {
    constexpr bool odd = parity(ordering.row) != parity(ordering.column);
    Real sign(odd ? -1.0 : 1.0);
    each<n>([&](auto k) { sign = select(value_[filled.slot(k, k)] < Real(0.0), -sign, sign); });
    return sign;
  }

  /// 0 where it is too small to be represented.
  MANYFOLD_INLINE Real reciprocal_of_determinant() const {
    Real product = sign_of_determinant();
    each<n>([&](auto k) { product *= abs(value_[filled.slot(k, k)]); });
    return product;
  }

  /// Takes over the factors of `other` in the lanes of `mask`.
  MANYFOLD_INLINE void assign(const Mask& mask, const SparseLU& other) {
    each<filled.size>([&](auto k) { value_[k] = select(mask, other.value_[k], value_[k]); });
  }

 private:
  /// Is a permutation an odd number of exchanges?
  static constexpr bool parity(const auto& order) {
    bool odd = false;
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) odd = odd != (order[i] > order[j]);
    }
    return odd;
  }

  /// In memory values gain nothing from being named, and code would have to be read too.
  static constexpr int unrolled_operations = is_strided<Structure>() ? 0 : 600;
  template <int Count>
  static MANYFOLD_INLINE void each(auto&& body) {
    for_each_index<Count, unrolled_operations / 4>(body);
  }
  static constexpr auto program = sparse_lu::write_program<operations>(ordering.filled, filled);
  static constexpr auto source = entries_of<Structure::matrix.size()>(Structure::matrix);

  /// Row and column of entry k of the matrix in pivot order, and its slot among the factors.
  struct Placement {
    short row[source.size] = {};
    short slot[source.size] = {};
  };
  static constexpr Placement place() {
    short row_step[n] = {};
    short column_step[n] = {};
    for (int k = 0; k < n; ++k) {
      row_step[ordering.row[k]] = static_cast<short>(k);
      column_step[ordering.column[k]] = static_cast<short>(k);
    }
    Placement result;
    for (int k = 0; k < source.size; ++k) {
      result.row[k] = row_step[source.row[k]];
      result.slot[k] = static_cast<short>(filled.slot(result.row[k], column_step[source.column[k]]));
    }
    return result;
  }
  static constexpr Placement placement = place();

  /// The entries of one triangle in the order in which the substitution uses them.
  template <int Count>
  struct Substitution {
    static constexpr int size = Count;
    short row[Count > 0 ? Count : 1] = {};
    short column[Count > 0 ? Count : 1] = {};
    short slot[Count > 0 ? Count : 1] = {};
  };
  static constexpr int lower_count() {
    int total = 0;
    for (int k = 0; k < filled.size; ++k) total += filled.row[k] > filled.column[k] ? 1 : 0;
    return total;
  }
  static constexpr auto list_lower() {
    Substitution<lower_count()> result;
    int at = 0;
    for (int k = 0; k < filled.size; ++k) {
      if (filled.row[k] <= filled.column[k]) continue;
      result.row[at] = filled.row[k];
      result.column[at] = filled.column[k];
      result.slot[at++] = static_cast<short>(k);
    }
    return result;
  }
  static constexpr auto list_upper() {
    Substitution<filled.size - lower_count()> result;
    int at = 0;
    // Row by row from the last; the diagonal, stored as its reciprocal, ends the row.
    for (int k = filled.size - 1; k >= 0; --k) {
      if (filled.column[k] < filled.row[k]) continue;
      result.row[at] = filled.row[k];
      result.column[at] = filled.column[k];
      result.slot[at++] = static_cast<short>(k);
    }
    return result;
  }
  static constexpr auto lower = list_lower();
  static constexpr auto upper = list_upper();

  static constexpr MANYFOLD_INLINE int row_of(int k) { return placement.row[k]; }
  static constexpr MANYFOLD_INLINE int target_of(int k) { return placement.slot[k]; }
  static constexpr MANYFOLD_INLINE int pivot_row(int k) { return ordering.row[k]; }
  static constexpr MANYFOLD_INLINE int pivot_column(int k) { return ordering.column[k]; }
  static constexpr MANYFOLD_INLINE int lower_row(int k) { return lower.row[k]; }
  static constexpr MANYFOLD_INLINE int lower_column(int k) { return lower.column[k]; }
  static constexpr MANYFOLD_INLINE int lower_slot(int k) { return lower.slot[k]; }
  static constexpr MANYFOLD_INLINE int upper_row(int k) { return upper.row[k]; }
  static constexpr MANYFOLD_INLINE int upper_column(int k) { return upper.column[k]; }
  static constexpr MANYFOLD_INLINE int upper_slot(int k) { return upper.slot[k]; }
  static constexpr MANYFOLD_INLINE int row_of_slot(int k) { return filled.row[k]; }
  static constexpr MANYFOLD_INLINE int column_of_slot(int k) { return filled.column[k]; }

  template <sparse_lu::Kind kind>
  MANYFOLD_INLINE void apply(const sparse_lu::Operation& operation, Real (&scale)[n], Mask& good) {
    Number& target = value_[operation.target];
    if constexpr (kind == sparse_lu::Kind::reciprocal) {
      target = reciprocal(target);
      // No exact zero on the diagonal, and no infinity, with which every correction would be zero.
      const Real size = magnitude(target);
      good = good & (size > Real(0.0)) & is_finite(size);
      // A row that a bad pivot has enlarged is measured as it is now: losses of several pivots multiply.
      Real& row = scale[row_of_slot(operation.target)];
      for (int k = operation.left; k < operation.right; ++k) row = max(row, magnitude(value_[k]));
    } else if constexpr (kind == sparse_lu::Kind::multiplier) {
      target = target * value_[operation.left];
      good = good & (magnitude(target) * scale[column_of_slot(operation.target)] <=
                     Real(growth_limit) * scale[row_of_slot(operation.target)]);
    } else {
      target = target - value_[operation.left] * value_[operation.right];
    }
  }

  Values value_;
};

}  // namespace manyfold
