#pragma once
// The integrator of one pack: every tick is one step attempt of every live lane.
#include <manyfold/status.hpp>

#include "../constraints/projection.hpp"
#include "../constraints/relaxed_output.hpp"
#include "../constraints/settled_output.hpp"
#include "../events/event_monitor.hpp"
#include "../methods/interior.hpp"
#include "../methods/method.hpp"
#include "../start/consistent_lanes.hpp"
#include "../start/kept_branch.hpp"
#include "branch_follower.hpp"
#include "step_controller.hpp"

namespace manyfold {

/// Instances of a pack that are ready to be integrated: consistent, with a first step.
template <class System, class Real>
struct InitialLanes {
  Real t;
  Real t_end;
  Real y[System::n];
  Real dy[System::n];
  Real p[System::constants_size];
  Real first_step;
  Real status;  ///< of lanes whose initial conditions failed, else `running`
  Real residual_norm;
  Real worst_equation;
  EventStart<System, Real> events;
};

/// How far an instance was from consistent conditions, where none were found.
struct Inconsistency {
  double residual_norm = 0.0;
  int worst_equation = -1;
};

template <class Method>
class Integrator {
  static_assert(SteppingMethod<Method>);

 public:
  using System = typename Method::System;
  using Real = typename Method::Real;
  using Mask = MaskOf<Real>;
  using Lanes = LaneTraits<Real>;
  using State = typename Method::State;
  /// Initial points are found in double precision, whatever follows.
  using InitialReal = typename LaneTraits<Real>::Double;
  using Initial = InitialLanes<Alone<System>, InitialReal>;
  using Team = TeamOf<System>;
  using Events = EventMonitor<Alone<System>, Real, State>;
  using Branch = BranchFollower<Alone<System>, Real, State>;
  static constexpr int n = System::n;
  static constexpr bool projects = manyfold::projects<System>();
  /// Are algebraic variables settled at output times?
  static constexpr bool settles = settles_output<Alone<System>>();
  /// Is what is saved put on the constraints? Velocities of index 3 lie beside them, by an error of lower order.
  static constexpr bool projects_output = projects || (settles && System::highest_index() > 2);
  /// Are the ends of steps looked at with matrices of their own? Exponentials lead no method astray that does not
  /// iterate. To look for them would add a seventh to the instructions of a rectifier.
  static constexpr bool checks_ends =
      Branch::changes_branches && settles && System::has_bent_constraints(Method::most_newton_iterations > 1);
  /// Are algebraic variables settled at the beginning of steps that fail? Other paths keep a past, which contains them.
  static constexpr bool settles_starts = checks_ends && !Method::makes_past && requires(typename State::Path path) {
    path.rest(Mask(false), 0);
  };
  /// May there be branches that an instance is to stay on?
  static constexpr bool several_branches = Branch::changes_branches && manyfold::several_branches<Alone<System>>();
  /// Does Newton's method look ahead, and may find another branch there?
  static constexpr bool may_leave_branch = several_branches && Method::most_newton_iterations > 1;
  /// Do instances stay on their branch of the algebraic equations where an action makes them jump?
  static constexpr bool keeps_branches = System::has_events && several_branches;
  /// Are variables made to meet their equations where an event is found? The projection after its action may take an
  /// event back that was found beside the constraints. And velocities beside constraints of index 3, which return to
  /// them in the next step, stay wrong if the constraint ends there.
  static constexpr bool settles_events =
      (System::has_state_events || (System::has_events && System::highest_index() > 1)) &&
      (projects || (settles && looks_at_algebraic_errors));
  /// After so many failures in a row. With 1, circuits of diodes take a third more steps.
  static constexpr double failures_until_settled = 2.0;
  /// Is output all that needs the whole path of a step?
  static constexpr bool path_for_output =
      Method::path_on_request && !System::has_events && !projects && !checks_ends && !Branch::changes_branches;

  MANYFOLD_INLINE Integrator(const IntegratorOptions<n>& options, typename Method::Workspace& workspace,
                             const Team& team = {})
      : options_(options) {
    method_.use(workspace, team);
    status_ = Real(static_cast<double>(Status::cancelled));
    // Idle lanes run along on harmless numbers.
    state_.t = span_.begin = span_.end = state_.contraction = Real(0.0);
    state_.h = Real(1.0);
    state_.rtol = options.tolerances.rtol;
    for (int i = 0; i < n; ++i) state_.y[i] = state_.dy[i] = state_.weight[i] = Real(0.0);
    for (int i = 0; i < System::constants_size; ++i) state_.p[i] = Real(1.0);
    state_.path.start(Mask(true), Real(1.0), state_.dy);
    state_.memory = {};  // which start reads
    state_.memory.start(Mask(true));
    state_.ahead = state_.patient = state_.discontinuous = Mask(false);
    work_.newton_passes = 0.0;
  }

  /// What finds the initial conditions, with the matrices that it needs. Memory suffices, it need not be constructed.
  using Conditions = StartConditions<Alone<System>, InitialReal>;

  /// Makes instances ready: `lanes` comes with t, t_end, y, y' and the parameters proper in p. All lanes of the pack at
  /// once, before they are needed, so that refilling a lane later costs the others nothing.
  static MANYFOLD_OUTLINE void initialize(const IntegratorOptions<n>& options, Initial& lanes, Conditions& conditions) {
    System::derive(lanes.p);
    System::start_discrete(lanes.y, lanes.p);
    const auto point = conditions.solve(MaskOf<InitialReal>(true), lanes.t, lanes.t_end - lanes.t, lanes.y, lanes.dy,
                                        lanes.p, options.tolerances);
    lanes.first_step = point.first_step;
    lanes.residual_norm = point.residual_norm;
    lanes.worst_equation = point.worst_equation;
    lanes.status = select(point.consistent, InitialReal(running), failure_of(point));
    if constexpr (projects) {
      // Where projection would move it at once, an instance starts from values that contradict the invariants.
      const auto projected = project<System>(point.consistent, lanes.t, lanes.y, lanes.p, options.tolerances);
      const auto off = point.consistent & !(projected.met & (projected.distance <= InitialReal(1.0)));
      lanes.status =
          select(off, InitialReal(static_cast<double>(Status::inconsistent_initial_conditions)), lanes.status);
      lanes.residual_norm = select(off, projected.violation, lanes.residual_norm);
    }
    if constexpr (System::has_events) {
      const InitialReal forward = select(lanes.t_end < lanes.t, InitialReal(-1.0), InitialReal(1.0));
      lanes.events = event_start<Alone<System>>(lanes.t, forward, lanes.y, lanes.dy, lanes.p);
    }
  }

  /// Puts instance `from` of `lanes` into lane `lane`.
  MANYFOLD_OUTLINE void load(int lane, const Initial& lanes, int from) {
    using From = LaneTraits<InitialReal>;
    const auto copy = [&](Real& to, const InitialReal& value) { Lanes::set(to, lane, From::get(value, from)); };
    const auto put = [&](auto& to, double value) { Lanes::set(to, lane, value); };
    copy(state_.t, lanes.t);
    put(t_rest_, 0.0);
    copy(span_.begin, lanes.t);
    copy(span_.end, lanes.t_end);
    for (int i = 0; i < n; ++i) {
      copy(state_.y[i], lanes.y[i]);
      copy(state_.dy[i], lanes.dy[i]);
    }
    for (int i = 0; i < System::constants_size; ++i) copy(state_.p[i], lanes.p[i]);
    copy(status_, lanes.status);
    const double t = From::get(lanes.t, from);
    const double span = From::get(lanes.t_end, from) - t;
    double h = options_.steps.first_step > 0.0 ? options_.steps.first_step : From::get(lanes.first_step, from);
    if (options_.steps.fixed_step > 0.0) h = options_.steps.fixed_step;
    h = min(h, options_.steps.max_step);
    if (span < 0.0) h = -h;
    put(state_.contraction, 1.0);
    put(state_.h, Lanes::get(begin_path(Lanes::only(lane), Real(h)), lane));
    for (int i = 0; i < n; ++i) {
      put(state_.weight[i], error_weight(options_.tolerances, i, From::get(lanes.y[i], from)));
    }
    state_.memory.start(Lanes::only(lane));
    control_.forget(Lanes::only(lane));
    control_.restart(Lanes::only(lane), Real(0.0), state_);
    branch_.begin(Lanes::only(lane), state_);
    branch_.forget(Lanes::only(lane));
    put(accepted_, 0.0);
    put(rejected_, 0.0);
    put(newton_failures_, 0.0);
    put(work_.newton_iterations, 0.0);
    put(work_.residuals, 0.0);
    put(work_.jacobians, 0.0);
    put(work_.factorizations, 0.0);
    put(work_.solves, 0.0);
    if constexpr (System::has_events) {
      passage_.monitor.load(lane, lanes.events, from, t, span < 0.0 ? -1.0 : 1.0);
      put(passage_.cut, largest_number);
    }
    // Nothing to do where the span is empty.
    if (span == 0.0 && Lanes::get(status_, lane) == running) put(status_, static_cast<double>(Status::success));
  }

  MANYFOLD_INLINE Mask live() const { return status_ == Real(running); }

  /// A step attempt on its way.
  struct Step {
    Mask lanes;     ///< in which it is tried
    Mask last;      ///< it goes to `target`
    Mask cautious;  ///< it is the first one, or follows a failure
    Real begin;
    Real target;  ///< the end or an event, if that comes first
    Real h;
  };

  /// One step attempt of every live lane; returns the lanes whose attempt was accepted. Where an event occurs in the
  /// step, `struck` holds the lane and `reached` its time, until `enter_events` and `leave_events` take it through.
  MANYFOLD_INLINE Mask tick() {
    const Step step = begin_step();
    const StepAttempt<Real> attempt =
        method_.attempt(step.lanes, control_.stale(), step.cautious, state_, step.h, options_.newton, work_);
    return end_step(step, attempt);
  }

  /// What the live lanes try next.
  MANYFOLD_INLINE Step begin_step() {
    Step step;
    step.lanes = live();
    step.begin = state_.t;
    step.target = span_.end;
    if constexpr (System::has_events) {
      const auto nearer = [&](const Real& time) {
        step.target = select(abs(time - step.begin) < abs(step.target - step.begin), time, step.target);
      };
      nearer(passage_.monitor.next_time());
      nearer(passage_.cut);
      passage_.proposed = state_.h;
    }
    // A last step, to the end or to an event, is stretched by up to one percent rather than leave a crumb.
    Real remaining = step.target - state_.t;
    if constexpr (keeps_rest<Real>) remaining -= t_rest_;
    step.last = abs(state_.h) * Real(1.01) >= abs(remaining);
    step.h = select(step.last, remaining, state_.h);
    if constexpr (System::highest_index() > 1) scale_weights(step.lanes, step.h);
    step.cautious = control_.after_failure();
    return step;
  }

  // The attempt of a method in phases, which waits for its linear systems to be solved.
  MANYFOLD_INLINE void begin_attempt(const Step& step) {
    method_.begin_attempt(control_.stale(), step.cautious, state_, step.h, work_);
  }
  MANYFOLD_INLINE auto take_corrections() { return method_.take_corrections(state_, options_.newton, work_); }
  MANYFOLD_INLINE auto take_estimate() { return method_.take_estimate(state_, work_); }
  MANYFOLD_INLINE const Method& method() const { return method_; }

  /// Judges the attempt of a step; returns as `tick`.
  MANYFOLD_INLINE Mask end_step(const Step& step, const StepAttempt<Real>& attempt) {
    const auto& [lanes, last, cautious, begin, target, h] = step;
    const Mask fixed(options_.steps.fixed_step > 0.0);
    Mask accepted = lanes & attempt.converged & ((attempt.error < Real(1.0)) | fixed);
    const Mask rejected = lanes & attempt.converged & !accepted;
    Mask failed = lanes & !attempt.converged;

    [[maybe_unused]] const Before before = this->before();
    method_.commit(accepted, state_, h);
    if constexpr (Method::path_on_request && !path_for_output) method_.complete_path(accepted, state_);
    advance_time(accepted, last, target, h);
    check_end(step, before, fixed, accepted, failed);
    if constexpr (System::has_events) find_events(step, attempt, before, fixed, accepted);
    control_.choose(options_, method_, state_, attempt, h, accepted, rejected, failed);
    control_.watch_for_jumps(options_, span_, state_, attempt, h, rejected);
    if constexpr (Branch::changes_branches) control_.get_on(options_, span_, state_, h, accepted, failed);
    branch_.forget(accepted);

    // What the error test finds may be what Newton's method left.
    state_.contraction = select(rejected, Real(1.0), state_.contraction);

    count_work<Real>(accepted_, accepted, Real(1.0));
    count_work<Real>(rejected_, rejected, Real(1.0));
    count_work<Real>(newton_failures_, failed, Real(1.0));
    Mask arrived = accepted & last;
    if constexpr (System::has_events) {
      passage_.reached = select(passage_.struck, passage_.monitor.time(), state_.t);
      passage_.residual_norm = Real(0.0);
      passage_.worst_equation = Real(-1.0);
      arrived = arrived & (target == span_.end) & !passage_.struck;
    }
    status_ = select(arrived, code(Status::success), status_);
    if (any(rejected | failed)) accepted = accepted | respond_to_failures(attempt, h, rejected, failed);
    const Mask exhausted =
        live() & lanes & (Real(accepted_ + rejected_ + newton_failures_) >= Real(options_.steps.max_steps));
    status_ = select(exhausted, code(Status::max_steps), status_);
    for (int i = 0; i < n; ++i) state_.weight[i] = select(accepted, weight(i), state_.weight[i]);
    return accepted;
  }

  /// Lanes whose last step was a jump, which has no path.
  MANYFOLD_INLINE Mask passed_jump() const { return branch_.passed_jump(); }

  /// Lanes with an event in the step just taken.
  MANYFOLD_INLINE const Mask& struck() const { return passage_.struck; }
  MANYFOLD_INLINE const Events& events() const { return passage_.monitor; }

  /// Moves the lanes of `struck` back to their events: the state is the one before the actions.
  MANYFOLD_OUTLINE void enter_events() {
    const auto ended = passage_.monitor.enter(passage_.struck, state_, meeting());
    if constexpr (keeps_rest<Real>) t_rest_ = select(passage_.struck, Real(0.0), t_rest_);
    const Real reason = select(ended.failed, code(Status::assertion_violated), code(Status::terminated_by_event));
    status_ = select(ended.terminal, reason, status_);
  }

  /// Carries out the actions in the lanes of `struck` and restarts them from a consistent state. All lanes with an
  /// event in the same tick at once; the others keep what they have.
  MANYFOLD_OUTLINE void leave_events() {
    Mask lanes = passage_.struck & live();
    if (!any(lanes)) return;
    typename Either<keeps_branches, JumpSide<Alone<System>, Real>, None>::type before;
    if constexpr (keeps_branches) put_side(before);
    const Mask restless = passage_.monitor.act(lanes, state_);
    // The step goes on as long as the last one was, or as the derivatives after the actions allow. A step that was cut
    // for an event says nothing of the next.
    Real h = max(abs(state_.h), abs(passage_.proposed));
    const Real first_step = make_consistent(lanes, Real(10.0) * h, before);
    lanes = lanes & live();
    // Where the solution happens to pass zero the derivatives ask for far too little: an error test costs less.
    const Real resolved = Real(1e-10) * span_.longer_part(state_.t);
    const Real suited = min(h, max(max(Real(after_event) * first_step, Real(1e-3) * h), resolved));
    h = options_.steps.fixed_step > 0.0 ? Real(options_.steps.fixed_step) : suited;
    h = select(state_.path.h < Real(0.0), -h, h);
    const Mask storm = passage_.monitor.restart(lanes, state_, h) | (lanes & restless);
    const Mask arrived = lanes & (state_.t == span_.end);
    status_ = select(arrived, code(Status::success), select(storm, code(Status::event_storm), status_));
    restart(lanes, h);
    branch_.begin(lanes, state_);
  }

  /// Time up to which output can be saved: of the event where one occurs, else of the last accepted step.
  MANYFOLD_INLINE const Real& reached() const {
    if constexpr (System::has_events) {
      return passage_.reached;
    } else {
      return state_.t;
    }
  }
  /// Where no consistent conditions were found after an event.
  MANYFOLD_INLINE Inconsistency inconsistency(int lane) const {
    if constexpr (System::has_events) {
      return {Lanes::get(passage_.residual_norm, lane), static_cast<int>(Lanes::get(passage_.worst_equation, lane))};
    } else {
      return {};
    }
  }

  /// Newton iterations of the pack since it was made.
  MANYFOLD_INLINE double newton_passes() const { return work_.newton_passes; }
  MANYFOLD_INLINE const Real& t() const { return state_.t; }
  MANYFOLD_INLINE const Real& y(int i) const { return state_.y[i]; }
  MANYFOLD_INLINE const Real& dy(int i) const { return state_.dy[i]; }
  MANYFOLD_INLINE const Real& h_accepted() const { return state_.path.h; }
  MANYFOLD_INLINE Status status(int lane) const {
    return static_cast<Status>(static_cast<int>(Lanes::get(status_, lane)));
  }

  // The solution in the last accepted steps, as they stand in a state: that of the lanes, or one with their steps in
  // another order.

  MANYFOLD_INLINE const State& state() const { return state_; }

  /// To be called before output within the steps that the lanes of `lanes` have just taken. A jump is no step.
  MANYFOLD_INLINE void prepare_output(const Mask& lanes) {
    if constexpr (path_for_output) {
      const Mask stepped = lanes & !passed_jump();
      if (any(stepped)) method_.complete_path(stepped, state_);
    }
  }

  /// Writes to `section` what the functions below need of the lanes, in another order.
  MANYFOLD_INLINE void arrange(const auto& order, State& section) const {
    section.t = order(state_.t);
    section.path.take(order, state_.path);
    for (int i = 0; i < n; ++i) section.y[i] = order(state_.y[i]);
    for (int i = 0; i < n; ++i) section.dy[i] = order(state_.dy[i]);
    for (int i = 0; i < System::constants_size; ++i) section.p[i] = order(state_.p[i]);
  }

  /// Where a time lies in the step: -1 at its beginning, 0 at its end.
  static MANYFOLD_INLINE Real place_in_step(const State& state, const Real& time) {
    return (time - state.t) / state.path.h;
  }

  /// Variable i at a place in the step.
  static MANYFOLD_INLINE Real dense(const State& state, int i, const Real& place) {
    return state.y[i] + state.path.increment(i, place);
  }

  /// Derivative of variable i at a place in the step.
  static MANYFOLD_INLINE Real dense_slope(const State& state, int i, const Real& place) {
    return state.path.slope(i, place) / state.path.h;
  }

  /// Discrete number i.
  static MANYFOLD_INLINE const Real& discrete(const State& state, int i) { return state.p[System::first_discrete + i]; }

  /// What the model makes of a solution at t: `y(i)`, `dy(i)`.
  static MANYFOLD_INLINE void observe(const State& state, const Real& t, auto&& y, auto&& dy,
                                      Real (&o)[System::observables_size]) {
    Real values[n];
    Real slopes[n];
    for_each_index<n>([&](auto i) {
      values[i] = y(i);
      slopes[i] = dy(i);
    });
    System::observe(t, values, slopes, state.p, o);
  }

  /// Variables at a time of the step, as a function of their number; in the lanes of `lanes` the algebraic ones are
  /// those that belong to the others, and with projection or at index 3 all are on the constraints.
  MANYFOLD_INLINE auto point(const State& state, const Mask& lanes, const Real& time) const {
    const Real place = place_in_step(state, time);
    if constexpr (projects_output || settles) {
      struct {
        Real y[n];
        MANYFOLD_INLINE const Real& operator()(int i) const { return y[i]; }
      } result;
      for (int i = 0; i < n; ++i) result.y[i] = dense(state, i, place);
      if constexpr (projects_output) project<Alone<System>>(lanes, time, result.y, state.p, options_.tolerances);
      if constexpr (settles) {
        // At index 1 the end of a step meets the equations.
        const Mask between = System::highest_index() > 1 ? lanes : lanes & (time != state.t);
        if (any(between)) settle(between, state, time, result.y);
      }
      return result;
    } else {
      return [&state, place](int i) { return dense(state, i, place); };
    }
  }

  /// Makes `y`, the dense output at a time of the step, meet the equations in the lanes of `lanes`.
  MANYFOLD_INLINE void settle(const Mask& lanes, const State& state, const Real& time, Real (&y)[n]) const {
    Real polynomial[n];
    for (int i = 0; i < n; ++i) polynomial[i] = y[i];
    const Mask far =
        SettledOutput<Alone<System>, Real>().settle(lanes, time, y, state.dy, state.p, options_.tolerances);
    if constexpr (System::highest_index() == 1) {
      if (!any(far)) return;
      Real slope[n];
      for (int i = 0; i < n; ++i) slope[i] = dense_slope(state, i, place_in_step(state, time));
      RelaxedOutput<Alone<System>, Real>().relax(far, time, state.path.h, polynomial, slope, state.p,
                                                 options_.tolerances, y);
    }
  }

  MANYFOLD_INLINE Counters counters(int lane) const {
    const auto number = [lane](const CountOf<Real>& counter) {
      return static_cast<std::int64_t>(Lanes::get(counter, lane));
    };
    Counters result;
    result.steps = number(accepted_);
    result.rejected = number(rejected_);
    result.newton_failures = number(newton_failures_);
    result.newton_iterations = number(work_.newton_iterations);
    result.residuals = number(work_.residuals);
    result.jacobians = number(work_.jacobians);
    result.factorizations = number(work_.factorizations);
    result.solves = number(work_.solves);
    if constexpr (System::has_events) result.events = number(passage_.monitor.total());
    return result;
  }

  /// Ends lane `lane` early.
  MANYFOLD_INLINE void cancel(int lane) { Lanes::set(status_, lane, static_cast<double>(Status::cancelled)); }

 private:
  /// Is the first step after an event an implicit Euler step? It is with methods that choose steps and orders by a past
  /// and begin without one.
  static constexpr bool begins_with_euler =
      (Method::step_choice == StepChoice::by_method && !Method::makes_past) || Method::Tableau::order == 1;
  /// That step in first steps of a start, which are a hundredth of |y| / |y'|. After a whole |y| / |y'|, half of a
  /// flight, implicit Euler steps of a ball end on the floor and at rest.
  static constexpr double after_event = begins_with_euler ? 180.0 : 100.0;
  /// Steps with so small an error have an accurate polynomial too.
  static constexpr double error_of_exact_step = 1e-6;
  /// The weights for a step of length h: errors and corrections of variables of index 2 and 3, which are larger than
  /// those of the others by 1/h and 1/h^2, count times h and h^2. Hairer, Lubich & Roche, The Numerical Solution of
  /// Differential-Algebraic Systems by Runge-Kutta Methods (1989), and the code RADAU5.
  ///
  /// That depends on the unit of time: in a circuit with steps of 1e-7 s an error of ten volts would be nothing. In
  /// sums this does no harm, because the effect of forces shows in other variables. But an exponential of such an error
  /// is no start for the next step. So forces that equations bend in count with at least a thousandth. Attempts may
  /// fail for just that reason, since rounding errors are larger in very short steps: after some failures they count
  /// with h.
  MANYFOLD_INLINE void scale_weights(const Mask& mask, const Real& h) {
    Real weight[n];
    error_weights(options_.tolerances, state_.y, weight);
    [[maybe_unused]] Real of_forces = abs(h);
    if constexpr (System::has_bent_forces()) {
      of_forces = select(control_.struggling(), of_forces, max(of_forces, Real(1e-3)));
    }
    static_for<n>([&](auto i) {
      constexpr int index = System::index(i);
      if constexpr (System::is_force(i)) {
        weight[i] *= of_forces;
      } else {
        if constexpr (index > 1) weight[i] *= abs(h);
        if constexpr (index > 2) weight[i] *= abs(h);
      }
      state_.weight[i] = select(mask, weight[i], state_.weight[i]);
    });
  }

  /// What the lanes of a model with events have in addition.
  struct Passage {
    Events monitor;
    Mask struck = Mask(false);
    Real proposed = Real(1.0);        ///< step that would have been tried if no event had cut it
    Real cut = Real(largest_number);  ///< where a step that is taken again ends, shortly after its event
    Real reached;                     ///< by the last step
    Real residual_norm;               ///< after the events of the last step
    Real worst_equation;
  };

  static MANYFOLD_INLINE Real code(Status status) { return Real(static_cast<double>(status)); }

  /// What a step changes and `go_back` restores.
  struct Before {
    Real t_rest;
    Real y[n];
    Real dy[n];
    typename State::Path path;
  };
  MANYFOLD_INLINE Before before() const {
    Before result{};
    if constexpr (System::has_events || projects || checks_ends || several_branches) {
      for (int i = 0; i < n; ++i) {
        result.y[i] = state_.y[i];
        result.dy[i] = state_.dy[i];
      }
      result.path = state_.path;
      result.t_rest = t_rest_;
    }
    return result;
  }
  MANYFOLD_OUTLINE void go_back(const Mask& lanes, const Real& begin, const Before& before) {
    const auto put = [&](Real& to, const Real& value) { to = select(lanes, value, to); };
    put(state_.t, begin);
    if constexpr (keeps_rest<Real>) put(t_rest_, before.t_rest);
    for (int i = 0; i < n; ++i) {
      put(state_.y[i], before.y[i]);
      put(state_.dy[i], before.dy[i]);
    }
    state_.path.copy(lanes, before.path);
  }

  /// Takes steps back whose end is not where the equations lead: these have failed, and are not accepted.
  MANYFOLD_INLINE void check_end(const Step& step, const Before& before, const Mask& fixed, Mask& accepted,
                                 Mask& failed) {
    [[maybe_unused]] const auto take_back = [&](const Mask& wrong) {
      if (any(wrong)) go_back(wrong, step.begin, before);
      accepted = accepted & !wrong;
      failed = failed | wrong;
    };
    if constexpr (checks_ends) {
      take_back(SettledOutput<Alone<System>, Real>().astray(accepted, state_.t, state_.y, state_.dy, state_.p,
                                                            options_.tolerances));
    }
    // After the check: the projection moves y alone, away from what the algebraic variables were found for.
    if constexpr (projects) take_back(accepted & !project_end(accepted));
    if constexpr (several_branches) {
      take_back(
          branch_.slips(accepted & !fixed & !control_.struggling(), state_, step.begin, before, options_.tolerances));
    }
    if constexpr (may_leave_branch) {
      take_back(
          branch_.strays(accepted & control_.has_failed() & !fixed, state_, step.begin, before, options_.tolerances));
    }
  }

  /// Finds events in the step just taken, which is taken back where a shorter one is to find them.
  MANYFOLD_INLINE void find_events(const Step& step, const StepAttempt<Real>& attempt, const Before& before,
                                   const Mask& fixed, Mask& accepted) {
    const Mask was_cut = passage_.cut != Real(largest_number);
    const Mask rough = (attempt.error > Real(error_of_exact_step)) & !was_cut & !fixed;
    const Mask leapt =
        branch_.leaps(accepted & !step.last & !passage_.monitor.begins_across(), state_, before.dy, span_);
    const auto found = passage_.monitor.template find<settles_events>(accepted & !leapt, rough, state_, step.begin,
                                                                      attempt.error, meeting());
    passage_.struck = found.struck;
    if (any(leapt)) passage_.struck = passage_.struck | passage_.monitor.jump(leapt, state_);
    passage_.cut = select(accepted, select(found.again, found.cut, Real(largest_number)), passage_.cut);
    if (any(found.again)) go_back(found.again, step.begin, before);
    accepted = accepted & !found.again;
  }

  /// Ends lanes that cannot go on, and prepares the next attempt of the others; returns those that were taken on
  /// without a step.
  MANYFOLD_INLINE Mask respond_to_failures(const StepAttempt<Real>& attempt, const Real& h, const Mask& rejected,
                                           const Mask& failed) {
    auto [hopeless, reason] = control_.examine_failures(state_, attempt, rejected, failed);
    if constexpr (Branch::changes_branches) {
      const Mask first = control_.failed_times(1.0, rejected | failed);
      if (any(first)) branch_.keep_anchor(first, state_, span_);
    }
    if constexpr (may_leave_branch) {
      const Mask ahead = failed & state_.ahead & !state_.patient;
      if (any(ahead)) turn_back_from_folds(ahead);
    }
    if constexpr (settles_starts) {
      const Mask lost = control_.failed_times(failures_until_settled, rejected | failed);
      if (any(lost)) settle_start(lost);
    }
    Mask passed(false);
    if constexpr (Branch::leads_on) {
      Mask negligible = (rejected | failed) & (abs(h) <= span_.negligible_step(state_.t));
      if (any(negligible)) negligible = negligible & rests<System>(state_.dy, state_.weight, h);
      const Mask stuck = hopeless | negligible;
      if (any(stuck) && options_.steps.fixed_step == 0.0) {
        passed = lead_on(stuck, hopeless, h);
        hopeless = hopeless & !passed;
      }
    }
    status_ = select(hopeless & live(), reason, status_);
    return passed;
  }

  /// Makes y, found on the polynomial, and y' meet the equations in some lanes.
  MANYFOLD_INLINE auto meeting() const {
    return [this](const Mask& lanes, const Real& t, Real(&y)[n], Real(&dy)[n]) {
      if constexpr (settles_events) {
        if (!any(lanes)) return;
        if constexpr (projects || System::highest_index() > 1) {
          project<Alone<System>>(lanes, t, y, state_.p, options_.tolerances);
        }
        if constexpr (settles) {
          SettledOutput<Alone<System>, Real>().settle(lanes, t, y, dy, state_.p, options_.tolerances);
        }
        if constexpr (System::semi_explicit) {
          Real none[n];
          Real F[n];
          for (int i = 0; i < n; ++i) none[i] = Real(0.0);
          System::residual(t, y, none, state_.p, F);
          static_for<n>([&](auto i) {
            if constexpr (!System::algebraic(i)) dy[i] = select(lanes, -F[i], dy[i]);
          });
        }
      }
    };
  }

  /// Puts algebraic variables at the beginning of the next step on their constraints, in the lanes of `lanes`. Where
  /// these bend within a tolerance, the matrix of a value that is off by one is that of another slope, however short
  /// the step. The next step begins with them at rest: extrapolation would magnify what Newton's method left in them.
  MANYFOLD_OUTLINE void settle_start(const Mask& lanes) requires(settles_starts) {
    Real y[n];
    for (int i = 0; i < n; ++i) y[i] = state_.y[i];
    const Mask far =
        SettledOutput<Alone<System>, Real>().settle(lanes, state_.t, y, state_.dy, state_.p, options_.tolerances);
    const Mask found = lanes & !far;
    static_for<n>([&](auto i) {
      if constexpr (!System::derivative_occurs(i)) {
        state_.y[i] = select(found, y[i], state_.y[i]);
        state_.path.rest(found, i);
      }
    });
  }

  /// The next attempt in the lanes of `ahead` is to take its matrix from where the step leads. Behind a fold or a pole
  /// of the algebraic equations Newton's method would find another branch with it, however far the step goes.
  MANYFOLD_OUTLINE void turn_back_from_folds(const Mask& ahead) requires(may_leave_branch) {
    const PointAhead<Alone<System>, Real> end(ahead, state_, state_.h);
    state_.ahead = state_.ahead & !folds_between<Alone<System>, Real>(ahead, options_.tolerances, state_, end);
  }

  /// Projects the end of the step in the lanes of `lanes`; returns those that are on the constraints then. The path
  /// leads to the new end, and y' of a semi-explicit system is that of its equations there.
  MANYFOLD_OUTLINE Mask project_end(const Mask& lanes) {
    Real y[n];
    for (int i = 0; i < n; ++i) y[i] = state_.y[i];
    const Mask met = project<System>(lanes, state_.t, y, state_.p, options_.tolerances).met;
    Real shift[n];
    for (int i = 0; i < n; ++i) {
      shift[i] = y[i] - state_.y[i];
      state_.y[i] = y[i];
    }
    state_.path.move_end(shift);
    if constexpr (System::semi_explicit) {
      Real none[n];
      Real F[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      System::residual(state_.t, state_.y, none, state_.p, F);
      static_for<n>([&](auto i) {
        if constexpr (!System::algebraic(i)) state_.dy[i] = select(met, -F[i], state_.dy[i]);
      });
    }
    return met;
  }

  MANYFOLD_INLINE void put_side(JumpSide<Alone<System>, Real>& side) const {
    side.t = state_.t;
    for (int i = 0; i < n; ++i) {
      side.y[i] = state_.y[i];
      side.dy[i] = state_.dy[i];
    }
    for (int i = 0; i < System::constants_size; ++i) side.p[i] = state_.p[i];
  }

  /// Consistent conditions after an event in the lanes of `lanes`: state_.y and state_.dy there, the status where there
  /// are none. `before`: the side before the actions, if branches are kept. Returns the first step that suits them.
  MANYFOLD_INLINE Real make_consistent(const Mask& lanes, const Real& span, const auto& before) {
    ConsistentLanes<Alone<System>, Real> found;
    for (int i = 0; i < n; ++i) {
      found.y[i] = state_.y[i];
      found.dy[i] = state_.dy[i];
    }
    find_consistent(lanes, state_.t, span, state_.p, options_.tolerances, found);
    if constexpr (keeps_branches) {
      JumpSide<Alone<System>, Real> behind;
      put_side(behind);
      keep_branch(lanes, span, before, behind, options_.tolerances, found);
    }
    const auto put = [&](Real& to, const Real& value) { to = select(lanes, value, to); };
    put(status_, found.status);
    put(passage_.residual_norm, found.residual_norm);
    put(passage_.worst_equation, found.worst_equation);
    for (int i = 0; i < n; ++i) {
      put(state_.y[i], found.y[i]);
      put(state_.dy[i], found.dy[i]);
    }
    return found.first_step;
  }

  /// Takes lanes on that no step leads on, if anything does; returns these.
  MANYFOLD_OUTLINE Mask lead_on(const Mask& stuck, const Mask& hopeless, const Real& h) {
    const auto point = branch_.lead_on(stuck, hopeless, h, state_, span_, options_.tolerances);
    const Mask passed = point.passed;
    if (!any(passed)) return passed;
    const auto put = [&](Real& to, const Real& value) { to = select(passed, value, to); };
    put(state_.t, point.t);
    if constexpr (keeps_rest<Real>) put(t_rest_, Real(0.0));
    for (int i = 0; i < n; ++i) {
      put(state_.y[i], point.y[i]);
      put(state_.dy[i], point.dy[i]);
    }
    const Real first_step = min(point.first_step, Real(options_.steps.max_step));
    restart(passed, select(h < Real(0.0), -first_step, first_step));
    // Those that go on as before might take steps that t does not see to the end of their branch.
    control_.age(passed & !point.elsewhere);
    branch_.begin(passed & point.elsewhere, state_);
    status_ = select(passed & (point.t == span_.end), code(Status::success), status_);
    if constexpr (System::has_events) {
      put(passage_.reached, point.t);
      passage_.struck = passage_.struck | passage_.monitor.jump(passed, state_);
    }
    branch_.mark(passed);
    return passed;
  }

  /// Begins anew from (y, y') in the lanes of `lanes`, with a first step h.
  MANYFOLD_INLINE void restart(const Mask& lanes, const Real& h) {
    const auto put = [&](Real& to, const Real& value) { to = select(lanes, value, to); };
    put(state_.h, begin_path(lanes, h));
    put(state_.contraction, Real(1.0));
    for (int i = 0; i < n; ++i) put(state_.weight[i], weight(i));
    Real crowded(0.0);
    if constexpr (System::has_events) crowded = passage_.monitor.crowded();
    control_.restart(lanes, crowded, state_);
  }

  /// Makes the past begin at (t, y, y') in the lanes of `lanes`; returns the step that the method begins with, of at
  /// most |h| unless that is prescribed.
  MANYFOLD_INLINE Real begin_path(const Mask& lanes, const Real& h) {
    state_.path.start(lanes, h, state_.dy);
    Real step = h;
    if constexpr (Method::makes_past) {
      const Real own = Method::begin(lanes, state_, h, options_.tolerances);
      if (options_.steps.first_step == 0.0 && options_.steps.fixed_step == 0.0) step = select(h < Real(0.0), -own, own);
    }
    return step;
  }

  /// Weight of component i in the error norm.
  MANYFOLD_INLINE Real weight(int i) const { return error_weight(options_.tolerances, i, state_.y[i]); }

  /// t := t + h, or `target` where the step is the last. Knuth's sum of two numbers and its error; The Art of Computer
  /// Programming, vol. 2, section 4.2.2, theorem B.
  MANYFOLD_INLINE void advance_time(const Mask& accepted, const Mask& last, const Real& target, const Real& h) {
    Real step = h;
    if constexpr (keeps_rest<Real>) step += t_rest_;
    const Real sum = state_.t + step;
    if constexpr (keeps_rest<Real>) {
      const Real added = sum - state_.t;
      const Real error = (state_.t - (sum - added)) + (step - added);
      t_rest_ = select(accepted, select(last, Real(0.0), error), t_rest_);
    }
    state_.t = select(accepted, select(last, target, sum), state_.t);
  }

  IntegratorOptions<n> options_;
  Method method_;
  State state_;
  StepController<Method> control_;
  WorkCounters<Real> work_;
  Real t_rest_;  ///< of the time: t is the sum of state_.t and this; only where a rest is kept
  TimeSpan<Real> span_;
  Real status_;
  CountOf<Real> accepted_;
  CountOf<Real> rejected_;
  CountOf<Real> newton_failures_;
  Branch branch_;
  // Not [[no_unique_address]]: NVRTC 13.0 lays out wrongly what comes after an object that ends in such a member.
  typename Either<System::has_events, Passage, None>::type passage_;
};

}  // namespace manyfold
