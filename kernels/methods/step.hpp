#pragma once
// What every one-step method gets from the integrator and gives back.
#include "../control/error_norm.hpp"
#include "../model/system.hpp"
#include "../stage/newton.hpp"
#include "../stage/work.hpp"
#include "dense_output.hpp"

namespace manyfold {

/// The state of the instances of a pack between steps. `Path` is what a method knows of the past:
///   h                      length of the last step
///   start(lanes, h, y')    before the first step, of length h
///   copy(lanes, other)     what `other` has
///   move_end(shift)        after y was moved by `shift`: the past stays as it was
///   increment(i, u)        the solution over the last step: component i at t + u h, less y_i; slope and curvature with
///   respect to u
/// `Memory` is what it knows of the instance beside that, such as the step that its factors belong to:
///   start(lanes)           where an instance begins
template <class System, class Real, class Path_, class Memory_>
struct LaneState {
  using Path = Path_;
  using Memory = Memory_;
  static constexpr int n = System::n;
  Real t;
  Real h;  ///< next step to try, with the sign of the direction of integration
  Real y[n];
  Real dy[n];  ///< y', as the method knows it at t
  Real p[System::constants_size];
  Real weight[n];        ///< of the error norm at y
  double rtol;           ///< of the error norm
  Real contraction;      ///< of Newton's method in the last step
  MaskOf<Real> ahead;    ///< after a failure of Newton's method: the Jacobian is that of the predicted end of the step
  Real foresight;        ///< after a start: how many tolerances ahead the Jacobian is evaluated; else 0
  MaskOf<Real> patient;  ///< Newton's method failed in several attempts: more iterations may help, shorter steps do not
  MaskOf<Real> discontinuous;  ///< the error within the step does not fall with h: a jump of algebraic variables
  Path path;
  Memory memory;
};

/// Who chooses the next step.
enum class StepChoice {
  by_estimate,  ///< the integrator, from the error estimate of the one order
  with_order,   ///< the integrator; the method chooses the order in `choose_order`, `error_root` is that of the order
  by_method,    ///< the method, in `next_step`
};

/// One step attempt, judged by the integrator.
template <class Real>
struct StepAttempt {
  MaskOf<Real> converged;  ///< Newton's method solved the stage equations
  MaskOf<Real> singular;   ///< the iteration matrix could not be factorised
  MaskOf<Real> finite;     ///< no residual was infinite or not a number
  Real error;              ///< norm of the local error estimate; the step is good if it is below one
  Real rate;               ///< contraction of Newton's method, for the decision to keep the Jacobian
  Real last_rate;          ///< of the last two iterations, for the choice of the order; 0 after one iteration
  Real iterations;         ///< Newton iterations of the slowest stage, for the choice of the next step
  MaskOf<Real> renewed = MaskOf<Real>(true);  ///< the Jacobian was evaluated; of methods that keep it
};

/// Takes the Newton iteration of a stage into the attempt.
template <class Real>
MANYFOLD_INLINE void add_stage(const NewtonResult<Real>& newton, StepAttempt<Real>& attempt) {
  attempt.finite = attempt.finite & newton.finite;
  attempt.rate = max(attempt.rate, newton.rate);
  attempt.iterations = max(attempt.iterations, newton.iterations);
  attempt.converged = newton.converged;
}

/// Of methods with several orders, each of which attempts the step in its lanes: nothing yet.
template <class Real>
MANYFOLD_INLINE StepAttempt<Real> no_attempt() {
  using Mask = MaskOf<Real>;
  return {Mask(false), Mask(false), Mask(true), Real(0.0), Real(0.0), Real(0.0), Real(0.0), Mask(false)};
}

/// Takes `attempt`, made in the lanes of `lanes`, into `all`.
template <class Real>
MANYFOLD_INLINE void add_attempt(const MaskOf<Real>& lanes, const StepAttempt<Real>& attempt, StepAttempt<Real>& all) {
  all.converged = all.converged | (lanes & attempt.converged);
  all.singular = all.singular | (lanes & attempt.singular);
  all.finite = all.finite & (attempt.finite | !lanes);
  all.renewed = all.renewed | (lanes & attempt.renewed);
  all.error = select(lanes, attempt.error, all.error);
  all.rate = select(lanes, attempt.rate, all.rate);
  all.last_rate = select(lanes, attempt.last_rate, all.last_rate);
  all.iterations = select(lanes, attempt.iterations, all.iterations);
}

}  // namespace manyfold
