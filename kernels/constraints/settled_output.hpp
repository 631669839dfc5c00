#pragma once
// Algebraic variables between the steps. The dense output of the differential variables is as accurate as the error
// test asks; that of the algebraic ones need not be, where they bend more sharply than a polynomial, and multipliers of
// index 2 and 3 are of lower order also at the ends of steps. They follow from the differential variables: at output
// times, which are few, the last stage of the consistent values is solved for them. That takes the derivatives of their
// equations, a factorisation and one to three evaluations of the equations per output time.
#include "consistency.hpp"

namespace manyfold {

/// The equation that has the derivative of variable `j`, no other derivative and no algebraic variable, as q' = v does;
/// -1: none.
template <class System>
constexpr int slope_equation(int j) {
  for (int i = 0; i < System::n; ++i) {
    const IndexSet<System::n>& slopes = System::pattern_dy.row[i];
    if (slopes.next(0) != j || slopes.next(j + 1) >= 0) continue;
    bool forced = false;
    const IndexSet<System::n>& row = System::pattern_y.row[i];
    for (int k = row.next(0); k >= 0; k = row.next(k + 1)) forced = forced || !System::derivative_occurs(k);
    if (!forced) return i;
  }
  return -1;
}

/// Are there algebraic variables that the equations, or their derivatives, determine from the others?
template <class System>
constexpr bool settles_output() {
  if constexpr (!System::known_pattern || System::singular_mass_matrix()) {
    return false;
  } else {
    bool has_algebraic = false;
    for (int j = 0; j < System::n; ++j) has_algebraic = has_algebraic || !System::derivative_occurs(j);
    if (!has_algebraic) return false;
    if constexpr (!find_offsets(System::pattern_y, System::pattern_dy).regular) return false;
    constexpr auto offsets = Structure<System>::offsets;
    if (System::highest_index() > 1) {
      // Of algebraic variables of lower index beside multipliers, derivatives may belong to the unknowns.
      for (int j = 0; j < System::n; ++j) {
        if (System::index(j) == 1 && !System::derivative_occurs(j) && offsets.variable[j] > 0) return false;
        // Of positions the second derivatives are unknowns, and the first follow from equations of their own.
        if (!System::semi_explicit && offsets.variable[j] > 1 && slope_equation<System>(j) < 0) return false;
      }
    }
    // The index that is stated is what the methods rely on.
    return offsets.regular && offsets.index() <= System::highest_index();
  }
}

/// The equations of the last stage that determine the algebraic variables, and the unknowns that stand in them: at
/// index 1 the algebraic equations and variables alone, with multipliers the derivatives that they force too.
template <class System>
struct AlgebraicBlock {
  using Form = Structure<System>;

  struct Members {
    int size = 0;
    short equation[System::n] = {};
    short variable[System::n] = {};
    constexpr void insert(int i, int j) {
      equation[size] = static_cast<short>(i);
      variable[size++] = static_cast<short>(j);
    }
  };
  static constexpr Members find() {
    Pairing<System::n> pairs;
    for (int i = 0; i < System::n; ++i) pairs.add(i, Form::Leading::matrix, [](int, int) { return true; });
    Members result;
    IndexSet<System::n> known;
    const auto insert = [&](int j) {
      if (known.contains(j)) return;
      known.insert(j);
      result.insert(pairs.equation_of(j), j);
    };
    for (int j = 0; j < System::n; ++j) {
      if (Form::of_variable(j) == 0) insert(j);
    }
    for (int k = 0; k < result.size; ++k) {
      const IndexSet<System::n>& row = Form::Leading::matrix.row[result.equation[k]];
      for (int j = row.next(0); j >= 0; j = row.next(j + 1)) insert(j);
    }
    return result;
  }
  static constexpr Members members = find();
  static constexpr MANYFOLD_INLINE int equation(int a) { return members.equation[a]; }
  static constexpr MANYFOLD_INLINE int variable(int b) { return members.variable[b]; }

  static constexpr int n = members.size;
  static constexpr Pattern<n> part_of(const Pattern<System::n>& whole) {
    Pattern<n> result;
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) {
        if (whole.contains(members.equation[a], members.variable[b])) result.insert(a, b);
      }
    }
    return result;
  }
  static constexpr Pattern<n> matrix = part_of(Form::Leading::matrix);
  static constexpr Pattern<n> preferred = part_of(Form::Leading::preferred);
};

/// Replaces algebraic variables by those that belong to the others.
template <class System, class Real>
class SettledOutput {
 public:
  using Mask = MaskOf<Real>;

  /// In the lanes of `lanes`, for y at t. `dy`: y', as far as it is known. Lanes in which Newton's method does not
  /// converge keep their values. Returns these, and those in which a variable moves by more than the error test allows
  /// its polynomial to be off: there errors of the differential variables may be magnified.
  MANYFOLD_OUTLINE Mask settle(const Mask& lanes, const Real& t, Real (&y)[System::n], const Real (&dy)[System::n],
                               const Real (&p)[System::constants_size], const Tolerances<System::n>& tolerances) {
    constexpr int most_iterations = 8;
    // The matrix of the first iterations serves while the corrections are as small as they are where the solution is
    // smooth.
    constexpr int iterations_with_one_matrix = 3;
    // What a correction leaves is a fraction of it.
    constexpr double small = 0.03;

    factors_.use(workspace_);
    Values x;
    Stages::begin(t, y, p, x);
    if constexpr (!System::semi_explicit) {
      for (int j = 0; j < System::n; ++j) x[1][j] = dy[j];
      if constexpr (Stages::highest > 1) find_slopes(t, x, p);
    }
    Real weight[System::n];
    error_weights(tolerances, y, weight);
    Mask searching = lanes;
    Mask found(false);
    Real previous(largest_number);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      if (iteration == 0 || iteration >= iterations_with_one_matrix) searching = linearise(searching, t, x, p);
      Real F[System::n];
      Stages::template residuals<0>(t, x, p, F);
      Real delta[size];
      for_each_index<size>([&](auto a) { delta[a] = F[Block::equation(a)]; });
      factors_.solve(delta);
      Real sum(0.0);
      for_each_index<size>([&](auto b) {
        const int j = Block::variable(b);
        delta[b] = select(searching, delta[b], Real(0.0));
        if (Stages::Form::of_variable(j) == 0) sum += square(delta[b] * weight[j]);
        unknown(x, b) -= delta[b];
      });
      // A correction that does not fall any more is one of rounding errors, unless it is the matrix that is to blame.
      constexpr int first_to_judge = System::highest_index() > 1 ? 0 : iterations_with_one_matrix + 1;
      const Mask rounding = Mask(iteration >= first_to_judge) & (sum <= Real(1.0)) & (sum >= Real(0.25) * previous);
      const Mask done = searching & ((sum <= Real(small * small)) | rounding);
      previous = sum;
      found = found | done;
      searching = searching & !done & is_finite(sum);
    }
    Mask far = lanes & !found;
    for_each_index<size>([&](auto b) {
      const int j = Block::variable(b);
      if (Stages::Form::of_variable(j) != 0) return;
      far = far | (found & (abs(x[0][j] - y[j]) * weight[j] > Real(most_tolerances)));
      y[j] = select(found, x[0][j], y[j]);
    });
    return far;
  }

  /// The lanes of `lanes` in which y, the end of a step that Newton's method found, is far from a solution as its own
  /// matrix tells. Where a branch of bent equations ends, the matrix of a point before the bend may take the extension
  /// of a steep branch for a solution: a small change of a variable would mend a residual there, but only there. The
  /// matrix of an overshoot does the same where equations have exponentials.
  MANYFOLD_OUTLINE Mask astray(const Mask& lanes, const Real& t, const Real (&y)[System::n],
                               const Real (&dy)[System::n], const Real (&p)[System::constants_size],
                               const Tolerances<System::n>& tolerances) {
    factors_.use(workspace_);
    Values x;
    Stages::begin(t, y, p, x);
    if constexpr (!System::semi_explicit) {
      for (int j = 0; j < System::n; ++j) x[1][j] = dy[j];
    }
    Real weight[System::n];
    error_weights(tolerances, y, weight);
    // The second look is behind a bend that the end may stand next to.
    Mask searching = lanes;
    Mask far(false);
    Real last(0.0);
    for (int look = 0; look < 2; ++look) {
      searching = linearise(searching, t, x, p);
      Real F[System::n];
      Stages::template residuals<0>(t, x, p, F);
      Real delta[size];
      for_each_index<size>([&](auto a) { delta[a] = F[Block::equation(a)]; });
      factors_.solve(delta);
      Real largest(0.0);
      for_each_index<size>([&](auto b) {
        const int j = Block::variable(b);
        if (Stages::Form::of_variable(j) == 0) largest = max(largest, abs(delta[b]) * weight[j]);
        unknown(x, b) -= select(searching, delta[b], Real(0.0));
      });
      far = far | (searching & (largest > Real(1.0)));
      // Where a limit is left corrections fall slowly: what follows is their geometric series.
      if (look > 0) far = far | (searching & (largest > Real(noise)) & (square(largest) > last - largest));
      last = largest;
    }
    return far;
  }

 private:
  /// The error test may allow four tolerances within a step.
  static constexpr double most_tolerances = 5.0;
  /// Corrections below are as small as Newton's method leaves them, in tolerances.
  static constexpr double noise = 0.03;

  using Block = AlgebraicBlock<System>;
  using Stages = Consistency<System, Real>;
  using Values = typename Stages::template Derivatives<Real>;
  static constexpr int size = Block::n;
  static constexpr auto groups = group_columns(Block::matrix);
  static constexpr auto entries = entries_of<Block::matrix.size()>(Block::matrix);

  static MANYFOLD_INLINE auto& unknown(auto& x, int b) {
    const int j = Block::variable(b);
    return x[Stages::Form::of_variable(j)][j];
  }

  /// The first derivatives of variables whose second ones are unknowns.
  static MANYFOLD_INLINE void find_slopes(const Real& t, Values& x, const Real (&p)[System::constants_size]) {
    using Number = Dual<Real, 1>;
    typename Stages::template Derivatives<Number> seeded;
    for (int l = 0; l < Stages::orders; ++l) {
      for (int j = 0; j < System::n; ++j) seeded[l][j] = Number(x[l][j]);
    }
    static_for<System::n>([&](auto j) {
      if constexpr (Stages::Form::of_variable(j) > 1) seeded[1][j].tangent[0] = Real(1.0);
    });
    Number F[System::n];
    System::residual(Number(t), seeded[0], seeded[1], p, F);
    static_for<System::n>([&](auto j) {
      if constexpr (Stages::Form::of_variable(j) > 1) {
        constexpr int i = slope_equation<System>(j);
        x[1][j] -= F[i].value / F[i].tangent[0];
      }
    });
  }

  /// The matrix of the block at x, factorised; returns the lanes of `mask` where it is not singular.
  MANYFOLD_INLINE Mask linearise(const Mask& mask, const Real& t, const Values& x,
                                 const Real (&p)[System::constants_size]) {
    constexpr int most = System::is_large ? System::directions_of_jacobian : System::most_directions;
    static_for<(groups.count + most - 1) / most>([&](auto pass) {
      constexpr int first = pass * most;
      // The equations of a large model are compiled for the Jacobian's numbers alone.
      constexpr int directions = System::is_large || groups.count - first > most ? most : groups.count - first;
      using Number = Dual<Real, directions>;
      typename Stages::template Derivatives<Number> seeded;
      for (int l = 0; l < Stages::orders; ++l) {
        for (int j = 0; j < System::n; ++j) seeded[l][j] = Number(x[l][j]);
      }
      for_each_index<size>([&](auto b) {
        const int group = groups.group[b] - first;
        if (group >= 0 && group < directions) unknown(seeded, b).tangent[group] = Real(1.0);
      });
      Number F[System::n];
      Stages::template residuals<0>(t, seeded, p, F);
      for_each_index<entries.size>([&](auto k) {
        const int group = groups.group[entries.column[k]] - first;
        if (group >= 0 && group < directions) matrix_[k] = F[Block::equation(entries.row[k])].tangent[group];
      });
    });
    return factors_.template factor<false>(mask, [&](auto k) { return matrix_[k]; });
  }

  Factors<Real, Block> factors_;
  typename Factors<Real, Block>::Workspace workspace_;
  Real matrix_[entries.size];
};

}  // namespace manyfold
