#pragma once
// Lanes that no step leads on: where a source has jumped, or a branch of the algebraic equations has ended, they go on
// behind that.
#include "../start/kept_branch.hpp"
#include "jumps.hpp"

namespace manyfold {

/// Puts the lanes of `passed` to the time `behind` and the values of `found`.
template <class System, class Real>
MANYFOLD_INLINE void go_on(const MaskOf<Real>& passed, const Real& behind, const Real& first_step,
                           const ConsistentLanes<System, Real>& found, StuckLanes<System, Real>& point) {
  const auto put = [&](Real& to, const Real& value) { to = select(passed, value, to); };
  put(point.first_step, first_step);
  put(point.t, behind);
  for (int i = 0; i < System::n; ++i) {
    put(point.y[i], found.y[i]);
    put(point.dy[i], found.dy[i]);
  }
  point.passed = point.passed | passed;
}

/// Where the lanes of `point` go on, and those that do.
template <class System, class Real>
MANYFOLD_RARE void go_behind_jump(StuckLanes<System, Real>& point) {
  constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  const auto [jumps, before, behind] = source_jump(point);
  const Mask lanes = jumps | (point.lanes & point.hopeless);
  if (!any(lanes)) return;
  ConsistentLanes<System, Real> found;
  for (int i = 0; i < n; ++i) {
    found.y[i] = point.y[i] + select(jumps, before - point.t, point.h) * point.dy[i];
    found.dy[i] = point.dy[i];
  }
  const Real span = point.span.longer_part(behind);
  find_consistent(lanes, behind, span, point.p, point.tolerances, found);
  if constexpr (several_branches<System>() && !coarse_time<Real>) {
    JumpSide<System, Real> side;
    side.t = before;
    for (int i = 0; i < n; ++i) {
      side.y[i] = point.y[i] + (before - point.t) * point.dy[i];
      side.dy[i] = point.dy[i];
    }
    for (int i = 0; i < System::constants_size; ++i) side.p[i] = point.p[i];
    JumpSide<System, Real> other_side = side;
    other_side.t = behind;
    keep_branch(jumps, span, side, other_side, point.tolerances, found);
  }
  const Mask passed = lanes & (found.status == Real(running)) & (jumps | (found.moved & found.close));
  point.elsewhere = point.elsewhere | (passed & jumps);
  go_on(passed, behind, max(found.first_step, Real(1e-10) * span), found, point);
}

/// In which lanes do variables with derivatives hardly move in the time `ahead`, or not much faster than they did
/// before steps became short? The slope of a method that fails may have become any number, unnoticed in short steps.
template <class System, class Real>
MANYFOLD_INLINE MaskOf<Real> moves_as_before(const StuckLanes<System, Real>& point, const Real& ahead) {
  constexpr double faster = 10.0;
  const Real age = point.t - point.t_before;
  const Real part = select(age == Real(0.0), Real(0.0), ahead / age);
  Real next[System::n];
  Real before[System::n];
  for (int i = 0; i < System::n; ++i) {
    const bool moves = System::derivative_occurs(i);
    next[i] = moves ? ahead * point.dy[i] : Real(0.0);
    before[i] = moves ? part * (point.y[i] - point.y_before[i]) : Real(0.0);
  }
  return weighted_norm(next, point.weight) <= Real(1.0) + Real(faster) * weighted_norm(before, point.weight);
}

/// Where hopeless lanes of `point` go on whose branch of the algebraic equations has ended.
template <class System, class Real>
MANYFOLD_RARE void change_branch(StuckLanes<System, Real>& point) {
  constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  Mask lanes = point.hopeless & !point.passed;
  const Real left = abs(point.span.end - point.t);
  Real ahead = min(point.span.negligible_step(point.t), left);
  ahead = select(point.h < Real(0.0), -ahead, ahead);
  TimePath<System, Real> path{point.t, {}, {}, point.p};
  for (int i = 0; i < n; ++i) {
    path.y[i] = point.y[i];
    path.dy[i] = point.dy[i];
  }
  // Steps may end shortly before the branch does.
  for (int k = 0; k < 3 && any(lanes); ++k) {
    ConsistentLanes<System, Real> found;
    for (int i = 0; i < n; ++i) {
      found.y[i] = path.y[i];
      found.dy[i] = path.dy[i];
    }
    Mask elsewhere(false);
    const Mask branch = BranchSearch<System, Real, TimePath<System, Real>>(point.tolerances, path)
                            .find(lanes & moves_as_before(point, ahead), point.t, ahead, point.t_before, point.y_before,
                                  found.y, found.dy, elsewhere);
    const Real behind = point.t + ahead;
    const Real span = point.span.longer_part(behind);
    if (any(branch)) find_consistent(branch, behind, span, point.p, point.tolerances, found);
    const Mask passed = branch & (found.status == Real(running)) & found.close;
    point.elsewhere = point.elsewhere | (passed & elsewhere);
    go_on(passed, behind, max(found.first_step, Real(1e-10) * span), found, point);
    lanes = lanes & !passed;
    ahead = select(point.h < Real(0.0), max(Real(10.0) * ahead, -left), min(Real(10.0) * ahead, left));
  }
}

/// Where hopeless lanes of `point` go on at whose time the algebraic equations have a kink. A method that does not
/// solve for its stages sees one side of it only: the end of a step across is off by the change of slope times h, which
/// for a steep branch is more than the tolerance at the shortest h. So variables with derivatives go on by their slope
/// for a negligible time, in which they hardly move, and the others are sought there. Halves of this time in which they
/// change most must have less and less of the change, unlike those with a jump to elsewhere.
template <class System, class Real>
MANYFOLD_RARE void cross_kink(StuckLanes<System, Real>& point) {
  constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  using Found = ConsistentLanes<System, Real>;
  Mask lanes = point.hopeless & !point.passed;
  if (!any(lanes)) return;
  Real ahead = min(point.span.negligible_step(point.t), abs(point.span.end - point.t));
  ahead = select(point.h < Real(0.0), -ahead, ahead);
  const Real span = point.span.longer_part(point.t);
  const auto find = [&](const Real& later, Found& found) {
    for (int i = 0; i < n; ++i) {
      found.y[i] = point.y[i] + (System::derivative_occurs(i) ? later * point.dy[i] : Real(0.0));
      found.dy[i] = point.dy[i];
    }
    find_consistent(lanes, point.t + later, span, point.p, point.tolerances, found);
    lanes = lanes & (found.status == Real(running));
  };
  const auto change = [&](const Real(&from)[n], const Real(&to)[n]) {
    Real difference[n];
    for (int i = 0; i < n; ++i) difference[i] = System::derivative_occurs(i) ? Real(0.0) : to[i] - from[i];
    return weighted_norm(difference, point.weight);
  };
  Found behind;
  find(ahead, behind);
  const Real whole = change(point.y, behind.y);
  Real part = whole;
  Real begin(0.0);
  Real length = ahead;
  Real first[n];
  Real last[n];
  for (int i = 0; i < n; ++i) {
    first[i] = point.y[i];
    last[i] = behind.y[i];
  }
  constexpr int halvings = 6;
  for (int k = 0; k < halvings && any(lanes); ++k) {
    length = Real(0.5) * length;
    Found middle;
    find(begin + length, middle);
    const Real early = change(first, middle.y);
    const Real late = change(middle.y, last);
    const Mask earlier = early > late;
    part = max(early, late);
    begin = select(earlier, begin, begin + length);
    for (int i = 0; i < n; ++i) {
      first[i] = select(earlier, first[i], middle.y[i]);
      last[i] = select(earlier, middle.y[i], last[i]);
    }
  }
  // Beside a pole slopes are no smaller for a negligible time.
  Real moved[n];
  for (int i = 0; i < n; ++i) {
    moved[i] = System::derivative_occurs(i) ? ahead * max(abs(point.dy[i]), abs(behind.dy[i])) : Real(0.0);
  }
  const Mask slow = weighted_norm(moved, point.weight) <= Real(1.0);
  const Mask passed = lanes & slow & (part <= max(Real(0.25) * whole, Real(1.0)));
  go_on(passed, point.t + ahead, max(behind.first_step, Real(1e-10) * span), behind, point);
}

}  // namespace manyfold
