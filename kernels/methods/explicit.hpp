#pragma once
// Explicit Runge-Kutta methods for F(t, y, y') = 0 with regular F_y': ordinary differential equations, explicit or
// implicit (index 0). Stage i solves F(t_n + c_i h, Y_i, K_i) = 0 for K_i with Y_i = y_n + h sum_(j<i) a_ij K_j.
// Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, sections II.1, II.4 and II.5.
//
// The last stage is the solution, y_(n+1) = Y_s, so that K_s is its slope and K_1 of the next step.
#include "../algebra/factors.hpp"
#include "../stage/linearisation.hpp"
#include "step.hpp"
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
  };

 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  using DerivativeFactors = Factors<Real, DerivativeStructure>;
  static_assert(
      order(System::pattern_dy, System::pattern_dy).nonsingular,
      "manyfold: explicit methods (rk4, dopri54) need equations from which all derivatives can be found: this "
      "model has algebraic variables; choose another method");
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  static constexpr int degree = Tableau::dense_degree;
  static constexpr int most_newton_iterations = 7;
  using Matrices = Linearisation<System, Real>;
  using Team = TeamOf<System>;
  struct Workspace {
    typename Matrices::Workspace matrices;
    typename DerivativeFactors::Workspace factors;
  };
  static constexpr bool keeps = false;
  using State = LaneState<System, Real, DensePolynomial<Real, n, degree>>;
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
  static constexpr bool makes_past = false;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }

  /// Of the slopes times h, relative to the tolerance.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(0.01, 45.0 * epsilon<Real> / internal_rtol);
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    matrices_.use(workspace.matrices, team);
    factors_.use(workspace.factors, team);
  }

  /// Of the lanes of `lanes`, which begin a new instance, nothing is known.
  MANYFOLD_INLINE void forget(const Mask& lanes) { matrices_.forget(lanes); }

  /// Tries the step t ... t + h in the lanes of `live`.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    result.singular = matrices_.template renew<keeps>(live, stale, state, h, work, [&](const Mask& mask) {
      return factors_.template factor<keeps>(mask, [&](auto k) { return matrices_.entry_dy(k); });
    });
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
      const auto correct = [&](const Mask& iterating) {
        Real delta[n];
        System::residual(t, Y, K_[i], state.p, delta);
        factors_.solve(delta);
        for (int k = 0; k < n; ++k) {
          K_[i][k] -= select(iterating, delta[k], Real(0.0));
          delta[k] *= h;
        }
        return weighted_norm(delta, state.weight);
      };
      if constexpr (System::mass_form) {
        // Linear in the slopes: one correction is exact.
        result.finite = result.finite & is_finite(correct(result.converged));
        count_work<Real>(work.residuals, live, Real(1.0));
        count_work<Real>(work.solves, live, Real(1.0));
      } else {
        const auto newton = solve_newton<Real>(control, result.converged, state.patient, state.contraction, correct);
        work.newton_passes += newton.passes;
        count_work<Real>(work.newton_iterations, result.converged, newton.iterations);
        count_work<Real>(work.residuals, result.converged, newton.iterations);
        count_work<Real>(work.solves, result.converged, newton.iterations);
        result.finite = result.finite & newton.finite;
        result.rate = max(result.rate, newton.rate);
        result.iterations = max(result.iterations, newton.iterations);
        result.converged = newton.converged;
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
    result.error = weighted_norm(error, state.weight);
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    state.path.h = select(accepted, h, state.path.h);
    static_for<degree>([&](auto exponent) {
      constexpr int power = exponent;
      for (int k = 0; k < n; ++k) {
        Real sum(0.0);
        static_for<s>([&](auto i) {
          constexpr double weight = weights.at[power][i];
          if constexpr (weight != 0.0) sum += Real(weight) * K_[i][k];
        });
        state.path.coefficient[power][k] = select(accepted, sum * h, state.path.coefficient[power][k]);
      }
    });
    for (int k = 0; k < n; ++k) {
      state.y[k] = select(accepted, state.y[k] + z_[k], state.y[k]);
      state.dy[k] = select(accepted, K_[s - 1][k], state.dy[k]);
    }
  }

 private:
  static constexpr auto weights = dense_weights_at_end(Tableau::dense);

  Matrices matrices_;
  DerivativeFactors factors_;
  Real K_[s][n];
  Real z_[n];  ///< Y_s - y_n
};

}  // namespace manyfold
