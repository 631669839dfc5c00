#pragma once
// Consistent values stage by stage, as the structure of the system says: the equations of a stage are derivatives of F
// along the solution, by nested dual numbers, and its unknowns the highest derivatives that they contain. The last
// stage is square; in those before it more unknowns than equations leave some values free. Pryce, BIT 41 (2001);
// Nedialkov & Pryce, BIT 45 (2005).
#include "../algebra/dual.hpp"
#include "../algebra/factors.hpp"
#include "../control/error_norm.hpp"
#include "../model/point_beside.hpp"
#include "../model/structure.hpp"
#include "../model/system.hpp"

namespace manyfold {

/// A number with its derivatives along the solution up to `order`.
template <class Number, int order>
struct AlongSolution {
  using type = Dual<typename AlongSolution<Number, order - 1>::type, 1>;
};
template <class Number>
struct AlongSolution<Number, 0> {
  using type = Number;
};

/// Of Newton's corrections, in searches for consistent values. When a switch of 1e5 ohm opens, a diode takes over its
/// current a millionth of the way to where the switch alone would.
inline constexpr double least_damping = 1e-10;

/// How values are moved to where the equations of a stage hold.
enum class Move {
  along_forces,  ///< as impulses of the variables of the last stage would: q by M^-1 G^T, so that what is free stays
  nearest,       ///< least change in the norm with weights 1/atol, of values that are not given
};

template <class System, class Real>
class Consistency {
 public:
  using Mask = MaskOf<Real>;
  using Form = Structure<System>;
  static constexpr int n = System::n;
  static constexpr int highest = Form::highest;
  static constexpr int orders = highest > 1 ? highest + 1 : 2;
  /// y_j^(l) at [l][j]; zero where l is beyond what is determined.
  template <class Number>
  using Derivatives = Number[orders][n];

  using Factorisation = Factors<Real, typename Form::Leading>;
  using Workspace = typename Factorisation::Workspace;

  MANYFOLD_INLINE void use(Workspace& workspace) { factors_.use(workspace); }

  /// Values y, with the derivatives that are a start for the search: of a semi-explicit system y' = f(t, y).
  static MANYFOLD_INLINE void begin(const Real& t, const Real (&y)[n], const Real (&p)[System::constants_size],
                                    Derivatives<Real>& x) {
    for (int l = 0; l < orders; ++l) {
      for (int j = 0; j < n; ++j) x[l][j] = l == 0 ? y[j] : Real(0.0);
    }
    if constexpr (System::semi_explicit) {
      Real F[n];
      System::residual(t, x[0], x[1], p, F);
      static_for<n>([&](auto j) {
        if constexpr (!System::algebraic(j)) x[1][j] = -F[j];
      });
    }
  }

  /// F_i^(c_i - lag) of the equations of the stage, zero for the others. Equations that do not bind are those of the
  /// last stage, as they are.
  template <int lag, class Number>
  static MANYFOLD_INLINE void residuals(const Real& t, const Number (&x)[orders][n],
                                        const Real (&p)[System::constants_size], Number (&r)[n]) {
    constexpr int depth = Form::differentiations > lag ? Form::differentiations - lag : 0;
    using Moving = typename AlongSolution<Number, depth>::type;
    const auto time = [&] {
      // As for the Jacobian, so that the equations are compiled once for both.
      if constexpr (depth == 0) {
        return t;
      } else {
        return seed<Number, depth>(
            [&](int l) { return l == 0   ? Number(t)
                                : l == 1 ? Number(Real(1.0))
                                         : Number(Real(0.0)); }, 0);
      }
    }();
    Moving y[n];
    Moving dy[n];
    Moving F[n];
    for (int j = 0; j < n; ++j) {
      const auto derivative = [&](int l) { return l < orders ? x[l][j] : Number(Real(0.0)); };
      y[j] = seed<Number, depth>(derivative, 0);
      dy[j] = seed<Number, depth>(derivative, 1);
    }
    System::residual(time, y, dy, p, F);
    static_for<n>([&](auto i) {
      constexpr int order = Form::of_equation(i) - lag;
      if constexpr (order >= 0) {
        r[i] = derivative_of<order, depth>(F[i]);
      } else {
        r[i] = Number(Real(0.0));
      }
    });
    if constexpr (Form::has_modes) {
      Real by_multipliers[n];
      differentiate_by_multipliers(t, x, p, by_multipliers);
      static_for<n>([&](auto i) {
        if constexpr (Form::leaves(i)) {
          const Number as_it_is = lag == 0 ? derivative_of<0, depth>(F[i]) : Number(Real(0.0));
          r[i] = select(by_multipliers[i] == Real(0.0), r[i], as_it_is);
        }
      });
    }
  }

  /// The matrix of all stages at x, factorised; returns the lanes of `mask` where it is not singular.
  MANYFOLD_INLINE Mask linearise(const Mask& mask, const Real& t, const Derivatives<Real>& x,
                                 const Real (&p)[System::constants_size], const Real (&weight)[n], double rtol) {
    evaluate(mask, t, x, p, weight, rtol);
    return factors_.template factor<false>(mask, [&](auto k) { return entry(entries.row[k], entries.column[k]); });
  }

  /// r := the changes of the unknowns of the stage, zero for other variables.
  template <int lag>
  MANYFOLD_INLINE void solve(Real (&r)[n]) const {
    factors_.solve(r);
    for_each_index<n>([&](auto j) {
      if (Form::of_variable(j) < lag) r[j] = Real(0.0);
    });
  }

  /// Changes x[d_j - lag][j] by -factor delta_j.
  template <int lag>
  static MANYFOLD_INLINE void move(const Real& factor, const Real (&delta)[n], Derivatives<Real>& x) {
    for_each_index<n>([&](auto j) {
      const int order = Form::of_variable(j) - lag;
      if (order >= 0) x[order][j] -= factor * delta[j];
    });
  }

  struct Violation {
    Real size;
    Real equation;  ///< its number, plus n times how often it is differentiated
  };
  /// The largest residual of an equation without derivatives, or of a derivative of an equation.
  template <int lag>
  static MANYFOLD_INLINE Violation largest_violation(const Real (&r)[n]) {
    Violation result{Real(-1.0), Real(-1.0)};
    static_for<n>([&](auto i) {
      constexpr int order = Form::of_equation(i) - lag;
      if constexpr (order > 0 || (order == 0 && System::algebraic_equation(i))) {
        const Mask finite = is_finite(r[i]);
        const Mask worse = (abs(r[i]) > result.size) | (is_finite(result.size) & !finite);
        result.size = select(worse, abs(r[i]), result.size);
        result.equation = select(worse, Real(static_cast<double>(i + n * order)), result.equation);
      }
    });
    return result;
  }

  /// What a search has come to.
  struct Search {
    Mask found;
    Mask singular;
    Real failed;                       ///< lag of the stage in which a search that has failed did so
    Violation violation[highest + 1];  ///< by lag: before the search
  };

  /// Finds x in the lanes of `lanes`, from its values, in the stages with lag `first` ... `last`: damped Newton
  /// iteration, with the natural monotonicity test of Deuflhard, Newton Methods for Nonlinear Problems, section 3.3.
  /// What it leaves in lanes that are not `found` has no meaning. `span` is the time in which errors of derivatives
  /// become errors of values. With `Move::nearest`, stays(j): the value of variable j stays.
  template <Move how, int first, int last>
  MANYFOLD_INLINE void find(const Mask& lanes, const Real& t, const Real& span, Derivatives<Real>& x,
                            const Real (&p)[System::constants_size], const Real (&weight)[n],
                            const Tolerances<n>& tolerances, Search& search, auto&& stays) {
    static_for<first - last + 1>([&](auto stage) {
      constexpr int lag = first - stage;
      if constexpr (Form::equations_of(lag) > 0) {
        settle<how, lag>(lanes, t, span, x, p, weight, tolerances, search, stays);
      }
    });
  }

 private:
  /// The derivatives of the equations by the multipliers, which move by different numbers, so that equal factors do not
  /// cancel. Equations that bind do not have them, to the last bit.
  template <class Number>
  static MANYFOLD_INLINE void differentiate_by_multipliers(const Real& t, const Number (&x)[orders][n],
                                                           const Real (&p)[System::constants_size], Real (&by)[n]) {
    using Moving = Dual<Real, 1>;
    Moving y[n];
    Moving dy[n];
    Moving F[n];
    static_for<n>([&](auto j) {
      y[j] = Moving(value_of(x[0][j]));
      dy[j] = Moving(value_of(x[1][j]));
      if constexpr (Form::is_multiplier(j)) y[j].tangent[0] = Real(part_beside(j));
    });
    System::residual(Moving(t), y, dy, p, F);
    for (int i = 0; i < n; ++i) by[i] = F[i].tangent[0];
  }
  static MANYFOLD_INLINE Real value_of(const auto& number) {
    if constexpr (requires { number.value; }) {
      return value_of(number.value);
    } else {
      return number;
    }
  }

  static constexpr auto entries = entries_of<Form::Leading::matrix.size()>(Form::Leading::matrix);
  static constexpr int most_iterations = 30;
  /// A correction below this part of the tolerance is the last.
  static constexpr double small_correction = 1e-3;
  /// Corrections that stay this small beside the unknowns are rounding errors of terms that cancel, and those that are
  /// as small as rounding errors of the unknowns themselves are so at once: no damping makes them fall.
  static constexpr double rounding_correction = 1e-10;
  static constexpr double rounding_of_unknowns = 64.0 * epsilon<Real>;

  template <class Number, int depth>
  static MANYFOLD_INLINE auto seed(const auto& derivative, int order) {
    if constexpr (depth == 0) {
      return derivative(order);
    } else {
      typename AlongSolution<Number, depth>::type result;
      result.value = seed<Number, depth - 1>(derivative, order);
      result.tangent[0] = seed<Number, depth - 1>(derivative, order + 1);
      return result;
    }
  }
  template <int order, int depth>
  static MANYFOLD_INLINE auto derivative_of(const auto& number) {
    if constexpr (depth == 0) {
      return number;
    } else if constexpr (order > 0) {
      return derivative_of<order - 1, depth - 1>(number.tangent[0]);
    } else {
      return derivative_of<0, depth - 1>(number.value);
    }
  }

  MANYFOLD_INLINE void evaluate(const Mask& mask, const Real& t, const Derivatives<Real>& x,
                                const Real (&p)[System::constants_size], const Real (&weight)[n], double rtol) {
    System::jacobian(t, x[0], x[1], p, weight, rtol, Real(1.0), by_y_, by_dy_);
    if constexpr (looks_beside) {
      look_beside(mask & !is_defined(), x[0], weight, [&](const Mask& lanes, const Real(&y)[n]) {
        System::jacobian(t, y, x[1], p, weight, rtol, Real(1.0), by_y_, by_dy_);
        return Mask(lanes & !is_defined());
      });
    }
  }
  MANYFOLD_INLINE Mask is_defined() const { return all_finite(by_y_) & all_finite(by_dy_); }
  MANYFOLD_INLINE Real entry(int i, int j) const {
    const Real value = Form::of_variable(j) == Form::of_equation(i) || Form::releases(i, j)
                           ? by_y_[System::entries_y.slot(i, j)]
                           : by_dy_[System::entries_dy.slot(i, j)];
    if constexpr (Form::has_modes) {
      if (Form::leaves(i) && !Form::releases(i, j)) return select(binds(i), value, Real(0.0));
    }
    return value;
  }
  MANYFOLD_INLINE Mask binds(int i) const {
    Mask result(true);
    for (int j = 0; j < n; ++j) {
      if (Form::releases(i, j)) result = result & (by_y_[System::entries_y.slot(i, j)] == Real(0.0));
    }
    return result;
  }

  /// The changes of least size, x = S^2 A^T (A S^2 A^T)^-1 r with the matrix A of a stage and the scales S. Derivatives
  /// and algebraic variables are free: their scales are larger by a thousand,
  /// whose square leaves half of the digits.
  template <int lag>
  class LeastChange {
   public:
    MANYFOLD_INLINE Mask linearise(const Mask& mask, const Consistency& owner, const Tolerances<n>& tolerances,
                                   auto&& stays) {
      constexpr double free = 1e3;
      double largest = 0.0;
      for (int j = 0; j < n; ++j) largest = max(largest, tolerances.atol[j]);
      largest = max(largest, epsilon<Real>);
      static_for<n>([&](auto j) {
        constexpr int order = Form::of_variable(j) - lag;
        if constexpr (order < 0) {
          scale_[j] = Real(0.0);
        } else if (order == 0 && stays(j)) {
          scale_[j] = Real(0.0);
        } else if (order == 0 && System::derivative_occurs(j)) {
          scale_[j] = Real(max(tolerances.atol[j] / largest, epsilon<Real>));
        } else {
          scale_[j] = Real(free);
        }
      });
      for (int a = 0; a < rows; ++a) {
        for (int j = 0; j < n; ++j) matrix_[a][j] = Real(0.0);
      }
      for (int k = 0; k < entries.size; ++k) {
        const int a = row_of(entries_row(k));
        if (a >= 0) matrix_[a][entries_column(k)] = owner.entry(entries_row(k), entries_column(k));
      }
      Real product[rows][rows];
      for (int a = 0; a < rows; ++a) {
        for (int b = 0; b < rows; ++b) {
          product[a][b] = Real(0.0);
          for (int j = 0; j < n; ++j) product[a][b] += matrix_[a][j] * square(scale_[j]) * matrix_[b][j];
        }
        // Constraints that contain nothing but what is given, or repeat others, may hold all the same.
        product[a][a] = select(product[a][a] == Real(0.0), Real(1.0), product[a][a] * Real(1.0 + 1e-12));
      }
      return factors_.factor(mask, product);
    }
    MANYFOLD_INLINE void solve(Real (&r)[n]) const {
      Real packed[rows];
      for (int i = 0; i < n; ++i) {
        if (row_of(i) >= 0) packed[row_of(i)] = r[i];
      }
      factors_.solve(packed);
      for (int j = 0; j < n; ++j) {
        r[j] = Real(0.0);
        for (int a = 0; a < rows; ++a) r[j] += matrix_[a][j] * packed[a];
        r[j] = r[j] * square(scale_[j]);
      }
    }

   private:
    static constexpr int rows = Form::equations_of(lag);
    struct Rows {
      short of[n] = {};
      constexpr Rows() {
        short next = 0;
        for (int i = 0; i < n; ++i) of[i] = Form::of_equation(i) >= lag ? next++ : -1;
      }
    };
    static constexpr Rows numbered = {};
    static constexpr MANYFOLD_INLINE int row_of(int i) { return numbered.of[i]; }
    static constexpr MANYFOLD_INLINE int entries_row(int k) { return entries.row[k]; }
    static constexpr MANYFOLD_INLINE int entries_column(int k) { return entries.column[k]; }

    Real scale_[n];
    Real matrix_[rows][n];
    PivotedLU<Real, rows> factors_;
  };

  /// Size of a correction, errors of derivatives by what they come to in the span.
  template <int lag>
  static MANYFOLD_INLINE Real size_of(const Real (&delta)[n], const Real (&weight)[n], const Real& span) {
    Real sum(0.0);
    static_for<n>([&](auto j) {
      constexpr int order = Form::of_variable(j) - lag;
      if constexpr (order >= 0) {
        Real change = delta[j] * weight[j];
        for (int l = 0; l < order; ++l) change *= span;
        sum += square(change);
      }
    });
    return sqrt(sum * Real(1.0 / n));
  }

  /// Are the corrections no larger than rounding errors of the unknowns?
  template <int lag>
  static MANYFOLD_INLINE Mask is_rounding(const Real (&delta)[n], const Derivatives<Real>& x, int iteration) {
    Real change(0.0);
    Real unknown(0.0);
    for_each_index<n>([&](auto j) {
      const int order = Form::of_variable(j) - lag;
      if (order < 0) return;
      change = max(change, abs(delta[j]));
      unknown = max(unknown, abs(x[order][j]));
    });
    return (change <= Real(rounding_of_unknowns) * unknown) |
           (Mask(iteration > 2) & (change <= Real(rounding_correction) * unknown));
  }

  /// Moves x in the lanes of `lanes` by the correction `delta`, damped until the next one, correct(r), is smaller than
  /// `size`; in those of `small` undamped. Returns the lanes where no damping makes it so.
  template <int lag>
  static MANYFOLD_INLINE Mask descend(const Mask& lanes, const Mask& small, const Real& t, const Real& span,
                                      const Real (&delta)[n], const Real& size, Derivatives<Real>& x, Real (&r)[n],
                                      const Real (&p)[System::constants_size], const Real (&weight)[n],
                                      auto&& correct) {
    Mask failed(false);
    Real damping(1.0);
    Mask improving = lanes;
    while (any(improving)) {
      Derivatives<Real> trial;
      for (int l = 0; l < orders; ++l) {
        for (int j = 0; j < n; ++j) trial[l][j] = x[l][j];
      }
      move<lag>(damping, delta, trial);
      Real trial_r[n];
      residuals<lag>(t, trial, p, trial_r);
      Real simplified[n];
      for (int i = 0; i < n; ++i) simplified[i] = trial_r[i];
      correct(simplified);
      const Real next_size = size_of<lag>(simplified, weight, span);
      const Mask accept = improving & (small | (next_size <= (Real(1.0) - Real(0.25) * damping) * size));
      for (int i = 0; i < n; ++i) r[i] = select(accept, trial_r[i], r[i]);
      for (int l = 0; l < orders; ++l) {
        for (int j = 0; j < n; ++j) x[l][j] = select(accept, trial[l][j], x[l][j]);
      }
      improving = improving & !accept;
      damping = select(improving, Real(0.5) * damping, damping);
      const Mask hopeless = improving & (damping < Real(least_damping));
      failed = failed | hopeless;
      improving = improving & !hopeless;
    }
    return failed;
  }

  /// The search of one stage: see `find`.
  template <Move how, int lag>
  MANYFOLD_INLINE void settle(const Mask& lanes, const Real& t, const Real& span, Derivatives<Real>& x,
                              const Real (&p)[System::constants_size], const Real (&weight)[n],
                              const Tolerances<n>& tolerances, Search& search, auto&& stays) {
    constexpr bool nearest = how == Move::nearest && lag > 0;
    typename Either<nearest, LeastChange<lag>, None>::type least;
    const auto correct = [&](Real(&r)[n]) {
      if constexpr (nearest) {
        least.solve(r);
      } else {
        solve<lag>(r);
      }
    };
    // Rounding allows no smaller corrections.
    const Real enough(max(small_correction, norm_of_rounding<Real>(tolerances.rtol)));
    Mask searching = lanes;
    Real r[n];
    residuals<lag>(t, x, p, r);
    search.violation[lag] = largest_violation<lag>(r);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      Mask solvable;
      if constexpr (nearest) {
        evaluate(searching, t, x, p, weight, tolerances.rtol);
        solvable = least.linearise(searching, *this, tolerances, stays);
      } else {
        solvable = linearise(searching, t, x, p, weight, tolerances.rtol);
      }
      // Singular where the search begins is a property of the model; on its way it is a search that failed.
      if (iteration == 0) search.singular = search.singular | (searching & !solvable);
      search.found = search.found & (solvable | !searching);
      searching = searching & solvable;

      Real delta[n];
      for (int i = 0; i < n; ++i) delta[i] = r[i];
      correct(delta);
      const Real size = size_of<lag>(delta, weight, span);
      const Mask small = searching & ((size <= enough) | is_rounding<lag>(delta, x, iteration));
      const Mask failed = descend<lag>(searching, small, t, span, delta, size, x, r, p, weight, correct);
      search.found = search.found & !failed;
      searching = searching & !failed;
      Mask finite(true);
      for (int i = 0; i < n; ++i) finite = finite & is_finite(r[i]);
      search.found = search.found & (finite | !small);
      searching = searching & !small;
    }
    search.found = search.found & !searching;
    search.failed =
        select(lanes & !search.found & (search.failed < Real(0.0)), Real(static_cast<double>(lag)), search.failed);
  }

  Factorisation factors_;
  Real by_y_[System::nonzeros_y];
  Real by_dy_[System::nonzeros_dy];
};

}  // namespace manyfold
