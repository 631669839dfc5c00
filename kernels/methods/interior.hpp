#pragma once
// The residual within a step. All stages meet the constraints, and so does the end of a step: estimates that compare
// solutions at the end do not see the way of the algebraic variables, and a step may pass over a pulse of theirs. The
// residual of the dense output far from the nodes sees it, and pulses in derivatives, too. The matrix of the stages
// makes of it the error of the algebraic variables there, which is what the error test bounds and what users see
// between the steps. It costs one evaluation of the equations.
#include "../control/error_norm.hpp"
#include "../lane/static_for.hpp"
#include "dense_output.hpp"

namespace manyfold {

/// Does the error test look into the steps?
template <class System>
constexpr bool tests_interior() {
  return System::spec.error_test == ErrorTest::all;
}

/// What the residual within a step counts for in row i: `of_constraints` where that is a constraint. Multipliers of
/// higher index in the rows of derivatives are less accurate between the steps than what is tested.
template <class System>
constexpr double interior_weight(int i, double of_constraints) {
  if (System::singular_mass_matrix() || System::algebraic_equation(i)) return of_constraints;
  return System::highest_index() > 1 ? 0.0 : slope_interior_weight;
}

/// x + |change| or x - |change|, whichever is larger: two estimates of one error do not cancel, as they would by chance
/// in a step across a jump.
template <class Real>
MANYFOLD_INLINE Real away_from_zero(const Real& x, const Real& change) {
  return x + select(x < Real(0.0), -abs(change), abs(change));
}

/// The middle of the widest gap between 0, the nodes in (0, 1), and 1; with `rank` 1 of the second widest, and so on.
template <int s>
constexpr double widest_gap(const double (&c)[s], int rank = 0) {
  double narrower_than = 2.0;
  double middle = 0.5;
  for (int k = 0; k <= rank; ++k) {
    double widest = 0.0;
    for (double from = 0.0; from < 1.0;) {
      double to = 1.0;
      for (const double node : c) {
        if (node > from && node < to) to = node;
      }
      if (to - from > widest && to - from < narrower_than) {
        widest = to - from;
        middle = 0.5 * (from + to);
      }
      from = to;
    }
    narrower_than = widest;
  }
  return middle;
}

/// A place in a step, which is a struct for clang below 18, whose templates take no numbers with a fraction.
struct InteriorPoint {
  double theta;
};

/// F(t + theta h, P, P') of the dense output of an attempt, P = y + end + sum_i w_i x_i with the `weights` from number
/// `first` on: `x` [count][n] is what the method keeps of its stages, `end` [n] is y_(n+1) - y_n.
template <class System, auto weights, InteriorPoint point, int first = 0, class Real, int count>
MANYFOLD_INLINE void interior_residual(const auto& state, const Real& h, const Real (&x)[count][System::n],
                                       const Real (&end)[System::n], Real (&F)[System::n]) {
  constexpr int n = System::n;
  constexpr double theta = point.theta;
  constexpr auto at = dense_weights_at(weights, theta - 1.0);
  const Real over_h = Real(1.0) / h;
  Real Y[n];
  Real dY[n];
  for (int k = 0; k < n; ++k) {
    Y[k] = state.y[k] + end[k];
    dY[k] = Real(0.0);
    static_for<count>([&](auto i) {
      constexpr double value = at.value[i + first];
      constexpr double slope = at.slope[i + first];
      Y[k] += Real(value) * x[i][k];
      dY[k] += Real(slope) * x[i][k];
    });
    dY[k] *= over_h;
  }
  System::residual(state.t + Real(theta) * h, Y, dY, state.p, F);
}

}  // namespace manyfold
