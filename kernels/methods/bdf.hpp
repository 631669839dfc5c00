#pragma once
// Backward differentiation formulas of orders 1 to 5 with variable steps and fixed leading coefficient, as the code
// DASSL has them. Brenan, Campbell & Petzold, Numerical Solution of Initial-Value Problems in Differential-Algebraic
// Equations (1996), section 5.2.
//
// The predictor y^P is the polynomial of degree k through the last k + 1 values. The corrector passes through y_(n+1)
// and through the predictor at k equal steps back, so that y'_(n+1) = y'^P + c_j (y_(n+1) - y^P) with c_j = (1 + 1/2 +
// ... + 1/k)/h whatever the steps before. Newton's method solves F(t_(n+1), y_(n+1), y'_(n+1)) = 0 with c_j F_y' + F_y.
#include "../control/step_control.hpp"
#include "../stage/stage_solver.hpp"
#include "interior.hpp"
#include "step.hpp"

namespace manyfold {

struct BdfFormulas {
  static constexpr const char* name = "bdf";
  static constexpr const char* family = "backward differentiation formulas";
  static constexpr int order = 5;
  static constexpr int order_of_index2 = 5;
  static constexpr int order_of_index3 = 0;
};

/// The past of the solution as modified divided differences, phi[i] = psi[0] ... psi[i] [y_n, ..., y_(n-i-1)]: they are
/// phi_(i+2) of the book. It serves the predictor and, between t_(n-1) and t_n, as the polynomial of the last step.
template <class Real, int n>
struct BackwardDifferences {
  using Mask = MaskOf<Real>;
  static constexpr int most = BdfFormulas::order;
  Real h;           ///< last step
  Real order;       ///< k of the next step
  Real last_order;  ///< k of the last step
  Real alike;       ///< steps in a row with the length and order of the last, as far as they matter; 0 at the start
  Real rising;      ///< 1: since the start the order has risen and the step doubled with every step
  Real failures;    ///< failed error tests since the last step
  Real psi[most];   ///< t_n - t_(n-1-i)
  Real phi[most][n];

  /// A lane that starts knows its derivatives.
  MANYFOLD_INLINE void start(const Mask& lanes, const Real& step, const Real (&dy)[n]) {
    const auto put = [&](Real& to, const Real& value) { to = select(lanes, value, to); };
    put(h, step);
    put(order, Real(1.0));
    put(last_order, Real(1.0));
    put(alike, Real(0.0));
    put(rising, Real(1.0));
    put(failures, Real(0.0));
    for (int i = 0; i < most; ++i) {
      put(psi[i], Real(i + 1.0) * step);
      for (int j = 0; j < n; ++j) put(phi[i][j], i == 0 ? step * dy[j] : Real(0.0));
    }
  }

  /// A first step of another length than was meant, after a failed attempt or before an event: as if it had been meant.
  MANYFOLD_INLINE void adapt_start(const Mask& lanes, const Real& step) {
    const Mask at_start = lanes & (alike == Real(0.0));
    const Real ratio = select(at_start, step / h, Real(1.0));
    h *= ratio;
    for (int i = 0; i < most; ++i) psi[i] *= ratio;
    for (int j = 0; j < n; ++j) phi[0][j] *= ratio;
  }

  /// For a y_n that has moved by `shift`, before the order of the next step is chosen.
  MANYFOLD_INLINE void move_end(const Real (&shift)[n]) {
    for (int i = 0; i < most; ++i) {
      const Mask used = Real(static_cast<double>(i)) <= order;
      for (int j = 0; j < n; ++j) phi[i][j] += select(used, shift[j], Real(0.0));
    }
  }

  /// Takes over what `other` has in the lanes of `lanes`.
  MANYFOLD_INLINE void copy(const Mask& lanes, const BackwardDifferences& other) {
    const auto put = [&](Real& to, const Real& value) { to = select(lanes, value, to); };
    put(h, other.h);
    put(order, other.order);
    put(last_order, other.last_order);
    put(alike, other.alike);
    put(rising, other.rising);
    put(failures, other.failures);
    for (int i = 0; i < most; ++i) {
      put(psi[i], other.psi[i]);
      for (int j = 0; j < n; ++j) put(phi[i][j], other.phi[i][j]);
    }
  }

  /// What `other` has in its lanes, in another order, as far as the polynomial below needs it.
  MANYFOLD_INLINE void take(const auto& arranged, const BackwardDifferences& other) {
    h = arranged(other.h);
    last_order = arranged(other.last_order);
    for (int i = 0; i < most; ++i) {
      psi[i] = arranged(other.psi[i]);
      for (int j = 0; j < n; ++j) phi[i][j] = arranged(other.phi[i][j]);
    }
  }

  /// The interpolating polynomial of the last step at t_n + u h, less y_n, in component j.
  MANYFOLD_INLINE Real increment(int j, const Real& u) const { return evaluate(j, u).value; }
  /// Its first derivative with respect to u.
  MANYFOLD_INLINE Real slope(int j, const Real& u) const { return evaluate(j, u).slope; }
  /// Its second derivative.
  MANYFOLD_INLINE Real curvature(int j, const Real& u) const { return evaluate(j, u).curvature; }

 private:
  struct Jet {
    Real value;
    Real slope;
    Real curvature;
  };

  /// Newton's form: the product of (t - t_n) ... (t - t_(n-i)) over psi_0 ... psi_i with its derivatives.
  MANYFOLD_INLINE Jet evaluate(int j, const Real& u) const {
    const Real time = u * h;
    Jet product{time / psi[0], h / psi[0], Real(0.0)};
    Jet sum{Real(0.0), Real(0.0), Real(0.0)};
    static_for<most>([&](auto i) {
      const Real weight = select(Real(double(i)) < last_order, phi[i][j], Real(0.0));
      sum.value += weight * product.value;
      sum.slope += weight * product.slope;
      sum.curvature += weight * product.curvature;
      if constexpr (i + 1 < most) {
        const Real factor = (time + psi[i]) / psi[i + 1];
        const Real rate = h / psi[i + 1];
        product.curvature = product.curvature * factor + Real(2.0) * rate * product.slope;
        product.slope = product.slope * factor + rate * product.value;
        product.value *= factor;
      }
    });
    return sum;
  }
};

template <class Tableau_, class System_, class Real_>
class BackwardDifferentiation {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  using Path = BackwardDifferences<Real, System::n>;
  static constexpr int n = System::n;
  static constexpr int most = BdfFormulas::order;
  static constexpr int most_newton_iterations = 4;
  static constexpr StepChoice step_choice = StepChoice::by_method;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = false;
  using Stages = StageSolver<System, Real>;
  using Matrices = typename Stages::Matrices;
  using Team = TeamOf<System>;
  using Workspace = typename Stages::Workspace;
  struct Memory : Stages::Memory {
    Real factored;      ///< c_j of the matrix
    Real last_leading;  ///< c_j of the last attempt

    MANYFOLD_INLINE void start(const Mask& lanes) {
      Stages::Memory::start(lanes);
      factored = select(lanes, Real(1.0), factored);
      last_leading = select(lanes, Real(0.0), last_leading);
    }
  };
  using State = LaneState<System, Real, Path, Memory>;

  /// The tolerance given to the error test. Errors of steps add up, more than those of one-step methods: over as many
  /// steps, and undamped where solutions oscillate. With rtol itself, as DASSL and IDA have it, results were off by
  /// tens of tolerances where radau5 was within some; with a tenth, at 1.5 times the steps, they are alike.
  static MANYFOLD_INLINE double internal_rtol(double rtol) { return max(0.1 * rtol, min(rtol, 100.0 * epsilon<Real>)); }
  /// What the error test still sees of it is a third of the tolerance. For index 2 what is left in the constraints
  /// returns in the multipliers, divided by h: it must be far smaller.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(System::highest_index() > 1 ? 0.01 : 0.33, norm_of_rounding<Real>(internal_rtol));
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) { stages_.use(workspace, team); }

  /// Tries the step t ... t + h in the lanes of `live`. `stale`: lanes whose matrix must be new.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    const Real t = state.t + h;
    state.path.adapt_start(live, h);
    Real y[n];
    Real dy[n];
    const Coefficients at = predict(state, h, y, dy);
    StepAttempt<Real> result;
    result.singular = renew(live, stale, state, h, at.leading, y, dy, work);
    const Real scale = Real(2.0) / (Real(1.0) + at.leading / state.memory.factored);
    for (int j = 0; j < n; ++j) e_[j] = Real(0.0);
    const auto newton = stages_.solve(
        live & !result.singular, state.patient, state.contraction, control, work,
        [&](Real(&F)[n]) { System::residual(t, y, dy, state.p, F); },
        [&](const Mask& lanes, Real(&delta)[n]) {
          for (int j = 0; j < n; ++j) {
            delta[j] *= scale;
            const Real applied = select(lanes, delta[j], Real(0.0));
            y[j] -= applied;
            dy[j] -= at.leading * applied;
            e_[j] -= applied;
          }
          return rough_sqrt(correction_square<System>(delta, state.weight) * Real(1.0 / n));
        });
    for (int j = 0; j < n; ++j) dy_[j] = dy[j];
    result.converged = newton.converged;
    result.finite = newton.finite;
    result.rate = newton.rate;
    result.iterations = newton.iterations;
    result.error = estimate_errors(state, h, at);
    if constexpr (passes_errors_on) count_work<Real>(work.solves, live & !result.singular, Real(4.0));
    if constexpr (looks_within) {
      count_work<Real>(work.residuals, live & !result.singular, Real(double(points.count)));
      count_work<Real>(work.solves, live & !result.singular, Real(1.0));
    }
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    Path& past = state.path;
    const Real k = past.order;
    for (int j = 0; j < n; ++j) {
      const Real step = for_each_difference(j, [&](auto i, const Real& difference) {
        const Real index(static_cast<double>(i));
        past.phi[i][j] = select(accepted & (index <= k), difference, past.phi[i][j]);
      });
      state.y[j] = select(accepted, state.y[j] + step, state.y[j]);
      state.dy[j] = select(accepted, dy_[j], state.dy[j]);
    }
    for (int i = 0; i < most; ++i) past.psi[i] = select(accepted, psi_[i], past.psi[i]);
    past.h = select(accepted, h, past.h);
    past.alike = select(accepted, alike_, past.alike);
    order_before_ = past.last_order;
    past.last_order = select(accepted, k, past.last_order);
  }

  /// The length of the next step; its order goes to the state.
  MANYFOLD_INLINE Real next_step(State& state, const Real& h, const Mask& accepted, const Mask& rejected,
                                 const Mask& failed) {
    Path& past = state.path;
    const Real k = past.order;
    const Mask first_order = k == Real(1.0);
    const Real error_higher = error_of_next_order(state);
    // The terms h^(k+1) y^(k+1) of the orders: the order is lowered where they do not decrease.
    const Real term = (k + Real(1.0)) * error_;
    const Real term_lower = k * error_lower_;
    const Real term_lowest = (k - Real(1.0)) * error_lowest_;
    const Real term_higher = (k + Real(2.0)) * error_higher;
    const Mask lower =
        (select(k > Real(2.0), max(term_lower, term_lowest), Real(2.0) * term_lower) <= term) & !first_order;

    // After a step: in the first ones the order rises and the step doubles.
    const Mask at_most = k == Real(most);
    const Mask rising = (past.rising != Real(0.0)) & !lower & !at_most;
    // The order is raised only after k + 1 equal steps, by which the difference of order k + 2 is known.
    const Mask known = (past.alike > k + Real(1.0)) & (k == order_before_) & !at_most;
    const Mask better = select(first_order, Real(2.0) * term_higher, term_higher) < term;
    const Mask lower_after_all = known & !first_order & (term_lower <= min(term, term_higher));
    const Mask down = lower | (accepted & !rising & lower_after_all);
    const Mask up = accepted & !down & (rising | (known & better));
    const Real order = k + select(up, Real(1.0), Real(0.0)) - select(down, Real(1.0), Real(0.0));
    const Real error = max(within_, select(down, error_lower_, select(up, error_higher, error_)));
    const Real factor = pow(Real(2.0) * error + Real(1e-4), Real(-1.0) / (order + Real(1.0)));
    Real growth = select(factor >= Real(2.0), Real(2.0),
                         select(factor <= Real(1.0), max(Real(0.5), min(Real(0.9), factor)), Real(1.0)));
    growth = wary_growth<System>(select(rising, Real(2.0), growth), error);

    // After a failed error test: by the estimate, then by quarters, then at order 1.
    const Real failures = past.failures + Real(1.0);
    const Real shrinkage = max(Real(0.25), min(Real(0.9), Real(0.9) * factor));
    const Mask first = (failures == Real(1.0)) & is_finite(factor);
    growth = select(rejected, select(first, shrinkage, Real(0.25)), growth);
    // After a failure of Newton's method: with a new matrix, if it was old, or by a quarter.
    growth = select(failed, select(renewed_, Real(0.25), Real(1.0)), growth);

    past.order = select(accepted | rejected, select(rejected & (failures > Real(2.0)), Real(1.0), order), k);
    past.rising = select(rejected | failed | (accepted & !rising), Real(0.0), past.rising);
    past.failures = select(accepted, Real(0.0), select(rejected, failures, past.failures));
    return growth * h;
  }

 private:
  /// What the new step has to do with those before.
  struct Coefficients {
    Real alpha[most + 1];  ///< h/psi_i
    Real sigma[most + 1];
    Real alpha_sum = Real(0.0);  ///< -alpha^0
    Real harmonic = Real(0.0);   ///< -alpha_s
    Real leading;                ///< c_j
  };

  /// The predictor into y and dy; psi_i, alpha_i, sigma_i of the new step; phi*_i = beta_i phi_i.
  MANYFOLD_INLINE Coefficients predict(const State& state, const Real& h, Real (&y)[n], Real (&dy)[n]) {
    const Path& past = state.path;
    const Real k = past.order;
    Coefficients at;
    Real slope(0.0);  // gamma_i
    Real beta(1.0);
    for (int j = 0; j < n; ++j) {
      y[j] = state.y[j];
      dy[j] = Real(0.0);
    }
    static_for<most + 1>([&](auto i) {
      if constexpr (i == 0) {
        psi_[i] = h;
        at.sigma[i] = Real(1.0);
      } else {
        psi_[i] = past.psi[i - 1] + h;
      }
      at.alpha[i] = h / psi_[i];
      if constexpr (i > 0) at.sigma[i] = Real(double(i)) * at.sigma[i - 1] * at.alpha[i];
      if constexpr (i < most) {
        const Mask used = Real(double(i)) < k;
        beta *= psi_[i] / past.psi[i];
        slope += Real(1.0) / psi_[i];
        at.alpha_sum += select(used, at.alpha[i], Real(0.0));
        at.harmonic += select(used, Real(1.0 / (i + 1)), Real(0.0));
        for (int j = 0; j < n; ++j) {
          phi_[i][j] = select(used, beta * past.phi[i][j], Real(0.0));
          y[j] += phi_[i][j];
          dy[j] += slope * phi_[i][j];
        }
      }
    });
    at.leading = at.harmonic / h;
    const Mask like_the_last = (h == past.h) & (k == past.last_order);
    alike_ = min(select(like_the_last, past.alike, Real(0.0)) + Real(1.0), past.last_order + Real(2.0));
    return at;
  }

  /// Brings the matrix up to date, at the predicted point; returns the lanes where it is singular.
  MANYFOLD_INLINE Mask renew(const Mask& live, const Mask& stale, State& state, const Real& h, const Real& leading,
                             const Real (&y)[n], const Real (&dy)[n], WorkCounters<Real>& work) {
    Matrices& matrices = stages_.matrices();
    Memory& memory = state.memory;
    const Real change = leading / memory.factored;
    // Where steps of one length go on, with the matrix of another, what single iterations leave in algebraic variables
    // goes to and fro from step to step. It hides the differences by which the order is chosen.
    const Mask lasting = (leading == memory.last_leading) & (change != Real(1.0));
    renewed_ = live & (stale | memory.singular | lasting | !(change >= Real(matrix_serves)) |
                       !(change <= Real(1.0 / matrix_serves)));
    const Real t = state.t + h;
    const LinearisationPoint<System, Real> predicted{t, y, dy, state.p, state.weight, state.rtol, h};
    matrices.template update<true>(renewed_, renewed_, predicted, memory, work,
                                   [&](const Mask& lanes) { return stages_.template factor<true>(lanes, leading); });
    memory.factored = select(renewed_, leading, memory.factored);
    // The rate of convergence is that of the matrix.
    const Mask other = live & (lasting | (leading != memory.last_leading));
    state.contraction = select(other, Real(100.0), state.contraction);
    memory.last_leading = select(live, leading, memory.last_leading);
    return live & memory.singular;
  }

  /// Calls visit(i, phi_i) with the differences of component j at the end of the attempt; returns y_(n+1) - y_n.
  MANYFOLD_INLINE Real for_each_difference(int j, auto&& visit) const {
    Real sum = e_[j];
    static_for<most>([&](auto reverse) {
      constexpr int i = most - 1 - reverse;
      sum += phi_[i][j];
      visit(Constant<i>{}, sum);
    });
    return sum;
  }

  /// Errors that steps of orders k - 2 ... k would have made; returns that of the error test.
  MANYFOLD_INLINE Real estimate_errors(const State& state, const Real& h, const Coefficients& at) {
    const Path& past = state.path;
    const Real k = past.order;
    Real lower[n];
    Real lowest[n];
    for (int j = 0; j < n; ++j) {
      lower[j] = e_[j] + pick(phi_, k - Real(1.0), j);
      lowest[j] = lower[j] + pick(phi_, k - Real(2.0), j);
      highest_before_[j] = pick(past.phi, k, j);
    }
    const Real norm = size_of_error(e_, state);
    error_ = pick(at.sigma, k) * norm;
    error_lower_ = pick(at.sigma, k - Real(1.0)) * size_of_error(lower, state);
    error_lowest_ = pick(at.sigma, k - Real(2.0)) * size_of_error(lowest, state);
    const Real alpha_k = pick(at.alpha, k);
    within_ = error_within(state, h);
    return max(max(alpha_k, abs(alpha_k + at.alpha_sum - at.harmonic)) * norm, within_);
  }

  /// The error that a step of order k + 1 would have made, after the step. Where its end has been projected, that
  /// counts: the corrector's is off by the error of order k, and the order would never seem too low.
  MANYFOLD_INLINE Real error_of_next_order(const State& state) {
    const Real k = state.path.order;
    Real higher[n];
    for (int j = 0; j < n; ++j) higher[j] = pick(state.path.phi, k, j) - highest_before_[j];
    return size_of_error(higher, state) / (k + Real(2.0));
  }

  /// What abrupt equations say of the polynomial of the attempt: (c_j F_y' + F_y)^-1 times their residual within the
  /// step, where it is largest.
  MANYFOLD_INLINE Real error_within(const State& state, const Real& h) {
    if constexpr (looks_within) {
      Path path;
      path.h = h;
      path.last_order = state.path.order;
      for (int i = 0; i < most; ++i) path.psi[i] = psi_[i];
      Real end[n];
      for (int j = 0; j < n; ++j) {
        end[j] =
            state.y[j] + for_each_difference(j, [&](auto i, const Real& difference) { path.phi[i][j] = difference; });
      }
      Real error[n];
      for (int j = 0; j < n; ++j) error[j] = Real(0.0);
      static_for<points.count>([&](auto number) {
        constexpr InteriorPoint point{points.theta[number]};
        Real here[n];
        abrupt_residual<point>(state, h, path, end, here);
        static_for<n>([&](auto i) {
          constexpr double weight = interior_weight<System>(i, slope_interior_weight);
          if constexpr (weight != 0.0 && System::abrupt(i)) {
            error[i] = farther_from_zero(error[i], Real(weight) * here[i]);
          }
        });
      });
      static_for<n>([&](auto i) {
        if constexpr (System::singular_mass_matrix() || System::algebraic_equation(i)) {
          error[i] = select(state.discontinuous, Real(0.0), error[i]);
        }
      });
      stages_.apply(error);
      return weighted_norm(error, state.weight);
    } else {
      return Real(0.0);
    }
  }

  template <InteriorPoint point>
  static MANYFOLD_FLAT void abrupt_residual(const State& state, const Real& h, const Path& path, const Real (&end)[n],
                                            Real (&F)[n]) {
    Real Y[n];
    Real dY[n];
    Real residual[n];
    const Real u(point.theta - 1.0);
    for_each_index<n>([&](auto j) {
      Y[j] = end[j] + path.increment(j, u);
      dY[j] = path.slope(j, u) / h;
    });
    System::residual(state.t + Real(point.theta) * h, Y, dY, state.p, residual);
    static_for<n>([&](auto i) {
      if constexpr (System::abrupt(i)) F[i] = residual[i];
    });
  }

  static constexpr bool looks_within = tests_interior<System>() && System::abrupt();
  /// No part of a step longer than `longest_unseen` lies between them.
  static constexpr InteriorPoints points{.count = 7, .theta = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875}};

  /// The norm of a difference of the solution, or of the errors that it causes, whichever is larger. With 0 = g(y, z)
  /// the difference of y causes -g_z^-1 g_y times itself in z. With y' = f(y, z), 0 = g(y) the part that leaves the
  /// constraints returns along the multipliers, and (I - f_z (g_y f_z)^-1 g_y) times the difference is left. Both are
  /// (c_j F_y' + F_y)^-1 c_j F_y' times the difference in short steps, and can be ten times as large as it. With the
  /// difference alone, the error of order 1 seems smaller than it is, and the order stays there. Where algebraic
  /// variables jump, no shorter step makes their differences smaller: those of the differential variables count.
  MANYFOLD_OUTLINE Real size_of_error(const Real (&difference)[n], const State& state) {
    Real weight[n];
    for_each_index<n>([&](auto j) {
      weight[j] = is_tested(j) ? state.weight[j] : Real(0.0);
      if (!System::derivative_occurs(j)) weight[j] = select(state.discontinuous, Real(0.0), weight[j]);
    });
    const Real size = weighted_norm(difference, weight);
    if constexpr (passes_errors_on) {
      Real raw[n];
      Real passed_on[n];
      for (int j = 0; j < n; ++j) raw[j] = state.memory.factored * difference[j];
      stages_.matrices().apply_dy(raw, passed_on);
      stages_.apply(passed_on);
      return max(size, weighted_norm(passed_on, weight));
    } else {
      return size;
    }
  }
  static constexpr bool passes_errors_on = System::constrained();

  /// c_j may differ from that of the matrix by this factor.
  static constexpr double matrix_serves = 0.6;

  /// Does the error of variable j count? With `ErrorTest::differential` only where its derivative stands in an
  /// equation, as with IDA's IDASetSuppressAlg. Never that of variables of index 2: their differences show the errors
  /// of past steps over h, which no shorter step makes smaller. Petzold & Lotstedt,
  /// SIAM J. Sci. Stat. Comput. 7 (1986).
  static constexpr bool is_tested(int j) {
    const bool counts = System::spec.error_test == ErrorTest::all && System::index(j) == 1;
    return counts || System::derivative_occurs(j);
  }

  /// values[k] for a k per lane; 0 outside.
  template <int count>
  static MANYFOLD_INLINE Real pick(const Real (&values)[count], const Real& k) {
    Real result(0.0);
    static_for<count>([&](auto i) { result = select(k == Real(static_cast<double>(i)), values[i], result); });
    return result;
  }
  template <int count>
  static MANYFOLD_INLINE Real pick(const Real (&values)[count][n], const Real& k, int j) {
    Real result(0.0);
    static_for<count>([&](auto i) { result = select(k == Real(static_cast<double>(i)), values[i][j], result); });
    return result;
  }

  Stages stages_;
  // Of the attempt:
  Mask renewed_;  ///< the matrix was new
  Real psi_[most + 1];
  Real phi_[most][n];       ///< phi*
  Real e_[n];               ///< y - y^P
  Real highest_before_[n];  ///< difference k at the begin of the step
  Real dy_[n];
  Real alike_;
  Real order_before_;  ///< of the step before
  Real within_;        ///< error within the step
  Real error_;         ///< at order k
  Real error_lower_;
  Real error_lowest_;
};

}  // namespace manyfold
