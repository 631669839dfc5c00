#pragma once
// The factors of one iteration matrix per lane: on a fixed pattern with fixed pivots while that is accurate, with row
// exchanges in the lanes where it is not.
#include "batched_lu.hpp"
#include "pivoted_lu.hpp"
#include "sparse_lu.hpp"
#include "team_lu.hpp"

namespace manyfold {

/// Does `Structure` ask for factors in single precision?
template <class Structure>
constexpr bool wants_single_precision() {
  if constexpr (requires { Structure::single_precision_factors; }) {
    return Structure::single_precision_factors;
  } else {
    return false;
  }
}

/// Are the matrices of `Structure` factorised together with those of other instances, by batched routines?
template <class Structure>
constexpr bool is_batched() {
  if constexpr (requires { Structure::batched; }) {
    return Structure::batched;
  } else {
    return false;
  }
}

/// `Structure` is one of `SymbolicLU`; if a team is to factorise, it also names its type `Team`. With
/// `single_precision_factors` a matrix is rounded before it is factorised, and a right-hand side before it is solved
/// for: enough for the corrections of Newton's method.
template <class Number, class Structure>
class Factors {
 public:
  static constexpr int n = Structure::n;
  using Real = typename LaneOf<Number>::type;
  using Mask = MaskOf<Real>;
  using Storage = StoredAs<Number, wants_single_precision<Structure>()>;
  using Stored = typename Storage::type;

  static constexpr bool fixed_pivots = SymbolicLU<Structure>::fixed_pivots;
  static constexpr long work = SymbolicLU<Structure>::work;

  using Sparse = typename Either<fixed_pivots, SparseLU<Stored, Structure>, None>::type;

  /// Row exchanges take a full matrix, which large systems do without: there a lane whose fixed pivots are bad counts
  /// as singular.
  static constexpr int largest_exchanged = 100;
  static constexpr bool exchanges = !fixed_pivots || n <= largest_exchanged;
  /// Room for the factors of lanes that need row exchanges, apart from the rest: on a GPU it stays in memory while the
  /// factors proper are in registers.
  using Workspace = typename Either<exchanges, PivotedLU<Stored, n>, None>::type;

  /// To be called before all else; `workspace` must outlive this object.
  MANYFOLD_INLINE void use(Workspace& workspace, const OneThread& = {}) {
    pivoted_ = &workspace;
    exchanged_ = Mask(false);
  }
  /// Where strided values are, of which there are `Sparse::filled.size`.
  MANYFOLD_INLINE void use_values(const Strided<Stored>& values) requires(is_strided<Structure>()) {
    sparse_.use(values);
  }

  /// Factorises, in the lanes of `mask`, the matrix whose k-th entry, in the row order of `Structure::matrix`, is
  /// `entry(k)`. With `keep_others` the other lanes keep their factors; without, they are left undefined, which is
  /// cheaper. Returns the lanes of `mask` whose matrix is not singular.
  template <bool keep_others>
  MANYFOLD_INLINE Mask factor(const Mask& mask, auto&& entry) {
    const auto stored = [&](auto k) { return Storage::store(entry(k)); };
    Mask good(false);
    if constexpr (fixed_pivots) {
      if constexpr (keep_others) {
        Sparse fresh;
        good = Storage::load_mask(fresh.factor(stored)) & mask;
        sparse_.assign(Storage::store_mask(mask), fresh);
      } else {
        good = Storage::load_mask(sparse_.factor(stored)) & mask;
      }
    }
    if constexpr (exchanges) {
      const Mask rest = mask & !good;
      exchanged_ = (exchanged_ & !mask) | rest;
      if (any(rest)) good = good | factor_with_exchanges(rest, stored);
    }
    return good;
  }

  /// b := A^-1 b
  MANYFOLD_INLINE void solve(Number (&b)[n]) const { substitute<false>(b); }
  /// b := A^-T b, without conjugation: for adjoints.
  MANYFOLD_INLINE void solve_transposed(Number (&b)[n]) const { substitute<true>(b); }
  /// As `solve`, for numbers as they are stored.
  MANYFOLD_INLINE void solve_stored(auto& b) const { substitute_stored<false>(b); }

  /// 1 or -1, of real numbers.
  MANYFOLD_INLINE Real sign_of_determinant() const {
    if constexpr (!exchanges) {
      return sparse_.sign_of_determinant();
    } else if constexpr (fixed_pivots) {
      return select(exchanged_, pivoted_->sign_of_determinant(), sparse_.sign_of_determinant());
    } else {
      return pivoted_->sign_of_determinant();
    }
  }

  /// Of real numbers; 0 where it is too small to be represented.
  MANYFOLD_INLINE Real reciprocal_of_determinant() const {
    if constexpr (!exchanges) {
      return sparse_.reciprocal_of_determinant();
    } else if constexpr (fixed_pivots) {
      return select(exchanged_, pivoted_->reciprocal_of_determinant(), sparse_.reciprocal_of_determinant());
    } else {
      return pivoted_->reciprocal_of_determinant();
    }
  }

  /// The lanes whose factors needed row exchanges.
  const Mask& exchanged() const { return exchanged_; }

 private:
  template <bool transposed>
  MANYFOLD_INLINE void substitute(Number (&b)[n]) const {
    if constexpr (wants_single_precision<Structure>()) {
      Stored x[n];
      for (int i = 0; i < n; ++i) x[i] = Storage::store(b[i]);
      substitute_stored<transposed>(x);
      for (int i = 0; i < n; ++i) b[i] = Storage::load(x[i]);
    } else {
      substitute_stored<transposed>(b);
    }
  }

  template <bool transposed>
  MANYFOLD_INLINE void substitute_stored(auto& b) const {
    if constexpr (!exchanges) {
      substitute_with<transposed>(sparse_, b);
    } else if constexpr (fixed_pivots) {
      // The substitution stands here once: two copies of it, between which the neighbours of a lane decide, might be
      // contracted differently.
      const bool some = any(exchanged_);
      Stored copy[n];
      if (some) {
        for (int i = 0; i < n; ++i) copy[i] = b[i];
        substitute_with<transposed>(*pivoted_, copy);
      }
      substitute_with<transposed>(sparse_, b);
      if (some) {
        const auto exchanged = Storage::store_mask(exchanged_);
        for (int i = 0; i < n; ++i) b[i] = select(exchanged, copy[i], b[i]);
      }
    } else {
      substitute_with<transposed>(*pivoted_, b);
    }
  }

  template <bool transposed>
  static MANYFOLD_INLINE void substitute_with(const auto& lu, auto& b) {
    if constexpr (transposed) {
      lu.solve_transposed(b);
    } else {
      lu.solve(b);
    }
  }

  MANYFOLD_OUTLINE Mask factor_with_exchanges(const Mask& mask, auto&& entry) {
    const auto lanes = Storage::store_mask(mask);
    pivoted_->assemble(lanes, [&](auto&& write) {
      for_each_index<entries.size>([&](auto k) { write(entries.row[k], entries.column[k], entry(k)); });
    });
    return Storage::load_mask(pivoted_->factor(lanes));
  }
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);

  Sparse sparse_;
  Workspace* pivoted_;
  Mask exchanged_;
};

/// By a team the matrix is factorised as a full one.
template <class Number, class Structure>
requires(Structure::Team::size > 1) class Factors<Number, Structure> {
 public:
  static constexpr int n = Structure::n;
  using Team = typename Structure::Team;
  using Storage = StoredAs<Number, wants_single_precision<Structure>()>;
  using Stored = typename Storage::type;
  using LU = TeamLU<Stored, n, Team>;
  using Workspace = typename LU::Workspace;
  static constexpr long work = static_cast<long>(n) * n * n / (3 * Team::size) + 1;

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) { lu_.use(workspace, team); }

  template <bool keep_others>
  MANYFOLD_INLINE bool factor(bool mask, auto&& entry) {
    if (!mask) return false;
    return lu_.factor([&](int i, auto& row) {
      for (int k = begin.of_row[i]; k < begin.of_row[i + 1]; ++k) row[entries.column[k]] = Storage::store(entry(k));
    });
  }

  MANYFOLD_INLINE void solve(Number (&b)[n]) {
    Stored x[n];
    for (int i = 0; i < n; ++i) x[i] = Storage::store(b[i]);
    lu_.solve(x);
    for (int i = 0; i < n; ++i) b[i] = Storage::load(x[i]);
  }
  /// b := A^-T b, without conjugation: for adjoints.
  MANYFOLD_INLINE void solve_transposed(Number (&b)[n]) {
    Stored x[n];
    for (int i = 0; i < n; ++i) x[i] = Storage::store(b[i]);
    lu_.solve_transposed(x);
    for (int i = 0; i < n; ++i) b[i] = Storage::load(x[i]);
  }

 private:
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  static constexpr auto begin = row_begins(entries);

  LU lu_;
};

/// Where the matrices of many instances are factorised and solved with at once, between the kernels that need the
/// solutions: this is how an instance hands over a right-hand side and takes the solution. Full matrices are for
/// routines of a library.
template <class Number, class Structure>
requires(is_batched<Structure>() && !SymbolicLU<Structure>::sparse) class Factors<Number, Structure> {
 public:
  static constexpr int n = Structure::n;
  using Storage = StoredAs<Number, wants_single_precision<Structure>()>;
  using Stored = typename Storage::type;
  static constexpr long work = static_cast<long>(n) * n * n / 3 + 1;

  /// What an instance has of its matrix.
  struct Workspace : BatchedLU<Stored, n> {
    /// Row i of the matrix whose k-th entry, in the row order of `Structure::matrix`, is `entry(k)`.
    MANYFOLD_INLINE void assemble(int i, auto&& entry) {
      this->assemble_row(i, [&](auto&& write) {
        for (int k = begin.of_row[i]; k < begin.of_row[i + 1]; ++k) {
          write(entries.column[k], Storage::store(entry(k)));
        }
      });
    }
  };

  MANYFOLD_INLINE void use(Workspace& workspace, const OneThread& = {}) { lu_ = &workspace; }

  MANYFOLD_INLINE void put(const Number (&b)[n]) {
    for (int i = 0; i < n; ++i) lu_->right[i] = Storage::store(b[i]);
  }
  MANYFOLD_INLINE void get(Number (&x)[n]) const {
    for (int i = 0; i < n; ++i) x[i] = Storage::load(lu_->solution[i]);
  }
  /// Was the last factorisation that of a matrix that is singular to working precision?
  MANYFOLD_INLINE bool singular() const { return lu_->singular != 0; }

 private:
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  static constexpr auto begin = row_begins(entries);

  Workspace* lu_;
};

/// Sparse ones are for the elimination on their pattern by a thread each.
template <class Number, class Structure>
requires(is_batched<Structure>() && SymbolicLU<Structure>::sparse) class Factors<Number, Structure> {
  using Lone = Factors<Number, StridedStructure<Structure>>;

 public:
  static constexpr int n = Structure::n;
  using Storage = typename Lone::Storage;
  using Stored = typename Lone::Stored;
  static constexpr long work = Lone::work;

  /// What an instance has of its matrix.
  struct Workspace {
    Lone factors;
    typename Lone::Workspace pivoted;
    Strided<Stored> solution;  ///< before that, the right-hand side
    int singular;              ///< 1: so is the matrix, to working precision

    /// Bytes of the values and the solution.
    static constexpr int values_size = (Lone::Sparse::filled.size + n) * static_cast<int>(sizeof(Stored));
    /// Takes them as number `slot` of `slots`, for all of which there is memory at `values`.
    MANYFOLD_INLINE void use(char* values, int slots, int slot) {
      auto* first = reinterpret_cast<Stored*>(values) + slot;
      factors.use(pivoted);
      factors.use_values({first, slots});
      solution = {first + static_cast<long long>(Lone::Sparse::filled.size) * slots, slots};
    }
    /// Factorises the matrix whose k-th entry, in the row order of `Structure::matrix`, is `entry(k)`.
    MANYFOLD_INLINE void factor(auto&& entry) {
      // In the thread's own hands: what it writes through pointers might change the pointers, for all a compiler knows.
      Lone own = factors;
      singular = own.template factor<false>(true, entry) ? 0 : 1;
      factors = own;
    }
    MANYFOLD_INLINE void solve() {
      const Lone own = factors;
      const Strided<Stored> b = solution;
      own.solve_stored(b);
    }
  };

  MANYFOLD_INLINE void use(Workspace& workspace, const OneThread& = {}) { lu_ = &workspace; }

  MANYFOLD_INLINE void put(const Number (&b)[n]) {
    const Strided<Stored> right = lu_->solution;
    for (int i = 0; i < n; ++i) right[i] = Storage::store(b[i]);
  }
  MANYFOLD_INLINE void get(Number (&x)[n]) const {
    const Strided<Stored> solution = lu_->solution;
    for (int i = 0; i < n; ++i) x[i] = Storage::load(solution[i]);
  }
  /// Was the last factorisation that of a matrix that is singular to working precision?
  MANYFOLD_INLINE bool singular() const { return lu_->singular != 0; }

 private:
  Workspace* lu_;
};

}  // namespace manyfold
