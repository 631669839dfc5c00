#pragma once
// Lanes that no step leads on: where a source has jumped, or a branch of the algebraic equations has ended, they go on
// behind that.
#include "../start/branch_search.hpp"
#include "../start/consistent_lanes.hpp"
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
  const Real span = max(abs(point.t_end - behind), abs(behind));
  find_consistent(lanes, behind, span, point.p, point.tolerances, found);
  const Mask passed = lanes & (found.status == Real(running)) & (jumps | (found.moved & found.close));
  point.elsewhere = point.elsewhere | (passed & jumps);
  go_on(passed, behind, max(found.first_step, Real(1e-10) * span), found, point);
}

/// Where hopeless lanes of `point` go on whose branch of the algebraic equations has ended.
template <class System, class Real>
MANYFOLD_RARE void change_branch(StuckLanes<System, Real>& point) {
  constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  Mask lanes = point.hopeless & !point.passed;
  Real ahead = negligible_step(point.t, point.t_end);
  ahead = select(point.h < Real(0.0), -ahead, ahead);
  // Steps may end shortly before the branch does.
  for (int k = 0; k < 3 && any(lanes); ++k) {
    ConsistentLanes<System, Real> found;
    for (int i = 0; i < n; ++i) {
      found.y[i] = point.y[i];
      found.dy[i] = point.dy[i];
    }
    Mask elsewhere(false);
    const Mask branch = BranchSearch<System, Real>(point.tolerances, point.p)
                            .find(lanes, point.t, ahead, point.t_before, point.y_before, found.y, found.dy, elsewhere);
    const Real behind = point.t + ahead;
    const Real span = max(abs(point.t_end - behind), abs(behind));
    if (any(branch)) find_consistent(branch, behind, span, point.p, point.tolerances, found);
    const Mask passed = branch & (found.status == Real(running)) & found.close;
    point.elsewhere = point.elsewhere | (passed & elsewhere);
    go_on(passed, behind, max(found.first_step, Real(1e-10) * span), found, point);
    lanes = lanes & !passed;
    ahead = Real(10.0) * ahead;
  }
}

}  // namespace manyfold
