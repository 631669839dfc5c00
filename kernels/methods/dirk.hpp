#pragma once
// Diagonally implicit Runge-Kutta methods: one matrix F_y'/(gamma h) + F_y serves every stage. Alexander, SIAM J.
// Numer. Anal. 14 (1977); for differential-algebraic equations Hairer & Wanner II, section VI.1, and Cameron, IMA J.
// Numer. Anal. 3 (1983), (2.4).
//
// Stage i solves F(t_n + c_i h, Y_i, K_i) = 0 with Y_i = y_n + h sum_(j<=i) a_ij K_j. The methods here are stiffly
// accurate, y_(n+1) = Y_s, so that the constraints hold at the end of a step. An explicit first stage is K_1 = K_s of
// the step before.
#include "../stage/inlined_stages.hpp"
#include "interior.hpp"
#include "runge_kutta.hpp"
#include "tableaux/dirk.hpp"

namespace manyfold {

/// The leading term of the error of the dense output of algebraic variables at theta: sum_i b_i(theta) c_i^q - theta^q
/// for the lowest q for which that is not zero everywhere.
template <class Tableau>
constexpr double leading_dense_error(double theta) {
  const auto error = [](int q, double at) {
    const auto power = [q](double base) {
      double result = 1.0;
      for (int i = 0; i < q; ++i) result *= base;
      return result;
    };
    double sum = -power(at);
    for (int i = 0; i < Tableau::stages; ++i) {
      double weight = 0.0;
      for (int k = Tableau::dense_degree - 1; k >= 0; --k) weight = (weight + Tableau::dense[i][k]) * at;
      sum += weight * power(Tableau::c[i]);
    }
    return sum < 0.0 ? -sum : sum;
  };
  int q = 1;
  while (error(q, 0.3) + error(q, 0.6) < 1e-9) ++q;
  return error(q, theta);
}

/// Where the residual within the step is looked at: in the middle of the widest gap, unless the dense output happens to
/// be accurate there, as that of SDIRK3 is; then where its error is largest.
template <class Tableau>
constexpr double interior_point() {
  const double middle = widest_gap(Tableau::c).middle;
  double largest = middle;
  for (double theta = 0.05; theta < 1.0; theta += 0.05) {
    if (leading_dense_error<Tableau>(theta) > leading_dense_error<Tableau>(largest)) largest = theta;
  }
  return leading_dense_error<Tableau>(middle) < 0.1 * leading_dense_error<Tableau>(largest) ? largest : middle;
}

template <class Tableau_, class System_, class Real_>
class DiagonallyImplicit {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  static constexpr int s = Tableau::stages;
  /// Stages before the first that is solved for.
  static constexpr int first = Tableau::A[0][0] == 0.0 ? 1 : 0;
  static constexpr int degree = Tableau::dense_degree;
  static constexpr int most_newton_iterations = 7;
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = false;
  /// Does the model solve the stages as far as it can?
  static constexpr bool inlined = inlines<System>();
  static_assert(inlined || System::spec.inline_integration != InlineIntegration::always,
                "manyfold: inline = true needs a model with stage_unknowns");
  using Stages = typename Either<inlined, InlinedStages<System, Real>, StageSolver<System, Real>>::type;
  using Team = TeamOf<System>;
  using Workspace = typename Stages::Workspace;
  struct Memory : Stages::Memory {};
  using State = LaneState<System, Real, DensePolynomial<Real, n, degree>, Memory>;
  static constexpr bool keeps = Stages::keeps;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }

  /// Is the end of a step corrected once more than Newton's method asks for? Where it misses a constraint on
  /// velocities, the next step meets it by a force, of which the error estimate does not fall with h. Where the force
  /// passes zero, and its tolerance is small, no step was short enough.
  static constexpr bool corrects_end = System::highest_index() > 1 && !inlined;

  /// Stage errors relative to the tolerance: well below the error estimate, whose weights magnify them.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(0.01, norm_of_rounding<Real>(internal_rtol));
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) { stages_.use(workspace, team); }

  /// Tries the step t ... t + h in the lanes of `live`. `stale`: lanes whose Jacobian must be evaluated at (t, y).
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, auto& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result;
    const Real over_diagonal = Real(1.0 / Tableau::gamma) / h;
    prepare(live, stale, state, h, over_diagonal, work, result);
    result.converged = live & !result.singular;
    result.finite = Mask(true);
    result.rate = result.last_rate = Real(0.0);
    result.iterations = Real(0.0);

    begin_stages(state, h);
    static_for<s - first>([&](auto solved) {
      constexpr int i = solved + first;
      constexpr double c = Tableau::c[i];
      Real base[n];
      Real Y[n];
      predict<i>(state, h, base, Y);
      if constexpr (inlined) {
        const Real at = state.t + Real(c) * h;
        add_stage(stages_.solve(result.converged, state, at, base, control, work, Y), result);
      } else {
        const auto newton = stages_.solve(
            result.converged, state.patient, state.contraction, control, work,
            [&](Real(&F)[n]) { stage_residual(c, state, h, over_diagonal, base, Y, F); },
            [&](const Mask& lanes, Real(&delta)[n]) { return correct(lanes, state.weight, delta, Y); });
        add_stage(newton, result);
        if constexpr (i + 1 == s && corrects_end) {
          Real delta[n];
          stage_residual(c, state, h, over_diagonal, base, Y, delta);
          stages_.apply(delta);
          correct(result.converged, state.weight, delta, Y);
          count_correction(result.converged, work);
        }
      }
      end_stage(i, state, base, Y);
    });

    Real error[n];
    estimate(state, h, over_diagonal, error);
    count_work<Real>(work.solves, result.converged, Real(1.0));
    count_work<Real>(work.residuals, result.converged, Real(double(points.count)));
    result.error = weighted_norm(error, state.weight);
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, auto& state, const Real& h) {
    const Real over_h = Real(1.0) / h;
    accept_step<degree>(
        accepted, state, h, [&](auto k, int i) { return combination<weights, k, first>(z_, i); },
        [&](int i) { return z_[s - first - 1][i]; }, [&](int i) { return hK_[s - 1][i] * over_h; });
  }

  /// (F_y'/(gamma h) + F_y)^-1 F_y'/(gamma h) h sum_i w_i K_i of the last attempt: filtered as its error estimate is.
  MANYFOLD_INLINE void filtered_combination(const double (&w)[s], const auto& state, const Real& h, Real (&result)[n]) {
    Real raw[n];
    for (int k = 0; k < n; ++k) {
      raw[k] = Real(0.0);
      for (int i = 0; i < s; ++i) raw[k] += Real(w[i]) * hK_[i][k];
    }
    if constexpr (inlined) {
      Real zero[n];
      for (int k = 0; k < n; ++k) zero[k] = Real(0.0);
      stages_.apply(state, raw, zero, result);
    } else {
      const Real over_diagonal = Real(1.0 / Tableau::gamma) / h;
      for (int k = 0; k < n; ++k) raw[k] *= over_diagonal;
      stages_.matrices().apply_dy(raw, result);
      stages_.apply(result);
    }
  }

 protected:
  // The parts of an attempt, in the order in which they come.

  /// Matrices and factors.
  MANYFOLD_INLINE void prepare(const Mask& live, const Mask& stale, auto& state, const Real& h,
                               const Real& over_diagonal, WorkCounters<Real>& work, StepAttempt<Real>& result) {
    if constexpr (inlined) {
      result.singular = stages_.prepare(live, state.ahead, state, h, Tableau::gamma, over_diagonal, work);
      result.renewed = live;
    } else {
      Memory& memory = state.memory;
      result.singular =
          stages_.template prepare<keeps>(live, stale, state.ahead, state, memory, h, over_diagonal, work);
      result.renewed = stages_.matrices().renewed();
    }
  }

  /// An explicit first stage.
  MANYFOLD_INLINE void begin_stages(const auto& state, const Real& h) {
    if constexpr (first == 1) {
      for (int k = 0; k < n; ++k) hK_[0][k] = h * state.dy[k];
    }
  }

  /// y_n + h sum_(j<i) a_ij K_j into `base`, and the last step's polynomial, extrapolated, into `Y`.
  template <int i>
  MANYFOLD_INLINE void predict(const auto& state, const Real& h, Real (&base)[n], Real (&Y)[n]) {
    constexpr double c = Tableau::c[i];
    const Real u = Real(c) * (h / state.path.h);
    for (int k = 0; k < n; ++k) {
      base[k] = state.y[k] + explicit_part<i>(k);
      Y[k] = state.y[k] + state.path.increment(k, u);
    }
  }

  /// F(t + c h, Y, (Y - base)/(gamma h)); the correction of Y is -(F_y'/(gamma h) + F_y)^-1 times it.
  static MANYFOLD_INLINE void stage_residual(double c, const auto& state, const Real& h, const Real& over_diagonal,
                                             const Real (&base)[n], const Real (&Y)[n], Real (&residual)[n]) {
    Real K[n];
    for (int k = 0; k < n; ++k) K[k] = (Y[k] - base[k]) * over_diagonal;
    System::residual(state.t + Real(c) * h, Y, K, state.p, residual);
  }

  /// Y := Y - delta in the lanes of `iterating`; returns the norm of delta.
  MANYFOLD_INLINE Real correct(const Mask& iterating, const Real (&weight)[n], Real (&delta)[n], Real (&Y)[n]) const {
    stages_.matrices().rescale(delta);
    for (int k = 0; k < n; ++k) Y[k] -= select(iterating, delta[k], Real(0.0));
    return rough_sqrt(correction_square<System>(delta, weight) * Real(1.0 / n));
  }

  static MANYFOLD_INLINE void count_correction(const Mask& lanes, WorkCounters<Real>& work) {
    count_work<Real>(work.residuals, lanes, Real(1.0));
    count_work<Real>(work.solves, lanes, Real(1.0));
  }

  MANYFOLD_INLINE void end_stage(int i, const auto& state, const Real (&base)[n], const Real (&Y)[n]) {
    for (int k = 0; k < n; ++k) {
      hK_[i][k] = (Y[k] - base[k]) * Real(1.0 / Tableau::gamma);
      z_[i - first][k] = Y[k] - state.y[k];
    }
  }

  /// The error estimate is (F_y'/(gamma h) + F_y)^-1 times this, F_y'/(gamma h) d and, in the rows of constraints, the
  /// residual of the dense output within the step. The filter is that of Hosea &
  /// Shampine, Appl. Numer. Math. 20 (1996); it also leaves out the slopes of algebraic variables, which are of the
  /// stage order only.
  MANYFOLD_INLINE void error_residual(const auto& state, const Real& h, const Real& over_diagonal,
                                      Real (&error)[n]) const {
    Real raw[n];
    difference(state, h, raw);
    for (int k = 0; k < n; ++k) raw[k] *= over_diagonal;
    stages_.matrices().apply_dy(raw, error);
    add_interior(state, h, error);
  }

  MANYFOLD_INLINE void add_interior(const auto& state, const Real& h, Real (&error)[n]) const {
    if constexpr (tests_interior<System>()) {
      Real interior[n];
      for (int k = 0; k < n; ++k) interior[k] = Real(0.0);
      for_each_interior_point<System, weights, points, first>(
          state, h, z_, z_[s - first - 1], [&](auto number, const Real(&here)[n]) {
            constexpr int point = number;
            static_for<n>([&](auto i) {
              constexpr double of_constraints = point < points.of_all ? reduced_interior_weight : slope_interior_weight;
              constexpr double weight = interior_weight<System>(i, of_constraints);
              if constexpr (weight != 0.0 && is_looked_at<System>(points, point, i)) {
                interior[i] = farther_from_zero(interior[i], Real(weight) * here[i]);
              }
            });
          });
      static_for<n>([&](auto i) {
        if constexpr (System::singular_mass_matrix() || System::algebraic_equation(i)) {
          error[i] += select(state.discontinuous, Real(0.0), interior[i]);
        } else {
          error[i] = away_from_zero(error[i], interior[i]);
        }
      });
    }
  }

  MANYFOLD_INLINE void estimate(const auto& state, const Real& h, const Real& over_diagonal, Real (&error)[n]) {
    if constexpr (inlined) {
      Real d[n];
      Real offset[n];
      difference(state, h, d);
      for (int k = 0; k < n; ++k) offset[k] = Real(0.0);
      add_interior(state, h, offset);
      // F_y' d/(gamma h) is the residual of d, and F_y' is 1.
      static_for<n>([&](auto i) {
        if constexpr (!System::algebraic_equation(i)) d[i] = away_from_zero(d[i], Real(Tableau::gamma) * h * offset[i]);
      });
      stages_.apply(state, d, offset, error);
    } else {
      error_residual(state, h, over_diagonal, error);
      stages_.apply(error);
    }
  }

  /// Without a stage at the begin nothing else sees what changes between there and the first stage.
  static constexpr InteriorPoints find_points() {
    InteriorPoints result =
        interior_points<System>(Tableau::c, InteriorPoints{.count = 1, .theta = {interior_point<Tableau>()}});
    if constexpr (s > 1 && Tableau::c[0] > 0.0 && tests_interior<System>() && System::abrupt()) result.add(0.0);
    return result;
  }
  static constexpr InteriorPoints points = find_points();

  Stages stages_;

 private:
  static constexpr auto weights = dense_weights_at_end(Tableau::dense);

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

  /// The difference d to a solution of another order that the error is estimated with: h sum_i (b_i - b^_i) K_i. Where
  /// the tableau has no embedded method, h^2 (K_s - y'_n) / (h + h_(n-1)), which is h^2/2 times the divided difference
  /// of two steps' slopes, the local error of backward Euler; half of it in the first step, which has the exact y'_n.
  MANYFOLD_INLINE void difference(const auto& state, const Real& h, Real (&d)[n]) const {
    if constexpr (requires { Tableau::b_embedded; }) {
      for (int k = 0; k < n; ++k) {
        d[k] = Real(0.0);
        static_for<s>([&](auto i) {
          constexpr double weight = Tableau::A[s - 1][i] - Tableau::b_embedded[i];
          d[k] += Real(weight) * hK_[i][k];
        });
      }
    } else {
      const Real fraction = h / (h + state.path.h);
      for (int k = 0; k < n; ++k) d[k] = fraction * (hK_[s - 1][k] - h * state.dy[k]);
    }
  }

  Real hK_[s][n];         ///< h K_i of the attempt
  Real z_[s - first][n];  ///< Y_i - y_n of the stages that are solved for
};

}  // namespace manyfold
