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

/// `Structure` names the dimension `n`, the pattern `matrix` and the pattern `preferred` of entries that make good
/// pivots; if a team is to factorise, also its type `Team`. With `single_precision_factors` a matrix is rounded before
/// it is factorised, and a right-hand side before it is solved for: enough for the corrections of Newton's method.
template <class Number, class Structure>
class Factors {
 public:
  static constexpr int n = Structure::n;
  using Real = typename LaneOf<Number>::type;
  using Mask = MaskOf<Real>;
  using Storage = StoredAs<Number, wants_single_precision<Structure>()>;
  using Stored = typename Storage::type;

  /// Beyond this many operations the pattern is as good as full, and a list of them would only be long.
  static constexpr int longest_program = 20000;
  static constexpr auto ordering = order(Structure::matrix, Structure::preferred);
  static constexpr bool fixed_pivots =
      ordering.nonsingular && sparse_lu::count_operations(ordering.filled) <= longest_program;
  /// Work of one factorisation, in multiplications and additions.
  static constexpr long work =
      fixed_pivots ? sparse_lu::count_operations(ordering.filled) : static_cast<long>(n) * n * n / 3 + 1;

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
  MANYFOLD_INLINE void solve(Number (&b)[n]) const {
    if constexpr (wants_single_precision<Structure>()) {
      Stored x[n];
      for (int i = 0; i < n; ++i) x[i] = Storage::store(b[i]);
      solve_stored(x);
      for (int i = 0; i < n; ++i) b[i] = Storage::load(x[i]);
    } else {
      solve_stored(b);
    }
  }

  /// The lanes whose factors needed row exchanges.
  const Mask& exchanged() const { return exchanged_; }

 private:
  MANYFOLD_INLINE void solve_stored(Stored (&b)[n]) const {
    if constexpr (!exchanges) {
      sparse_.solve(b);
    } else if constexpr (fixed_pivots) {
      if (any(exchanged_)) {
        Stored copy[n];
        for (int i = 0; i < n; ++i) copy[i] = b[i];
        sparse_.solve(b);
        pivoted_->solve(copy);
        const auto exchanged = Storage::store_mask(exchanged_);
        for (int i = 0; i < n; ++i) b[i] = select(exchanged, copy[i], b[i]);
      } else {
        sparse_.solve(b);
      }
    } else {
      pivoted_->solve(b);
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

  using Sparse = typename Either<fixed_pivots, SparseLU<Stored, Structure>, None>::type;
  Sparse sparse_;
  Workspace* pivoted_ = nullptr;
  Mask exchanged_ = Mask(false);
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

 private:
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  static constexpr auto begin = row_begins(entries);

  LU lu_;
};

/// Where the matrices of many instances are factorised and solved with at once, between the kernels that need the
/// solutions: this is how an instance hands over a right-hand side and takes the solution.
template <class Number, class Structure>
requires(is_batched<Structure>()) class Factors<Number, Structure> {
 public:
  static constexpr int n = Structure::n;
  using Storage = StoredAs<Number, wants_single_precision<Structure>()>;
  using Stored = typename Storage::type;
  using Workspace = BatchedLU<Stored, n>;
  static constexpr long work = static_cast<long>(n) * n * n / 3 + 1;

  MANYFOLD_INLINE void use(Workspace& workspace, const OneThread& = {}) { lu_ = &workspace; }

  MANYFOLD_INLINE void put(const Number (&b)[n]) {
    for (int i = 0; i < n; ++i) lu_->right[i] = Storage::store(b[i]);
  }
  MANYFOLD_INLINE void get(Number (&x)[n]) const {
    for (int i = 0; i < n; ++i) x[i] = Storage::load(lu_->solution[i]);
  }
  /// Was the last factorisation that of a matrix that is singular to working precision?
  MANYFOLD_INLINE bool singular() const { return lu_->singular != 0; }

  /// Row i of the matrix whose k-th entry, in the row order of `Structure::matrix`, is `entry(k)`.
  static MANYFOLD_INLINE void assemble_row(Workspace& workspace, int i, auto&& entry) {
    workspace.assemble_row(i, [&](auto&& write) {
      for (int k = begin.of_row[i]; k < begin.of_row[i + 1]; ++k) {
        write(entries.column[k], Storage::store(entry(k)));
      }
    });
  }

 private:
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  static constexpr auto begin = row_begins(entries);

  Workspace* lu_ = nullptr;
};

}  // namespace manyfold
