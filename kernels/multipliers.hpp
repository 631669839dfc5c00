#pragma once
// The algebraic variables of a system of higher index from its hidden constraints: where the differential variables
// meet the constraints, their derivatives along y' = f(t, y) vanish too, and the last of them has the multipliers in
// it. Hairer & Wanner II, section VII.1.
#include "projection.hpp"

namespace manyfold {

/// Finds the algebraic variables z of `y` at t in the lanes of `lanes`, by Newton's method from what they are: 0 = g_t
/// + g_y f(t, y, z) for the constraints g(t, y) that are differentiated last, with 0 = F(t, y, z) for the other
/// algebraic equations. Lanes in which that does not converge keep theirs. `weight`: of the error norm.
template <class System, class Real>
requires(System::semi_explicit) class Multipliers {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

  static MANYFOLD_INLINE void find(const Mask& lanes, const Real& t, Real (&y)[n],
                                   const Real (&p)[System::constants_size], const Real (&weight)[n], double rtol) {
    constexpr int most_iterations = 10;
    Real z[n];
    for (int i = 0; i < n; ++i) z[i] = y[i];
    Real gradient[Constraints::size][n];
    Constraints::differentiate(t, y, p, gradient);
    Mask searching = lanes;
    Mask found(false);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      Real rest[count];
      Real matrix[count][count];
      evaluate(t, z, p, weight, rtol, gradient, rest, matrix);
      PivotedLU<Real, count> factors;
      searching = factors.factor(searching, matrix);
      factors.solve(rest);
      Real size(0.0);
      static_for<n>([&](auto i) {
        if constexpr (System::algebraic(i)) {
          const Real correction = rest[algebraic_before(i)];
          size = max(size, abs(correction) * weight[i]);
          z[i] = select(searching, z[i] - correction, z[i]);
        }
      });
      // The next correction would be of the order of the square of this one.
      const Mask done = searching & (size <= Real(1e-3));
      found = found | done;
      searching = searching & !done & is_finite(size);
    }
    for (int i = 0; i < n; ++i) y[i] = select(found, z[i], y[i]);
  }

 private:
  using Constraints = Manifold<System>;

  static constexpr int algebraic_before(int i) {
    int total = 0;
    for (int k = 0; k < i; ++k) total += System::algebraic(k) ? 1 : 0;
    return total;
  }
  static constexpr int count = algebraic_before(n);

  /// The equations for z and their derivatives.
  static MANYFOLD_INLINE void evaluate(const Real& t, const Real (&y)[n], const Real (&p)[System::constants_size],
                                       const Real (&weight)[n], double rtol,
                                       const Real (&gradient)[Constraints::size][n], Real (&rest)[count],
                                       Real (&matrix)[count][count]) {
    Real none[n];
    for (int i = 0; i < n; ++i) none[i] = Real(0.0);
    Real F[n];
    System::residual(t, y, none, p, F);
    using Moving = Dual<Real, 1>;
    Moving time(t);
    time.tangent[0] = Real(1.0);
    Moving moving[n];
    Moving g[Constraints::size];
    static_for<n>([&](auto i) {
      moving[i] = Moving(y[i]);
      if constexpr (!System::algebraic(i)) moving[i].tangent[0] = -F[i];
    });
    Constraints::evaluate(time, moving, p, g);

    Real J[System::nonzeros_y];
    Real M[System::nonzeros_dy];
    System::jacobian(t, y, none, p, weight, rtol, Real(1.0), J, M);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) matrix[i][j] = Real(0.0);
    }
    static_for<n>([&](auto i) {
      if constexpr (System::algebraic(i)) {
        constexpr int row = algebraic_before(i);
        constexpr int last = Constraints::last_of(i);
        if constexpr (last < 0) {
          rest[row] = F[i];
        } else {
          rest[row] = g[last].tangent[0];
        }
        for (int k = 0; k < System::entries_y.size; ++k) {
          const int of_equation = row_of(k);
          const int j = column_of(k);
          if (!System::algebraic(j)) continue;
          const int column = algebraic_before(j);
          if constexpr (last < 0) {
            if (of_equation == i) matrix[row][column] += J[k];
          } else {
            // f = -F in the differential equations.
            if (!System::algebraic(of_equation)) matrix[row][column] -= gradient[last][of_equation] * J[k];
          }
        }
      }
    });
  }
  static constexpr MANYFOLD_INLINE int row_of(int k) { return System::entries_y.row[k]; }
  static constexpr MANYFOLD_INLINE int column_of(int k) { return System::entries_y.column[k]; }
};

}  // namespace manyfold
