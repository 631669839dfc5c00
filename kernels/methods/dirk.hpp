#pragma once
// Diagonally implicit Runge-Kutta methods: one matrix F_y'/(gamma h) + F_y serves every stage. Alexander, SIAM J.
// Numer. Anal. 14 (1977); for differential-algebraic equations Hairer & Wanner II, section VI.1, and Cameron, IMA J.
// Numer. Anal. 3 (1983), (2.4).
//
// Stage i solves F(t_n + c_i h, Y_i, K_i) = 0 with Y_i = y_n + h sum_(j<=i) a_ij K_j. The methods here are stiffly
// accurate, y_(n+1) = Y_s, so that the constraints hold at the end of a step, and begin with the explicit stage
// K_1 = K_s of the step before.
#include "../linalg/factors.hpp"
#include "../linearisation.hpp"
#include "step.hpp"

namespace manyfold {

/// ESDIRK5(4)7L[2]SA2 of Kennedy & Carpenter, Appl. Numer. Math. 146 (2019), Table 8: order 5 with an embedded method
/// of order 4, stage order 2, L-stable. `dense`: y(t_n + theta h) = y_n + h sum_i b_i(theta) K_i with b_i(theta) =
/// sum_k dense[i][k] theta^(k+1); continuously differentiable, of order 4.
struct Esdirk54Tableau {
  static constexpr const char* name = "esdirk54";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 7;
  static constexpr int order = 5;
  static constexpr int error_order = 5;  ///< the estimate is O(h^5)
  static constexpr int dense_degree = 4;
  static constexpr double gamma = 0.184;
  static constexpr double A[7][7] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.184, 0.184, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.2221076477383247444898, 0.2221076477383247444898, 0.184, 0.0, 0.0, 0.0, 0.0},
      {-0.01404947538192628193212, -0.01404947538192628193212, -0.01709085093586415001678, 0.184, 0.0, 0.0, 0.0},
      {-0.4083885925493146502713, -0.4083885925493146502713, 0.1664639982136296320211, 1.166271806289574396462, 0.184,
       0.0, 0.0},
      {-0.5392907235588113294469, -0.5392907235588113294469, -0.242234428845425020396, 1.488880611122514626705,
       0.5563122281913183928986, 0.184, 0.0},
      {-0.03946606910974025932549, -0.03946606910974025932549, 0.2726364902502426817019, 0.432165172520288213394,
       0.3524160862328891361236, -0.1622856107839395125684, 0.184}};
  static constexpr double c[7] = {
      0.0, 0.368, 0.6282152954766494889795, 0.138810198300283286119, 0.6999586194045747279403, 0.9083769633507853403141,
      1.0};
  static constexpr double b_embedded[7] = {
      -0.08068946656664743266534, -0.08068946656664743266534, 0.1828996846134355431843, 0.5170138737662310023784,
      0.4265997313024543198396,   -0.1043268579671349722212,  0.1391925014183089721495};
  static constexpr double dense[7][4] = {
      {1.0, -10.20186860303623904514, 17.24587292963351705297, -8.083470395707018267161},
      {0.0, -13.39817678590158061219, 26.63848929536420018708, -13.27977857857235983421},
      {0.0, 10.98836938371811044688, -20.88619280643525016696, 10.17045991296738240178},
      {0.0, 18.28831110183822179031, -34.84796151359529072704, 16.99181558427735715013},
      {0.0, -6.017865627363771124552, 13.4453955996590987936, -7.075113886062438532922},
      {0.0, 1.529204577671734677927, -3.707551598479227406127, 2.016061410023553215632},
      {0.0, -1.187974046926476133241, 2.111948093852952266482, -0.7399740469264761332408}};
};

namespace dirk {

/// Weights of the stage increments z_i = Y_i - y_n in the dense output: P(u) - y_(n+1) = sum_k u^(k+1) sum_i at[k][i]
/// z_i with u = theta - 1. Every function of the solution is interpolated by sum_i b_i'(theta) Y_i to one order less
/// than the solution itself; that formula holds for algebraic variables too, whose K_i are only of the stage order.
template <int stages, int degree>
struct DenseWeights {
  double at[degree][stages] = {};
};

template <class Tableau>
constexpr auto dense_weights() {
  constexpr int degree = Tableau::dense_degree - 1;
  DenseWeights<Tableau::stages, degree> result;
  for (int i = 0; i < Tableau::stages; ++i) {
    // b_i'(1 + u) = sum_k (k + 1) dense_ik (1 + u)^k, expanded in powers of u by Horner's scheme.
    double power[degree + 1] = {};
    for (int k = degree; k >= 0; --k) {
      for (int m = degree; m > 0; --m) power[m] += power[m - 1];
      power[0] += (k + 1) * Tableau::dense[i][k];
    }
    // power[0] is 1 for the last stage and 0 for the others: the end of the step is met exactly.
    for (int k = 0; k < degree; ++k) result.at[k][i] = power[k + 1];
  }
  return result;
}

}  // namespace dirk

template <class Tableau_, class System_, class Real_>
class DiagonallyImplicit {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  static constexpr int degree = Tableau::dense_degree - 1;
  static constexpr int most_newton_iterations = 7;
  using State = LaneState<System, Real, degree>;
  using Matrices = Linearisation<System, Real>;
  using RealFactors = Factors<Real, typename Matrices::Structure>;
  using Team = TeamOf<System>;
  struct Fallback {
    typename Matrices::Workspace matrices;
    typename RealFactors::Fallback factors;
  };
  static constexpr bool keeps = Matrices::template keeps<RealFactors>;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }

  /// Stage errors relative to the tolerance: well below the error estimate, whose weights magnify them.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(0.01, 45.0 * epsilon<Real> / internal_rtol);
  }

  MANYFOLD_INLINE void use(Fallback& fallback, const Team& team) {
    matrices_.use(fallback.matrices, team);
    factors_.use(fallback.factors, team);
  }

  /// Tries the step t ... t + h in the lanes of `live`. `stale`: lanes whose Jacobian must be evaluated at (t, y).
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    const Real over_diagonal = Real(1.0 / Tableau::gamma) / h;
    result.singular = matrices_.template renew<keeps>(live, stale, state, h, work, [&](const Mask& mask) {
      return factors_.template factor<keeps>(
          mask, [&](auto k) { return matrices_.template shifted<Real>(k, over_diagonal); });
    });
    result.converged = live & !result.singular;
    result.finite = Mask(true);
    result.rate = Real(0.0);
    result.iterations = Real(0.0);

    const Real ratio = h / state.path.h;
    for (int k = 0; k < n; ++k) hK_[0][k] = h * state.dy[k];
    static_for<s - 1>([&](auto previous) {
      constexpr int i = previous + 1;
      constexpr double c = Tableau::c[i];
      Real base[n];
      Real Y[n];
      const Real u = Real(c) * ratio;
      for (int k = 0; k < n; ++k) {
        base[k] = state.y[k] + explicit_part<i>(k);
        Y[k] = state.y[k] + state.path.increment(k, u);
      }
      const auto newton = solve_newton<Real>(control, result.converged, state.contraction, [&](const Mask& iterating) {
        // Delta Y = -(F_y'/(gamma h) + F_y)^-1 F(t + c_i h, Y, (Y - base)/(gamma h))
        Real K[n];
        Real delta[n];
        for (int k = 0; k < n; ++k) K[k] = (Y[k] - base[k]) * over_diagonal;
        System::residual(state.t + Real(c) * h, Y, K, state.p, delta);
        factors_.solve(delta);
        for (int k = 0; k < n; ++k) Y[k] -= select(iterating, delta[k], Real(0.0));
        return weighted_norm(delta, state.weight);
      });
      for (int k = 0; k < n; ++k) {
        hK_[i][k] = (Y[k] - base[k]) * Real(1.0 / Tableau::gamma);
        z_[i - 1][k] = Y[k] - state.y[k];
      }
      work.newton_passes += newton.passes;
      count_work<Real>(work.newton_iterations, result.converged, newton.iterations);
      count_work<Real>(work.residuals, result.converged, newton.iterations);
      count_work<Real>(work.solves, result.converged, newton.iterations);
      result.finite = result.finite & newton.finite;
      result.rate = max(result.rate, newton.rate);
      result.iterations = max(result.iterations, newton.iterations);
      result.converged = newton.converged;
    });

    // err = (F_y'/(gamma h) + F_y)^-1 F_y'/(gamma h) (h sum_i (b_i - b^_i) K_i). The filter is that of Hosea &
    // Shampine, Appl. Numer. Math. 20 (1996); it also leaves out the K_i of algebraic variables, which are of the stage
    // order only.
    Real raw[n];
    for (int k = 0; k < n; ++k) {
      raw[k] = Real(0.0);
      static_for<s>([&](auto i) {
        constexpr double weight = Tableau::A[s - 1][i] - Tableau::b_embedded[i];
        raw[k] += Real(weight) * hK_[i][k];
      });
      raw[k] *= over_diagonal;
    }
    Real error[n];
    matrices_.apply_dy(raw, error);
    factors_.solve(error);
    count_work<Real>(work.solves, result.converged, Real(1.0));
    result.error = weighted_norm(error, state.weight);
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    const Real over_h = Real(1.0) / h;
    state.path.h = select(accepted, h, state.path.h);
    static_for<degree>([&](auto exponent) {
      constexpr int power = exponent;
      for (int k = 0; k < n; ++k) {
        Real sum(0.0);
        static_for<s - 1>([&](auto i) {
          constexpr double weight = weights.at[power][i + 1];
          sum += Real(weight) * z_[i][k];
        });
        state.path.coefficient[power][k] = select(accepted, sum, state.path.coefficient[power][k]);
      }
    });
    for (int k = 0; k < n; ++k) {
      state.y[k] = select(accepted, state.y[k] + z_[s - 2][k], state.y[k]);
      state.dy[k] = select(accepted, hK_[s - 1][k] * over_h, state.dy[k]);
    }
  }

 private:
  static constexpr auto weights = dirk::dense_weights<Tableau>();

  /// h sum_(j<i) a_ij K_j, component k.
  template <int i>
  MANYFOLD_INLINE Real explicit_part(int k) const {
    Real sum(0.0);
    static_for<i>([&](auto j) {
      constexpr double a = Tableau::A[i][j];
      if constexpr (a != 0.0) sum += Real(a) * hK_[j][k];
    });
    return sum;
  }

  Matrices matrices_;
  RealFactors factors_;
  Real hK_[s][n];     ///< h K_i of the attempt
  Real z_[s - 1][n];  ///< Y_i - y_n of stages 2 ... s
};

/// The method `name`, for the run-time table.
template <class System, class Real>
using Esdirk54 = DiagonallyImplicit<Esdirk54Tableau, System, Real>;

}  // namespace manyfold
