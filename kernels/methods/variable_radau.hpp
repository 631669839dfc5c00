#pragma once
// Radau IIA of orders 5, 9 and 13, the order chosen lane by lane: Hairer & Wanner, Stiff differential equations solved
// by Radau methods, J. Comput. Appl. Math. 111 (1999), section 4, and their code RADAU.
//
// What limits an order is the convergence of Newton's method. With Psi, the geometric mean of its last two
// contractions: the order is raised where Psi <= 0.002 and the step hardly changes, and lowered where Psi >= 0.8 or the
// iteration fails; in the ten steps after it was lowered it is not raised.
#include "radau.hpp"
#include "variable_order.hpp"

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
class VariableRadau
    : public VariableOrder<Collocation<RadauIIA5, System_, Real_>, Collocation<RadauIIA9, System_, Real_>,
                           Collocation<RadauIIA13, System_, Real_>> {
  using Order5 = Collocation<RadauIIA5, System_, Real_>;
  using Order13 = Collocation<RadauIIA13, System_, Real_>;

 public:
  using Tableau = Tableau_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static constexpr int n = System_::n;
  static constexpr bool keeps = Order5::keeps;

  struct Path : LevelledPolynomial<Real, n, Order13::degree> {
    Real wait;  ///< steps in which the order is not raised

    MANYFOLD_INLINE void start(const Mask& lanes, const Real& step, const Real (&dy)[n]) {
      this->start_at(Real(0.0), lanes, step, dy);
      wait = select(lanes, Real(0.0), wait);
    }
    MANYFOLD_INLINE void copy(const Mask& lanes, const Path& other) {
      LevelledPolynomial<Real, n, Order13::degree>::copy(lanes, other);
      wait = select(lanes, other.wait, wait);
    }
  };
  using State = LaneState<System_, Real, Path, typename VariableRadau::Memory>;

  /// One for all orders: their estimates are weaker than their errors by more than the power that is taken of rtol.
  static MANYFOLD_INLINE double internal_rtol(double rtol) { return Order5::internal_rtol(rtol); }

  /// Tries the step t ... t + h in the lanes of `live`, each with its order.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& cautious, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    return this->attempt_each(live, state.path.level, [&]<class Method>(Method& method, const Mask& lanes) {
      const NewtonControl own{
          Method::newton_tolerance(state.rtol),
          control.most_iterations - (VariableRadau::most_newton_iterations - Method::most_newton_iterations)};
      return method.attempt(lanes, stale, cautious, state, h, own, work);
    });
  }

  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    this->commit_each(accepted, state, h);
  }

  /// x^(1/q) where the estimate is O(h^q).
  MANYFOLD_INLINE Real error_root(const State& state, const Real& x) const {
    const Real exponent = this->by_level(state.path.level, Real(1.0 / RadauIIA5::error_order),
                                         Real(1.0 / RadauIIA9::error_order), Real(1.0 / RadauIIA13::error_order));
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
};

}  // namespace manyfold
