#pragma once
// After an attempt: the length of the next step, whether its Jacobian must be new, and when an instance is given up.
#include <manyfold/status.hpp>
#include <manyfold/step_settings.hpp>

#include "../control/step_control.hpp"
#include "../methods/interior.hpp"
#include "../methods/method.hpp"
#include "../stage/reuse_rule.hpp"
#include "time_resolution.hpp"

namespace manyfold {

/// Settings that all instances share.
template <int n>
struct IntegratorOptions {
  Tolerances<n> tolerances;  ///< of the error test
  NewtonControl newton;
  StepSettings steps;
};

template <class Method>
class StepController {
 public:
  using System = typename Method::System;
  using Real = typename Method::Real;
  using State = typename Method::State;
  using Mask = MaskOf<Real>;
  using Options = IntegratorOptions<System::n>;

  /// Nothing is known of the lanes of `lanes`, which begin a new instance.
  MANYFOLD_INLINE void forget(const Mask& lanes) {
    rejected_error_ = select(lanes, Real(largest_number), rejected_error_);
    failure_ = select(lanes, Real(static_cast<double>(Status::step_too_small)), failure_);
  }

  /// The lanes of `lanes` begin anew, at a start or after an event. `crowded`: so many events have followed each other
  /// without progress.
  MANYFOLD_INLINE void restart(const Mask& lanes, const Real& crowded, State& state) {
    const auto put = [&](Real& to, double value) { to = select(lanes, Real(value), to); };
    put(history_.h, 0.0);
    put(history_.error_root, 1.0);
    put(jacobian_age_, 0.0);
    put(stale_, 1.0);
    put(after_failure_, 1.0);
    put(failures_, 0.0);
    put(rejections_, 0.0);
    put(creeping_, 0.0);
    begun_ = select(lanes, state.t, begun_);
    state.discontinuous = state.discontinuous & !lanes;
    state.ahead = state.ahead & !lanes;
    state.patient = state.patient & !lanes;
    if constexpr (begins_ahead<System>()) {
      // A variable that stays within a tolerance of zero crosses it again and again if it is taken to be farther away.
      Real foresight(1.0);
      for (int k = 1; k <= shorter_foresights; ++k) {
        foresight = select(crowded >= Real(double(k)), Real(shorter_foresight) * foresight, foresight);
      }
      state.foresight = select(lanes, foresight, state.foresight);
    }
  }

  /// The lanes of `lanes` have begun long ago: their steps are not shorter than the resolution of t.
  MANYFOLD_INLINE void age(const Mask& lanes) { begun_ = select(lanes, Real(-largest_number), begun_); }

  /// Lanes whose Jacobian must be evaluated before the next attempt.
  MANYFOLD_INLINE Mask stale() const { return stale_ != Real(0.0); }
  /// Lanes at a start, or whose last attempt was not accepted.
  MANYFOLD_INLINE Mask after_failure() const { return after_failure_ != Real(0.0); }

  /// Lanes whose last attempt failed.
  MANYFOLD_INLINE Mask has_failed() const { return failures_ > Real(0.0); }

  /// Lanes in which so many attempts in a row failed that h is very short.
  MANYFOLD_INLINE Mask struggling() const { return failures_ >= Real(failures_until_lenient); }

  /// Chooses the next step after an attempt of length h. A method of variable order chooses its order too.
  MANYFOLD_INLINE void choose(const Options& options, Method& method, State& state, const StepAttempt<Real>& attempt,
                              const Real& h, const Mask& accepted, const Mask& rejected, const Mask& failed) {
    if constexpr (Method::step_choice == StepChoice::by_method) {
      const Real next = method.next_step(state, h, accepted, rejected, failed);
      if (options.steps.fixed_step == 0.0)
        state.h = select(accepted | rejected | failed, limited(options, next), state.h);
      stale_ = select(accepted | rejected, Real(0.0), select(failed, Real(1.0), stale_));
      remember(state, accepted, rejected | failed);
    } else {
      choose_by_estimate(options, method, state, attempt, h, accepted, rejected, failed);
    }
  }

  /// Where algebraic variables jump, as with a source that is switched without an event, the error within a step across
  /// the jump does not fall with h. Once h is negligible, the jump is passed over: the error test of such a step sees
  /// its end only. A feature of the solution so short would take more steps than anybody has.
  MANYFOLD_INLINE void watch_for_jumps(const Options& options, const TimeSpan<Real>& span, State& state,
                                       const StepAttempt<Real>& attempt, const Real& h, const Mask& rejected) {
    if constexpr (tests_interior<System>()) {
      const Mask stalled = rejected & (attempt.error >= Real(0.5) * rejected_error_);
      Mask found = stalled & (abs(h) <= span.negligible_step(state.t));
      if (any(found)) found = found & rests<System>(state.dy, state.weight, h);
      // On the way there h falls fast. Then the same step is taken again: a shorter one might end before the jump.
      const Mask again = found & !state.discontinuous;
      const Mask shorten = stalled & !found & (failures_ > Real(0.0));
      if (options.steps.fixed_step == 0.0) state.h = select(again, h, select(shorten, Real(0.2) * h, state.h));
      rejected_error_ = select(rejected, attempt.error, rejected_error_);
      state.discontinuous = found | (rejected & state.discontinuous);
    }
  }

  /// Equations such as x + z = sqrt(x^2 + z^2) are met within the tolerance beside both of their branches. Where a step
  /// ends there, the error of the next one, or the failure of Newton's method, is the same at all h. So h falls until
  /// steps are accepted that lead nowhere, each of which may grow no further than the last rejection allows. After some
  /// of them h grows all the same. Where Newton's method fails in so long a step, it gets more iterations in the same
  /// step: in a shorter one it succeeds, and h never grows.
  MANYFOLD_INLINE void get_on(const Options& options, const TimeSpan<Real>& span, State& state, const Real& h,
                              const Mask& accepted, const Mask& failed) {
    const Mask negligible = abs(h) <= span.negligible_step(state.t);
    creeping_ = select(negligible, creeping_, Real(0.0));
    if (!any(negligible) || options.steps.fixed_step > 0.0) return;
    const Real more = select(rests<System>(state.dy, state.weight, h), creeping_ + Real(1.0), Real(0.0));
    creeping_ = select(negligible & accepted, more, creeping_);
    const Mask creeps = negligible & (creeping_ > Real(most_creeping));
    state.h = select(creeps & accepted, limited(options, Real(2.0) * h), state.h);
    state.h = select(creeps & failed & !state.patient, h, state.h);
    state.patient = state.patient | (creeps & failed);
  }

  /// Lanes that cannot go on, and the status that says why.
  struct Hopeless {
    Mask lanes;
    Real reason;
  };

  /// Counts failures in a row, remembers their reason, and finds lanes that cannot go on. The error test is the reason
  /// if it rejected most of the attempts. Of other failures the first counts: in the end, when h is tiny, the matrices
  /// of systems of higher index are singular to working precision.
  MANYFOLD_OUTLINE Hopeless examine_failures(State& state, const StepAttempt<Real>& attempt, const Mask& rejected,
                                             const Mask& failed) {
    const Mask first = failures_ == rejections_;
    failures_ += select(rejected | failed, Real(1.0), Real(0.0));
    rejections_ += select(rejected, Real(1.0), Real(0.0));
    const Real reason = select(attempt.singular, code(Status::singular_jacobian),
                               select(attempt.finite, code(Status::newton_failure), code(Status::nonfinite_residual)));
    failure_ = select(failed & first, reason, failure_);
    const Real main_reason = select(Real(2.0) * rejections_ > failures_, code(Status::step_too_small), failure_);
    // Ten units in the last place of t: below, t + h is hardly a later time.
    constexpr double resolution = coarse_time<Real> ? epsilon<Real> * epsilon<Real> : epsilon<Real>;
    Real smallest = abs(state.t) * Real(10.0 * resolution);
    if constexpr (keeps_rest<Real> && !coarse_time<Real>) {
      const Mask young = abs(state.t - begun_) <= young_span(state.t);
      smallest = select(young, Real(epsilon<Real>) * smallest, smallest);
    }
    // The last attempt of Newton's method, with the shortest step, is a patient one.
    const Mask shortest = abs(state.h) <= smallest;
    const Mask last_chance = failed & shortest & !state.patient;
    state.h = select(last_chance, select(state.h < Real(0.0), -smallest, smallest), state.h);
    const Mask others = !(rejected | failed);
    state.ahead = (others & state.ahead) | (failed & !state.ahead) | last_chance;
    state.patient = (others & state.patient) | (failures_ - rejections_ >= Real(failures_until_patient)) | last_chance;
    const Mask hopeless = (rejected | failed) & ((shortest & !last_chance) | (failures_ >= Real(most_failures)));
    return {hopeless, main_reason};
  }

  /// Lanes of `failed` in which that many attempts in a row have failed.
  MANYFOLD_INLINE Mask failed_times(double times, const Mask& failed) const {
    return failed & (failures_ == Real(times));
  }

 private:
  /// The next step of a method with one order.
  MANYFOLD_INLINE void choose_by_estimate(const Options& options, Method& method, State& state,
                                          const StepAttempt<Real>& attempt, const Real& h, const Mask& accepted,
                                          const Mask& rejected, const Mask& failed) {
    if (options.steps.fixed_step > 0.0) {
      if (any(failed)) state.h = select(failed, Real(rule.after_failure) * h, state.h);
      remember(state, accepted, rejected | failed);
      return;
    }
    const Real error_root = error_root_of(method, state, max(attempt.error, Real(1e-10)));
    const Real divisor = safety_divisor(attempt.iterations, options.newton.most_iterations);
    Real factor = step_factor(h, error_root, divisor, history_, accepted);
    factor = wary_growth<System>(factor, attempt.error);
    // An error that is not finite says nothing but that the step was too long.
    factor = select(is_finite(attempt.error), factor, Real(1.0 / StepLimits::most_shrinkage));
    // No growth right after a rejection; h grows again once a step has been accepted.
    factor =
        select(accepted & (after_failure_ != Real(0.0)) & (history_.h != Real(0.0)), min(factor, Real(1.0)), factor);
    if constexpr (Method::keeps) {
      const Mask fast = attempt.rate <= Real(rule.rate_to_keep);
      const Mask keep = accepted & fast & (factor >= Real(1.0)) & (factor <= Real(StepLimits::keep_below));
      factor = select(keep, Real(1.0), factor);
      stale_ = select(accepted, select(fast, Real(0.0), Real(1.0)), stale_);
      stale_ = select(failed, Real(1.0), select(rejected, Real(0.0), stale_));
    }
    state.h = select(accepted | rejected, limited(options, factor * h), state.h);
    state.h = select(failed, after_newton_failure(attempt, h, accepted), state.h);
    history_.h = select(accepted, h, history_.h);
    history_.error_root = select(accepted, max(error_root, least_error_root(method, state)), history_.error_root);
    if constexpr (Method::step_choice == StepChoice::with_order) {
      const Mask changed = method.choose_order(state, attempt, factor, accepted, failed);
      // The error of the last step says nothing of the change of this order's error.
      history_.h = select(changed, Real(0.0), history_.h);
      stale_ = select(changed, Real(1.0), stale_);
    }
    remember(state, accepted, rejected | failed);
  }

  static MANYFOLD_INLINE Real error_root_of(const Method& method, const State& state, const Real& error) {
    if constexpr (Method::step_choice == StepChoice::with_order) {
      return method.error_root(state, error);
    } else {
      return rough_root<Method::Tableau::error_order>(error);
    }
  }

  /// Of an error of 0.01: smaller ones predict nothing.
  static MANYFOLD_INLINE Real least_error_root(const Method& method, const State& state) {
    if constexpr (Method::step_choice == StepChoice::with_order) {
      return method.error_root(state, Real(0.01));
    } else {
      constexpr double root = constant_root(0.01, Method::Tableau::error_order);
      return Real(root);
    }
  }

  /// A shorter step, unless it is the Jacobian that may be to blame.
  MANYFOLD_INLINE Real after_newton_failure(const StepAttempt<Real>& attempt, const Real& h, const Mask& accepted) {
    if constexpr (Method::keeps && rule.recent < largest_number) {
      jacobian_age_ = select(attempt.renewed, Real(0.0), jacobian_age_);
      const Mask recent = jacobian_age_ < Real(rule.recent);
      jacobian_age_ += select(accepted, Real(1.0), Real(0.0));
      return select(recent, Real(rule.after_failure) * h, h);
    } else {
      return Real(rule.after_failure) * h;
    }
  }

  /// The step, or the longest one that is allowed.
  static MANYFOLD_INLINE Real limited(const Options& options, const Real& step) {
    const Real longest(options.steps.max_step);
    return select(abs(step) > longest, select(step < Real(0.0), -longest, longest), step);
  }

  MANYFOLD_INLINE void remember(State& state, const Mask& accepted, const Mask& failed) {
    after_failure_ = select(accepted, Real(0.0), select(failed, Real(1.0), after_failure_));
    failures_ = select(accepted, Real(0.0), failures_);
    state.ahead = state.ahead & !accepted;
    if constexpr (begins_ahead<System>()) state.foresight = select(accepted, Real(0.0), state.foresight);
    state.patient = state.patient & !accepted;
    rejections_ = select(accepted, Real(0.0), rejections_);
  }

  static MANYFOLD_INLINE Real code(Status status) { return Real(static_cast<double>(status)); }

  static constexpr ReuseRule rule = reuse_rule(System::spec.jacobian_reuse);
  /// Attempts in a row without an accepted step before the instance is given up: h has shrunk by 1e-12 or more by then.
  static constexpr double most_failures = 40.0;
  /// With every event without progress the Jacobian is taken from so much nearer, down to rounding errors. Of 100
  /// random flows through orifices with `rodas4` at 1e-6, 23 were given up with 0.03, none with this.
  static constexpr double shorter_foresight = 0.003;
  static constexpr int shorter_foresights = 7;
  /// Failures of Newton's method in a row after which it gets more iterations: what h does not change is to blame.
  static constexpr double failures_until_patient = 3.0;
  /// Failures in a row after which rounding errors of forces may be to blame.
  static constexpr double failures_until_lenient = 8.0;
  /// Accepted steps in a row that lead nowhere before h grows all the same. A start grows by a half in each: from the
  /// resolution of t, 33 of them are negligible.
  static constexpr double most_creeping = 50.0;
  StepHistory<Real> history_;
  Real jacobian_age_ = Real(0.0);  ///< accepted steps since it was evaluated, where the rule of reuse asks
  Real stale_;
  Real after_failure_;
  Real failures_;        ///< attempts in a row that were not accepted
  Real rejections_;      ///< of these, by the error test
  Real failure_;         ///< status that the first other of these would lead to
  Real rejected_error_;  ///< error of the last rejected attempt
  Real creeping_;        ///< accepted steps in a row that lead nowhere
  Real begun_;           ///< the time of the last start
};

}  // namespace manyfold
