#pragma once
// Explicit Runge-Kutta methods for F(t, y, y') = 0 with regular F_y': ordinary differential equations, explicit or
// implicit (index 0). Stage i solves F(t_n + c_i h, Y_i, K_i) = 0 for K_i with Y_i = y_n + h sum_(j<i) a_ij K_j.
// Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, sections II.1, II.4 and II.5.
//
// The last stage is the solution, y_(n+1) = Y_s, so that K_s is its slope and K_1 of the next step.
#include "../stage/stage_solver.hpp"
#include "interior.hpp"
#include "runge_kutta.hpp"
#include "tableaux/explicit.hpp"

namespace manyfold {

template <class Tableau_, class System_, class Real_>
class ExplicitRungeKutta {
  /// Only F_y' is factorised.
  struct DerivativeStructure {
    static constexpr int n = System_::n;
    using Team = TeamOf<System_>;
    static constexpr bool single_precision_factors = has_single_precision_factors<System_>();
    static constexpr auto preferred = System_::pattern_dy;
    static constexpr auto matrix = System_::pattern_dy;

    static MANYFOLD_INLINE Real_ entry(const auto& matrices, const Real_& /*shift*/, auto k) {
      return matrices.entry_dy(k);
    }
  };

 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static_assert(
      order(System::pattern_dy, System::pattern_dy).nonsingular,
      "manyfold: explicit methods (rk4, dopri54) need equations from which all derivatives can be found: this "
      "model has algebraic variables; choose another method");
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  static constexpr int degree = Tableau::dense_degree;
  static constexpr int most_newton_iterations = 7;
  using Stages = StageSolver<System, Real, DerivativeStructure>;
  using Matrices = typename Stages::Matrices;
  using Team = TeamOf<System>;
  using Workspace = typename Stages::Workspace;
  static constexpr bool keeps = false;
  using Memory = typename Stages::Memory;
  using State = LaneState<System, Real, DensePolynomial<Real, n, degree>, Memory>;
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = false;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }

  /// Of the slopes times h, relative to the tolerance.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(0.01, norm_of_rounding<Real>(internal_rtol));
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) { stages_.use(workspace, team); }

  /// Tries the step t ... t + h in the lanes of `live`.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    result.singular =
        stages_.template prepare<keeps>(live, stale, state.ahead, state, state.memory, h, Real(0.0), work);
    result.converged = live & !result.singular;
    result.finite = Mask(true);
    result.rate = Real(0.0);
    result.iterations = Real(1.0);
    for (int k = 0; k < n; ++k) K_[0][k] = state.dy[k];
    static_for<s - 1>([&](auto previous) {
      constexpr int i = previous + 1;
      constexpr double c = Tableau::c[i];
      const Real t = state.t + Real(c) * h;
      Real Y[n];
      for (int k = 0; k < n; ++k) {
        z_[k] = Real(0.0);
        static_for<i>([&](auto j) {
          constexpr double a = Tableau::A[i][j];
          if constexpr (a != 0.0) z_[k] += Real(a) * K_[j][k];
        });
        z_[k] *= h;
        Y[k] = state.y[k] + z_[k];
        K_[i][k] = K_[i - 1][k];
      }
      const auto residual = [&](Real(&F)[n]) { System::residual(t, Y, K_[i], state.p, F); };
      const auto correct = [&](const Mask& lanes, Real(&delta)[n]) {
        for (int k = 0; k < n; ++k) {
          K_[i][k] -= select(lanes, delta[k], Real(0.0));
          delta[k] *= h;
        }
        return weighted_norm(delta, state.weight);
      };
      if constexpr (System::mass_form) {
        // Linear in the slopes: one correction is exact.
        Real delta[n];
        residual(delta);
        stages_.apply(delta);
        result.finite = result.finite & is_finite(correct(result.converged, delta));
        count_work<Real>(work.residuals, live, Real(1.0));
        count_work<Real>(work.solves, live, Real(1.0));
      } else {
        add_stage(stages_.solve(result.converged, state.patient, state.contraction, control, work, residual, correct),
                  result);
      }
    });
    result.converged = result.converged & result.finite;

    Real error[n];
    for (int k = 0; k < n; ++k) {
      error[k] = Real(0.0);
      static_for<s>([&](auto i) {
        constexpr double weight = Tableau::A[s - 1][i] - Tableau::b_embedded[i];
        if constexpr (weight != 0.0) error[k] += Real(weight) * K_[i][k];
      });
      error[k] *= h;
    }
    if constexpr (Tableau::looks_within) {
      add_interior(state, h, error);
      count_work<Real>(work.residuals, result.converged, Real(1.0));
      count_work<Real>(work.solves, result.converged, Real(1.0));
    }
    result.error = weighted_norm(error, state.weight);
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    accept_step<degree>(
        accepted, state, h, [&](auto k, int i) { return combination<weights, k>(K_, i) * h; },
        [&](int i) { return z_[i]; }, [&](int i) { return K_[s - 1][i]; });
  }

 private:
  static constexpr auto weights = dense_weights_at_end(Tableau::dense);
  static constexpr InteriorPoints points{.of_all = 1, .count = 1, .theta = {0.25}};

  /// What the residual of the dense output within the step says of the error.
  MANYFOLD_INLINE void add_interior(const State& state, const Real& h, Real (&error)[n]) {
    Real hK[s][n];
    for (int i = 0; i < s; ++i) {
      for (int k = 0; k < n; ++k) hK[i][k] = h * K_[i][k];
    }
    for_each_interior_point<System, weights, points>(state, h, hK, z_, [&](auto, Real(&here)[n]) {
      stages_.apply(here);
      for (int k = 0; k < n; ++k) error[k] = away_from_zero(error[k], Real(slope_interior_weight) * h * here[k]);
    });
  }

  Stages stages_;
  Real K_[s][n];
  Real z_[n];  ///< Y_s - y_n
};

}  // namespace manyfold
