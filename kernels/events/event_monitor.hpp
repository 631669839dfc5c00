#pragma once
// Events of the lanes of a pack: crossings of root functions and scheduled times, what occurs at them, and the restart
// after them. docs/events.md states the rules and guarantees.
#include <manyfold/status.hpp>

#include "../methods/step.hpp"
#include "crossings.hpp"

namespace manyfold {

template <class System, class Real, class State>
class EventMonitor {
 public:
  using Mask = MaskOf<Real>;
  using Lanes = LaneTraits<Real>;
  static constexpr int n = System::n;
  static constexpr int events = System::events;
  static constexpr int size = System::events_size;

  MANYFOLD_INLINE EventMonitor() {
    for (int i = 0; i < size; ++i) occurrences_[i] = CountOf<Real>(0);
    next_time_ = Real(largest_number);
    previous_ = crowded_ = Real(0.0);
    total_ = CountOf<Real>(0);
  }

  /// Begins with instance `from` of `start` in lane `lane`, at time `t` with the direction of integration `forward`.
  template <class From>
  MANYFOLD_INLINE void load(int lane, const EventStart<System, From>& start, int from, double t, double forward) {
    const auto get = [from](const From& value) { return LaneTraits<From>::get(value, from); };
    const auto put = [lane](auto& to, double value) { Lanes::set(to, lane, value); };
    crossings_.load(lane, start, from);
    double next = forward * largest_number;
    for (int k = 0; k < System::scheduled_times; ++k) {
      const double time = get(start.schedule[k]);
      const bool later = forward * (time - t) > 0.0 && forward * (time - next) < 0.0;
      next = later ? time : next;
    }
    put(next_time_, next);
    if constexpr (reschedules) {
      for (Real& one : at_once_) put(one, 0.0);
    }
    for (int i = 0; i < events; ++i) put(occurrences_[i], 0.0);
    put(previous_, -largest_number);
    put(crowded_, 0.0);
    put(total_, 0.0);
  }

  /// The next scheduled time; infinite in the direction of integration where there is none.
  MANYFOLD_INLINE const Real& next_time() const { return next_time_; }

  struct Found {
    Mask struck;  ///< an event occurs in the step
    Mask again;   ///< one does, but where the polynomial is not accurate: the step is to be taken again, to `cut`
    Real cut;     ///< a time shortly after the event
  };

  /// Looks for events in the step from `begin` to the state of the lanes of `accepted`. In the lanes of `rough` the
  /// polynomial is accurate close to the ends of the step only. `error`: of the step, in tolerances. Lanes that go back
  /// forget the step. `meet(lanes, t, y, dy)` makes y and y' of the polynomial meet the equations, as far as that is
  /// called for.
  template <bool meets>
  MANYFOLD_INLINE Found find(const Mask& accepted, const Mask& rough, const State& state, const Real& begin,
                             const Real& error, auto&& meet) {
    Found result{Mask(false), Mask(false), Real(0.0)};
    crossings_.clear_directions();
    for (int i = 0; i < events; ++i) fired_[i] = Real(0.0);
    const Real resolution = Real(location_tolerance<Real>) * (abs(state.t) + abs(state.path.h));
    Real time = state.t;
    // Scheduled events occur where no crossing comes before them.
    Mask may_be_due = accepted;
    if constexpr (System::has_state_events) {
      find_crossing<meets>(accepted, rough, state, begin, error, resolution, meet, result, time);
      if constexpr (meets) {
        if (any(result.struck)) settle(state, meet, resolution, result.struck, time);
      }
      may_be_due = accepted & !result.again & !(result.struck & (time != state.t));
    }
    if constexpr (System::scheduled_times > 0) {
      const Mask due = may_be_due & (abs(next_time_ - state.t) <= resolution);
      if (any(due)) {
        Real schedule[System::scheduled_size];
        System::event_times(state.p, schedule);
        // Events that have scheduled others for now are as close, and have occurred.
        Mask only_at_once(false);
        if constexpr (reschedules) {
          for (const Real& one : at_once_) only_at_once = only_at_once | (one != Real(0.0));
        }
        static_for<System::scheduled_times>([&](auto slot) {
          constexpr int event = System::event_of_time(slot);
          Mask now = due & (abs(schedule[slot] - state.t) <= at_one_time(state));
          if constexpr (reschedules) now = (now & !only_at_once) | (due & (at_once_[slot] != Real(0.0)));
          fired_[event] = select(now, Real(1.0), fired_[event]);
        });
      }
      result.struck = result.struck | due;
    }
    time_ = time;
    return result;
  }

  /// The state of the lanes of `lanes` has jumped: what is across occurs at once. Returns the lanes with an event.
  MANYFOLD_INLINE Mask jump(const Mask& lanes, const State& state) {
    if constexpr (System::has_state_events) {
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      const auto here = root_values<System>(state.t, Real(1.0), state.y, state.dy, state.dy, none, state.p);
      const Mask struck = crossings_.jump(lanes, here, fired_);
      time_ = select(struck, state.t, time_);
      return struck;
    } else {
      return Mask(false);
    }
  }

  /// Lanes whose step that is to be looked at begins with an event.
  MANYFOLD_INLINE Mask begins_across() const { return crossings_.begins_across(); }

  /// How many events in a row came without progress in time.
  MANYFOLD_INLINE const Real& crowded() const { return crowded_; }

  /// Time of the events found last.
  MANYFOLD_INLINE const Real& time() const { return time_; }
  /// Did event `event` occur in lane `lane`?
  MANYFOLD_INLINE bool fired(int event, int lane) const { return Lanes::get(fired_[event], lane) != 0.0; }
  MANYFOLD_INLINE int direction(int event, int lane) const {
    return static_cast<int>(Lanes::get(crossings_.direction(event), lane));
  }
  MANYFOLD_INLINE const CountOf<Real>& total() const { return total_; }

  struct Ended {
    Mask terminal;
    Mask failed;  ///< by a terminal event that is a failure
  };

  /// Moves the lanes of `struck` back to their events, on the polynomial, and counts what occurs there. Returns the
  /// lanes in which an event is terminal. `meet`: as for `find`.
  MANYFOLD_INLINE Ended enter(const Mask& struck, State& state, auto&& meet) {
    const Real u = (time_ - state.t) / state.path.h;
    const Mask back = struck & (u < Real(0.0));
    for (int i = 0; i < n; ++i) {
      const Real y = state.y[i] + state.path.increment(i, u);
      const Real dy = state.path.slope(i, u) / state.path.h;
      state.y[i] = select(back, y, state.y[i]);
      state.dy[i] = select(back, dy, state.dy[i]);
    }
    state.t = select(struck, time_, state.t);
    meet(System::highest_index() > 1 ? struck : back, state.t, state.y, state.dy);
    const Mask crowded = (crowded_ > Real(0.0)) & has_not_moved_on(state);
    crossings_.enter(struck, state, fired_, abs(state.t - previous_), crowded);
    Mask terminal(false);
    Mask failed(false);
    static_for<events>([&](auto k) {
      constexpr Event event = System::event(k);
      const Mask now = struck & (fired_[k] != Real(0.0));
      count_work<Real>(total_, now, Real(1.0));
      if constexpr (event.terminal) terminal = terminal | now;
      if constexpr (event.terminal && event.failure) failed = failed | now;
      if constexpr (event.stop_after > 0) {
        count_work<Real>(occurrences_[k], now, Real(1.0));
        terminal = terminal | (now & (Real(occurrences_[k]) >= Real(double(event.stop_after))));
      }
    });
    return {terminal, failed};
  }

  /// Carries out the actions of the events that occur, together or in the order of their declaration. Returns the lanes
  /// in which the discrete state finds no rest.
  MANYFOLD_INLINE Mask act(const Mask& lanes, State& state) {
    Real before[n];
    for (int j = 0; j < n; ++j) before[j] = state.y[j];
    Real planned[System::scheduled_size];
    if constexpr (reschedules) System::event_times(state.p, planned);
    Mask unsettled(false);
    if constexpr (System::acts_together) {
      Real told[size];
      for (int k = 0; k < events; ++k) told[k] = crossings_.told(k, fired_[k]);
      unsettled = System::act_together(told, lanes, state.t, state.y, state.dy, state.p);
    } else {
      static_for<events>([&](auto k) {
        const Mask now = lanes & (fired_[k] != Real(0.0));
        if (any(now)) System::act(k, now, state.t, state.y, state.dy, state.p);
      });
    }
    if constexpr (reschedules) note_what_is_due(lanes, state, planned);
    moved_ = moved_ & !lanes;
    for (int j = 0; j < n; ++j) {
      if (System::derivative_occurs(j)) moved_ = moved_ | (lanes & (state.y[j] != before[j]));
    }
    return unsettled;
  }

  /// After the actions, at a consistent state: where the root functions are, and what is scheduled next. `h`: the next
  /// step. Returns the lanes in which events follow each other without progress in time.
  MANYFOLD_INLINE Mask restart(const Mask& lanes, const State& state, const Real& h) {
    const Real forward = select(h < Real(0.0), Real(-1.0), Real(1.0));
    const auto start = event_start<System>(state.t, forward, state.y, state.dy, state.p);
    crossings_.restart(lanes, state, start, fired_, moved_, h);
    if constexpr (System::scheduled_times > 0) {
      Real next = forward * Real(largest_number);
      static_for<System::scheduled_times>([&](auto slot) {
        // What has occurred with others may have been due a little later than these.
        const Real ahead = forward * (start.schedule[slot] - state.t);
        const Mask done = (fired_[System::event_of_time(slot)] != Real(0.0)) & (ahead <= at_one_time(state));
        const Mask later = (ahead > Real(0.0)) & !done & (forward * (start.schedule[slot] - next) < Real(0.0));
        next = select(later, start.schedule[slot], next);
        if constexpr (reschedules) {
          next = select(at_once_[slot] != Real(0.0), state.t + forward * at_one_time(state), next);
        }
      });
      next_time_ = select(lanes, next, next_time_);
    }
    const Mask still = has_not_moved_on(state);
    const Mask weak = crossings_.has_flown_weakly() & !still;
    const Mask close = still | weak | crossings_.has_hardly_left();
    const Real count = select(weak, Real(most_crowded / most_weak), Real(1.0));
    crowded_ = select(lanes, select(close, crowded_ + count, Real(0.0)), crowded_);
    previous_ = select(lanes, state.t, previous_);
    return lanes & (crowded_ >= Real(most_crowded));
  }

 private:
  using Search = RootSearch<System, Real, State>;

  /// May an action schedule an event? Those that act together see by themselves what is due.
  static constexpr bool reschedules = System::scheduled_times > 0 && System::discrete > 0 && !System::acts_together;

  /// What actions have just scheduled for now, where it was `planned` for another time, occurs at once: after a step
  /// that t hardly resolves.
  MANYFOLD_INLINE void note_what_is_due(const Mask& lanes, const State& state,
                                        const Real (&planned)[System::scheduled_size]) {
    Real schedule[System::scheduled_size];
    System::event_times(state.p, schedule);
    const Real close = at_one_time(state);
    static_for<System::scheduled_times>([&](auto slot) {
      const Mask waits = (at_once_[slot] != Real(0.0)) & (fired_[System::event_of_time(slot)] == Real(0.0));
      const Mask moved = !(abs(schedule[slot] - planned[slot]) <= close);
      const Mask now = (waits | moved) & (abs(schedule[slot] - state.t) <= close);
      at_once_[slot] = select(lanes, select(now, Real(1.0), Real(0.0)), at_once_[slot]);
    });
  }

  /// Scheduled times that are closer are one.
  static MANYFOLD_INLINE Real at_one_time(const State& state) {
    return Real(location_tolerance<Real>) * (abs(state.t) + max(abs(state.t), abs(state.path.h)));
  }

  /// Events at the time of `state` follow those before without progress.
  MANYFOLD_INLINE Mask has_not_moved_on(const State& state) const {
    const Real resolution = Real(location_tolerance<Real>) * (abs(state.t) + abs(state.path.h));
    return abs(state.t - previous_) <= Real(no_progress) * resolution;
  }

  /// Tries, each twice as far as the last, to get past a crossing that rounding has undone.
  static constexpr int most_nudges = 4;
  /// The same for what the errors of algebraic variables have undone; then the end of the step.
  static constexpr int most_moves = 5;
  /// Events without progress, so often in a row, are a storm.
  static constexpr double most_crowded = 20.0;
  /// So many weak flights in a row are one: impacts that take half of the speed and more reach rounding errors soon.
  static constexpr double most_weak = 5;

  /// The first crossing in the lanes of `accepted`: into `result`, its time into `time`.
  template <bool meets>
  MANYFOLD_INLINE void find_crossing(const Mask& accepted, const Mask& rough, const State& state, const Real& begin,
                                     const Real& error, const Real& resolution, auto&& meet, Found& result,
                                     Real& time) {
    typename Crossings<System, Real, State>::BeforeStep before;
    Mask unclear(false);
    const Mask crossing = crossings_.template scan<meets>(accepted, rough, state, error, resolution / abs(state.path.h),
                                                          meet, before, unclear);
    if (!any(crossing)) return;
    Real first(1.0);  // in units of the step; positive: none
    for (int i = 0; i < events; ++i) first = min(first, crossings_.root(i));
    Mask crossed = accepted & (first <= Real(0.0));
    const Real part = Real(1.0) + first;
    const Real margin =
        select(part < Real(Search::close_to_begin), Real(Search::early_margin), Real(Search::cut_margin));
    Real cut = begin + (Real(1.0) + margin) * part * state.path.h;
    Mask inaccurate = first > Real(Search::close_to_end - 1.0);
    // Close to the begin the polynomial is accurate but after an impact, whose flight may be as short as its errors.
    const Mask flight = crossed & rough & !inaccurate & moved_ & (begin == previous_);
    if (any(flight)) inaccurate = inaccurate | (flight & crossings_.flies(first, part * abs(state.path.h), before));
    // A step to an event that is closer than the resolution would have no length.
    result.again =
        crossed & rough & inaccurate & (first < Real(-Search::close_to_end)) & (abs(cut - begin) > resolution);
    const Mask shorter = unclear & (abs(state.path.h) > Real(no_progress) * resolution);
    cut = select(shorter, begin + Real(0.125) * state.path.h, cut);
    result.again = result.again | shorter;
    if (any(result.again)) {
      crossings_.forget_step(result.again, before);
      result.cut = cut;
      crossed = crossed & !result.again;
    }
    // Simultaneous events happen when the last of them has crossed; those at the end of the step, there.
    const Real together = Real(4.0) * resolution / abs(state.path.h);
    const Mask at_end = crossed & (first >= -together);
    Real latest = first;
    for (int i = 0; i < events; ++i) {
      const Mask now = crossed & (crossings_.root(i) <= Real(0.0)) & (crossings_.root(i) <= first + together);
      fired_[i] = select(now, Real(1.0), fired_[i]);
      latest = select(now, max(latest, crossings_.root(i)), latest);
    }
    const Real inside = state.t + latest * state.path.h;
    const Mask at_begin = (latest <= Real(-1.0)) | (sign(state.path.h) * (inside - begin) <= Real(0.0));
    time = select(crossed & !at_end, select(at_begin, begin, inside), time);
    time = past_crossing(crossed & !at_end & !at_begin, state, time, resolution);
    result.struck = crossed;
  }

  /// Times in the step at which what occurs has crossed also after rounding, so that an action sees it.
  MANYFOLD_OUTLINE Real past_crossing(Mask lanes, const State& state, Real time, const Real& resolution) const {
    const Real forward = sign(state.path.h);
    Real further = forward * resolution;
    for (int k = 0; k < most_nudges; ++k) {
      const auto here = Search::at(state, (time - state.t) / state.path.h);
      Mask behind(false);
      for (int i = 0; i < events; ++i) {
        behind = behind | ((fired_[i] != Real(0.0)) & !(here.value[i] * crossings_.direction(i) > Real(0.0)));
      }
      lanes = lanes & behind;
      if (!any(lanes)) break;
      const Real next = time + further;
      time = select(lanes, select(forward * (next - state.t) < Real(0.0), next, state.t), time);
      further = Real(2.0) * further;
    }
    return time;
  }

  /// Moves the events just found in the lanes of `struck` to where their root functions have crossed with variables
  /// that meet their equations: those of the polynomial are off by the tolerance, and an event that is found early by
  /// that would seem to be turned back by its action. What else has crossed there, as the polynomial says a little
  /// later, occurs with them. What has not crossed at the end of the step does not occur in it.
  MANYFOLD_OUTLINE void settle(const State& state, auto&& meet, const Real& resolution, Mask& struck, Real& time) {
    Mask lanes = struck;
    for (int i = 0; i < events; ++i) lanes = lanes & !crossings_.is_at_begin(i, fired_[i]);
    Real margin(1.0);
    for (int k = 0; k <= most_moves && any(lanes); ++k) {
      const Real u = (time - state.t) / state.path.h;
      typename Search::Place place(state, u);
      meet(lanes, time, place.y, place.dy);
      const auto here = place.roots(state, u);
      Real missing(0.0);  // in units of the step
      Mask occurs(false);
      for (int i = 0; i < events; ++i) {
        fired_[i] = select(lanes & crossings_.crosses_later(i, here.value[i]), Real(1.0), fired_[i]);
        const Real ahead = here.value[i] * crossings_.direction(i);
        const Mask behind = lanes & (fired_[i] != Real(0.0)) & !(ahead > Real(0.0));
        const Mask not_yet = behind & (time == state.t);
        if (any(not_yet)) {
          crossings_.postpone(not_yet, i, here.value[i]);
          fired_[i] = select(not_yet, Real(0.0), fired_[i]);
        }
        const Real speed = max(abs(here.slope[i]), Real(1e-300));
        missing = select(behind & !not_yet, max(missing, abs(ahead) / speed), missing);
        occurs = occurs | (fired_[i] != Real(0.0));
      }
      struck = struck & (occurs | !lanes);
      lanes = lanes & (missing > Real(0.0));
      const Real left = abs(state.t - time);
      const Real move = k < most_moves ? margin * missing * abs(state.path.h) + resolution : left;
      const Mask inside = move + at_one_time(state) < left;
      time = select(lanes, select(inside, time + sign(state.path.h) * move, state.t), time);
      margin = Real(2.0) * margin;
    }
  }

  Crossings<System, Real, State> crossings_;
  CountOf<Real> occurrences_[size];
  Real next_time_;                        ///< the next scheduled time
  Real at_once_[System::scheduled_size];  ///< 1: scheduled for the time at which that was done
  Real previous_;                         ///< time of the events before; infinite: none
  Real crowded_;                          ///< events in a row without progress in time
  CountOf<Real> total_;                   ///< events of the instance

  // Of the last step only.
  Real fired_[size];          ///< 1: occurs at `time_`
  Real time_;                 ///< of the events found
  Mask moved_ = Mask(false);  ///< lanes in which actions have changed differential variables
};

}  // namespace manyfold
