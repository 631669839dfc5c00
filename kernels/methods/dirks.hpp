#pragma once
// DIRKS: strongly S-stable diagonally implicit methods of orders 2, 3 and 4, patched together by "triples" after Cash &
// Liem, On the design of a variable order, variable step diagonally implicit Runge-Kutta algorithm, J. Inst. Math.
// Appl. 26 (1980), and Cameron, IMA J. Numer. Anal. 3 (1983), section 2: the method that is stepped with, of order p,
// an embedded one of order p-1 that its error is estimated with, and estimates of what the methods of the neighbouring
// orders would leave. That of order p-1 comes from the difference of two embedded formulae. For that of order p+1 Cash
// and Liem have enveloping formulae with further stages; here it is the change of the estimate from one step to the
// next, as in multistep codes, which costs no stage.
//
// With D_q an approximation of h^q y^(q), the error estimate of the method of order q is C_q D_q.
#include "../control/step_control.hpp"
#include "dirk.hpp"
#include "variable_order.hpp"

namespace manyfold {

struct DirksTriples {
  static constexpr const char* name = "dirks";
  static constexpr const char* family = "SDIRK";
  static constexpr int order = 4;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr double first_level = 1.0;  ///< of order 3
  /// Steps with an order before another is considered: as many as it takes for its estimates to be its own.
  static constexpr double steps_between_orders = 4.0;
  /// By so much the other order must need fewer stages per unit of time.
  static constexpr double worthwhile = 1.2;
  static constexpr double safety = 0.9;
};

/// What a method contributes to its triple.
template <class Tableau>
struct Triple {
  static constexpr int s = Tableau::stages;
  static constexpr int p = Tableau::order;
  struct Weights {
    double w[s] = {};
  };

  /// sum_i w_i c_i^(q-1) / (q-1)!: h sum_i w_i K_i is that times h^q y^(q), and terms of higher order.
  static constexpr double constant(const Weights& weights, int q) {
    double sum = 0.0;
    for (int i = 0; i < s; ++i) {
      double power = weights.w[i];
      for (int k = 1; k < q; ++k) power *= Tableau::c[i] / k;
      sum += power;
    }
    return sum;
  }

  static constexpr Weights difference() {
    Weights result;
    for (int i = 0; i < s; ++i) result.w[i] = Tableau::A[s - 1][i] - Tableau::b_embedded[i];
    return result;
  }
  /// C_p
  static constexpr double error_constant = constant(difference(), p);

  /// The embedded formula less another one, of order p-2 on as few stages as that takes: one for order 1, two for 2.
  static constexpr Weights lower_difference() {
    Weights result;
    for (int i = 0; i < s; ++i) result.w[i] = Tableau::b_embedded[i];
    if (p == 3) {
      result.w[0] -= 1.0;
    } else {
      const double second = (0.5 - Tableau::c[0]) / (Tableau::c[1] - Tableau::c[0]);
      result.w[0] -= 1.0 - second;
      result.w[1] -= second;
    }
    return result;
  }
};

template <class Tableau_, class System_, class Real_>
class VariableDirk : public VariableOrder<DiagonallyImplicit<Sdirk2Tableau, System_, Real_>,
                                          DiagonallyImplicit<Sdirk3Tableau, System_, Real_>,
                                          DiagonallyImplicit<Cash4Tableau, System_, Real_>> {
  using Order4 = DiagonallyImplicit<Cash4Tableau, System_, Real_>;
  using Base = VariableOrder<DiagonallyImplicit<Sdirk2Tableau, System_, Real_>,
                             DiagonallyImplicit<Sdirk3Tableau, System_, Real_>, Order4>;

 public:
  using Tableau = Tableau_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System_::n;
  static constexpr bool keeps = Order4::keeps;

  struct Path : LevelledPolynomial<Real, n, Order4::degree> {
    Real steps;  ///< accepted with this order
    Real D[n];   ///< D_p of the last step

    MANYFOLD_INLINE void start(const Mask& lanes, const Real& step, const Real (&dy)[n]) {
      this->start_at(Real(DirksTriples::first_level), lanes, step, dy);
      steps = select(lanes, Real(0.0), steps);
      for (int k = 0; k < n; ++k) D[k] = select(lanes, Real(0.0), D[k]);
    }
    MANYFOLD_INLINE void copy(const Mask& lanes, const Path& other) {
      LevelledPolynomial<Real, n, Order4::degree>::copy(lanes, other);
      steps = select(lanes, other.steps, steps);
      for (int k = 0; k < n; ++k) D[k] = select(lanes, other.D[k], D[k]);
    }
  };
  using State = LaneState<System_, Real, Path, typename Base::Memory>;

  /// Tries the step t ... t + h in the lanes of `live`, each with its order.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& cautious, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    return this->attempt_each(live, state.path.level, [&]<class Method>(Method& method, const Mask& lanes) {
      const StepAttempt<Real> step = method.attempt(lanes, stale, cautious, state, h, control, work);
      estimate_neighbours<Method>(method, lanes, state, h);
      count_work<Real>(work.solves, lanes & step.converged, Real(Method::Tableau::order > 2 ? 2.0 : 1.0));
      return step;
    });
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    this->commit_each(accepted, state, h);
    for (int k = 0; k < n; ++k) state.path.D[k] = select(accepted, D_[k], state.path.D[k]);
    state.path.steps += select(accepted, Real(1.0), Real(0.0));
  }

  /// x^(1/p): the estimate is O(h^p).
  MANYFOLD_INLINE Real error_root(const State& state, const Real& x) const {
    return root_of_order(x, state.path.level);
  }

  /// Chooses the order of the next step, where that needs fewer stages per unit of time; `growth` is of the step that
  /// the present order would take. Returns the lanes in which it changed.
  MANYFOLD_INLINE Mask choose_order(State& state, const StepAttempt<Real>& /*attempt*/, const Real& growth,
                                    const Mask& accepted, const Mask& /*failed*/) {
    Path& path = state.path;
    const Mask considered = accepted & (path.steps >= Real(DirksTriples::steps_between_orders));
    const Real& level = path.level;
    const auto growth_at = [&](const Real& error, const Real& other) {
      return Real(DirksTriples::safety) / root_of_order(max(error, Real(1e-10)), other);
    };
    const Real lower = growth_at(lower_error_, level - Real(1.0));
    const Real higher = growth_at(higher_error_, level + Real(1.0));
    const Real own = Real(DirksTriples::worthwhile) * growth / stages(level);
    const Mask lowers = considered & (level > Real(0.0)) & (lower / stages(level - Real(1.0)) > own);
    const Mask raises = considered & !lowers & (level < Real(2.0)) & (higher / stages(level + Real(1.0)) > own);
    // Never longer than the step that is allowed; it may grow in the next one.
    const Real of_other = min(growth, select(lowers, lower, higher));
    const Mask changed = lowers | raises;
    state.h = select(changed, state.h * (of_other / growth), state.h);
    path.level += select(raises, Real(1.0), Real(0.0)) - select(lowers, Real(1.0), Real(0.0));
    path.steps = select(changed, Real(0.0), path.steps);
    return changed;
  }

 private:
  /// D_p, and the norms of the errors that the neighbouring orders would leave.
  template <class Method>
  MANYFOLD_INLINE void estimate_neighbours(Method& method, const Mask& lanes, const State& state, const Real& h) {
    using Own = Triple<typename Method::Tableau>;
    constexpr int p = Own::p;
    Real combination[n];
    constexpr auto difference = Own::difference();
    method.filtered_combination(difference.w, state, h, combination);
    // (D_p(n)/h_n^p - D_p(n-1)/h_(n-1)^p) / ((h_n + h_(n-1))/2) is y^(p+1).
    const Real ratio = h / state.path.h;
    Real power = ratio;
    for (int k = 1; k < p; ++k) power *= ratio;
    const Real scale = Real(2.0) * ratio / (Real(1.0) + ratio);
    Real higher(0.0);
    for (int k = 0; k < n; ++k) {
      const Real D = combination[k] * Real(1.0 / Own::error_constant);
      higher += square((D - power * state.path.D[k]) * scale * state.weight[k]);
      D_[k] = select(lanes, D, D_[k]);
    }
    constexpr double next = p == 2 ? Triple<Sdirk3Tableau>::error_constant : Triple<Cash4Tableau>::error_constant;
    higher_error_ = select(lanes, sqrt(higher * Real(1.0 / n)) * Real(next < 0.0 ? -next : next), higher_error_);
    if constexpr (p > 2) {
      constexpr auto lower = Own::lower_difference();
      constexpr double of_this = Own::constant(lower, p - 1);
      constexpr double of_method =
          p == 3 ? Triple<Sdirk2Tableau>::error_constant : Triple<Sdirk3Tableau>::error_constant;
      constexpr double factor = of_method / of_this;
      method.filtered_combination(lower.w, state, h, combination);
      lower_error_ =
          select(lanes, weighted_norm(combination, state.weight) * Real(factor < 0.0 ? -factor : factor), lower_error_);
    }
  }

  static MANYFOLD_INLINE Real stages(const Real& level) {
    return Base::by_level(level, Real(double(Sdirk2Tableau::stages)), Real(double(Sdirk3Tableau::stages)),
                          Real(double(Cash4Tableau::stages)));
  }
  static MANYFOLD_INLINE Real root_of_order(const Real& x, const Real& level) {
    return Base::by_level(level, rough_root<2>(x), rough_root<3>(x), rough_root<4>(x));
  }

  // Of the attempt.
  Real D_[n];
  Real lower_error_;
  Real higher_error_;
};

}  // namespace manyfold
