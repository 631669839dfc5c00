#pragma once
// Methods whose order every lane chooses for itself, among three methods of one family.
#include "step.hpp"

namespace manyfold {

/// The past of such a method; it knows the lane's level: 0, 1, 2 for the lowest, the middle, and the highest order.
template <class Real, int n, int degree>
struct LevelledPolynomial : DensePolynomial<Real, n, degree> {
  Real level;

  MANYFOLD_INLINE void start_at(const Real& first_level, const MaskOf<Real>& lanes, const Real& step,
                                const Real (&dy)[n]) {
    DensePolynomial<Real, n, degree>::start(lanes, step, dy);
    level = select(lanes, first_level, level);
  }
  MANYFOLD_INLINE void copy(const MaskOf<Real>& lanes, const LevelledPolynomial& other) {
    DensePolynomial<Real, n, degree>::copy(lanes, other);
    level = select(lanes, other.level, level);
  }
};

/// The three methods and what is the same whatever the rule that chooses among them.
template <class Low, class Middle, class High>
class VariableOrder {
 public:
  using System = typename High::System;
  using Real = typename High::Real;
  using Mask = MaskOf<Real>;
  using Team = TeamOf<System>;
  static constexpr int n = System::n;
  static constexpr int most_newton_iterations = High::most_newton_iterations;
  static constexpr StepChoice step_choice = StepChoice::with_order;
  static constexpr bool makes_past = false;
  static constexpr bool path_on_request = false;
  struct Workspace {
    typename Low::Workspace low;
    typename Middle::Workspace middle;
    typename High::Workspace high;
  };
  /// Every method finds its own.
  struct Memory : Low::Memory, Middle::Memory, High::Memory {
    MANYFOLD_INLINE void start(const Mask& lanes) {
      Low::Memory::start(lanes);
      Middle::Memory::start(lanes);
      High::Memory::start(lanes);
    }
  };

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return High::internal_rtol(rtol); }
  /// The strictest.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) { return High::newton_tolerance(internal_rtol); }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    low_.use(workspace.low, team);
    middle_.use(workspace.middle, team);
    high_.use(workspace.high, team);
  }

 protected:
  /// Tries the step in the lanes of `live`, each with its order. `attempt(method, lanes)` tries it with one of them.
  MANYFOLD_INLINE StepAttempt<Real> attempt_each(const Mask& live, const Real& level, auto&& attempt) {
    StepAttempt<Real> result = no_attempt<Real>();
    for_each_order([&](auto& method, double own) {
      const Mask lanes = live & (level == Real(own));
      if (any(lanes)) add_attempt(lanes, attempt(method, lanes), result);
    });
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit_each(const Mask& accepted, auto& state, const Real& h) {
    for_each_order([&](auto& method, double own) {
      const Mask lanes = accepted & (state.path.level == Real(own));
      if (any(lanes)) method.commit(lanes, state, h);
    });
  }

  /// One of three numbers, by level.
  static MANYFOLD_INLINE Real by_level(const Real& level, const Real& low, const Real& middle, const Real& high) {
    return select(level == Real(0.0), low, select(level == Real(1.0), middle, high));
  }

 private:
  MANYFOLD_INLINE void for_each_order(auto&& body) {
    body(low_, 0.0);
    body(middle_, 1.0);
    body(high_, 2.0);
  }

  Low low_;
  Middle middle_;
  High high_;
};

}  // namespace manyfold
