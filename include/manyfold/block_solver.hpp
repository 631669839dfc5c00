#pragma once
// Initial values that follow from equations within a model: Newton's method for a few of them.

namespace manyfold {

namespace block_solver {

constexpr double magnitude(double x) {
  return x < 0.0 ? -x : x;
}

/// Gauss-Jordan: the right-hand side in the last column becomes the solution. False if a pivot is zero.
template <int n>
constexpr bool solve(double (&matrix)[n][n + 1]) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) pivot = magnitude(matrix[i][k]) > magnitude(matrix[pivot][k]) ? i : pivot;
    if (!(magnitude(matrix[pivot][k]) > 0.0)) return false;
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
  for (int i = 0; i < n; ++i) matrix[i][n] /= matrix[i][i];
  return true;
}

/// The step of Levenberg and Marquardt, where the matrix of Newton's method is singular: what the equations do
/// determine there moves first. False if that is nothing.
template <int n>
constexpr bool solve_damped(const double (&matrix)[n][n + 1], double (&step)[n][n + 1]) {
  double trace = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= n; ++j) {
      step[i][j] = 0.0;
      for (int k = 0; k < n; ++k) step[i][j] += matrix[k][i] * matrix[k][j];
    }
    trace += step[i][i];
  }
  for (int i = 0; i < n; ++i) step[i][i] += 1e-6 * trace;
  return solve(step);
}

/// Where the residual falls no more, is it zero up to rounding? Its step is tiny then, or it is itself beside the terms
/// that it consists of.
template <int n>
constexpr bool is_rounding(const double (&z)[n], const double (&r)[n], const double (&step)[n],
                           const double (&matrix)[n][n + 1]) {
  bool still = true;
  bool cancels = true;
  for (int i = 0; i < n; ++i) {
    double terms = 0.0;
    for (int j = 0; j < n; ++j) terms += magnitude(matrix[i][j] * z[j]);
    still = still && magnitude(step[i]) <= 1e-6 * magnitude(z[i]) + 1e-12;
    cancels = cancels && magnitude(r[i]) <= 1e-12 * terms;
  }
  return still || cancels;
}

}  // namespace block_solver

/// Moves `z` to where residual(z, r) makes r zero, if there is such a point near; otherwise z becomes NaN. Derivatives
/// are differences; steps are halved until the residual falls.
template <int n, class Residual>
constexpr void solve_block(double (&z)[n], Residual&& residual) {
  const auto size = [&](const double(&r)[n]) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += r[i] * r[i];
    return sum;
  };
  double r[n] = {};
  residual(z, r);
  const double size_at_start = size(r);
  bool found = false;
  for (int iteration = 0; iteration < 100; ++iteration) {
    double matrix[n][n + 1] = {};
    for (int j = 0; j < n; ++j) {
      const double kept = z[j];
      const double step = 1e-7 * (block_solver::magnitude(kept) + 1e-4);
      double above[n] = {};
      double below[n] = {};
      z[j] = kept + step;
      residual(z, above);
      z[j] = kept - step;
      residual(z, below);
      z[j] = kept;
      for (int i = 0; i < n; ++i) matrix[i][j] = (above[i] - below[i]) / (2.0 * step);
    }
    double solution[n][n + 1] = {};
    for (int i = 0; i < n; ++i) {
      matrix[i][n] = r[i];
      for (int j = 0; j <= n; ++j) solution[i][j] = matrix[i][j];
    }
    if (!block_solver::solve(solution) && !block_solver::solve_damped(matrix, solution)) break;
    double next[n] = {};
    double next_r[n] = {};
    double damping = 1.0;
    for (; damping > 1e-6; damping *= 0.5) {
      for (int i = 0; i < n; ++i) next[i] = z[i] - damping * solution[i][n];
      residual(next, next_r);
      if (size(next_r) < size(r)) break;
    }
    if (!(size(next_r) < size(r))) {
      double step[n] = {};
      for (int i = 0; i < n; ++i) step[i] = solution[i][n];
      found = block_solver::is_rounding(z, r, step, matrix);
      break;
    }
    for (int i = 0; i < n; ++i) {
      z[i] = next[i];
      r[i] = next_r[i];
    }
  }
  // A root of higher order is found slowly.
  found = found || size(r) <= 1e-16 * size_at_start;
  for (int i = 0; i < n && !found; ++i) z[i] = (r[i] - r[i]) / (r[i] - r[i]);
}

/// `value`, or `otherwise` where it is not finite: what follows from equations may divide by zero where others serve.
constexpr double finite_or(double value, double otherwise) {
  return value - value == 0.0 ? value : otherwise;
}

}  // namespace manyfold
