#pragma once
// The residual within a step. All stages meet the constraints, and so does the end of a step. So estimates that compare
// solutions at the end do not see the way of the algebraic variables, and a step may pass over a pulse of theirs. The
// residual of the dense output far from the nodes sees such pulses, and those in derivatives. The matrix of the stages
// turns it into the error of the algebraic variables there. The error test bounds that error, which users see between
// the steps. It costs one evaluation of the equations.
#include "../control/error_norm.hpp"
#include "../lane/static_for.hpp"
#include "dense_output.hpp"

namespace manyfold {

/// Does the error test look into the steps?
template <class System>
constexpr bool tests_interior() {
  return System::spec.error_test == ErrorTest::all;
}

/// The weight of the residual within a step in row i: `of_constraints` if that is a constraint. At index 3 multipliers
/// in the rows of derivatives are less accurate between the steps than the tested variables.
template <class System>
constexpr double interior_weight(int i, double of_constraints) {
  if (System::singular_mass_matrix() || System::algebraic_equation(i)) return of_constraints;
  return System::highest_index() > 2 ? 0.0 : slope_interior_weight;
}

/// x + |change| or x - |change|, whichever is larger: two estimates of one error do not cancel, as they would by chance
/// in a step across a jump.
template <class Real>
MANYFOLD_INLINE Real away_from_zero(const Real& x, const Real& change) {
  return x + select(x < Real(0.0), -abs(change), abs(change));
}

/// That of two numbers which is farther from zero; if one is not a number, it.
template <class Real>
MANYFOLD_INLINE Real farther_from_zero(const Real& x, const Real& y) {
  return select(abs(y) <= abs(x), x, y);
}

/// Where the residual within a step is evaluated: that of all equations at the first `of_all` points, and that of the
/// abrupt equations at the others too. Sources may switch on and off at any time, and bodies touch. Methods of one
/// evaluation a step see that, because their steps are short. The stages of a long step may lie before and after.
struct InteriorPoints {
  static constexpr int most = 16;
  int of_all = 0;
  int count = 0;
  double theta[most] = {};

  constexpr void add(double point) { theta[count++] = point; }
};

/// The longest part of a step in which no look is taken at abrupt equations.
inline constexpr double longest_unseen = 0.125;

/// Between 0, the nodes in (0, 1), the points, and 1.
struct Gap {
  double length = 0.0;
  double middle = 0.5;
};
template <int s>
constexpr Gap widest_gap(const double (&c)[s], const InteriorPoints& points = {}) {
  Gap widest;
  for (double from = 0.0; from < 1.0;) {
    double to = 1.0;
    const auto end_at = [&](double node) {
      if (node > from && node < to) to = node;
    };
    for (const double node : c) end_at(node);
    for (int k = 0; k < points.count; ++k) end_at(points.theta[k]);
    // Gaps that differ by rounding count as alike: the first one is the widest.
    if (to - from > widest.length + 1e-12) widest = {to - from, 0.5 * (from + to)};
    from = to;
  }
  return widest;
}

/// The `points` and those that System's equations need besides, for a method with nodes c. Methods of one or two stages
/// take short steps.
template <class System, int s>
constexpr InteriorPoints interior_points(const double (&c)[s], InteriorPoints points) {
  points.of_all = points.count;
  if constexpr (!tests_interior<System>()) {
    points = {};
  } else if constexpr (s > 2 && System::abrupt()) {
    for (Gap gap = widest_gap(c, points); gap.length > longest_unseen; gap = widest_gap(c, points)) {
      points.add(gap.middle);
    }
  }
  return points;
}

/// In the middles of the widest gaps, as many as `of_all`, and as above.
template <class System, int s>
constexpr InteriorPoints interior_points(const double (&c)[s], int of_all) {
  InteriorPoints points;
  while (points.count < of_all) points.add(widest_gap(c, points).middle);
  return interior_points<System>(c, points);
}

/// Is equation i looked at at this point?
template <class System>
constexpr bool is_looked_at(const InteriorPoints& points, int point, int i) {
  return point < points.of_all || System::abrupt(i);
}

/// A place in a step, which is a struct for clang below 18, whose templates take no numbers with a fraction.
struct InteriorPoint {
  double theta;
};

/// F(t + theta h, P, P') of the dense output of an attempt, P = y + end + sum_i w_i x_i with the `weights` from number
/// `first` on: `x` [count][n] is what the method keeps of its stages, `end` [n] is y_(n+1) - y_n.
template <class System, auto weights, InteriorPoint point, int first, class Real, int count>
MANYFOLD_INLINE void interior_residual(const auto& state, const Real& h, const Real& over_h,
                                       const Real (&x)[count][System::n], const Real (&end)[System::n],
                                       Real (&F)[System::n]) {
  constexpr int n = System::n;
  constexpr double theta = point.theta;
  constexpr auto at = dense_weights_at(weights, theta - 1.0);
  Real Y[n];
  Real dY[n];
  for_each_index<n>([&](auto k) {
    Y[k] = state.y[k] + end[k];
    dY[k] = Real(0.0);
    static_for<count>([&](auto i) {
      constexpr double value = at.value[i + first];
      constexpr double slope = at.slope[i + first];
      Y[k] += Real(value) * x[i][k];
      dY[k] += Real(slope) * x[i][k];
    });
    dY[k] *= over_h;
  });
  System::residual(state.t + Real(theta) * h, Y, dY, state.p, F);
}

/// Of that the rows of abrupt equations. Compilers leave out what only others need.
template <class System, auto weights, InteriorPoint point, int first, class Real, int count>
MANYFOLD_FLAT void abrupt_residual(const auto& state, const Real& h, const Real& over_h,
                                   const Real (&x)[count][System::n], const Real (&end)[System::n],
                                   Real (&F)[System::n]) {
  Real residual[System::n];
  interior_residual<System, weights, point, first>(state, h, over_h, x, end, residual);
  static_for<System::n>([&](auto i) {
    if constexpr (System::abrupt(i)) F[i] = residual[i];
  });
}

/// Calls visit(number, F) with the residual at each of the `points`: where `is_looked_at` in its row, F[i] is known.
template <class System, auto weights, InteriorPoints points, int first = 0, class Real, int count>
MANYFOLD_INLINE void for_each_interior_point(const auto& state, const Real& h, const Real (&x)[count][System::n],
                                             const Real (&end)[System::n], auto&& visit) {
  const Real over_h = Real(1.0) / h;
  static_for<points.count>([&](auto number) {
    constexpr InteriorPoint point{points.theta[number]};
    Real F[System::n];
    if constexpr (number < points.of_all) {
      interior_residual<System, weights, point, first>(state, h, over_h, x, end, F);
    } else {
      abrupt_residual<System, weights, point, first>(state, h, over_h, x, end, F);
    }
    visit(number, F);
  });
}

}  // namespace manyfold
