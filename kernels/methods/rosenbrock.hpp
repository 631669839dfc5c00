#pragma once
// Rosenbrock methods for M y' = f(t, y): a linear system per stage, all with one matrix, and no iteration. Hairer &
// Wanner II, sections IV.7 and VI.4; the Rodas family: Steinebach, BIT 63 (2023).
//
// In terms of F = M y' - f stage i solves (F_y'/(gamma h) + F_y) U_i = -F(t_n + c_i h, Y_i, -sum_j C_ij U_j / h) -
// d_i h F_t, with Y_i = y_n + sum_j a_ij U_j. The order rests on Jacobians that are exact: they are new in every step.
#include "../model/point_beside.hpp"
#include "../stage/stage_solver.hpp"
#include "interior.hpp"
#include "runge_kutta.hpp"
#include "tableaux/rosenbrock.hpp"

namespace manyfold {

namespace rosenbrock {

/// Weights of the U_i in the dense output.
template <class Tableau>
constexpr auto dense_weights() {
  constexpr int degree = Tableau::dense_degree;
  DenseWeights<Tableau::stages, degree> result;
  for (int i = 0; i < Tableau::stages; ++i) {
    // sum_k H_ki (1 + u)^k in powers of u, by Horner's scheme.
    double power[degree] = {};
    for (int k = degree - 2; k >= 0; --k) {
      for (int m = degree - 1; m > 0; --m) power[m] += power[m - 1];
      power[0] += Tableau::H[k][i];
    }
    // P(u) = y_(n+1) + u (y_(n+1) - y_n) - u (1 + u) sum_k H_k (1 + u)^k
    result.at[0][i] = Tableau::m[i] - power[0];
    for (int k = 1; k < degree; ++k) result.at[k][i] = -(power[k] + power[k - 1]);
  }
  return result;
}

/// What is left within the step, at theta, of a residual of the constraints at y_n: of z = 0 in place of a constraint,
/// where every stage takes U_i = -Y_i.
template <class Tableau>
constexpr double share_of_start(double theta) {
  constexpr int s = Tableau::stages;
  constexpr auto weights = dense_weights<Tableau>();
  const auto at = dense_weights_at(weights, theta - 1.0);
  double U[s] = {};
  double share = 1.0;
  for (int i = 0; i < s; ++i) {
    double Y = 1.0;
    for (int j = 0; j < i; ++j) Y += Tableau::a[i][j] * U[j];
    U[i] = -Y;
    share += (at.value[i] + Tableau::m[i]) * U[i];
  }
  return share;
}

/// Is y_(n+1) = Y_s + U_s, as where methods are stiffly accurate?
template <class Tableau>
constexpr bool ends_at_last_stage() {
  constexpr int s = Tableau::stages;
  for (int j = 0; j < s - 1; ++j) {
    if (Tableau::m[j] != Tableau::a[s - 1][j]) return false;
  }
  return Tableau::m[s - 1] == 1.0;
}

}  // namespace rosenbrock

template <class Tableau_, class System_, class Real_>
class Rosenbrock {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static_assert(System::constant_mass(),
                "manyfold: Rosenbrock methods (rodas3, rodas4, rodas5p) need a model of the form M y' = f(t, y): y' "
                "stands in its "
                "residual otherwise than with constant factors; choose another method");
  static_assert(
      System::highest_index() == 1,
      "manyfold: Rosenbrock methods (rodas3, rodas4, rodas5p) are for systems of index 1: choose a Radau IIA method "
      "for variables of index 2 and 3");
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  static constexpr int degree = Tableau::dense_degree;
  static constexpr int most_newton_iterations = 1;
  static constexpr bool keeps = false;
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = true;
  using Stages = StageSolver<System, Real>;
  using Matrices = typename Stages::Matrices;
  using Team = TeamOf<System>;
  using Workspace = typename Stages::Workspace;
  using Memory = typename Stages::Memory;
  using State = LaneState<System, Real, DensePolynomial<Real, n, degree>, Memory>;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }
  /// There is no iteration to stop.
  static MANYFOLD_INLINE double newton_tolerance(double /*internal_rtol*/) { return 1.0; }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) { stages_.use(workspace, team); }

  /// Tries the step t ... t + h in the lanes of `live`.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& /*control*/, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    const Real over_h = Real(1.0) / h;
    const Real over_diagonal = Real(1.0 / Tableau::gamma) * over_h;
    result.singular =
        stages_.template prepare<keeps>(live, stale, Mask(false), state, state.memory, h, over_diagonal, work);

    Real by_t[n];
    System::time_derivative(state.t, state.y, state.dy, state.p, by_t);
    if constexpr (looks_beside && System::forced()) {
      const Mask undefined = live & !all_finite(by_t);
      if (any(undefined)) {
        look_beside(undefined, state.y, state.weight, [&](const Mask& lanes, const Real(&y)[n]) {
          Real here[n];
          System::time_derivative(state.t, y, state.dy, state.p, here);
          for (int k = 0; k < n; ++k) by_t[k] = select(lanes, here[k], by_t[k]);
          return Mask(lanes & !all_finite(here));
        });
      }
    }
    Real start[n];  // F at t_n
    static_for<s>([&](auto stage) {
      constexpr int i = stage;
      constexpr double c = Tableau::c[i];
      constexpr double d = Tableau::d[i];
      Real Y[n];
      Real V[n];
      for (int k = 0; k < n; ++k) {
        Real z(0.0);  // Y - y_n
        V[k] = Real(0.0);
        static_for<i>([&](auto j) {
          constexpr double a = Tableau::a[i][j];
          constexpr double C = Tableau::C[i][j];
          if constexpr (a != 0.0) z += Real(a) * U_[j][k];
          if constexpr (C != 0.0) V[k] -= Real(C) * U_[j][k];
        });
        Y[k] = state.y[k] + z;
        V[k] *= over_h;
        if constexpr (i == s - 1 && ends_at_last_stage) end_[k] = z;
      }
      System::residual(state.t + Real(c) * h, Y, V, state.p, U_[i]);
      if constexpr (i == 0) {
        for (int k = 0; k < n; ++k) start[k] = U_[0][k];
      }
      for (int k = 0; k < n; ++k) {
        if constexpr (d != 0.0) U_[i][k] += Real(d) * h * by_t[k];
        U_[i][k] = -U_[i][k];
      }
      stages_.apply(U_[i]);
    });

    find_end();
    Real error[n];
    for (int k = 0; k < n; ++k) {
      error[k] = Real(0.0);
      static_for<s>([&](auto i) {
        constexpr double e = Tableau::e[i];
        if constexpr (e != 0.0) error[k] += Real(e) * U_[i][k];
      });
    }
    Real sum = weighted_square(error, state.weight);
    if constexpr (tests_interior<System>()) {
      interior_error(state, h, start, error);
      sum += select(state.discontinuous, Real(0.0), weighted_square(error, state.weight));
    }
    result.error = rough_sqrt(sum * Real(1.0 / n));
    result.finite = is_finite(result.error);
    result.converged = live & !result.singular & result.finite;
    result.rate = Real(0.0);
    result.iterations = Real(1.0);
    // One residual more for the derivative with respect to time.
    count_work<Real>(work.residuals, live, Real(s + 1.0 + points.count));
    count_work<Real>(work.solves, live, Real(s + (tests_interior<System>() ? 1.0 : 0.0)));
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`. Of its path only the slope at the end
  /// is known then: a step needs no more of the last one.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    const Real over_h = Real(1.0) / h;
    state.path.h = select(accepted, h, state.path.h);
    // The slope is that of the dense output: no stage has that of the solution.
    for (int i = 0; i < n; ++i) {
      const Real slope = combination<weights, 0>(U_, i);
      state.path.coefficient[0][i] = select(accepted, slope, state.path.coefficient[0][i]);
      state.y[i] = select(accepted, state.y[i] + end_[i], state.y[i]);
      state.dy[i] = select(accepted, slope * over_h, state.dy[i]);
    }
  }

  /// The rest of the path in the lanes of `lanes`, whose last attempt was accepted.
  MANYFOLD_INLINE void complete_path(const Mask& lanes, State& state) const {
    static_for<degree - 1>([&](auto k) {
      for (int i = 0; i < n; ++i) {
        const Real value = combination<weights, k + 1>(U_, i);
        state.path.coefficient[k + 1][i] = select(lanes, value, state.path.coefficient[k + 1][i]);
      }
    });
  }

 private:
  static constexpr auto weights = rosenbrock::dense_weights<Tableau>();
  static constexpr InteriorPoints points = interior_points<System>(Tableau::c, 1);

  static constexpr bool ends_at_last_stage = rosenbrock::ends_at_last_stage<Tableau>();

  /// The end of the step, where all stages are known.
  MANYFOLD_INLINE void find_end() {
    for (int k = 0; k < n; ++k) {
      if constexpr (ends_at_last_stage) {
        end_[k] += U_[s - 1][k];
      } else {
        end_[k] = Real(0.0);
        static_for<s>([&](auto i) {
          constexpr double m = Tableau::m[i];
          if constexpr (m != 0.0) end_[k] += Real(m) * U_[i][k];
        });
      }
    }
  }

  /// The error of the algebraic variables within the step, less what comes of y_n, which meets the constraints but for
  /// what the last step left: the embedded method and the method agree about them at the end, whatever they do between.
  MANYFOLD_INLINE void interior_error(const State& state, const Real& h, const Real (&start)[n], Real (&error)[n]) {
    Real moving[n];
    stages_.matrices().apply_dy(state.dy, moving);
    for (int k = 0; k < n; ++k) error[k] = Real(0.0);
    for_each_interior_point<System, weights, points>(state, h, U_, end_, [&](auto number, Real(&here)[n]) {
      constexpr int point = number;
      constexpr double theta = points.theta[point];
      static_for<n>([&](auto i) {
        if constexpr (!is_looked_at<System>(points, point, i)) return;
        if constexpr (System::singular_mass_matrix() || System::algebraic_equation(i)) {
          constexpr double share = rosenbrock::share_of_start<Tableau>(theta);
          constexpr double weight = point < points.of_all ? Tableau::interior_weight : slope_interior_weight;
          here[i] = Real(weight) * (here[i] - Real(share) * (start[i] + moving[i]));
        } else {
          here[i] *= Real(slope_interior_weight);
        }
        error[i] = farther_from_zero(error[i], here[i]);
      });
    });
    stages_.apply(error);
  }

  Stages stages_;
  Real U_[s][n];
  Real end_[n];  ///< y_(n+1) - y_n
};

}  // namespace manyfold
