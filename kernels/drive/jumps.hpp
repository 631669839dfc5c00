#pragma once
// Sources that jump: an equation with the time in it that is switched without an event, as by select(t < 1.0, a, b).
#include "../control/error_norm.hpp"
#include "../lane/static_for.hpp"
#include "time_resolution.hpp"

namespace manyfold {

/// Can variables follow a source that jumps? Algebraic variables jump with it. So do differential variables whose time
/// constant is short beside the resolution of t: no step that leads across would be accurate. At index 2 and 3 the
/// solution depends on derivatives of the source, and a jump has none. On devices the registers that this takes would
/// cost every step.
template <class System>
constexpr bool passes_jumps() {
#if defined(__CUDACC__)
  return false;
#endif
  return System::highest_index() == 1 && System::forced();
}

/// Jumps of the residual at a state's y and y', and the times next to them.
template <class Real>
struct SourceJump {
  MaskOf<Real> found;
  Real before;
  Real behind;
};

/// A copy of what an integrator knows of lanes that no step leads on, and where they go on: its own state is not passed
/// to a function that is rarely called.
template <class System, class Real>
struct StuckLanes {
  static constexpr int n = System::n;
  MaskOf<Real> lanes;
  MaskOf<Real> hopeless;
  Real t;
  TimeSpan<Real> span;
  Real h;
  Real y[n];
  Real dy[n];
  Real t_before;  ///< where the algebraic variables were, before steps became short
  Real y_before[n];
  Real p[System::constants_size];
  Real weight[n];
  Tolerances<n> tolerances;
  MaskOf<Real> passed;
  MaskOf<Real> elsewhere;  ///< those whose algebraic variables have jumped
  Real first_step;
};

/// Looks for a jump between the times t and t + h of the lanes. There is one where the residual changes by more than
/// 100 times what it changes in a step of the same length before or after, and by more than it does with y within the
/// tolerance. Bisection leads to numbers next to each other, or nearly so.
template <class System, class Real>
MANYFOLD_INLINE SourceJump<Real> source_jump(const StuckLanes<System, Real>& state) {
  constexpr int n = System::n;
  const Real& h = state.h;
  using Residual = Real[n];
  const auto residual = [&](const Real& time, Residual& F) { System::residual(time, state.y, state.dy, state.p, F); };
  Residual earlier;
  Residual before;
  Residual behind;
  Residual later;
  residual(state.t - h, earlier);
  residual(state.t, before);
  residual(state.t + h, behind);
  residual(state.t + Real(2.0) * h, later);
  Real near[n];
  for (int j = 0; j < n; ++j) {
    // Different parts of the tolerances, so that equal variables do not cancel.
    const double part = 0.5 + (7 * j % 11) / 11.0;
    near[j] = state.y[j] + Real(part) / state.weight[j];
  }
  Residual changed;
  System::residual(state.t, near, state.dy, state.p, changed);
  SourceJump<Real> result{MaskOf<Real>(false), state.t, state.t + h};
  Residual jump;  // of the rows that have one
  for (int i = 0; i < n; ++i) {
    const Real change = abs(behind[i] - before[i]);
    const Real smooth = max(abs(before[i] - earlier[i]), abs(later[i] - behind[i]));
    const auto jumps = (change > Real(100.0) * smooth) & (change > abs(changed[i] - before[i]));
    jump[i] = select(jumps, change, Real(0.0));
    result.found = result.found | (state.lanes & jumps);
  }
  if (!any(result.found)) return result;
  constexpr int halvings = 30;  // from 1e-9 of the time to the resolution of t
  for (int k = 0; k < halvings; ++k) {
    const Real middle = Real(0.5) * (result.before + result.behind);
    Residual F;
    residual(middle, F);
    Real towards(0.0);
    for (int i = 0; i < n; ++i) {
      const Real nearer = abs(behind[i] - F[i]) - abs(F[i] - before[i]);
      towards += select(jump[i] > Real(0.0), nearer / jump[i], Real(0.0));
    }
    const auto passed = towards < Real(0.0);  // between the begin and the middle
    result.behind = select(passed, middle, result.behind);
    result.before = select(passed, result.before, middle);
  }
  return result;
}

}  // namespace manyfold
