#pragma once
// Keeps the lanes of one pack busy: finished lanes are refilled at once with instances that a supply holds ready.
#include <manyfold/accepted_step.hpp>
#include <manyfold/outcome.hpp>

#include "integrator.hpp"
#include "interface.hpp"

namespace manyfold {

/// The settings of all instances, as `Method` wants them.
template <class Method>
MANYFOLD_INLINE IntegratorOptions<Method::n> integrator_options(const KernelOptions& options) {
  IntegratorOptions<Method::n> result{};
  result.tolerances.rtol = Method::internal_rtol(options.rtol);
  for (int i = 0; i < Method::n; ++i) {
    // atol with the factor of the larger of both: with that of rtol alone, which grows where rtol falls, a smaller rtol
    // would ask for less.
    const double larger = min(1.0, max(options.rtol, options.atol[i]));
    result.tolerances.atol[i] = options.atol[i] * (Method::internal_rtol(larger) / larger);
  }
  result.newton = {Method::newton_tolerance(result.tolerances.rtol), Method::most_newton_iterations};
  // Steps that may not shrink must be solved, however slowly Newton's method converges.
  if (options.steps.fixed_step > 0.0) result.newton.most_iterations = 50;
  result.steps = options.steps;
  return result;
}

/// An instance that is ready for a lane: element `from` of `lanes`. `Held`: by what the supply knows its assignment.
template <class Method, class Held>
struct ReadyInstance {
  const typename Integrator<Method>::Initial* lanes = nullptr;  ///< null: there is none
  int from = 0;
  Held held{};
};

/// Who sees accepted steps; nothing where nobody does.
template <class Observer>
struct ObserverLink {
  static_assert(StepObserver<Observer>, "manyfold: an observer of steps is called with an AcceptedStep");
  Observer* observer = nullptr;
};
template <>
struct ObserverLink<NoObserver> {};

/// A `Supply` is where instances come from and outcomes go:
///   ReadyInstance<Method, Held> next(bool wait)   the next instance; none: there are no more or, without `wait`, none
///                                                 yet
///   assignment(held)                        its assignment, or a reference to it
///   void store(held, outcome)
///   bool cancelled()                        asked once in `ticks_between_polls`
///   Team team()                             the threads that integrate an instance together
///   void cancel_ready()                     stores what waits and will not be integrated
template <class Method, class Supply, class Observer = NoObserver>
class LaneDriver : ObserverLink<Observer> {
 public:
  using System = typename Method::System;
  using Real = typename Method::Real;
  using Mask = MaskOf<Real>;
  using Lanes = LaneTraits<Real>;
  static constexpr int n = System::n;
  static constexpr int width = lane_width<Real>;
  using Held = typename Supply::Held;

  MANYFOLD_INLINE LaneDriver(const IntegratorOptions<n>& options, const SavedVariables& saved, Supply& supply,
                             typename Method::Workspace& workspace, const ObserverLink<Observer>& link = {})
      : ObserverLink<Observer>(link), saved_(saved), supply_(supply), integrator_(options, workspace, supply.team()) {}

  /// Integrates instances until the supply has no more, or the run is cancelled.
  MANYFOLD_INLINE void run(Utilisation& utilisation) {
    for (unsigned tick = 0; tick % Supply::ticks_between_polls != 0 || !supply_.cancelled(); ++tick) {
      refill();
      const Mask live = integrator_.live();
      if (!any(live)) break;
      const Mask accepted = integrator_.tick();
      utilisation.ticks += width;
      utilisation.lane_ticks += count(live);
      settle(live, accepted);
    }
    cancel_remaining();
    utilisation.iterations += integrator_.newton_passes() * width;
    utilisation.lane_iterations += lane_iterations_;
  }

  MANYFOLD_INLINE Integrator<Method>& integrator() { return integrator_; }

  /// Loads instances into the lanes that have none, while the supply has some.
  MANYFOLD_INLINE void refill() {
    const Mask live = integrator_.live();
    if (all(live)) return;
    bool busy = any(live);
    for (int lane = 0; lane < width; ++lane) {
      if (Lanes::test(live, lane)) continue;
      while (true) {
        const ReadyInstance<Method, Held> ready = supply_.next(!busy);
        if (ready.lanes == nullptr) return;
        held_[lane] = ready.held;
        integrator_.load(lane, *ready.lanes, ready.from);
        start_output(lane);
        if (Lanes::test(integrator_.live(), lane)) break;
        using Initial = LaneTraits<typename Integrator<Method>::InitialReal>;
        store(lane, {Initial::get(ready.lanes->residual_norm, ready.from),
                     static_cast<int>(Initial::get(ready.lanes->worst_equation, ready.from))});
      }
      busy = true;
    }
  }

  /// Saves the output of a step attempt of the lanes of `live`, takes those of `accepted` through their events, and
  /// stores the instances that ended.
  MANYFOLD_INLINE void settle(const Mask& live, const Mask& accepted) {
    save(accepted);
    const Mask observed = accepted & !integrator_.passed_jump();
    if constexpr (System::has_events) {
      observe(observed & !integrator_.struck());
      if (any(integrator_.struck())) pass_events(integrator_.struck());
    } else {
      observe(observed);
    }
    const Mask ended = live & !integrator_.live();
    if (any(ended)) {
      for (int lane = 0; lane < width; ++lane) {
        if (Lanes::test(ended, lane)) store(lane, integrator_.inconsistency(lane));
      }
    }
  }

  /// Ends the instances that are left.
  MANYFOLD_INLINE void cancel_remaining() {
    const Mask live = integrator_.live();
    for (int lane = 0; lane < width; ++lane) {
      if (!Lanes::test(live, lane)) continue;
      integrator_.cancel(lane);
      store(lane);
    }
    supply_.cancel_ready();
  }

 private:
  /// Saves what falls on the initial point, and finds the first output time after it.
  MANYFOLD_OUTLINE void start_output(int lane) {
    const auto& assignment = assignment_of_lane(lane);
    const bool forward = assignment.t_end >= assignment.t_begin;
    int& next = next_time_[lane];
    next = 0;
    logged_[lane] = 0;
    last_event_[lane] = -1;
    while (next < assignment.time_count) {
      const double time = assignment.times[next];
      if (forward ? time > assignment.t_begin : time < assignment.t_begin) break;
      if (time == assignment.t_begin) write_state(lane, assignment.values + next * saved_.count);
      ++next;
    }
    output_[lane] = assignment.values + next * saved_.count;
    set_output_time(lane);
  }

  MANYFOLD_INLINE void set_output_time(int lane) {
    const auto& assignment = assignment_of_lane(lane);
    const int next = next_time_[lane];
    const auto never = [&] { return assignment.t_end >= assignment.t_begin ? largest_number : -largest_number; };
    Lanes::set(output_time_, lane, next < assignment.time_count ? assignment.times[next] : never());
  }

  /// Output times passed by the accepted steps.
  MANYFOLD_INLINE void save(const Mask& accepted) {
    const auto pending = [&] {
      const Real beyond = output_time_ - integrator_.reached();
      return accepted & (select(integrator_.h_accepted() > Real(0.0), beyond, -beyond) <= Real(0.0));
    };
    integrator_.prepare_output(pending());
    if constexpr (width == 1) {
      for (; any(pending()); pass_output_time(0)) {
        save_points(integrator_.state(), Mask(true), output_time_,
                    [&](int place, const Real& value) { output_[0][place] = Lanes::get(value, 0); });
      }
    } else {
      for (Mask lanes = pending(); any(lanes); lanes = pending()) save_full_pack(lanes);
    }
  }

  /// Saves as many output times of the lanes of `pending` as a pack holds: steps differ in length, and a lane whose
  /// step passed many of them would have the others wait.
  MANYFOLD_OUTLINE void save_full_pack(const Mask& pending) {
    int from[width] = {};
    double* out[width];
    Real time = output_time_;
    int count = 0;
    for_each_lane(pending, [&](int lane) {
      const double reached = Lanes::get(integrator_.reached(), lane);
      const bool forward = Lanes::get(integrator_.h_accepted(), lane) > 0.0;
      for (; count < width; ++count) {
        const double next = Lanes::get(output_time_, lane);
        if (forward ? next > reached : next < reached) break;
        from[count] = lane;
        out[count] = output_[lane];
        Lanes::set(time, count, next);
        pass_output_time(lane);
      }
    });
    // Lanes that are left over repeat the first.
    for (int k = count; k < width; ++k) {
      from[k] = from[0];
      Lanes::set(time, k, Lanes::get(time, 0));
    }
    integrator_.arrange(typename Lanes::Order(from), section_);
    save_points(section_, Mask(true), time, [&](int place, const Real& value) {
      for (int k = 0; k < count; ++k) out[k][place] = Lanes::get(value, k);
    });
  }

  MANYFOLD_INLINE void pass_output_time(int lane) {
    output_[lane] += saved_.count;
    ++next_time_[lane];
    set_output_time(lane);
  }

  /// Calls `write(place, value)` for what is saved at times of the steps in `state`.
  MANYFOLD_INLINE void save_points(const typename Method::State& state, const Mask& lanes, const Real& time,
                                   auto&& write) const {
    const Real place = Integrator<Method>::place_in_step(state, time);
    const auto slope = [&](int i) { return Integrator<Method>::dense_slope(state, i, place); };
    for_each_saved(state, time, integrator_.point(state, lanes, time), slope, write);
  }

  /// Calls `write(place, value)` for what is saved of the solution `y(i)`, `dy(i)` at t, and of the discrete state.
  MANYFOLD_INLINE void for_each_saved(const typename Method::State& state, const Real& t, auto&& y, auto&& dy,
                                      auto&& write) const {
    if (!leads(supply_.team())) return;
    // Indices are constants where n is small: a GPU keeps in registers only what is not indexed at run time.
    for_each_index<n>([&](auto i) {
      const int place = saved_.place[i];
      if (place >= 0) write(place, y(i));
    });
    if constexpr (System::observables > 0) {
      Real o[System::observables_size];
      Integrator<Method>::observe(state, t, y, dy, o);
      for_each_index<System::observables>([&](auto i) {
        const int place = saved_.place[n + i];
        if (place >= 0) write(place, o[i]);
      });
    }
    for_each_index<System::discrete>([&](auto i) {
      const int place = saved_.place[n + System::observables + i];
      if (place >= 0) write(place, Integrator<Method>::discrete(state, i));
    });
  }

  /// What is saved of the state that lane `lane` is in, to `out`.
  MANYFOLD_INLINE void write_state(int lane, double* out) const {
    for_each_saved(
        integrator_.state(), integrator_.t(), [&](int i) { return integrator_.y(i); },
        [&](int i) { return integrator_.dy(i); },
        [&](int place, const Real& value) { out[place] = Lanes::get(value, lane); });
  }

  /// Shows the observer the states that the lanes of `lanes` have reached.
  MANYFOLD_INLINE void observe([[maybe_unused]] const Mask& lanes) {
    if constexpr (!is_same<Observer, NoObserver>) {
      for_each_lane(lanes, [&](int lane) {
        double y[n];
        double dy[n];
        for (int i = 0; i < n; ++i) {
          y[i] = Lanes::get(integrator_.y(i), lane);
          dy[i] = Lanes::get(integrator_.dy(i), lane);
        }
        const double t = Lanes::get(integrator_.t(), lane);
        (*this->observer)(AcceptedStep{assignment_of_lane(lane).instance, t, y, dy});
      });
    }
  }

  MANYFOLD_OUTLINE void pass_events(const Mask& struck) {
    integrator_.enter_events();
    observe(struck);
    log_events(struck);
    integrator_.leave_events();
    log_values_after(struck);
  }

  /// Writes the events that occur, with the values before their actions, as far as there is room.
  MANYFOLD_INLINE void log_events(const Mask& struck) {
    const auto& events = integrator_.events();
    const bool writes = leads(supply_.team());
    for (int lane = 0; lane < width; ++lane) {
      if (!Lanes::test(struck, lane)) continue;
      const auto& assignment = assignment_of_lane(lane);
      logged_before_[lane] = logged_[lane];
      const double time = Lanes::get(integrator_.reached(), lane);
      for (int event = 0; event < System::events; ++event) {
        if (!events.fired(event, lane)) continue;
        last_event_[lane] = event;
        double& first = assignment.first_event_times[event];
        if (writes && first != first) first = time;
        if (logged_[lane] == assignment.event_capacity) continue;
        if (writes) {
          assignment.events[logged_[lane]] = {time, event, events.direction(event, lane)};
          write_values(lane, logged_[lane], 0);
        }
        ++logged_[lane];
      }
    }
  }

  MANYFOLD_INLINE void log_values_after(const Mask& struck) {
    if (!leads(supply_.team())) return;
    for (int lane = 0; lane < width; ++lane) {
      if (!Lanes::test(struck, lane)) continue;
      for (int k = logged_before_[lane]; k < logged_[lane]; ++k) write_values(lane, k, 1);
    }
  }

  /// What is saved and the discrete state into entry `k` of the log, before or after the actions.
  MANYFOLD_INLINE void write_values(int lane, int k, int after) {
    double* out = assignment_of_lane(lane).event_values + (2 * k + after) * (saved_.count + System::discrete);
    write_state(lane, out);
    for_each_index<System::discrete>([&](auto i) {
      out[saved_.count + i] = Lanes::get(Integrator<Method>::discrete(integrator_.state(), i), lane);
    });
  }

  MANYFOLD_OUTLINE void store(int lane, const Inconsistency& inconsistency = {}) {
    const auto& assignment = assignment_of_lane(lane);
    InstanceOutcome outcome;
    outcome.status = integrator_.status(lane);
    outcome.t_reached = Lanes::get(integrator_.t(), lane);
    outcome.residual_norm = inconsistency.residual_norm;
    outcome.worst_equation = inconsistency.worst_equation;
    outcome.counters = integrator_.counters(lane);
    if constexpr (System::has_events) outcome.last_event = last_event_[lane];
    lane_iterations_ += static_cast<double>(outcome.counters.newton_iterations);
    if (assignment.end_states != nullptr && leads(supply_.team())) {
      // As the output at the end.
      const auto end = integrator_.point(integrator_.state(), Lanes::only(lane), integrator_.t());
      const bool at_end = outcome.status == Status::success;
      for_each_index<n>([&](auto i) {
        assignment.end_states[i] = Lanes::get(at_end ? end(i) : integrator_.y(i), lane);
        assignment.end_states[n + i] = Lanes::get(integrator_.dy(i), lane);
      });
      if constexpr (System::observables > 0) {
        Real o[System::observables_size];
        Integrator<Method>::observe(
            integrator_.state(), integrator_.t(), [&](int i) { return at_end ? end(i) : integrator_.y(i); },
            [&](int i) { return integrator_.dy(i); }, o);
        for_each_index<System::observables>([&](auto i) { assignment.end_states[2 * n + i] = Lanes::get(o[i], lane); });
      }
      for_each_index<System::discrete>([&](auto i) {
        assignment.end_states[2 * n + System::observables + i] =
            Lanes::get(Integrator<Method>::discrete(integrator_.state(), i), lane);
      });
    }
    supply_.store(held_[lane], outcome);
  }

  MANYFOLD_INLINE decltype(auto) assignment_of_lane(int lane) const { return supply_.assignment(held_[lane]); }

  SavedVariables saved_;
  Supply& supply_;
  Integrator<Method> integrator_;
  Held held_[width];
  int next_time_[width] = {};
  double* output_[width] = {};     ///< what is saved at the next time
  int logged_[width] = {};         ///< events in the log
  int logged_before_[width] = {};  ///< events in the log before those of the present tick
  int last_event_[width] = {};     ///< index of the last event; -1: none
  Real output_time_ = Real(0.0);
  struct Nothing {};
  typename Either<(width > 1), typename Method::State, Nothing>::type section_;  ///< steps in the order of their output
  double lane_iterations_ = 0.0;
};

}  // namespace manyfold
