#pragma once
// Projection on the constraints: after a step, a change of the differential variables with which they meet the
// constraints of a system of higher index, the derivatives of these, and the invariants that the model states. Hairer &
// Wanner II, section VII.2; Hairer, Lubich & Wanner, Geometric Numerical Integration, section IV.4; Eich, SIAM J.
// Numer. Anal. 30 (1993).
#include "dual.hpp"
#include "error_norm.hpp"
#include "linalg/pivoted_lu.hpp"
#include "system.hpp"

namespace manyfold {

/// The functions g(t, y) that vanish along every solution, from the equations and from the model, and the directions in
/// which y is moved to meet them.
template <class System>
struct Manifold {
  static constexpr int n = System::n;

 private:
  /// Does equation i constrain differential variables alone?
  static constexpr bool constrains(int i) {
    if (!System::semi_explicit || !System::algebraic(i)) return false;
    for (int j = 0; j < n; ++j) {
      if (System::algebraic(j) && System::pattern_y.contains(i, j)) return false;
    }
    return true;
  }

  /// And so does its derivative along y' = f(t, y)? That is the hidden constraint of index 3.
  static constexpr bool hides(int i) {
    if (!constrains(i)) return false;
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        if (System::pattern_y.contains(i, j) && System::algebraic(k) && System::pattern_y.contains(j, k)) return false;
      }
    }
    return true;
  }

  /// Of the equations before equation i.
  static constexpr int constraints_before(int i) {
    int total = 0;
    for (int k = 0; k < i; ++k) total += constrains(k) ? 1 : 0;
    return total;
  }
  static constexpr int hidden_before(int i) {
    int total = 0;
    for (int k = 0; k < i; ++k) total += hides(k) ? 1 : 0;
    return total;
  }
  /// Of the variables before variable j: a multiplier of index 2 moves y in one direction, of index 3 in two.
  static constexpr int directions_before(int j) {
    int total = 0;
    for (int k = 0; k < j; ++k) total += System::algebraic(k) ? System::index(k) - 1 : 0;
    return total;
  }
  /// In Hessenberg form there is a direction for every constraint.
  static constexpr bool hessenberg = directions_before(n) == constraints_before(n) + hidden_before(n);
  static constexpr int constraints = hessenberg ? constraints_before(n) : 0;
  static constexpr int hidden = hessenberg ? hidden_before(n) : 0;

 public:
  static constexpr int count = System::invariants + constraints + hidden;
  static constexpr int size = count > 0 ? count : 1;

  /// Do the hidden constraints determine the algebraic variables?
  static constexpr bool finds_multipliers = constraints > 0;

  /// The number in g of what is differentiated last of equation i; -1 where that does not constrain differential
  /// variables alone.
  static constexpr int last_of(int i) {
    if (constraints == 0 || !constrains(i)) return -1;
    return System::invariants + (hides(i) ? constraints + hidden_before(i) : constraints_before(i));
  }

  /// g(t, y): what the model states, then the constraints, then their derivatives.
  template <class Time, class Number, class Real>
  static MANYFOLD_INLINE void evaluate(const Time& t, const Number (&y)[n], const Real (&p)[System::constants_size],
                                       Number (&g)[size]) {
    System::invariant(t, y, p, g);
    if constexpr (constraints > 0) {
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      Number F[n];
      System::residual(t, y, none, p, F);
      static_for<n>([&](auto i) {
        if constexpr (constrains(i)) g[System::invariants + constraints_before(i)] = F[i];
      });
      if constexpr (hidden > 0) {
        // d/dt along y' = f, which is -F in the differential equations.
        using Moving = Dual<Number, 1>;
        Moving time{Number(t)};
        time.tangent[0] = Number(1.0);
        Moving moving[n];
        Moving moved[n];
        static_for<n>([&](auto i) {
          moving[i] = Moving(y[i]);
          if constexpr (!System::algebraic(i)) moving[i].tangent[0] = -F[i];
        });
        System::residual(time, moving, none, p, moved);
        static_for<n>([&](auto i) {
          if constexpr (hides(i)) g[System::invariants + constraints + hidden_before(i)] = moved[i].tangent[0];
        });
      }
    }
  }

  /// The gradients of g with respect to y, by dual numbers.
  template <class Real>
  static MANYFOLD_INLINE void differentiate(const Real& t, const Real (&y)[n], const Real (&p)[System::constants_size],
                                            Real (&gradient)[size][n]) {
    constexpr int most = System::most_directions;
    static_for<(n + most - 1) / most>([&](auto pass) {
      constexpr int first = pass * most;
      constexpr int directions = n - first < most ? n - first : most;
      using Number = Dual<Real, directions>;
      Number seeded[n];
      Number g[size];
      for (int j = 0; j < n; ++j) seeded[j] = Number(y[j]);
      for (int k = 0; k < directions; ++k) seeded[first + k].tangent[k] = Real(1.0);
      evaluate(t, seeded, p, g);
      for (int i = 0; i < size; ++i) {
        for (int k = 0; k < directions; ++k) gradient[i][first + k] = g[i].tangent[k];
      }
    });
  }

  /// The directions, as columns. For an invariant its gradient, scaled: the least change in the norm with weights
  /// 1/atol (not those of the error norm, which forbid a component that passes zero to move, and so turn the change
  /// into the tangent). For the constraints of equations those in which multipliers act, f_z and f_y f_z: the errors
  /// that the method leaves there at a lower order lie in them, and another direction would spread these to the rest of
  /// y.
  template <class Real>
  static MANYFOLD_INLINE void directions(const Real& t, const Real (&y)[n], const Real (&p)[System::constants_size],
                                         const Tolerances<n>& tolerances, const Real (&weight)[n],
                                         const Real (&gradient)[size][n], Real (&direction)[n][size]) {
    for (int i = 0; i < n; ++i) {
      const Real scale = System::algebraic(i) ? Real(0.0) : Real(tolerances.atol[i] + epsilon<Real>);
      for (int k = 0; k < System::invariants; ++k) direction[i][k] = square(scale) * gradient[k][i];
      for (int k = System::invariants; k < size; ++k) direction[i][k] = Real(0.0);
    }
    if constexpr (constraints > 0) {
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      Real by_y[System::nonzeros_y];
      Real by_dy[System::nonzeros_dy];
      System::jacobian(t, y, none, p, weight, tolerances.rtol, Real(1.0), by_y, by_dy);
      static_for<n>([&](auto multiplier) {
        if constexpr (System::algebraic(multiplier) && System::index(multiplier) > 1) {
          constexpr int column = System::invariants + directions_before(multiplier);
          for_each_entry([&](int i, int j, int k) {
            if (j == multiplier && !System::algebraic(i)) direction[i][column] = by_y[k];
          });
          if constexpr (System::index(multiplier) > 2) {
            for_each_entry([&](int i, int j, int k) {
              if (!System::algebraic(i)) direction[i][column + 1] += by_y[k] * direction[j][column];
            });
          }
        }
      });
    }
  }

 private:
  /// visit(i, j, k) for entry k of F_y, at (i, j).
  static MANYFOLD_INLINE void for_each_entry(auto&& visit) {
    for_each_index<System::entries_y.size>([&](auto k) { visit(row_of(k), column_of(k), k); });
  }
  static constexpr MANYFOLD_INLINE int row_of(int k) { return System::entries_y.row[k]; }
  static constexpr MANYFOLD_INLINE int column_of(int k) { return System::entries_y.column[k]; }
};

template <class Real>
struct Projected {
  MaskOf<Real> met;  ///< the constraints are met
  Real distance;     ///< of the first correction, in the error norm
  Real violation;    ///< max-norm of g before
};

/// How far from the constraints y may lie.
enum class Distance {
  near,  ///< after a step: gradients and directions are those at the start, simplified Newton
  far,   ///< of numbers that a user gave: they are new in every iteration
};

/// Moves y in the lanes of `lanes` to where g(t, y) = 0; algebraic variables stay. Newton's method, y -= D (G D)^-1
/// g(y) with the gradients G and the directions D. Lanes in which that does not converge keep their y.
template <class System, Distance expected = Distance::near, class Real>
MANYFOLD_INLINE Projected<Real> project(const MaskOf<Real>& lanes, const Real& t, Real (&y)[System::n],
                                        const Real (&p)[System::constants_size],
                                        const Tolerances<System::n>& tolerances) {
  using Mask = MaskOf<Real>;
  using Constraints = Manifold<System>;
  constexpr int n = System::n;
  constexpr int m = Constraints::size;
  constexpr int most_iterations = expected == Distance::near ? 6 : 20;
  // A correction leaves of the violation what it is itself relative to y, or rounding.
  const Real small(max(1e-4, 45.0 * epsilon<Real> / tolerances.rtol));

  Real weight[n];
  error_weights(tolerances, y, weight);
  Real direction[n][m];
  PivotedLU<Real, m> factors;
  const auto linearise = [&](const Mask& mask, const Real(&at)[n]) {
    Real gradient[m][n];
    Constraints::differentiate(t, at, p, gradient);
    Constraints::directions(t, at, p, tolerances, weight, gradient, direction);
    Real product[m][m];
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < m; ++j) {
        product[i][j] = Real(0.0);
        for (int k = 0; k < n; ++k) product[i][j] += gradient[i][k] * direction[k][j];
      }
    }
    return factors.factor(mask, product);
  };

  Projected<Real> result{Mask(false), Real(0.0), Real(0.0)};
  Real moved[n];
  for (int i = 0; i < n; ++i) moved[i] = y[i];
  Mask moving = linearise(lanes, moved);
  for (int iteration = 0; iteration < most_iterations && any(moving); ++iteration) {
    if (expected == Distance::far && iteration > 0) moving = linearise(moving, moved);
    Real g[m];
    Constraints::evaluate(t, moved, p, g);
    if (iteration == 0) {
      for (int i = 0; i < m; ++i) result.violation = max(result.violation, abs(g[i]));
    }
    factors.solve(g);
    Real correction[n];
    for (int k = 0; k < n; ++k) {
      correction[k] = Real(0.0);
      for (int i = 0; i < m; ++i) correction[k] += direction[k][i] * g[i];
      moved[k] -= select(moving, correction[k], Real(0.0));
    }
    const Real size = weighted_norm(correction, weight);
    if (iteration == 0) result.distance = size;
    const Mask done = moving & (size <= small);
    result.met = result.met | done;
    moving = moving & !done & is_finite(size);
  }
  for (int i = 0; i < n; ++i) y[i] = select(result.met, moved[i], y[i]);
  return result;
}

/// `Base` with every accepted step projected.
template <class Base>
struct ProjectedSystem : Base {
  static_assert(Manifold<Base>::count > 0,
                "manyfold: projection needs constraints: variables of index 2 or 3, or invariant(t, y, p, g)");
  static constexpr bool projects = true;
};

template <class System>
constexpr bool projects() {
  return requires {
    System::projects;
  };
}

/// The system of a kernel that is compiled by itself.
#if defined(MANYFOLD_PROJECTED)
template <class Base>
using KernelConstraints = ProjectedSystem<Base>;
#else
template <class Base>
using KernelConstraints = Base;
#endif

}  // namespace manyfold
