#pragma once
// What Runge-Kutta methods of all families have in common: the end of a step and its dense output.
#include "../lane/static_for.hpp"
#include "step.hpp"

namespace manyfold {

/// sum_i weights.at[row][first + i] x_i in component k.
template <auto weights, int row, int first = 0, class Real, int count, int n>
MANYFOLD_INLINE Real combination(const Real (&x)[count][n], int k) {
  Real sum(0.0);
  static_for<count>([&](auto i) {
    constexpr double weight = weights.at[row][first + i];
    sum += Real(weight) * x[i][k];
  });
  return sum;
}

/// Makes the attempted step the last accepted one in the lanes of `lanes`: `coefficient(k, i)`, component i of the
/// coefficient of u^(k+1) in the dense output, which is of degree `degree`; `increment(i)` = y_(n+1) - y_n; then
/// `slope(i)` = y'. The path may be of a higher degree.
template <int degree, class State, class Real>
MANYFOLD_INLINE void accept_step(const MaskOf<Real>& lanes, State& state, const Real& h, auto&& coefficient,
                                 auto&& increment, auto&& slope) {
  constexpr int n = State::n;
  state.path.h = select(lanes, h, state.path.h);
  static_for<State::Path::size>([&](auto k) {
    for (int i = 0; i < n; ++i) {
      Real value(0.0);
      if constexpr (k < degree) value = coefficient(k, i);
      state.path.coefficient[k][i] = select(lanes, value, state.path.coefficient[k][i]);
    }
  });
  for (int i = 0; i < n; ++i) {
    state.y[i] = select(lanes, state.y[i] + increment(i), state.y[i]);
    state.dy[i] = select(lanes, slope(i), state.dy[i]);
  }
}

}  // namespace manyfold
