#pragma once
// Sources that jump: an equation with the time in it that is switched without an event, as by select(t < 1.0, a, b).
#include "../control/error_norm.hpp"
#include "../lane/static_for.hpp"

namespace manyfold {

/// A step that is negligible beside the time: errors within it are passed over if they do not fall with h.
template <class Real>
MANYFOLD_INLINE Real negligible_step(const Real& t, const Real& t_end) {
  return max(Real(1e-9) * abs(t), Real(1e3 * epsilon<Real>) * abs(t_end));
}

/// Can algebraic variables follow a source that jumps? At index 2 and 3 its derivatives count, which a jump has not.
template <class System>
constexpr bool passes_jumps() {
  if (System::highest_index() > 1 || !System::forced()) return false;
  if (System::singular_mass_matrix()) return true;
  for (int j = 0; j < System::n; ++j) {
    if (!System::derivative_occurs(j)) return true;
  }
  return false;
}

/// Lanes in which the residual at (y, y') jumps between the times t and t + h of the state. It changes there by more
/// than 100 times what it changes in a step of the same length before or after, and by more than it does with y within
/// the tolerance.
template <class System, class State, class Real>
MANYFOLD_OUTLINE MaskOf<Real> source_jumps(const State& state, const Real& h) {
  constexpr int n = System::n;
  Real F[4][n];
  for (int k = 0; k < 4; ++k) {
    const Real time = state.t + Real(k - 1.0) * h;
    System::residual(time, state.y, state.dy, state.p, F[k]);
  }
  Real near[n];
  for (int j = 0; j < n; ++j) {
    // Different parts of the tolerances, so that equal variables do not cancel.
    const double part = 0.5 + (7 * j % 11) / 11.0;
    near[j] = state.y[j] + Real(part) / state.weight[j];
  }
  Real changed[n];
  System::residual(state.t, near, state.dy, state.p, changed);
  MaskOf<Real> result(false);
  for (int i = 0; i < n; ++i) {
    const Real jump = abs(F[2][i] - F[1][i]);
    const Real smooth = max(abs(F[1][i] - F[0][i]), abs(F[3][i] - F[2][i]));
    result = result | ((jump > Real(100.0) * smooth) & (jump > abs(changed[i] - F[1][i])));
  }
  return result;
}

}  // namespace manyfold
