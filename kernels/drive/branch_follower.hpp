#pragma once
// Lanes that no step leads on go on elsewhere: behind a jump of a source or a kink, or on another branch of the
// algebraic equations.
#include "stuck_lanes.hpp"

namespace manyfold {

/// What is known of the branches that the lanes of a pack follow. `State` is that of the method.
template <class System, class Real, class State>
class BranchFollower {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  static constexpr bool passes_jumps = manyfold::passes_jumps<System>();
  static constexpr bool changes_branches = has_branches<System>() && !coarse_time<Real>;
  /// Is there anything that may lead a lane on?
  static constexpr bool leads_on = passes_jumps || changes_branches;

  MANYFOLD_INLINE BranchFollower() {
    if constexpr (leads_on) jump_.passed = jump_.passed_again = Mask(false);
  }

  /// The lanes of `lanes` get other instances, or have taken a step.
  MANYFOLD_INLINE void forget(const Mask& lanes) {
    if constexpr (leads_on) {
      jump_.passed = jump_.passed & !lanes;
      jump_.passed_again = jump_.passed_again & !lanes;
    }
  }

  /// Lanes whose last step was a jump, which has no path.
  MANYFOLD_INLINE Mask passed_jump() const {
    if constexpr (leads_on) {
      return jump_.passed;
    } else {
      return Mask(false);
    }
  }

  /// The lanes of `lanes` are on a branch that they have not come to by steps.
  MANYFOLD_INLINE void begin(const Mask& lanes, const State& state) {
    if constexpr (changes_branches) {
      anchor_.t = select(lanes, state.t, anchor_.t);
      for (int i = 0; i < n; ++i) anchor_.y[i] = select(lanes, state.y[i], anchor_.y[i]);
      watch_.determinant = select(lanes, Real(0.0), watch_.determinant);
      watch_.t = select(lanes, state.t, watch_.t);
      watch_.wait = select(lanes, Real(0.0), watch_.wait);
      watch_.steps = select(lanes, Real(0.0), watch_.steps);
    }
  }

  /// Remembers where the branch was before the steps became short: these may have gone on behind its end, a tolerance
  /// each. A path that no step has made yet tells nothing. `lanes`: those whose attempts have failed.
  MANYFOLD_OUTLINE void keep_anchor(const Mask& lanes, const State& state,
                                    const TimeSpan<Real>& span) requires(changes_branches) {
    const Real age = abs(state.t - anchor_.t);
    const Real length = abs(state.path.h);
    const Mask stepped = lanes & !jump_.passed & (length <= Real(1.0 + 1e-6) * age);
    const Mask old = stepped & (age > Real(1e3) * span.negligible_step(state.t)) &
                     ((length > Real(0.1) * age) | (age > Real(0.01) * abs(state.t - span.begin)));
    if (!any(old)) return;
    anchor_.t = select(old, state.t - state.path.h, anchor_.t);
    for (int i = 0; i < n; ++i) {
      anchor_.y[i] = select(old, state.y[i] + state.path.increment(i, Real(-1.0)), anchor_.y[i]);
    }
  }

  /// Lanes of `lanes` whose variables have changed by far more than their tolerances in a negligible step, though those
  /// with the slopes `dy` at its begin rested. That is a jump, and its polynomial no path.
  MANYFOLD_INLINE Mask leaps(const Mask& lanes, const State& state, const Real (&dy)[n],
                             const TimeSpan<Real>& span) const {
    if constexpr (changes_branches) {
      const Mask negligible = lanes & (abs(state.path.h) <= span.negligible_step(state.t));
      if (any(negligible)) {
        Real change[n];
        for (int i = 0; i < n; ++i) change[i] = state.path.increment(i, Real(-1.0));
        return negligible & rests<System>(dy, state.weight, state.path.h) &
               (weighted_square(change, state.weight) > Real(n * square(most_change)));
      }
    }
    return Mask(false);
  }

  /// Lanes of `lanes` that are on another branch after the step just taken, from `before` at the time `begin`. A source
  /// that changes within a step may lead Newton's method there. Where algebraic variables have not gone where their
  /// path led, the matrices at both ends tell.
  MANYFOLD_INLINE Mask strays(const Mask& lanes, const State& state, const Real& begin, const auto& before,
                              const Tolerances<n>& tolerances) const requires(changes_branches) {
    if (!any(lanes)) return lanes;
    const Real u = (state.t - begin) / before.path.h;
    Real move[n];
    Real surprise[n];
    for (int i = 0; i < n; ++i) {
      const bool looked_at = !System::derivative_occurs(i);
      move[i] = looked_at ? state.y[i] - before.y[i] : Real(0.0);
      surprise[i] = looked_at ? move[i] - before.path.increment(i, u) : Real(0.0);
    }
    const Real square_of_move = weighted_square(move, state.weight);
    const Mask odd = lanes & (square_of_move > Real(square(least_move))) &
                     (weighted_square(surprise, state.weight) > Real(square(least_surprise)) * square_of_move);
    return any(odd) ? left_branch(odd, state, begin, before, tolerances) : odd;
  }

  /// Lanes of `lanes` that are on another branch after the step just taken, as two branches are within the tolerance of
  /// zero. Where algebraic variables are that small the matrix is looked at, the sooner the faster its determinant goes
  /// to zero, and those at both ends of the step where its sign has changed.
  MANYFOLD_INLINE Mask slips(const Mask& lanes, const State& state, const Real& begin, const auto& before,
                             const Tolerances<n>& tolerances) requires(changes_branches) {
    Mask small(false);
    static_for<n>([&](auto i) {
      if constexpr (!System::derivative_occurs(i)) {
        small = small | (min(abs(state.y[i]), abs(before.y[i])) * state.weight[i] < Real(most_small));
      }
    });
    small = small & lanes;
    if (!any(small)) return small;
    watch_.steps += select(small, Real(1.0), Real(0.0));
    const Mask due = small & ((abs(state.t - watch_.t) >= watch_.wait) | (watch_.steps >= Real(most_steps)));
    return any(due) ? look(due, state, begin, before, tolerances) : due;
  }

  /// Looks where the lanes of `stuck` go on, whose attempts of length h have failed. Behind a jump of a source within
  /// that length, differential variables go on as they did, and algebraic ones are found anew. The same puts a
  /// `hopeless` lane back on the constraints that it has left by a tolerance, an error that methods which do not solve
  /// for their stages keep at any h. A lane that went on, and is hopeless before a step of it has been accepted, is
  /// helped once more, to another branch: it may have gone on to the end of its own.
  MANYFOLD_INLINE StuckLanes<System, Real> lead_on(const Mask& stuck, const Mask& hopeless, const Real& h,
                                                   const State& state, const TimeSpan<Real>& span,
                                                   const Tolerances<n>& tolerances) const {
    const Mask waiting = stuck & !jump_.passed;
    const Mask again = changes_branches ? stuck & hopeless & jump_.passed & !jump_.passed_again : Mask(false);
    StuckLanes<System, Real> point;
    point.passed = Mask(false);
    if (!any(waiting | again)) return point;
    point.elsewhere = Mask(false);
    point.lanes = waiting & (abs(span.end - (state.t + h)) < abs(span.end - state.t));
    point.hopeless = waiting & hopeless;
    point.t = state.t;
    point.span = span;
    point.h = h;
    for (int i = 0; i < n; ++i) {
      point.y[i] = state.y[i];
      point.dy[i] = state.dy[i];
      point.weight[i] = state.weight[i];
    }
    for (int i = 0; i < System::constants_size; ++i) point.p[i] = state.p[i];
    point.tolerances = tolerances;
    if constexpr (passes_jumps) {
      if (any(point.lanes)) go_behind_jump(point);
    }
    if constexpr (changes_branches) {
      point.t_before = anchor_.t;
      for (int i = 0; i < n; ++i) point.y_before[i] = anchor_.y[i];
      point.hopeless = point.hopeless | again;
      change_branch(point);
      point.hopeless = point.hopeless & waiting;
      cross_kink(point);
    }
    return point;
  }

  /// The lanes of `lanes` have gone on.
  MANYFOLD_INLINE void mark(const Mask& lanes) requires(leads_on) {
    jump_.passed_again = jump_.passed_again | (jump_.passed & lanes);
    jump_.passed = jump_.passed | lanes;
  }

 private:
  /// More tolerances in a negligible step are a jump.
  static constexpr double most_change = 1e3;
  /// Solutions that are closer to each other, in tolerances, count as one.
  static constexpr double least_move = 0.1;
  /// The path led elsewhere by this part of the move, or more.
  static constexpr double least_surprise = 0.5;

  /// Algebraic variables below so many tolerances may be on any of several branches.
  static constexpr double most_small = 10.0;
  static constexpr double most_steps = 16.0;

  /// Looks at the matrix after the step, and decides when to look again: when the determinant may have gone a quarter
  /// of the way to zero, and after twice the time at most.
  MANYFOLD_RARE Mask look(const Mask& lanes, const State& state, const Real& begin, const auto& before,
                          const Tolerances<n>& tolerances) {
    SearchMatrix<System, Real> matrix;
    matrix.measure(tolerances, state.y);
    matrix.evaluate(lanes, state.t, state.y, state.dy, state.p);
    const Mask good = lanes & matrix.factor(lanes);
    const Real determinant = Real(1.0) / matrix.reciprocal_of_determinant();
    const Real ratio = determinant / watch_.determinant;
    const Mask known = good & is_finite(ratio);
    Mask slipped = known & (ratio < Real(0.0));
    if (any(slipped)) slipped = left_branch(slipped, state, begin, before, tolerances);
    const Real age = abs(state.t - watch_.t);
    const Real left = age * ratio / (Real(1.0) - ratio);
    const Real soon = select(left > Real(0.0), min(Real(0.25) * left, Real(2.0) * age), Real(2.0) * age);
    watch_.wait = select(lanes, select(known & !slipped, soon, Real(0.0)), watch_.wait);
    watch_.steps = select(lanes, Real(0.0), watch_.steps);
    watch_.t = select(lanes & !slipped, state.t, watch_.t);
    watch_.determinant = select(good & is_finite(determinant) & !slipped, determinant, watch_.determinant);
    return slipped;
  }

  MANYFOLD_RARE static Mask left_branch(const Mask& lanes, const State& state, const Real& begin, const auto& before,
                                        const Tolerances<n>& tolerances) {
    JumpSide<System, Real> from;
    from.t = begin;
    for (int i = 0; i < n; ++i) {
      from.y[i] = before.y[i];
      from.dy[i] = before.dy[i];
    }
    for (int i = 0; i < System::constants_size; ++i) from.p[i] = state.p[i];
    return folds_between<System, Real>(lanes, tolerances, from, state);
  }

  struct Jump {
    Mask passed;        ///< and no step accepted since
    Mask passed_again;  ///< twice
  };
  /// A point of the branch that an instance follows.
  struct Anchor {
    Real t;
    Real y[n];
  };
  /// The determinant of the matrix when it was last looked at, the steps since then, and the time until the next look.
  struct Watch {
    Real t;
    Real determinant;
    Real steps;
    Real wait;
  };
  // Not [[no_unique_address]]: NVRTC 13.0 lays out wrongly what comes after an object that ends in such a member.
  typename Either<leads_on, Jump, None>::type jump_;
  typename Either<changes_branches, Anchor, None>::type anchor_;
  typename Either<changes_branches, Watch, None>::type watch_;
};

}  // namespace manyfold
