#pragma once
// Newton's method for a few equations within a model, for initial values that follow from equations.

namespace manyfold {

/// Moves `z` to where residual(z, r) makes r zero, if there is such a point near; otherwise z stays where the search
/// ended, and the integrator's search for consistent values has the last word. Derivatives are differences; steps are
/// halved until the residual falls.
template <int n, class Residual>
constexpr void solve_block(double (&z)[n], Residual&& residual) {
  const auto magnitude = [](double x) { return x < 0.0 ? -x : x; };
  const auto size = [&](const double(&r)[n]) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += r[i] * r[i];
    return sum;
  };
  double r[n] = {};
  residual(z, r);
  for (int iteration = 0; iteration < 50 && size(r) > 0.0; ++iteration) {
    double matrix[n][n + 1] = {};
    for (int j = 0; j < n; ++j) {
      const double kept = z[j];
      const double step = 1e-7 * (magnitude(kept) + 1e-4);
      double above[n] = {};
      double below[n] = {};
      z[j] = kept + step;
      residual(z, above);
      z[j] = kept - step;
      residual(z, below);
      z[j] = kept;
      for (int i = 0; i < n; ++i) matrix[i][j] = (above[i] - below[i]) / (2.0 * step);
    }
    for (int i = 0; i < n; ++i) matrix[i][n] = r[i];
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      for (int i = k + 1; i < n; ++i) pivot = magnitude(matrix[i][k]) > magnitude(matrix[pivot][k]) ? i : pivot;
      if (!(magnitude(matrix[pivot][k]) > 0.0)) return;
      for (int j = 0; j <= n; ++j) {
        const double kept = matrix[k][j];
        matrix[k][j] = matrix[pivot][j];
        matrix[pivot][j] = kept;
      }
      for (int i = 0; i < n; ++i) {
        if (i == k) continue;
        const double factor = matrix[i][k] / matrix[k][k];
        for (int j = k; j <= n; ++j) matrix[i][j] -= factor * matrix[k][j];
      }
    }
    double next[n] = {};
    double next_r[n] = {};
    double damping = 1.0;
    for (; damping > 1e-6; damping *= 0.5) {
      for (int i = 0; i < n; ++i) next[i] = z[i] - damping * matrix[i][n] / matrix[i][i];
      residual(next, next_r);
      if (size(next_r) < size(r)) break;
    }
    if (!(size(next_r) < size(r))) return;
    for (int i = 0; i < n; ++i) {
      z[i] = next[i];
      r[i] = next_r[i];
    }
  }
}

}  // namespace manyfold
