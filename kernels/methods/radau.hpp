#pragma once
// Fully implicit Runge-Kutta methods with transformed stage systems: Radau IIA and Lobatto IIIC. Hairer & Wanner II,
// sections IV.5 and IV.8; several orders with one code: Hairer & Wanner, J. Comput. Appl. Math. 111 (1999).
//
// Stages Y_i = y_n + z_i solve F(t_n + c_i h, Y_i, Y'_i) = 0 with Y'_i = (1/h) sum_j (A^-1)_ij z_j. Newton's method in
// the variables w = T^-1 z falls apart into one real system with (gamma/h) F_y' + F_y, where the number of stages is
// odd, and, per complex pair, one complex system with ((alpha + i beta)/h) F_y' + F_y.
#include "../stage/stage_solver.hpp"
#include "interior.hpp"
#include "runge_kutta.hpp"
#include "tableaux/collocation.hpp"

namespace manyfold {

namespace collocation {

template <int s>
struct SquareMatrix {
  double at[s][s] = {};
};

/// Inverse by Gauss-Jordan elimination with row exchanges, at compile time.
template <int s>
constexpr SquareMatrix<s> inverse(SquareMatrix<s> a) {
  SquareMatrix<s> result;
  for (int i = 0; i < s; ++i) result.at[i][i] = 1.0;
  for (int k = 0; k < s; ++k) {
    int pivot = k;
    for (int i = k + 1; i < s; ++i) {
      const double x = a.at[i][k] < 0.0 ? -a.at[i][k] : a.at[i][k];
      const double y = a.at[pivot][k] < 0.0 ? -a.at[pivot][k] : a.at[pivot][k];
      if (x > y) pivot = i;
    }
    for (int j = 0; j < s; ++j) {
      const double x = a.at[k][j];
      a.at[k][j] = a.at[pivot][j];
      a.at[pivot][j] = x;
      const double y = result.at[k][j];
      result.at[k][j] = result.at[pivot][j];
      result.at[pivot][j] = y;
    }
    const double diagonal = a.at[k][k];
    for (int j = 0; j < s; ++j) {
      a.at[k][j] /= diagonal;
      result.at[k][j] /= diagonal;
    }
    for (int i = 0; i < s; ++i) {
      if (i == k) continue;
      const double multiplier = a.at[i][k];
      for (int j = 0; j < s; ++j) {
        a.at[i][j] -= multiplier * a.at[k][j];
        result.at[i][j] -= multiplier * result.at[k][j];
      }
    }
  }
  return result;
}

/// A^-1
template <class Tableau>
constexpr auto inverse_of_A() {
  SquareMatrix<Tableau::stages> a;
  for (int i = 0; i < Tableau::stages; ++i) {
    for (int j = 0; j < Tableau::stages; ++j) a.at[i][j] = Tableau::A[i][j];
  }
  return inverse(a);
}

/// Degree of the polynomial through y_n and the stages. The first stage of Lobatto IIIC, at c_1 = 0, gives way to y_n.
template <class Tableau>
inline constexpr int degree = Tableau::c[0] == 0.0 ? Tableau::stages - 1 : Tableau::stages;

/// Coefficients of that polynomial in u = theta - 1: P(u) - y_(n+1) = sum_k u^(k+1) sum_j D_kj z_j. It takes the values
/// z_j - z_s at u = c_j - 1 and -z_s at u = -1. For Radau IIA it is the collocation polynomial.
template <class Tableau>
constexpr auto polynomial_from_stages() {
  constexpr int s = Tableau::stages;
  constexpr int size = degree<Tableau>;
  SquareMatrix<size> powers;
  double differences[size][s] = {};
  for (int row = 0; row < size; ++row) {
    // Rows: theta = 0, then the nodes between 0 and 1.
    const int stage = row - 1 + s - size;
    const double u = (row == 0 ? 0.0 : Tableau::c[stage]) - 1.0;
    double power = u;
    for (int k = 0; k < size; ++k) {
      powers.at[row][k] = power;
      power *= u;
    }
    differences[row][s - 1] = -1.0;
    if (row > 0) differences[row][stage] += 1.0;
  }
  const SquareMatrix<size> inverse_powers = inverse(powers);
  DenseWeights<s, size> result;
  for (int k = 0; k < size; ++k) {
    for (int j = 0; j < s; ++j) {
      for (int row = 0; row < size; ++row) result.at[k][j] += inverse_powers.at[k][row] * differences[row][j];
    }
  }
  return result;
}

/// The same of the polynomial whose slopes at the nodes are those of the stages.
template <class Tableau>
constexpr auto polynomial_from_slopes() {
  constexpr int s = Tableau::stages;
  SquareMatrix<s> powers;
  for (int i = 0; i < s; ++i) {
    double power = 1.0;
    for (int k = 0; k < s; ++k) {
      powers.at[i][k] = (k + 1) * power;
      power *= Tableau::c[i] - 1.0;
    }
  }
  const SquareMatrix<s> inverse_powers = inverse(powers);
  const SquareMatrix<s> inverse_A = inverse_of_A<Tableau>();
  DenseWeights<s, s> result;
  for (int k = 0; k < s; ++k) {
    for (int j = 0; j < s; ++j) {
      for (int i = 0; i < s; ++i) result.at[k][j] += inverse_powers.at[k][i] * inverse_A.at[i][j];
    }
  }
  return result;
}

/// Of the residual of the collocation polynomial, which vanishes at the nodes: what it is at t_n relative to theta. For
/// Lobatto IIIC, whose polynomial does not collocate at t_n, 0.
template <class Tableau>
constexpr double residual_at_start(double theta) {
  double ratio = 1.0;
  for (const double c : Tableau::c) ratio *= c / (c - theta);
  return ratio;
}

}  // namespace collocation

template <class Tableau_, class System_, class Real_>
class Collocation {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  /// Real eigenvalues of A^-1, and pairs of complex ones.
  static constexpr int reals = s % 2;
  static constexpr int pairs = s / 2;
  /// Is the dense output the integral of the slopes at the nodes? Y_1 of Lobatto IIIC is not y_n, so that the
  /// polynomial through the values has one node less and is of lower order. Where constraints alone determine a
  /// variable, as at index 2, the two agree to leading order.
  static constexpr bool dense_by_slopes =
      Tableau::c[0] == 0.0 && !System::singular_mass_matrix() && System::highest_index() <= 2;
  static constexpr int degree = dense_by_slopes ? s : collocation::degree<Tableau>;
  /// More stages converge more slowly: Hairer & Wanner (1999).
  static constexpr int most_newton_iterations = s > 3 ? 7 + (s - 3) * 5 / 2 : 7;
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = false;
  using Matrices = Linearisation<System, Real>;
  struct Memory : Matrices::Memory {};
  using State = LaneState<System, Real, DensePolynomial<Real, n, degree>, Memory>;
  using RealFactors = Factors<Real, typename Matrices::Structure>;
  using ComplexFactors = Factors<Complex<Real>, typename Matrices::Structure>;
  using Team = TeamOf<System>;
  struct Workspace {
    typename Matrices::Workspace matrices;
    typename RealFactors::Workspace real;
    typename ComplexFactors::Workspace complex[pairs > 0 ? pairs : 1];
  };
  static constexpr bool keeps = Matrices::template keeps<RealFactors>;

  /// The tolerance given to the error test. The estimate is O(h^q), the error of the solution O(h^p): where q < p, the
  /// power q/p of the tolerance makes the error follow rtol, as 4/5 does for five and, from above, for higher orders,
  /// whose steps are too long for the smaller powers to hold. (RADAU5 takes 0.1 rtol^(2/3), with which the error falls
  /// more slowly than rtol: measured on the pendulum, by a factor of 30 from 1e-4 to 1e-8.) The error of Lobatto IIIC
  /// hardly falls faster than the estimate where equations are stiff.
  static MANYFOLD_INLINE double internal_rtol(double rtol) {
    constexpr bool lobatto = Tableau::c[0] == 0.0;
    constexpr double power = lobatto ? 1.0 : max(0.8, double(Tableau::error_order) / Tableau::order);
    return 0.4 * pow(rtol, min(1.0, power));
  }

  /// Stage errors relative to the tolerance, and not below what rounding allows. Hairer & Wanner II, p. 121; RADAU5's
  /// code for the lower bound. What is left in the constraints of a system of higher index returns in the next step's
  /// estimate, divided by c_1 for each differentiation and however short that step: it must be smaller by as much.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    constexpr double c = Tableau::c[s > 1 && Tableau::c[0] == 0.0 ? 1 : 0];
    double tolerance = min(0.03, sqrt(internal_rtol));
    for (int k = 1; k < System::highest_index(); ++k) tolerance *= c;
    // What is left of velocities, which are corrected with the factor h, adds up.
    if constexpr (measures_velocities) tolerance *= c;
    return max(tolerance, norm_of_rounding<Real>(internal_rtol));
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    matrices_.use(workspace.matrices, team);
    real_factors_.use(workspace.real, team);
    static_for<pairs>([&](auto pair) { complex_factors_[pair].use(workspace.complex[pair], team); });
  }

  /// Tries the step t ... t + h in the lanes of `live`. `stale`: lanes whose Jacobian must be evaluated at (t, y).
  /// `cautious`: lanes at a start or after a rejection, whose error is estimated twice where the first estimate fails.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& cautious, auto& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    const Real over_h = Real(1.0) / h;
    Memory& memory = state.memory;
    result.singular = matrices_.template renew<keeps>(live, stale, state.ahead, state, memory, h, work,
                                                      [&](const Mask& mask) { return factor(mask, over_h); });
    result.renewed = matrices_.renewed();
    const Mask solvable = live & !result.singular;

    Real w[s][n];
    predict(state, h, w);
    const auto newton = solve_newton<Real, System::highest_index()>(
        within_rounding(control), solvable, state.patient, state.contraction, [&](const Mask& iterating) {
          Real dw[s][n];
          stage_residuals(state, h, over_h, dw);
          for_each_system(dw, [](auto& factors, auto& b) { factors.solve(b); });
          return correct(iterating, state.weight, dw, w);
        });
    report(newton, live, result, work);
    result.error = estimate_error(newton.converged, cautious, state, h, over_h, work);
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, auto& state, const Real& h) {
    const Real over_h = Real(1.0) / h;
    // The slope is the last stage's: c_s = 1.
    accept_step<degree>(
        accepted, state, h, [&](auto k, int i) { return combine<dense, k>(z_, i); },
        [&](int i) { return z_[s - 1][i]; }, [&](int i) { return combine<inverse_A, s - 1>(z_, i) * over_h; });
    if constexpr (dense_by_slopes && System::highest_index() == 2) interpolate_forces(accepted, state.path);
  }

 protected:
  /// Multipliers are not integrals. What their slopes make of errors of the values grows where the next step
  /// extrapolates it: their polynomial goes through the values.
  MANYFOLD_INLINE void interpolate_forces(const Mask& lanes, auto& path) const {
    static_for<n>([&](auto i) {
      if constexpr (System::is_force(i)) {
        static_for<degree>([&](auto k) {
          Real value(0.0);
          if constexpr (k < collocation::degree<Tableau>) value = combine<polynomial, k>(z_, i);
          path.coefficient[k][i] = select(lanes, value, path.coefficient[k][i]);
        });
      }
    });
  }

  // The parts of an attempt, in the order in which they come.

  /// Multipliers have the rounding errors of positions divided by h^2, which no iteration makes smaller. With a
  /// hundredth of the tolerance, next steps see no more of them than they have themselves.
  static MANYFOLD_INLINE NewtonControl within_rounding(NewtonControl control) {
    control.rounding = 0.01;
    return control;
  }

  /// Factorises the real and the complex iteration matrices in the lanes of `mask`; returns those where none is
  /// singular.
  MANYFOLD_INLINE Mask factor(const Mask& mask, const Real& over_h) {
    Mask good = mask;
    if constexpr (reals == 1) {
      const Real shift = Real(Tableau::gamma) * over_h;
      good = real_factors_.template factor<keeps>(mask,
                                                  [&](auto k) { return matrices_.template shifted<Real>(k, shift); });
    }
    if constexpr (pairs > 0) {
      static_for<pairs>([&](auto pair) {
        constexpr double alpha = Tableau::alpha[pair];
        constexpr double beta = Tableau::beta[pair];
        const Complex<Real> complex_shift{Real(alpha) * over_h, Real(beta) * over_h};
        good = good & complex_factors_[pair].template factor<keeps>(
                          mask, [&](auto k) { return matrices_.template shifted<Complex<Real>>(k, complex_shift); });
      });
    }
    return good;
  }

  /// Starting values: the last step's polynomial, extrapolated, (IV.8.5); z and w = T^-1 z.
  MANYFOLD_INLINE void predict(const auto& state, const Real& h, Real (&w)[s][n]) {
    const Real ratio = h / state.path.h;
    static_for<s>([&](auto i) {
      constexpr double c = Tableau::c[i];
      const Real u = Real(c) * ratio;
      for (int k = 0; k < n; ++k) z_[i][k] = state.path.increment(k, u);
    });
    transform<true>(z_, w);
  }

  /// Right-hand sides of the transformed systems: (T^-1 x I) R with R_i = F(t + c_i h, y + z_i, (1/h) sum_j (A^-1)_ij
  /// z_j).
  MANYFOLD_INLINE void stage_residuals(const auto& state, const Real& h, const Real& over_h, Real (&right)[s][n]) {
    Real F[s][n];
    static_for<s>([&](auto i) {
      constexpr double c = Tableau::c[i];
      Real Y[n];
      Real dY[n];
      for (int k = 0; k < n; ++k) {
        Y[k] = state.y[k] + z_[i][k];
        dY[k] = combine<inverse_A, i>(z_, k) * over_h;
      }
      System::residual(state.t + Real(c) * h, Y, dY, state.p, F[i]);
    });
    transform<true>(F, right);
  }

  /// Calls solve(factors, b) with the factors and the right-hand side of every transformed system, to be overwritten by
  /// the solution; `x` has the right-hand sides, then the solutions.
  MANYFOLD_INLINE void for_each_system(Real (&x)[s][n], auto&& solve) {
    if constexpr (reals == 1) solve(real_factors_, x[0]);
    static_for<pairs>([&](auto pair) {
      constexpr int re = reals + 2 * pair;
      Complex<Real> d[n];
      for (int k = 0; k < n; ++k) d[k] = {x[re][k], x[re + 1][k]};
      solve(complex_factors_[pair], d);
      for (int k = 0; k < n; ++k) {
        x[re][k] = d[k].re;
        x[re + 1][k] = d[k].im;
      }
    });
  }

  /// w := w - dw in the lanes of `iterating`, and z = T w; returns the norm of dw.
  MANYFOLD_INLINE Real correct(const Mask& iterating, const Real (&weight)[n], Real (&dw)[s][n], Real (&w)[s][n]) {
    Real sum(0.0);
    static_for<s>([&](auto i) {
      matrices_.rescale(dw[i]);
      sum += correction_square<System>(dw[i], weight);
      for (int k = 0; k < n; ++k) w[i][k] -= select(iterating, dw[i][k], Real(0.0));
    });
    transform<false>(w, z_);
    return sqrt(sum * Real(1.0 / (s * n)));
  }

  /// What the iteration came to, into `result` and `work`.
  static MANYFOLD_INLINE void report(const NewtonResult<Real>& newton, const Mask& live, StepAttempt<Real>& result,
                                     WorkCounters<Real>& work) {
    result.converged = newton.converged;
    result.finite = newton.finite;
    result.rate = newton.rate;
    result.last_rate = newton.last_rate;
    result.iterations = newton.iterations;
    count_newton(work, live, newton, s);
  }

  /// The slope of the error estimate: -(1/h) sum_i e_i z_i.
  MANYFOLD_INLINE void error_slope(const Real& over_h, Real (&v)[n]) const {
    for (int k = 0; k < n; ++k) {
      Real sum(0.0);
      static_for<s>([&](auto i) {
        constexpr double e = Tableau::e[i];
        sum += Real(e) * z_[i][k];
      });
      v[k] = -sum * over_h;
    }
  }

  /// F(t_n, y, v), which `filter` makes the error estimate (IV.8.19) of.
  static MANYFOLD_INLINE void start_residual(const auto& state, const Real (&y)[n], const Real (&v)[n],
                                             Real (&residual)[n]) {
    System::residual(state.t, y, v, state.p, residual);
  }

  /// The start residual for the second estimate in a cautious lane, in the place of the first `error`.
  ///
  /// With the error test of the ends of steps it is that of (IV.8.20). A transient after a start or an event passes it:
  /// the end of the step is right, output times within it are not. The error test of whole steps forgives only errors
  /// that do not fall with h. Those are the errors of algebraic variables; at index 3 they are those of all variables,
  /// because velocities contain the rounding errors of positions, divided by h. If constraints stand in combinations of
  /// rows of derivatives, F(t_n, y_n, y_n'), which Newton's method left, is subtracted: it weighs more where a variable
  /// passes through zero.
  static MANYFOLD_INLINE void second_start_residual(const auto& state, const Real (&v)[n], Real (&error)[n]) {
    if constexpr (tests_interior<System>() && System::singular_mass_matrix()) {
      Real left[n];
      start_residual(state, state.y, state.dy, left);
      start_residual(state, state.y, v, error);
      for (int k = 0; k < n; ++k) error[k] -= left[k];
    } else {
      Real shifted[n];
      static_for<n>(
          [&](auto k) { shifted[k] = forgives(k) ? state.y[k] - Real(1.0 / weight_of_start) * error[k] : state.y[k]; });
      start_residual(state, shifted, v, error);
    }
  }

  /// Is variable k judged by the second estimate, where there is one?
  static constexpr bool forgives(int k) {
    return !tests_interior<System>() || System::singular_mass_matrix() || System::highest_index() > 2 ||
           System::algebraic(k);
  }
  static constexpr double second_residuals = tests_interior<System>() && System::singular_mass_matrix() ? 2.0 : 1.0;
  static constexpr bool looks_again() {
    for (int k = 0; k < n; ++k) {
      if (forgives(k)) return true;
    }
    return false;
  }

  /// What is added to the `start` residual for the estimate to see the whole step, from the residual of the polynomial
  /// within the step. In the rows of derivatives both have the same leading term, and the estimate takes their mean. In
  /// the rows of constraints it takes the latter alone, less what comes of y_n, which meets the constraints but for
  /// what Newton's method left: the filter multiplies that by (gamma/h)^(index-1), however short the step.
  MANYFOLD_INLINE void add_interior(const auto& state, const Real& h, const Real (&start)[n],
                                    Real (&interior)[n]) const {
    if constexpr (looks_at_slopes) add_slopes(state, h, interior);
    for_each_interior_point<System, polynomial, points>(state, h, z_, z_[s - 1], [&](auto number, Real(&here)[n]) {
      constexpr int point = number;
      constexpr double theta = points.theta[point];
      constexpr double start_here = share_of_start(theta);
      static_for<n>([&](auto i) {
        if constexpr (!is_looked_at<System>(points, point, i)) return;
        if constexpr (!System::algebraic_equation(i) && looks_at_slopes) return;
        if constexpr (System::algebraic_equation(i)) {
          here[i] -= Real(start_here) * start[i];
        } else {
          if constexpr (System::singular_mass_matrix()) here[i] -= Real(start_here) * start[i];
          here[i] *= Real((1.0 - weight_of_start) * collocation::residual_at_start<Tableau>(theta));
        }
        here[i] = select(state.discontinuous, Real(0.0), here[i]);
        // Row by row, the largest counts.
        if constexpr (point == 0) {
          interior[i] = here[i];
        } else {
          interior[i] = farther_from_zero(interior[i], here[i]);
        }
      });
    });
  }

  /// The same for the rows of derivatives of Lobatto IIIC. Their start residual is that of the first stage, and blind
  /// for what y' does not owe to y. The polynomial through the stages has a residual of lower order there; that with
  /// their slopes has not: with two stages it is that of the error itself, with more a bound.
  MANYFOLD_INLINE void add_slopes(const auto& state, const Real& h, Real (&interior)[n]) const {
    for (int i = 0; i < n; ++i) interior[i] = Real(0.0);
    for_each_interior_point<System, slopes, slope_points>(state, h, z_, z_[s - 1], [&](auto number, Real(&here)[n]) {
      constexpr int point = number;
      static_for<n>([&](auto i) {
        if constexpr (!follows_slopes(i) || !is_looked_at<System>(slope_points, point, i)) return;
        constexpr double weight = s == 2 ? 1.0 : slope_interior_weight;
        here[i] = select(state.discontinuous, Real(0.0), Real(weight) * here[i]);
        interior[i] = farther_from_zero(interior[i], here[i]);
      });
    });
  }

  /// The argument of the filter, into `start`.
  static MANYFOLD_INLINE void join(const Real (&interior)[n], Real (&start)[n]) {
    static_for<n>([&](auto i) {
      if constexpr (looks_at_slopes && !System::algebraic_equation(i)) {
        start[i] = away_from_zero(start[i], interior[i]);
      } else if constexpr (tests_interior<System>()) {
        if constexpr (System::algebraic_equation(i)) {
          start[i] = interior[i];
        } else {
          start[i] = Real(weight_of_start) * start[i] + interior[i];
        }
      } else if constexpr (System::highest_index() > 1 && System::algebraic_equation(i)) {
        start[i] = Real(0.0);
      }
    });
  }

  /// x := (gamma/h F_y' + F_y)^-1 x. Without a real eigenvalue, with the first complex one, lambda: the imaginary part
  /// of (lambda/h F_y' + F_y)^-1 x times -|lambda|/beta, which is |lambda|/h (conj(lambda)/h F_y' + F_y)^-1 F_y'
  /// (lambda/h F_y' + F_y)^-1 x; of real numbers and of the same order in h.
  /// That is blind for constraints, which do not depend on lambda: of what is in their rows it is the real part.
  /// Calls solve(factors, b) with the factors and the right-hand side of the system in question.
  MANYFOLD_INLINE void filter(Real (&x)[n], auto&& solve) {
    if constexpr (reals == 1) {
      solve(real_factors_, x);
    } else {
      constexpr double alpha = Tableau::alpha[0];
      constexpr double beta = Tableau::beta[0];
      const Real scale = sqrt(Real(alpha * alpha + beta * beta)) * Real(-1.0 / beta);
      Complex<Real> d[n];
      // Of i b the imaginary part of the solution is the real part of that of b.
      static_for<n>([&](auto k) {
        constexpr bool constraint = tests_interior<System>() && System::algebraic_equation(k);
        constexpr bool both = tests_interior<System>() && System::singular_mass_matrix();
        d[k].re = constraint ? Real(0.0) : scale * x[k];
        d[k].im = constraint || both ? x[k] : Real(0.0);
      });
      solve(complex_factors_[0], d);
      for (int k = 0; k < n; ++k) x[k] = d[k].im;
    }
  }

  static constexpr bool is_velocity(int k) {
    return System::highest_index() == 3 && System::index(k) == 2 && !System::algebraic(k);
  }
  static constexpr bool has_velocities() {
    for (int k = 0; k < n; ++k) {
      if (is_velocity(k)) return true;
    }
    return false;
  }
  /// Does the estimate look at the errors of velocities along the constraints?
  ///
  /// At index 3 velocities count times h: across the constraints their errors are of low order, and contain rounding
  /// errors of positions divided by h. Along the constraints they are of the order of positions, and stay. The
  /// iteration matrix separates them: with F_y' e in the rows of velocities v, e being their errors, and zero in the
  /// others, (gamma/h) q = v and G q = 0 make (gamma/h) v the part of e along the constraints, damped where that is
  /// stiff.
  static constexpr bool measures_velocities = has_velocities() && tests_interior<System>() && reals == 1;
  static constexpr double solves_of_estimate = measures_velocities ? 2.0 : 1.0;

  /// What the filter makes the errors along the constraints of.
  MANYFOLD_INLINE void velocity_rows(const Real (&error)[n], Real (&right)[n]) const {
    Real of_velocities[n];
    static_for<n>([&](auto k) { of_velocities[k] = is_velocity(k) ? error[k] : Real(0.0); });
    matrices_.apply_dy(of_velocities, right);
  }

  /// These errors count fully: the weights of velocities contain h.
  static MANYFOLD_INLINE void add_velocities(const Real (&along)[n], const Real& over_h, Real (&error)[n]) {
    const Real scale = Real(Tableau::gamma) * square(over_h);
    static_for<n>([&](auto k) {
      if constexpr (is_velocity(k)) error[k] = farther_from_zero(error[k], scale * along[k]);
    });
  }

  /// (IV.8.19), and where that fails in a cautious lane, a second estimate.
  MANYFOLD_INLINE Real estimate_error(const Mask& converged, const Mask& cautious, const auto& state, const Real& h,
                                      const Real& over_h, WorkCounters<Real>& work) {
    Real v[n];
    Real error[n];
    Real interior[n];
    error_slope(over_h, v);
    start_residual(state, state.y, v, error);
    add_interior(state, h, error, interior);
    const auto solve = [](auto& factors, auto& b) { factors.solve(b); };
    const auto filter_all = [&] {
      join(interior, error);
      filter(error, solve);
      if constexpr (measures_velocities) {
        Real along[n];
        velocity_rows(error, along);
        filter(along, solve);
        add_velocities(along, over_h, error);
      }
    };
    filter_all();
    Real norm = weighted_norm(error, state.weight);
    const Mask again = looks_again() ? converged & cautious & !(norm < Real(1.0)) : Mask(false);
    if (any(again)) {
      Real first[n];
      for (int k = 0; k < n; ++k) first[k] = error[k];
      second_start_residual(state, v, error);
      filter_all();
      static_for<n>([&](auto k) { error[k] = forgives(k) ? error[k] : first[k]; });
      norm = select(again, weighted_norm(error, state.weight), norm);
    }
    count_work<Real>(work.residuals, converged, Real(1.0 + looks));
    count_work<Real>(work.residuals, again, Real(second_residuals));
    count_work<Real>(work.solves, converged, Real(solves_of_estimate));
    count_work<Real>(work.solves, again, Real(solves_of_estimate));
    return norm;
  }

  /// Steps of many stages are long: between some of them a pulse fits in that the widest gap alone does not see.
  static constexpr InteriorPoints points = interior_points<System>(Tableau::c, s > 5 ? 3 : s > 3 ? 2 : 1);

  /// Of the start residual in rows of derivatives. The residual of the polynomial of Lobatto IIIC is of lower order
  /// than its estimate there, and left out.
  static constexpr double weight_of_start = tests_interior<System>() && Tableau::c[0] != 0.0 ? 0.5 : 1.0;

  static constexpr bool looks_at_slopes = Tableau::c[0] == 0.0 && !System::singular_mass_matrix();
  /// Is equation i one of derivatives and, at index 3, without multipliers, which are less accurate between the steps?
  /// At index 2 their weights contain h, and the filter leaves to them what is across the constraints.
  static constexpr bool follows_slopes(int i) {
    if (System::algebraic_equation(i)) return false;
    if (System::highest_index() <= 2) return true;
    const IndexSet<n>& row = System::pattern_y.row[i];
    for (int k = row.next(0); k >= 0; k = row.next(k + 1)) {
      if (System::algebraic(k) && System::index(k) > 1) return false;
    }
    return true;
  }
  static constexpr InteriorPoints find_slope_points() {
    InteriorPoints result = points;
    if (result.count == 0) result.add(widest_gap(Tableau::c).middle);
    if (result.of_all == 0) result.of_all = 1;
    return result;
  }
  static constexpr InteriorPoints slope_points = find_slope_points();
  /// How often the residual is evaluated within the step.
  static constexpr double looks =
      (looks_at_slopes ? slope_points.count : 0) + (!looks_at_slopes || System::constrained() ? points.count : 0);

  Matrices matrices_;
  RealFactors real_factors_;
  ComplexFactors complex_factors_[pairs > 0 ? pairs : 1];
  Real z_[s][n];  ///< stage increments of the attempt

 private:
  static constexpr auto inverse_A = collocation::inverse_of_A<Tableau>();
  static constexpr auto polynomial = collocation::polynomial_from_stages<Tableau>();
  static constexpr auto slopes = collocation::polynomial_from_slopes<Tableau>();
  static constexpr auto find_dense() {
    if constexpr (dense_by_slopes) {
      return slopes;
    } else {
      return polynomial;
    }
  }
  static constexpr auto dense = find_dense();
  /// Weight of y_n in the polynomial at theta.
  static constexpr double share_of_start(double theta) {
    const auto at = dense_weights_at(polynomial, theta - 1.0);
    double share = 0.0;
    for (int i = 0; i < s; ++i) share -= at.value[i];
    return share;
  }

  /// sum_j matrix_ij x_j, component k.
  template <auto matrix, int i>
  static MANYFOLD_INLINE Real combine(const Real (&x)[s][n], int k) {
    constexpr double first = matrix.at[i][0];
    Real sum = Real(first) * x[0][k];
    static_for<s - 1>([&](auto j) {
      constexpr double factor = matrix.at[i][j + 1];
      if constexpr (factor != 0.0) sum += Real(factor) * x[j + 1][k];
    });
    return sum;
  }

  /// y = (T x I) x or, inverted, (T^-1 x I) x.
  template <bool inverted>
  static MANYFOLD_INLINE void transform(const Real (&x)[s][n], Real (&y)[s][n]) {
    for (int k = 0; k < n; ++k) {
      static_for<s>([&](auto i) {
        constexpr int row = i;
        Real sum(0.0);
        static_for<s>([&](auto j) {
          constexpr double factor = inverted ? Tableau::T_inverse[row][j] : Tableau::T[row][j];
          if constexpr (factor != 0.0) sum += Real(factor) * x[j][k];
        });
        y[i][k] = sum;
      });
    }
  }
};

}  // namespace manyfold
