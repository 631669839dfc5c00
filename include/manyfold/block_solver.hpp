#pragma once
// Initial values that follow from equations within a model: Newton's method for a few of them, and a homotopy where
// that finds nothing, or where the model says from what to go.

// Searches that few instances need: their code is short rather than fast, and compiled in a fraction of the time.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define MANYFOLD_RARELY __attribute__((noinline, cold))
#else
#define MANYFOLD_RARELY
#endif

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
MANYFOLD_RARELY constexpr bool solve_damped(const double (&matrix)[n][n + 1], double (&step)[n][n + 1]) {
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

/// A residual that falls no more is zero up to rounding if the step is tiny that would make it zero,
template <int n>
MANYFOLD_RARELY constexpr bool is_tiny(const double (&step)[n][n + 1], const double (&z)[n]) {
  bool tiny = true;
  for (int i = 0; i < n; ++i) tiny = tiny && magnitude(step[i][n]) <= 1e-6 * magnitude(z[i]) + 1e-12;
  return tiny;
}

/// or if it is itself beside the terms that it consists of.
template <int n>
MANYFOLD_RARELY constexpr bool cancels(const double (&r)[n], const double (&matrix)[n][n + 1], const double (&z)[n]) {
  bool small = true;
  for (int i = 0; i < n; ++i) {
    double terms = 0.0;
    for (int j = 0; j < n; ++j) terms += magnitude(matrix[i][j] * z[j]);
    small = small && magnitude(r[i]) <= 1e-12 * terms;
  }
  return small;
}

template <int n>
constexpr double size(const double (&r)[n]) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += r[i] * r[i];
  return sum;
}

/// Derivatives of the residual by differences, into the first n columns.
template <int n, int rows, int columns, class Residual>
constexpr void differentiate(const double (&at)[n], Residual&& residual, double (&matrix)[rows][columns]) {
  double z[n] = {};
  for (int i = 0; i < n; ++i) z[i] = at[i];
  for (int j = 0; j < n; ++j) {
    const double step = 1e-7 * (magnitude(at[j]) + 1e-4);
    double above[n] = {};
    double below[n] = {};
    z[j] = at[j] + step;
    residual(z, above);
    z[j] = at[j] - step;
    residual(z, below);
    z[j] = at[j];
    for (int i = 0; i < n; ++i) matrix[i][j] = (above[i] - below[i]) / (2.0 * step);
  }
}

/// Down the exponential of a diode a step takes the voltage by which the current falls to 1/e: 40 of them per volt.
constexpr int most_iterations = 1000;

/// Newton's method, whose steps are halved until the residual falls. False: no zero was found.
template <int n, class Residual>
constexpr bool descend(double (&z)[n], Residual&& residual) {
  double r[n] = {};
  residual(z, r);
  const double size_at_start = size(r);
  if (size_at_start - size_at_start != 0.0) return false;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    double matrix[n][n + 1] = {};
    differentiate(z, residual, matrix);
    double solution[n][n + 1] = {};
    for (int i = 0; i < n; ++i) {
      matrix[i][n] = r[i];
      for (int j = 0; j <= n; ++j) solution[i][j] = matrix[i][j];
    }
    const bool regular = solve(solution);
    if (!regular && !solve_damped(matrix, solution)) break;
    double next[n] = {};
    double next_r[n] = {};
    double damping = 1.0;
    for (; damping > 1e-6; damping *= 0.5) {
      for (int i = 0; i < n; ++i) next[i] = z[i] - damping * solution[i][n];
      residual(next, next_r);
      if (size(next_r) < size(r)) break;
    }
    if (!(size(next_r) < size(r))) {
      // Where the matrix is singular, steps vanish in minima of the residual too.
      if ((regular && is_tiny(solution, z)) || cancels(r, matrix, z)) return true;
      break;
    }
    for (int i = 0; i < n; ++i) {
      z[i] = next[i];
      r[i] = next_r[i];
    }
  }
  // A root of higher order is found slowly.
  return size(r) <= 1e-16 * size_at_start;
}

/// The zeros of family(z, lambda, r) are a curve. It is followed from lambda = 0 to where lambda is 1: along the
/// tangent, and back to the curve across it. It passes the points where Newton's matrix is singular. Allgower & Georg,
/// Numerical Continuation Methods (1990), chapters 4 and 6.
template <int n, class Family>
class Homotopy {
 public:
  /// `z` is the zero at lambda = 0.
  constexpr Homotopy(const double (&z)[n], const Family& family) : family_(family) {
    for (int i = 0; i < n; ++i) {
      scale_[i] = z[i] != 0.0 ? magnitude(z[i]) : 1.0;
      z_[i] = z[i];
    }
  }

  /// Moves `z` near the zero at lambda = 1. The curve goes off in the `direction` (1 or -1) of lambda. False if it
  /// leads nowhere.
  MANYFOLD_RARELY constexpr bool follow(double direction, double (&z)[n]) {
    double u[n + 1] = {};  // z in units of its scale, and lambda
    for (int i = 0; i < n; ++i) u[i] = z_[i] / scale_[i];
    for (int i = 0; i <= n; ++i) tangent_[i] = i == n ? direction : 0.0;
    double length = 0.1;
    for (int step = 0; step < 500 && length > 1e-10 && turn(u); ++step) {
      double next[n + 1] = {};
      int corrections = correct(u, length, next);
      for (; corrections == 0 && length > 1e-10; corrections = correct(u, length, next)) length *= 0.25;
      const double share = next[n] >= 1.0 ? (1.0 - u[n]) / (next[n] - u[n]) : 1.0;
      for (int i = 0; i < n; ++i) z[i] = (u[i] + share * (next[i] - u[i])) * scale_[i];
      if (next[n] >= 1.0) return corrections > 0;
      for (int i = 0; i <= n; ++i) u[i] = next[i];
      if (corrections <= 2) length *= 2.0;
      if (!(size(u) < far_away)) break;
    }
    return false;
  }

 private:
  static constexpr double far_away = 1e24;  // squared
  static constexpr int most_corrections = 6;

  /// The derivatives of the family and, in the last column, its values; the tangent in the last row.
  MANYFOLD_RARELY constexpr void assemble(const double (&u)[n + 1], double (&matrix)[n + 1][n + 2]) const {
    constexpr double step = 1e-6;  // of lambda
    double z[n] = {};
    double r[n] = {};
    double below[n] = {};
    double above[n] = {};
    for (int i = 0; i < n; ++i) z[i] = u[i] * scale_[i];
    differentiate(
        z, [&](const auto& at, auto& value) { family_(at, u[n], value); }, matrix);
    family_(z, u[n], r);
    family_(z, u[n] - step, below);
    family_(z, u[n] + step, above);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) matrix[i][j] *= scale_[j];
      matrix[i][n] = (above[i] - below[i]) / (2.0 * step);
      matrix[i][n + 1] = r[i];
    }
    for (int j = 0; j <= n; ++j) matrix[n][j] = tangent_[j];
    matrix[n][n + 1] = 0.0;
  }

  /// The tangent at u, which goes on as the one before did.
  MANYFOLD_RARELY constexpr bool turn(const double (&u)[n + 1]) {
    double matrix[n + 1][n + 2] = {};
    assemble(u, matrix);
    for (int i = 0; i <= n; ++i) matrix[i][n + 1] = i == n ? 1.0 : 0.0;
    if (!solve(matrix)) return false;
    double largest = 0.0;
    for (int i = 0; i <= n; ++i) {
      tangent_[i] = matrix[i][n + 1];
      largest = magnitude(tangent_[i]) > largest ? magnitude(tangent_[i]) : largest;
    }
    for (double& component : tangent_) component /= largest;
    return largest - largest == 0.0;
  }

  /// The point of the curve some `length` further, and how many corrections that took; 0: they do not converge.
  MANYFOLD_RARELY constexpr int correct(const double (&u)[n + 1], double length, double (&next)[n + 1]) const {
    for (int i = 0; i <= n; ++i) next[i] = u[i] + length * tangent_[i];
    for (int correction = 1; correction <= most_corrections; ++correction) {
      double matrix[n + 1][n + 2] = {};
      assemble(next, matrix);
      if (!solve(matrix)) return 0;
      double moved = 0.0;
      for (int i = 0; i <= n; ++i) {
        next[i] -= matrix[i][n + 1];
        moved += matrix[i][n + 1] * matrix[i][n + 1];
      }
      if (moved <= 1e-12 * (1.0 + size(next))) return correction;
    }
    return 0;
  }

  const Family& family_;
  double z_[n] = {};
  double scale_[n] = {};
  double tangent_[n + 1] = {};
};

/// residual(z, r), or one with the operator homotopy, residual(z, lambda, r), at a fixed lambda.
template <class Residual>
struct Fixed {
  const Residual& residual;
  double lambda;

  constexpr void operator()(const auto& z, auto& r) const {
    if constexpr (requires { residual(z, lambda, r); }) {
      residual(z, lambda, r);
    } else {
      residual(z, r);
    }
  }
};

/// The equations along a homotopy: the model's own, from simplified to actual ones, or Newton's, whose zero at lambda =
/// 0 is where the search began. One type for both, so that they are compiled once.
template <int n, class Residual>
struct Deformation {
  Fixed<Residual> fixed;
  bool is_newtons;
  double r_at_start[n];

  constexpr void operator()(const auto& at, double lambda, auto& value) const {
    if (is_newtons) {
      fixed(at, value);
      for (int i = 0; i < n; ++i) value[i] -= (1.0 - lambda) * r_at_start[i];
    } else {
      Fixed<Residual>{fixed.residual, lambda}(at, value);
    }
  }
};

/// Moves `z` to a zero by Newton's homotopy F(z) = (1 - lambda) F(z_0). False, and `z` as it was, if there none is
/// found.
template <int n, class Residual>
MANYFOLD_RARELY constexpr bool find_along_homotopy(double (&z)[n], const Fixed<Residual>& residual) {
  double start[n] = {};
  for (int i = 0; i < n; ++i) start[i] = z[i];
  Deformation<n, Residual> family = {residual, true, {}};
  residual(start, family.r_at_start);
  Homotopy homotopy(start, family);
  const auto reaches = [&](double direction) { return homotopy.follow(direction, z) && descend(z, residual); };
  if (reaches(1.0) || reaches(-1.0)) return true;
  for (int i = 0; i < n; ++i) z[i] = start[i];
  return false;
}

/// Moves `z` to a zero of the residual: by Newton's method, or by Newton's homotopy.
template <int n, class Residual>
constexpr bool find_zero_of(double (&z)[n], const Fixed<Residual>& residual) {
  double start[n] = {};
  for (int i = 0; i < n; ++i) start[i] = z[i];
  if (descend(z, residual)) return true;
  for (int i = 0; i < n; ++i) z[i] = start[i];
  return find_along_homotopy(z, residual);
}

/// Moves `z` to a zero of residual(z, r). Of residual(z, lambda, r), equations with the operator homotopy, simplified
/// at lambda = 0 and what they are at lambda = 1, the zero is the one to which that of the simplified ones leads; where
/// it leads nowhere, any. False, and `z` as it was, if there none is found.
template <int n, class Residual>
constexpr bool find_zero(double (&z)[n], const Residual& residual) {
  const Fixed<Residual> actual = {residual, 1.0};
  if constexpr (requires { residual(z, 1.0, z); }) {
    double start[n] = {};
    for (int i = 0; i < n; ++i) start[i] = z[i];
    if (find_zero_of(z, Fixed<Residual>{residual, 0.0})) {
      const Deformation<n, Residual> family = {actual, false, {}};
      Homotopy homotopy(z, family);
      if (homotopy.follow(1.0, z) && descend(z, actual)) return true;
    }
    for (int i = 0; i < n; ++i) z[i] = start[i];
  }
  return find_zero_of(z, actual);
}

}  // namespace block_solver

/// Moves `z` to where the residual is zero, if that is found from there; otherwise z becomes NaN.
template <int n, class Residual>
constexpr void solve_block(double (&z)[n], const Residual& residual) {
  if (block_solver::find_zero(z, residual)) return;
  for (double& value : z) {
    const double zero = value - value;
    value = zero / zero;
  }
}

/// The same for unknowns of which a few are guessed, from which the others follow by torn(guess, r). Far from the
/// solution they may follow to where no number is; then all are moved, from their own starts. The first of `z` are
/// those of `guess`.
template <int all, int n, class Residual, class Torn>
constexpr void solve_block(double (&z)[all], double (&guess)[n], const Residual& residual, const Torn& torn) {
  if (block_solver::find_zero(guess, torn)) return;
  solve_block(z, residual);
  for (int i = 0; i < n; ++i) guess[i] = z[i];
}

/// In the place of an initial value, until it is set or found. NaN.
inline constexpr double unset = __builtin_bit_cast(double, 0x7ff8ULL << 48);

/// An initial value, or `otherwise` if it is not set.
constexpr double set_or(double value, double otherwise) {
  return value == value ? value : otherwise;
}

/// `value`, or `otherwise` where it is not finite: what follows from equations may divide by zero where others serve.
constexpr double finite_or(double value, double otherwise) {
  return value - value == 0.0 ? value : otherwise;
}

}  // namespace manyfold
