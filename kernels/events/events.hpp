#pragma once
// Events of the lanes of a pack: detection and location on the dense polynomial of the last accepted step, scheduled
// times, and what is known of the root functions after a restart. docs/events.md states the rules and guarantees.
//
// Every root function has a side, the sign that it had last; a crossing takes it to the other side. Zero is no side:
// what only touches zero, or rests on it, stays on the side where it was. Where the discrete state remembers the side,
// that counts: an instance that is found on the other side crosses at once.
#include <manyfold/status.hpp>

#include "../algebra/dual.hpp"
#include "../methods/step.hpp"

namespace manyfold {

/// Root functions and their derivatives along a curve.
template <class System, class Real>
struct RootValues {
  Real value[System::events_size];
  Real slope[System::events_size];
};

/// The root functions along a curve through (t, y, y') with tangent (t_slope, y_slope, dy_slope).
template <class System, class Real>
MANYFOLD_INLINE RootValues<System, Real> root_values(const Real& t, const Real& t_slope, const Real (&y)[System::n],
                                                     const Real (&y_slope)[System::n], const Real (&dy)[System::n],
                                                     const Real (&dy_slope)[System::n],
                                                     const Real (&p)[System::constants_size]) {
  using Number = Dual<Real, 1>;
  const auto along = [](const Real& value, const Real& slope) {
    Number number(value);
    number.tangent[0] = slope;
    return number;
  };
  Number seeded_y[System::n];
  Number seeded_dy[System::n];
  Number g[System::events_size];
  for (int i = 0; i < System::n; ++i) {
    seeded_y[i] = along(y[i], y_slope[i]);
    seeded_dy[i] = along(dy[i], dy_slope[i]);
  }
  // Scheduled events have no root function: zero is no side, so they never cross.
  for (int i = 0; i < System::events; ++i) g[i] = Number(Real(0.0));
  System::root(along(t, t_slope), seeded_y, seeded_dy, p, g);
  RootValues<System, Real> result;
  for (int i = 0; i < System::events; ++i) {
    result.value[i] = g[i].value;
    result.slope[i] = g[i].tangent[0];
  }
  return result;
}

/// What the events of an instance begin with, made for all lanes at once.
template <class System, class Real>
struct EventStart {
  RootValues<System, Real> roots;
  Real side[System::remembers_sides ? System::events_size : 1];  ///< as the discrete state remembers it
  Real schedule[System::scheduled_size];
};

/// What is known at a consistent point; `forward` is +1 or -1, the direction of integration.
template <class System, class Real>
MANYFOLD_INLINE EventStart<System, Real> event_start(const Real& t, const Real& forward, const Real (&y)[System::n],
                                                     const Real (&dy)[System::n],
                                                     const Real (&p)[System::constants_size]) {
  EventStart<System, Real> start;
  if constexpr (System::has_state_events) {
    Real y_slope[System::n];
    Real dy_slope[System::n];
    for (int i = 0; i < System::n; ++i) {
      y_slope[i] = forward * dy[i];
      dy_slope[i] = Real(0.0);
    }
    start.roots = root_values<System>(t, forward, y, y_slope, dy, dy_slope, p);
  }
  if constexpr (System::remembers_sides) System::sides(p, start.side);
  System::event_times(p, start.schedule);
  return start;
}

template <class System, class Real, class State>
class EventMonitor {
 public:
  using Mask = MaskOf<Real>;
  using Lanes = LaneTraits<Real>;
  using Roots = RootValues<System, Real>;
  static constexpr int n = System::n;
  static constexpr int events = System::events;
  static constexpr int size = System::events_size;

  MANYFOLD_INLINE EventMonitor() {
    for (int i = 0; i < size; ++i) {
      side_[i] = start_[i] = Real(0.0);
      occurrences_[i] = CountOf<Real>(0);
    }
    next_time_ = Real(largest_number);
    previous_ = crowded_ = Real(0.0);
    total_ = CountOf<Real>(0);
  }

  /// Begins with instance `from` of `start` in lane `lane`, at time `t` with the direction of integration `forward`.
  template <class From>
  MANYFOLD_INLINE void load(int lane, const EventStart<System, From>& start, int from, double t, double forward) {
    const auto get = [from](const From& value) { return LaneTraits<From>::get(value, from); };
    const auto put = [lane](auto& to, double value) { Lanes::set(to, lane, value); };
    if constexpr (System::has_state_events) {
      for (int i = 0; i < events; ++i) {
        const double value = get(start.roots.value[i]);
        const double heading = get(start.roots.slope[i]);
        // On the surface, it belongs to the side it is heading for.
        double sided = value != 0.0 ? value : heading;
        if constexpr (System::remembers_sides) {
          const double remembered = get(start.side[i]);
          sided = remembered != 0.0 ? remembered : sided;
          put(remembered_[i], remembered);
          put(range_[i], value < 0.0 ? -value : value);
        }
        put(side_[i], sided > 0.0 ? 1.0 : sided < 0.0 ? -1.0 : 0.0);
        put(start_[i], value);
      }
    }
    double next = forward * largest_number;
    for (int k = 0; k < System::scheduled_times; ++k) {
      const double time = get(start.schedule[k]);
      const bool later = forward * (time - t) > spacing * abs(t) && forward * (time - next) < 0.0;
      next = later ? time : next;
    }
    put(next_time_, next);
    for (int i = 0; i < events; ++i) put(occurrences_[i], 0.0);
    put(previous_, -largest_number);
    put(crowded_, 0.0);
    put(uncertain_, 0.0);
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
  /// polynomial is accurate close to the ends of the step only. Lanes that go back forget the step.
  MANYFOLD_INLINE Found find(const Mask& accepted, const Mask& rough, const State& state, const Real& begin) {
    Found result{Mask(false), Mask(false), Real(0.0)};
    for (int i = 0; i < events; ++i) fired_[i] = direction_[i] = Real(0.0);
    const Real resolution = Real(location_tolerance) * (abs(state.t) + abs(state.path.h));
    Real time = state.t;
    // Scheduled events occur where no crossing comes before them.
    Mask may_be_due = accepted;
    if constexpr (System::has_state_events) {
      find_crossing(accepted, rough, state, begin, resolution, result, time);
      may_be_due = accepted & !result.again & !(result.struck & (time != state.t));
    }
    if constexpr (System::scheduled_times > 0) {
      const Mask due = may_be_due & (abs(next_time_ - state.t) <= resolution);
      if (any(due)) {
        Real schedule[System::scheduled_size];
        System::event_times(state.p, schedule);
        static_for<System::scheduled_times>([&](auto slot) {
          constexpr int event = System::event_of_time(slot);
          const Mask now = due & (abs(schedule[slot] - state.t) <= resolution);
          fired_[event] = select(now, Real(1.0), fired_[event]);
        });
      }
      result.struck = result.struck | due;
    }
    time_ = time;
    return result;
  }

  /// Time of the events found last.
  MANYFOLD_INLINE const Real& time() const { return time_; }
  /// Did event `event` occur in lane `lane`?
  MANYFOLD_INLINE bool fired(int event, int lane) const { return Lanes::get(fired_[event], lane) != 0.0; }
  MANYFOLD_INLINE int direction(int event, int lane) const {
    return static_cast<int>(Lanes::get(direction_[event], lane));
  }
  MANYFOLD_INLINE const CountOf<Real>& total() const { return total_; }

  /// Moves the lanes of `struck` back to their events, on the polynomial, and counts what occurs there. Returns the
  /// lanes in which an event is terminal.
  MANYFOLD_INLINE Mask enter(const Mask& struck, State& state) {
    const Real u = (time_ - state.t) / state.path.h;
    const Mask back = struck & (u < Real(0.0));
    for (int i = 0; i < n; ++i) {
      const Real y = state.y[i] + state.path.increment(i, u);
      const Real dy = state.path.slope(i, u) / state.path.h;
      state.y[i] = select(back, y, state.y[i]);
      state.dy[i] = select(back, dy, state.dy[i]);
    }
    state.t = select(struck, time_, state.t);
    if constexpr (System::has_state_events) {
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      const Roots here = root_values<System>(state.t, Real(1.0), state.y, state.dy, state.dy, none, state.p);
      for (int i = 0; i < events; ++i) before_[i] = here.value[i];
      if constexpr (System::remembers_sides) find_uncertainty(struck, here, state);
    }
    Mask terminal(false);
    static_for<events>([&](auto k) {
      constexpr Event event = System::event(k);
      const Mask now = struck & (fired_[k] != Real(0.0));
      count_work<Real>(total_, now, Real(1.0));
      if constexpr (event.terminal) terminal = terminal | now;
      if constexpr (event.stop_after > 0) {
        count_work<Real>(occurrences_[k], now, Real(1.0));
        terminal = terminal | (now & (Real(occurrences_[k]) >= Real(double(event.stop_after))));
      }
    });
    return terminal;
  }

  /// Carries out the actions of the events that occur, in the order of their declaration.
  MANYFOLD_INLINE void act(const Mask& lanes, State& state) {
    static_for<events>([&](auto k) {
      const Mask now = lanes & (fired_[k] != Real(0.0));
      if (any(now)) System::act(k, now, state.t, state.y, state.dy, state.p);
    });
  }

  /// After the actions, at a consistent state: where the root functions are, and what is scheduled next. Returns the
  /// lanes in which events follow each other without progress in time.
  MANYFOLD_INLINE Mask restart(const Mask& lanes, const State& state, const Real& forward) {
    const auto start = event_start<System>(state.t, forward, state.y, state.dy, state.p);
    if constexpr (System::has_state_events) {
      for (int i = 0; i < events; ++i) {
        const Real value = start.roots.value[i];
        const Real heading = start.roots.slope[i];
        // Others that happen to be zero have still to cross; those that an action put there, from where it may leave
        // as slowly as rounding, belong to the side on which they are seen next.
        const Real at_zero = select(before_[i] == Real(0.0), came_from_[i], Real(0.0));
        const Real sided = select(value != Real(0.0), sign(value), at_zero);
        // An event that occurred has crossed to the side of its direction, unless its action turned it round: it is
        // back where it came from, or still on the surface and heading there.
        const Real end = direction_[i];
        const Mask on_surface = abs(value) <= max(Real(4.0) * abs(before_[i]), Real(surface) * scale_[i]);
        // Where the action, by rounding, saw it on the side it came from, and it is across only now, it crosses again.
        const Mask unseen = (before_[i] * end < Real(0.0)) & (value * end > Real(0.0));
        const Mask back = unseen | (value * end < Real(0.0)) | (on_surface & (heading * end < Real(0.0)));
        const Real crossed = select(back, -end, end);
        Real side = select(fired_[i] != Real(0.0), crossed, sided);
        if constexpr (System::remembers_sides) {
          side = select(start.side[i] != Real(0.0), start.side[i], side);
          remembered_[i] = select(lanes, start.side[i], remembered_[i]);
        }
        side_[i] = select(lanes, side, side_[i]);
        start_[i] = select(lanes, value, start_[i]);
      }
    }
    if constexpr (System::scheduled_times > 0) {
      Real next = forward * Real(largest_number);
      for (int k = 0; k < System::scheduled_times; ++k) {
        const Real time = start.schedule[k];
        const Mask later =
            (forward * (time - state.t) > Real(spacing) * abs(state.t)) & (forward * (time - next) < Real(0.0));
        next = select(later, time, next);
      }
      next_time_ = select(lanes, next, next_time_);
    }
    const Real resolution = Real(location_tolerance) * (abs(state.t) + abs(state.path.h));
    const Mask close = abs(state.t - previous_) <= Real(no_progress) * resolution;
    crowded_ = select(lanes, select(close, crowded_ + Real(1.0), Real(0.0)), crowded_);
    previous_ = select(lanes, state.t, previous_);
    return lanes & (crowded_ >= Real(most_crowded));
  }

 private:
  /// Root functions are sampled at the ends of so many equal parts of a step. What has at most one extremum in each
  /// part has no crossing that is missed.
  static constexpr int parts = 4;
  /// Tolerance of event times relative to |t| + |h|: a few units in the last place.
  static constexpr double location_tolerance = 4.0 * epsilon<Real>;
  /// Tries, each twice as far as the last, to get past a crossing that rounding has undone.
  static constexpr int most_nudges = 4;
  /// Scheduled times closer than this, relative to |t|, are one.
  static constexpr double spacing = 8.0 * epsilon<Real>;
  /// The polynomial meets the solution at both ends of a step; its error at this part of the step from there is small
  /// beside that in the middle.
  static constexpr double close_to_end = 0.01;
  /// A step that is taken again ends so much later, relative to its length, than the event was found.
  static constexpr double cut_margin = 1e-3;
  /// Extrema are resolved to this part of a step: two crossings that are closer may count as a touch.
  static constexpr double extremum_resolution = max(1e-8, 4.0 * epsilon<Real>);
  /// A root function smaller than this part of its size over the last step lies on the surface.
  static constexpr double surface = max(1e-10, 16.0 * epsilon<Real>);
  /// The time of an event is known to this part of the step at least.
  static constexpr double most_uncertain = 1e-4;
  /// Events without progress: closer than so many location tolerances, so often in a row.
  static constexpr double no_progress = 100.0;
  static constexpr double most_crowded = 20.0;

  static MANYFOLD_INLINE Real sign(const Real& x) {
    return select(x > Real(0.0), Real(1.0), select(x < Real(0.0), Real(-1.0), Real(0.0)));
  }

  /// The root functions at u of the step's polynomial, with derivatives with respect to u.
  static MANYFOLD_OUTLINE Roots at(const State& state, const Real& u) {
    const Real over_h = Real(1.0) / state.path.h;
    Real y[n];
    Real y_slope[n];
    Real dy[n];
    Real dy_slope[n];
    for (int i = 0; i < n; ++i) {
      y[i] = state.y[i] + state.path.increment(i, u);
      y_slope[i] = state.path.slope(i, u);
      dy[i] = y_slope[i] * over_h;
      dy_slope[i] = state.path.curvature(i, u) * over_h;
    }
    return root_values<System>(state.t + u * state.path.h, state.path.h, y, y_slope, dy, dy_slope, state.p);
  }

  /// The first crossing in the lanes of `accepted`: into `result`, its time into `time`.
  MANYFOLD_INLINE void find_crossing(const Mask& accepted, const Mask& rough, const State& state, const Real& begin,
                                     const Real& resolution, Found& result, Real& time) {
    Real start_before[size];
    for (int i = 0; i < events; ++i) {
      start_before[i] = start_[i];
      came_from_[i] = side_[i];
      root_[i] = Real(1.0);
    }
    const Mask crossing = scan(accepted, rough, state, resolution / abs(state.path.h));
    if (!any(crossing)) return;
    Real first(1.0);  // in units of the step; positive: none
    for (int i = 0; i < events; ++i) first = min(first, root_[i]);
    Mask crossed = accepted & (first <= Real(0.0));
    const Real cut = begin + Real(1.0 + cut_margin) * (Real(1.0) + first) * state.path.h;
    // A step to an event that is closer than the resolution would have no length.
    result.again = crossed & rough & (first > Real(close_to_end - 1.0)) & (first < Real(-close_to_end)) &
                   (abs(cut - begin) > resolution);
    if (any(result.again)) {
      for (int i = 0; i < events; ++i) {
        side_[i] = select(result.again, came_from_[i], side_[i]);
        start_[i] = select(result.again, start_before[i], start_[i]);
      }
      result.cut = cut;
      crossed = crossed & !result.again;
    }
    // Simultaneous events happen when the last of them has crossed; those at the end of the step, there.
    const Real together = Real(4.0) * resolution / abs(state.path.h);
    const Mask at_end = crossed & (first >= -together);
    Real latest = first;
    for (int i = 0; i < events; ++i) {
      const Mask now = crossed & (root_[i] <= Real(0.0)) & (root_[i] <= first + together);
      fired_[i] = select(now, Real(1.0), fired_[i]);
      latest = select(now, max(latest, root_[i]), latest);
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
      const Roots here = at(state, (time - state.t) / state.path.h);
      Mask behind(false);
      for (int i = 0; i < events; ++i) {
        behind = behind | ((fired_[i] != Real(0.0)) & !(here.value[i] * direction_[i] > Real(0.0)));
      }
      lanes = lanes & behind;
      if (!any(lanes)) break;
      const Real next = time + further;
      time = select(lanes, select(forward * (next - state.t) < Real(0.0), next, state.t), time);
      further = Real(2.0) * further;
    }
    return time;
  }

  struct Sides {
    Real begin;        ///< value at the begin of a part, positive on the side where the function was
    Real end;          ///< at its end
    Real begin_slope;  ///< derivatives, per part
    Real end_slope;
  };
  static MANYFOLD_INLINE Sides sides(const Roots (&sample)[parts + 1], int part, int i, const Real& side) {
    const Real scaled = side * Real(1.0 / parts);
    return {side * sample[part].value[i], side * sample[part + 1].value[i], scaled * sample[part].slope[i],
            scaled * sample[part + 1].slope[i]};
  }
  /// Positive at both ends, but perhaps not between: falling and rising again, or the cubic through values and slopes
  /// leaves its control polygon on the other side.
  static MANYFOLD_INLINE Mask may_dip(const Sides& at) {
    const Mask turns = (at.begin_slope < Real(0.0)) & (at.end_slope > Real(0.0));
    const Real third(1.0 / 3.0);
    const Mask bends = (at.begin + third * at.begin_slope < Real(0.0)) | (at.end - third * at.end_slope < Real(0.0));
    return (at.begin >= Real(0.0)) & (at.end >= Real(0.0)) & (turns | bends);
  }

  /// Samples the step; where a root function may cross, locates its first event.
  MANYFOLD_INLINE Mask scan(const Mask& accepted, const Mask& rough, const State& state, const Real& tolerance) {
    Roots sample[parts + 1];
    for (int j = 0; j <= parts; ++j) sample[j] = at(state, Real(double(j) / parts - 1.0));
    Mask interesting(false);
    for (int i = 0; i < events; ++i) {
      // The polynomial meets the begin of the step up to rounding only.
      sample[0].value[i] = start_[i];
      Real largest(0.0);
      for (int j = 0; j <= parts; ++j) largest = max(largest, abs(sample[j].value[i]));
      scale_[i] = largest;
      if constexpr (System::remembers_sides) range_[i] = select(accepted, max(range_[i], largest), range_[i]);
      for (int part = 0; part < parts; ++part) {
        const Sides values = sides(sample, part, i, side_[i]);
        interesting = interesting | (values.end < Real(0.0)) | may_dip(values);
      }
      interesting =
          interesting | astray(i, state, sample, tolerance) | ((side_[i] == Real(0.0)) & (largest > Real(0.0)));
      start_[i] = select(accepted, sample[parts].value[i], start_[i]);
    }
    interesting = interesting & accepted;
    if (any(interesting)) locate(interesting, rough, state, sample, tolerance);
    return interesting;
  }

  /// How well the time of the events is known: a root function that is smooth is next to zero there, and what it is
  /// instead is the rounding error of its terms. What goes to and fro without progress is known less well than thought.
  MANYFOLD_INLINE void find_uncertainty(const Mask& struck, const Roots& here, const State& state) {
    const Real most = Real(most_uncertain) * abs(state.path.h);
    Real found(0.0);
    for (int i = 0; i < events; ++i) {
      const Real time = min(abs(here.value[i]), most * abs(here.slope[i])) / max(abs(here.slope[i]), Real(1e-300));
      found = select(fired_[i] != Real(0.0), max(found, time), found);
    }
    const Real grown = min(Real(4.0) * max(uncertain_, Real(location_tolerance) * abs(state.t)), most);
    uncertain_ = select(struck, select(crowded_ > Real(0.0), max(found, grown), found), uncertain_);
  }

  /// Is function i on the other side than the discrete state has it, at the begin of the step already? What is back
  /// within the uncertainty of the last event's time has only been found a little early.
  MANYFOLD_INLINE Mask astray(int i, const State& state, const Roots (&sample)[parts + 1],
                              const Real& tolerance) const {
    if constexpr (System::remembers_sides) {
      const Real begin = remembered_[i] * sample[0].value[i];
      const Real back = max(Real(no_progress) * tolerance, Real(4.0) * uncertain_ / abs(state.path.h));
      const Real soon = begin + back * max(remembered_[i] * sample[0].slope[i], Real(0.0));
      return (begin < Real(-surface) * range_[i]) & (soon < Real(0.0));
    } else {
      return Mask(false);
    }
  }

  /// The first event of every root function in the lanes of `lanes`: its place in `root_` and its direction; else the
  /// side at the end of the step.
  MANYFOLD_OUTLINE void locate(const Mask& lanes, const Mask& rough, const State& state,
                               const Roots (&sample)[parts + 1], const Real& tolerance) {
    double wanted[size];
    static_for<events>([&](auto k) {
      constexpr Event event = System::event(k);
      wanted[k] = event.direction;
    });
    for (int i = 0; i < events; ++i) {
      Mask open = lanes;
      Real side = side_[i];
      const Real filter(wanted[i]);
      const auto allowed = [&](const Real& direction) { return (filter == Real(0.0)) | (filter == direction); };
      for (int part = 0; part < parts; ++part) {
        const Real left(double(part) / parts - 1.0);
        const Real right(double(part + 1) / parts - 1.0);
        // Where it has just left the surface, a dip is an error of the polynomial.
        const Mask leaves = open & (side == Real(0.0));
        side = select(leaves, sign(sample[part + 1].value[i]), side);
        const Sides values = sides(sample, part, i, side);
        const Mask at_begin = part == 0 ? open & astray(i, state, sample, tolerance) : Mask(false);
        const Real rounding = allowance(i, values);
        const Mask across = open & (at_begin | (values.end < -rounding));
        const Mask dip = open & !leaves & may_dip(values);
        if (!any(across | dip)) continue;

        Real lo = left;
        Real hi = right;
        Real value_lo = values.begin;
        Real value_hi = values.end;
        Real direction = -side;
        // Begins on the surface or, by rounding, behind it: first it must have left it.
        const Mask lift = across & (values.begin <= Real(0.0));
        Mask at_once = at_begin | (lift & !(values.begin_slope > Real(0.0)));
        Mask occurs = across & allowed(direction);
        if (any(lift & !at_once)) {
          Real top;
          Real above;
          const Sides turned{-values.begin, -values.end, -values.begin_slope, -values.end_slope};
          const Mask left_it = seek(lift & !at_once, state, i, -side, left, right, turned, Real(0.0), top, above);
          at_once = lift & !left_it;
          lo = select(left_it, top, lo);
          value_lo = select(left_it, -above, value_lo);
        }
        if (any(dip)) {
          Real bottom;
          Real below;
          const Mask through = seek(dip, state, i, side, left, right, values, rounding, bottom, below);
          const Mask downwards = through & allowed(-side);
          const Mask upwards = through & !downwards;
          hi = select(downwards, bottom, hi);
          value_hi = select(downwards, below, value_hi);
          lo = select(upwards, bottom, lo);
          value_lo = select(upwards, below, value_lo);
          direction = select(upwards, side, direction);
          occurs = occurs | through;
        }
        if (any(occurs)) {
          // Values so far are positive on the side where the function was; from here on, on the side it goes to.
          const Real turn = select(direction == side, Real(1.0), Real(-1.0));
          const Real found = bracket(occurs & !at_once, rough, state, i, direction, lo, hi, turn * value_lo,
                                     turn * value_hi, tolerance);
          const Real place = select(at_once, left, found);
          root_[i] = select(occurs, place, root_[i]);
          direction_[i] = select(occurs, direction, direction_[i]);
          open = open & !occurs;
        }
        side = select(across, -side, side);
      }
      side_[i] = select(lanes, side, side_[i]);
    }
  }

  /// Where the cubic with values a, b and slopes s, t at the ends of [0, 1] is smallest; the middle if that is outside.
  static MANYFOLD_INLINE Real cubic_minimum(const Real& a, const Real& b, const Real& s, const Real& t) {
    const Real q = Real(3.0) * (b - a) - Real(2.0) * s - t;
    const Real r = s + t - Real(2.0) * (b - a);
    const Real root = sqrt(max(q * q - Real(3.0) * r * s, Real(0.0)));
    const Real x = select(q > Real(0.0), -s / (q + root), (root - q) / (Real(3.0) * r));
    return select((x > Real(0.0)) & (x < Real(1.0)), x, Real(0.5));
  }

  /// How far function i may be on the other side than the discrete state has it, if it begins on the surface: as far as
  /// rounding goes. An event that leaves its surface slowly would else follow itself again and again.
  MANYFOLD_INLINE Real allowance(int i, const Sides& values) const {
    if constexpr (System::remembers_sides) {
      const Real rounding = Real(surface) * range_[i];
      return select((remembered_[i] != Real(0.0)) & (values.begin <= rounding), rounding, Real(0.0));
    } else {
      return Real(0.0);
    }
  }

  /// Looks between lo and hi for a place where `side` times root function i is below -rounding, by minimising it: cubic
  /// interpolation, a point close by on the other side of the minimum, bisection, in turn. Returns the lanes where
  /// there is one, and it in `place`.
  static MANYFOLD_OUTLINE Mask seek(Mask lanes, const State& state, int i, const Real& side, Real lo, Real hi,
                                    const Sides& values, const Real& rounding, Real& place, Real& value_there) {
    const Real per_part{double(parts)};
    Real low_value = values.begin;
    Real high_value = values.end;
    Real low_slope = values.begin_slope * per_part;
    Real high_slope = values.end_slope * per_part;
    const Mask turns = (low_slope < Real(0.0)) & (high_slope > Real(0.0));
    Mask found(false);
    place = lo;
    value_there = values.begin;
    Real moved = hi - lo;
    for (int k = 0; any(lanes); ++k) {
      const Real length = hi - lo;
      Real u = lo + Real(0.5) * length;
      if (k % 3 == 0) {
        u = lo + length * cubic_minimum(low_value, high_value, low_slope * length, high_slope * length);
        moved = min(u - lo, hi - u);
      } else if (k % 3 == 1) {
        // The last point is the end that is close to the minimum; hug it from the other side.
        const Real nudge = min(max(Real(4.0) * moved * moved, Real(0.25 * extremum_resolution)), Real(0.5) * length);
        u = select(-low_slope < high_slope, lo + nudge, hi - nudge);
      }
      const Roots here = at(state, u);
      const Real value = side * here.value[i];
      const Real slope = side * here.slope[i];
      const Mask below = lanes & (value < -rounding);
      found = found | below;
      place = select(below, u, place);
      value_there = select(below, value, value_there);
      const Mask falling = slope < Real(0.0);
      lo = select(falling, u, lo);
      low_value = select(falling, value, low_value);
      low_slope = select(falling, slope, low_slope);
      hi = select(falling, hi, u);
      high_value = select(falling, high_value, value);
      high_slope = select(falling, high_slope, slope);
      // Where the slopes do not enclose the minimum, the cubic's was all there is to try.
      lanes = lanes & !below & turns & (hi - lo > Real(extremum_resolution)) & (slope != Real(0.0));
    }
    return found;
  }

  /// The crossing of root function i in [lo, hi] from behind: a place where it has crossed, at most `tolerance` after
  /// the crossing. `value_lo`, not positive, and `value_hi`, positive, are `direction` times the function there. In the
  /// lanes of `rough` a coarse answer will do unless it is close to an end of the step. T. R. Chandrupatla, Adv. Eng.
  /// Softw. 28 (1997): inverse quadratic interpolation where that is safe, else bisection; here after a first secant.
  static MANYFOLD_OUTLINE Real bracket(Mask lanes, const Mask& rough, const State& state, int i, const Real& direction,
                                       const Real& lo, const Real& hi, const Real& value_lo, const Real& value_hi,
                                       const Real& tolerance) {
    Real b = lo;
    Real a = hi;
    Real fb = value_lo;
    Real fa = value_hi;
    Real c = a;
    Real fc = fa;
    Real fraction = min(max(fa / (fa - fb), Real(0.01)), Real(0.99));
    Real result = hi;
    while (any(lanes)) {
      const Real x = a + fraction * (b - a);
      const Real fx = direction * at(state, x).value[i];
      const Mask crossed = fx > Real(0.0);
      const Mask same = (crossed & (fa > Real(0.0))) | !(crossed | (fa > Real(0.0)));
      c = select(same, a, b);
      fc = select(same, fa, fb);
      b = select(same, b, a);
      fb = select(same, fb, fa);
      a = x;
      fa = fx;
      result = select(lanes, select(fa > Real(0.0), a, b), result);
      const Real limit = tolerance / abs(b - a);
      const Mask inside = (min(a, b) > Real(close_to_end - 1.0)) & (max(a, b) < Real(-close_to_end));
      const Mask coarse = rough & inside & (abs(a - b) <= Real(cut_margin));
      lanes = lanes & (limit < Real(0.5)) & !coarse;
      const Real xi = (a - b) / (c - b);
      const Real phi = (fa - fb) / (fc - fb);
      const Mask safe = (phi * phi < xi) & (square(Real(1.0) - phi) < Real(1.0) - xi);
      const Real quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
      fraction = select(safe & is_finite(quadratic), quadratic, Real(0.5));
      fraction = min(max(fraction, limit), Real(1.0) - limit);
    }
    return result;
  }

  Real side_[size];                                           ///< sign of every root function; 0: not known yet
  Real start_[size];                                          ///< root functions at the begin of the next step
  Real remembered_[System::remembers_sides ? size : 1] = {};  ///< sides that the discrete state has
  Real range_[System::remembers_sides ? size : 1] = {};       ///< largest size of such functions so far
  Real uncertain_ = Real(0.0);                                ///< time of the last events, as far as `remembers_sides`
  CountOf<Real> occurrences_[size];
  Real next_time_;       ///< the next scheduled time
  Real previous_;        ///< time of the events before; infinite: none
  Real crowded_;         ///< events in a row without progress in time
  CountOf<Real> total_;  ///< events of the instance

  // Of the last step only.
  Real came_from_[size];  ///< the side at its begin
  Real scale_[size];      ///< largest size of the root functions
  Real root_[size];       ///< where in the step each crosses first; positive: nowhere
  Real fired_[size];      ///< 1: occurs at `time_`
  Real direction_[size];  ///< of a crossing; 0 for scheduled events
  Real time_;             ///< of the events found
  Real before_[size];     ///< root functions there, before the actions
};

}  // namespace manyfold
