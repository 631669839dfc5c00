#pragma once
// What a step leaves of the constraints between its stages. The stages of a step meet the constraints, and so the
// algebraic variables at its end are as accurate as the differential ones: error estimates that compare solutions at
// the end do not see how the algebraic variables went there, and a step may pass over a pulse of them. The residual of
// the constraints at a point of the dense output, far from the stages, does: with (F_y'/(gamma h) + F_y)^-1 it is the
// error of the dense output of the algebraic variables there. It takes one evaluation of the equations.
#include "../dense_output.hpp"
#include "../static_for.hpp"

namespace manyfold {

/// The middle of the widest gap between 0, the nodes in (0, 1), and 1.
template <int s>
constexpr double widest_gap(const double (&c)[s]) {
  double widest = 0.0;
  double middle = 0.5;
  double from = 0.0;
  while (from < 1.0) {
    double to = 1.0;
    for (const double node : c) {
      if (node > from && node < to) to = node;
    }
    if (to - from > widest) {
      widest = to - from;
      middle = 0.5 * (from + to);
    }
    from = to;
  }
  return middle;
}

/// Puts into `residual`, in the rows of constraints, what the dense output y_n + x_last + P(theta - 1) leaves of them
/// at theta.
template <class System, auto weights, double theta, int first = 0, class Real, int count>
MANYFOLD_INLINE void test_constraints(const auto& state, const Real& h, const Real (&x)[count][System::n],
                                      Real (&residual)[System::n]) {
  if constexpr (System::constrained()) {
    constexpr int n = System::n;
    constexpr auto at = dense_weights_at(weights, theta - 1.0);
    Real Y[n];
    Real dY[n];
    const Real over_h = Real(1.0) / h;
    for (int k = 0; k < n; ++k) {
      Y[k] = state.y[k] + x[count - 1][k];
      dY[k] = Real(0.0);
      static_for<count>([&](auto i) {
        constexpr double value = at.value[i + first];
        constexpr double slope = at.slope[i + first];
        Y[k] += Real(value) * x[i][k];
        dY[k] += Real(slope) * x[i][k];
      });
      dY[k] *= over_h;
    }
    Real inside[n];
    System::residual(state.t + Real(theta) * h, Y, dY, state.p, inside);
    static_for<n>([&](auto i) {
      if constexpr (System::singular_mass_matrix() || System::algebraic_equation(i)) residual[i] = inside[i];
    });
  }
}

}  // namespace manyfold
