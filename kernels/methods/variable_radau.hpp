#pragma once
// Radau IIA of orders 5, 9 and 13, the order chosen lane by lane: Hairer & Wanner, Stiff differential equations solved
// by Radau methods, J. Comput. Appl. Math. 111 (1999), section 4, and their code RADAU.
//
// What limits an order is the convergence of Newton's method. With Psi, the geometric mean of its last two
// contractions: the order is raised where Psi <= 0.002 and the step hardly changes, and lowered where Psi >= 0.8 or the
// iteration fails; in the ten steps after it was lowered it is not raised.
#include "radau.hpp"

namespace manyfold {

struct RadauIIAVariable {
  static constexpr const char* name = "radau";
  static constexpr const char* family = "Radau IIA";
  static constexpr int order = 13;
  static constexpr int order_of_index2 = 13;
  static constexpr int order_of_index3 = 12;
  static constexpr double raise_below = 0.002;  ///< Psi; VITU in RADAU
  static constexpr double lower_above = 0.8;    ///< Psi; VITD
  static constexpr double least_growth = 0.8;   ///< of the step where the order may be raised; HHOD
  static constexpr double most_growth = 1.2;    ///< HHOU
  static constexpr double steps_to_wait = 10.0;
};

template <class Tableau_, class System_, class Real_>
class VariableRadau {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

 private:
  using Order5 = Collocation<RadauIIA5, System, Real>;
  using Order9 = Collocation<RadauIIA9, System, Real>;
  using Order13 = Collocation<RadauIIA13, System, Real>;

 public:
  static constexpr int most_newton_iterations = Order13::most_newton_iterations;
  static constexpr bool keeps = Order5::keeps;

  struct Path : DensePolynomial<Real, n, Order13::degree> {
    Real level;  ///< 0, 1, 2 for orders 5, 9, 13
    Real wait;   ///< steps in which the order is not raised

    MANYFOLD_INLINE void start(const Mask& lanes, const Real& step, const Real (&dy)[n]) {
      DensePolynomial<Real, n, Order13::degree>::start(lanes, step, dy);
      level = select(lanes, Real(0.0), level);
      wait = select(lanes, Real(0.0), wait);
    }
    MANYFOLD_INLINE void copy(const Mask& lanes, const Path& other) {
      DensePolynomial<Real, n, Order13::degree>::copy(lanes, other);
      level = select(lanes, other.level, level);
      wait = select(lanes, other.wait, wait);
    }
  };
  using State = LaneState<System, Real, Path>;
  static constexpr StepChoice step_choice = StepChoice::with_order;
  static constexpr bool makes_past = false;
  using Team = TeamOf<System>;
  struct Workspace {
    typename Order5::Workspace order5;
    typename Order9::Workspace order9;
    typename Order13::Workspace order13;
  };

  /// One for all orders: their estimates are weaker than their errors by more than the power that is taken of rtol.
  static MANYFOLD_INLINE double internal_rtol(double rtol) { return Order5::internal_rtol(rtol); }
  /// The strictest.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return Order13::newton_tolerance(internal_rtol);
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    order5_.use(workspace.order5, team);
    order9_.use(workspace.order9, team);
    order13_.use(workspace.order13, team);
  }

  /// Of the lanes of `lanes`, which begin a new instance, nothing is known.
  MANYFOLD_INLINE void forget(const Mask& lanes) {
    for_each_order([&](auto& method, double /*level*/) { method.forget(lanes); });
  }

  /// Tries the step t ... t + h in the lanes of `live`, each with its order.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& cautious, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    StepAttempt<Real> result = no_attempt<Real>();
    for_each_order([&]<class Method>(Method& method, double level) {
      const Mask lanes = live & (state.path.level == Real(level));
      if (!any(lanes)) return;
      const NewtonControl own{Method::newton_tolerance(state.rtol),
                              control.most_iterations - (most_newton_iterations - Method::most_newton_iterations)};
      const StepAttempt<Real> step = method.attempt(lanes, stale, cautious, state, h, own, work);
      add_attempt(lanes, step, result);
    });
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    for_each_order([&](auto& method, double level) {
      const Mask lanes = accepted & (state.path.level == Real(level));
      if (any(lanes)) method.commit(lanes, state, h);
    });
  }

  /// x^(1/q) where the estimate is O(h^q).
  MANYFOLD_INLINE Real error_root(const State& state, const Real& x) const {
    const Real& level = state.path.level;
    const Real exponent =
        select(level == Real(0.0), Real(1.0 / RadauIIA5::error_order),
               select(level == Real(1.0), Real(1.0 / RadauIIA9::error_order), Real(1.0 / RadauIIA13::error_order)));
    return pow(x, exponent);
  }

  /// Chooses the order of the next step, which is `growth` times as long; returns the lanes in which it changed.
  MANYFOLD_INLINE Mask choose_order(State& state, const StepAttempt<Real>& attempt, const Real& growth,
                                    const Mask& accepted, const Mask& failed) {
    Path& path = state.path;
    const Mask lower =
        (path.level > Real(0.0)) & (failed | (accepted & (attempt.last_rate >= Real(Tableau::lower_above))));
    const Mask raise = accepted & (path.level < Real(2.0)) & (attempt.iterations > Real(1.0)) &
                       (attempt.last_rate <= Real(Tableau::raise_below)) & (path.wait == Real(0.0)) &
                       (growth > Real(Tableau::least_growth)) & (growth < Real(Tableau::most_growth));
    path.wait =
        select(lower, Real(Tableau::steps_to_wait), select(accepted, max(path.wait - Real(1.0), Real(0.0)), path.wait));
    path.level += select(raise, Real(1.0), Real(0.0)) - select(lower, Real(1.0), Real(0.0));
    return lower | raise;
  }

 private:
  MANYFOLD_INLINE void for_each_order(auto&& body) {
    body(order5_, 0.0);
    body(order9_, 1.0);
    body(order13_, 2.0);
  }

  Order5 order5_;
  Order9 order9_;
  Order13 order13_;
};

}  // namespace manyfold
