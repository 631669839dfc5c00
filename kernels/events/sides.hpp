#pragma once
// On which side of zero every root function is, and how well that is known.
//
// A side is the sign that the function had last; a crossing takes it to the other side. Zero is no side: what only
// touches zero, or rests on it, stays on the side where it was. Where the discrete state remembers the side, that
// counts: an instance that is found on the other side crosses at once.
#include "event_start.hpp"

namespace manyfold {

template <class System, class Real, class State>
class RootSides {
 public:
  using Mask = MaskOf<Real>;
  using Roots = RootValues<System, Real>;
  static constexpr int n = System::n;
  static constexpr int events = System::events;
  static constexpr int size = System::events_size;

  MANYFOLD_INLINE RootSides() {
    for (int i = 0; i < size; ++i) side_[i] = came_from_[i] = start_[i] = doubt_[i] = origin_[i] = Real(0.0);
    for (int i = 0; i < size; ++i) heading_[i] = arriving_[i] = farthest_[i] = farthest_before_[i] = Real(0.0);
    for (int i = 0; i < size; ++i) occurred_[i] = Mask(false);
  }

  /// Begins with instance `from` of `start` in lane `lane`.
  template <class From>
  MANYFOLD_INLINE void load(int lane, const EventStart<System, From>& start, int from) {
    const auto get = [from](const From& value) { return LaneTraits<From>::get(value, from); };
    const auto put = [lane](auto& to, double value) { LaneTraits<Real>::set(to, lane, value); };
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
        put(doubt_[i], 0.0);
        put(origin_[i], 0.0);
        put(farthest_[i], 0.0);
        put(heading_[i], heading);
      }
    }
    put(uncertain_, 0.0);
  }

  /// Lanes of `struck` are at their events, before the actions, with algebraic variables that meet their equations if
  /// that can be done. `fired`: which occur there, so much time after the last ones as `since` says; `crowded`: lanes
  /// in which events follow each other without progress.
  MANYFOLD_INLINE void enter(const Mask& struck, const State& state, const Real (&fired)[size], const Real& since,
                             const Mask& crowded, const Mask& at_begin) {
    if constexpr (System::has_state_events) {
      at_begin_ = at_begin;
      hesitates_ = hesitates_ & (crowded | !struck);
      Mask any_now(false);
      Mask moved_on(false);
      Mask weak(false);
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      const Roots here = root_values<System>(state.t, Real(1.0), state.y, state.dy, state.dy, none, state.p);
      static_for<events>([&](auto i) {
        constexpr Event event = System::event(i);
        before_[i] = here.value[i];
        passing_[i] = Real(0.0);
        const Mask now = fired[i] != Real(0.0);
        if constexpr (System::remembers_sides) stays_[i] = stays_across(i, here, state, now, event.direction);
        any_now = any_now | now;
        if constexpr (event.scheduled > 0) {
          moved_on = moved_on | now;
        } else {
          const Real way = abs(here.slope[i]) * since;
          moved_on = moved_on | has_moved(now, i, state, way, since);
          weak = weak | flies_weakly(now, i, state, way, since);
        }
        if constexpr (event.direction != 0) {
          const Real rise = here.slope[i] * state.path.h;
          const Mask unwanted =
              (rise * Real(double(event.direction)) < Real(0.0)) & (abs(rise) > Real(surface) * scale_[i]);
          const Real passed = Real(8.0 * location_tolerance<Real>) * abs(state.t) * abs(here.slope[i]);
          const Mask near = abs(before_[i]) <= max(Real(surface) * scale_[i], passed);
          passing_[i] = select(unwanted & near, sign(rise), Real(0.0));
        }
      });
      hardly_left_ = any_now & !moved_on;
      weak_ = weak;
      if constexpr (System::remembers_sides) find_uncertainty(struck, here, state, fired, crowded);
    }
  }

  /// What occurs there has hardly left its surface since the events before, as far as a polynomial of the step tells.
  MANYFOLD_INLINE Mask has_hardly_left() const { return hardly_left_; }

  /// What occurs there is back from a weak flight.
  MANYFOLD_INLINE Mask has_flown_weakly() const { return weak_; }

  /// What actions are told of event i, which occurs in the lanes where `fired` is 1: also that the discrete state has
  /// the side to which it leads, where rounding has put the function back.
  MANYFOLD_INLINE Real told(int i, const Real& fired) const {
    if constexpr (System::remembers_sides) {
      return select(stays_[i], Real(1.0), fired);
    } else {
      return fired;
    }
  }

  /// Lanes that begin their step on another side than the discrete state has it: an event occurs there at once.
  MANYFOLD_INLINE Mask begins_across() const {
    Mask result(false);
    if constexpr (System::remembers_sides) {
      for (int i = 0; i < events; ++i) {
        result = result | (remembered_[i] * start_[i] < -max(Real(surface) * range_[i], doubt_[i]));
      }
    }
    return result;
  }

  /// After the actions, at the consistent state of `start`. `direction`: in which those of `fired` crossed. In the
  /// lanes of `moved` the actions have changed differential variables. `h`: the next step.
  MANYFOLD_INLINE void restart(const Mask& lanes, const State& state, const EventStart<System, Real>& start,
                               const Real (&fired)[size], const Real (&direction)[size], const Mask& moved,
                               const Real& h) {
    if constexpr (System::has_state_events) {
      double wanted[size];
      get_directions(wanted);
      Mask hesitates(false);
      for (int i = 0; i < events; ++i) {
        const Real value = start.roots.value[i];
        const Real heading = start.roots.slope[i];
        // Others that happen to be zero have still to cross, unless that is no event: then they are across. Those that
        // an action put there belong to the side that they are heading for, or on which they are seen next if they
        // leave as slowly as rounding or errors.
        const Real rounding = Real(surface) * scale_[i];
        const Mask near = (abs(value) <= max(Real(4.0) * abs(before_[i]), rounding)) & !jumped_;
        const Mask through = near & (passing_[i] != Real(0.0));
        const Mask put_there = (abs(value) <= rounding) & (abs(before_[i]) > rounding) & !jumped_;
        Real stated(0.0);
        if constexpr (System::remembers_sides) stated = start.side[i];
        const Mask crosses = (fired[i] != Real(0.0)) | through;
        const Mask crosses_later = (fired[i] == Real(0.0)) & (direction[i] != Real(0.0));
        const Leave leave =
            leaves_zero(i, lanes, moved, crosses, crosses_later, put_there, state, start.roots, h, stated, wanted[i]);
        // At the begin of the step the polynomial is off by its rounding, and what began on zero is there still.
        Mask rests = at_begin_ & (fired[i] == Real(0.0)) & (value == before_[i]) & (abs(value) <= rounding);
        if constexpr (System::remembers_sides) rests = rests & (start.side[i] == Real(0.0));
        const Mask at_zero = rests | ((before_[i] == Real(0.0)) & (value == Real(0.0)));
        const Real by_value = select(at_zero, came_from_[i], sign(value));
        const Real seen = select(put_there, leave.next, select(leave.hidden, Real(0.0), by_value));
        // What crosses behind the event has still to cross, though rounding may put it across there. So may it put back
        // what has crossed before and is not moved by the actions.
        const Mask rounded = near & (abs(value) <= rounding);
        const Mask as_before = (fired[i] == Real(0.0)) & (value == before_[i]);
        Real sided = select(through, passing_[i], select(rounded & (crosses_later | as_before), came_from_[i], seen));
        // An event that occurred has crossed to the side of its direction, unless its action turned it round: it is
        // back where it came from, or still on the surface and heading there.
        const Real end = direction[i];
        // Where the action, by rounding, saw it on the side it came from, and it is across only now, it crosses again.
        const Mask unseen = (before_[i] * end < Real(0.0)) & (value * end > Real(0.0));
        // What rounding or errors of algebraic variables have put back goes on to the other side by itself, and what
        // such errors have put across was not across for the solution.
        Mask unmoved = near;
        if constexpr (looks_at_algebraic_errors && System::algebraic_variables.next(0) >= 0) {
          const Real expected = select(fired[i] != Real(0.0), end, came_from_[i]);
          const Mask doubtful = lanes & !through & (value * expected < Real(0.0));
          if (any(doubtful)) {
            const Mask within = doubtful & (max(abs(before_[i]), abs(value)) <= noise(i, state));
            unmoved = unmoved | within;
            sided = select(within, came_from_[i], sided);
          }
        }
        const Mask turned = (value * end < Real(0.0)) & !(unmoved & (heading * end > Real(0.0)));
        // It began on the surface and was on its way back: an action that sends it across has not seen it cross.
        const Mask on_its_way = (arriving_[i] * end < Real(0.0)) | hesitates_;
        const Mask sent_across = near & on_its_way & (heading * end > Real(0.0));
        hesitates = hesitates | sent_across;
        const Mask back = unseen | turned | sent_across | (near & (heading * end < Real(0.0)));
        const Real crossed = select(back, -end, end);
        Real side = select(fired[i] != Real(0.0), crossed, sided);
        side = select(leave.side != Real(0.0), leave.side, side);
        // What begins on zero and is heading for its side may seem to be across at first, by errors of the step.
        const Mask on_surface = (side != Real(0.0)) & (abs(value) <= rounding) & !jumped_;
        const Real doubt = select(on_surface, max(max(leave.doubt, rounding), Real(1e-300)), leave.doubt);
        doubt_[i] = select(lanes, doubt, doubt_[i]);
        origin_[i] = select(lanes, leave.origin, origin_[i]);
        farthest_[i] = select(lanes, leave.farthest, farthest_[i]);
        if constexpr (System::remembers_sides) remembered_[i] = select(lanes, start.side[i], remembered_[i]);
        side_[i] = select(lanes, side, side_[i]);
        came_from_[i] = select(lanes, side, came_from_[i]);
        start_[i] = select(lanes, select(rests, Real(0.0), value), start_[i]);
        heading_[i] = select(lanes, heading, heading_[i]);
        occurred_[i] = (lanes & (fired[i] != Real(0.0))) | (!lanes & occurred_[i]);
      }
      jumped_ = jumped_ & !lanes;
      hesitates_ = (hesitates_ & !lanes) | (hesitates & lanes);
    }
  }

 protected:
  /// The directions in which crossings are events; 0: both.
  static MANYFOLD_INLINE void get_directions(double (&wanted)[size]) {
    static_for<events>([&](auto k) {
      constexpr Event event = System::event(k);
      wanted[k] = event.direction;
    });
  }

  /// Has function i been across, as the discrete state has it, and is heading there again, where rounding puts it back?
  MANYFOLD_INLINE Mask stays_across(int i, const Roots& here, const State& state, const Mask& fired,
                                    double direction) const {
    const Real rounding = Real(surface) * scale_[i];
    const Real ahead = Real(direction) * here.slope[i] * state.path.h;
    const Mask back = Real(direction) * here.value[i] < Real(0.0);
    return (remembered_[i] == Real(direction)) & !fired & back & (abs(here.value[i]) <= rounding) & (ahead > rounding);
  }

  /// Is function i on the other side than the discrete state has it, at the begin of the step already? A function
  /// that is back within the uncertainty of the last event's time was only found a little early, and is small.
  MANYFOLD_INLINE Mask astray(int i, const State& state, const Roots& begin_of_step, const Real& tolerance) const {
    if constexpr (System::remembers_sides) {
      const Real begin = remembered_[i] * begin_of_step.value[i];
      const Real back = max(Real(no_progress) * tolerance, Real(4.0) * uncertain_ / abs(state.path.h));
      const Real soon = begin + back * max(remembered_[i] * begin_of_step.slope[i], Real(0.0));
      const Mask early = (soon >= Real(0.0)) & (-begin <= Real(10.0 * most_uncertain) * range_[i]);
      return (begin < -max(Real(surface) * range_[i], doubt_[i])) & !early;
    } else {
      return Mask(false);
    }
  }

  /// If function i begins on the surface, it may be on the other side than its own by this much, its rounding error or
  /// what errors of the steps hide. Otherwise an event that leaves its surface slowly would follow itself again and
  /// again. `begin`: its value at the begin, positive on the side where it was.
  MANYFOLD_INLINE Real allowance(int i, const Real& begin) const {
    const Real hidden = select((side_[i] != Real(0.0)) & (begin <= doubt_[i]), doubt_[i], Real(0.0));
    if constexpr (System::remembers_sides) {
      const Real rounding = Real(surface) * range_[i];
      return select((remembered_[i] != Real(0.0)) & (begin <= rounding), max(rounding, hidden), hidden);
    } else {
      return hidden;
    }
  }

  /// What is known to leave zero slowly in the lanes of `lanes` may be off by the errors of the steps too. `error`: of
  /// the last one, in tolerances; `motion`: by the slope at its begin, over the whole step. What this takes
  /// farther from zero than errors do has left. `reach`: what one tolerance comes to.
  MANYFOLD_INLINE void widen_doubt(const Mask& lanes, int i, const Real& error, const Real& motion, const Real& reach) {
    const Mask open = lanes & (side_[i] != Real(0.0)) & (doubt_[i] > Real(0.0));
    const Real hidden = Real(most_in_step) * error * reach;
    doubt_[i] = select(open & (side_[i] * motion <= hidden), max(doubt_[i], hidden), doubt_[i]);
  }

  /// The errors of a step, `error` tolerances, hide motions of a function up to this. `reach`: what one comes to in it.
  static MANYFOLD_INLINE Real hidden_motion(const Real& error, const Real& reach) {
    return (Real(least_doubt) + Real(most_in_step) * error) * reach;
  }

  /// Function i, whose last event was the one before, is back in no time without having moved by what tells at the
  /// tolerance.
  MANYFOLD_INLINE Mask flies_weakly(const Mask& lanes, int i, const State& state, const Real& way,
                                    const Real& since) const {
    const Mask again = lanes & occurred_[i] & (since < Real(no_time) * abs(state.t));
    return any(again) ? again & (way <= Real(least_motion) * reach(i, state)) : again;
  }

  /// What one tolerance of every variable comes to in function i.
  MANYFOLD_INLINE Real reach(int i, const State& state) const {
    Real terms;
    return tolerances(i, state, Real(1.0), terms);
  }

  /// Function i has moved, by `way` in the time `since`, beyond what a polynomial of the step and rounding resolve.
  MANYFOLD_INLINE Mask has_moved(const Mask& lanes, int i, const State& state, const Real& way,
                                 const Real& since) const {
    Mask result = lanes & (way > Real(surface) * scale_[i]);
    const Mask soon = result & (since < Real(1e-6) * abs(state.t));
    if (any(soon)) {
      Real terms;
      tolerances(i, state, Real(0.0), terms);
      result = result & !(soon & (way <= Real(16.0 * epsilon<Real>) * terms));
    }
    return result;
  }

  /// What rounding and the errors of algebraic variables, which polynomials have in every step, come to in function i
  /// as far as the tolerances tell.
  MANYFOLD_INLINE Real noise(int i, const State& state) const {
    Real terms;
    const Real errors = tolerances(i, state, Real(0.0), terms);
    return max(min(errors, Real(most_noise) * terms), Real(16.0 * epsilon<Real>) * terms);
  }

  Mask at_begin_ = Mask(false);                          ///< lanes whose events are where the step began
  Mask hardly_left_ = Mask(false);                       ///< lanes whose events come from where the last ones were
  Mask weak_ = Mask(false);                              ///< lanes whose events are back from a weak flight
  Mask hesitates_ = Mask(false);                         ///< lanes whose last events were no crossings
  Mask jumped_ = Mask(false);                            ///< lanes whose events are at a jump, not at a zero
  Real side_[size];                                      ///< sign of every root function; 0: not known yet
  Real doubt_[size];                                     ///< where it begins on zero: how large errors may be there
  Real origin_[size];                                    ///< and the value with which it began, for all it is known
  Real farthest_[size];                                  ///< its value farthest from where its events lead to
  Real farthest_before_[size];                           ///< the same at the begin of the last step
  Real start_[size];                                     ///< root functions at the begin of the next step
  Real heading_[size];                                   ///< where they are going there, by their sign
  Real arriving_[size];                                  ///< the same at the begin of the last step
  Real came_from_[size];                                 ///< the side at the begin of the last step
  Mask occurred_[size];                                  ///< lanes whose last events had this among them
  Real scale_[size];                                     ///< largest size of the root functions in it
  Real range_[System::remembers_sides ? size : 1] = {};  ///< largest size so far of those with a remembered side

 private:
  /// A root function smaller than this part of its size over the last step lies on the surface.
  static constexpr double surface = max(1e-10, 16.0 * epsilon<Real>);
  /// The time of an event is known to this part of the step at least.
  static constexpr double most_uncertain = 1e-4;
  /// A root function is known to this part of its terms at least: tolerances may be larger than variables are.
  static constexpr double most_noise = 1e-3;
  /// Flights that last less than the first part of the time and move less than the second of a tolerance are weak. A
  /// ball that rests below 1e-6 m/s at 8 s has none at tolerances of 1e-4.
  static constexpr double no_time = 1e-7;
  static constexpr double least_motion = 1e-9;
  /// Errors that have added up over the steps are at most so many tolerances of the error test, but for problems that
  /// magnify them. With 10, `bdf` lost its way with 9 of 100 belts like that of tests/engine/sides_test.cpp at 1e-8.
  static constexpr double most_drift = 100.0;
  /// Within a step the polynomial is off by so many times the estimate at most. With 1, one of 500 blocks like those of
  /// tests/engine/sides_test.cpp ended in an event storm; with 10, bounces of 35 tolerances are hidden.
  static constexpr double most_in_step = 3.0;
  /// A function that leaves zero slowly is across, or gets a side, where it has moved by this part of a tolerance at
  /// least. The event before has errors too: a rope that goes slack too early stretches a little at first. With 0.1,
  /// five of 150 ropes that are slack for a moment had no event at 1e-4.
  static constexpr double least_doubt = 0.01;
  /// On a known side, it is across where it is so many times as far as it began there, or moves in a step, or by one
  /// tolerance.
  static constexpr double far = 4.0;
  /// That holds if it begins within this part of the errors that have added up.
  static constexpr double slowly = 0.1;

  /// How a function leaves zero after an event.
  struct Leave {
    Mask hidden;    ///< errors decide on which side it is
    Real side;      ///< its side, whatever the errors; 0: not known
    Real doubt;     ///< how large errors may be there
    Real origin;    ///< its value where errors began to decide
    Real farthest;  ///< its value since then, farthest from where its events lead to
    Real next;      ///< the side that it is heading for; 0: it hardly moves
  };

  /// How function i leaves zero. `crosses`: the lanes in which it crosses zero at the event, `crosses_later`: those
  /// where it does in the step, behind the event; `stated`: the side that the discrete state has; `wanted`: the
  /// direction of the function's events.
  MANYFOLD_INLINE Leave leaves_zero(int i, const Mask& lanes, const Mask& moved, const Mask& crosses,
                                    const Mask& crosses_later, const Mask& put_there, const State& state,
                                    const Roots& here, const Real& h, const Real& stated, double wanted) const {
    const Real rounding = Real(surface) * scale_[i];
    const Real value = abs(here.value[i]);
    const Real motion = abs(here.slope[i] * h);
    const Real leaving = max(value, motion);
    const Real before = abs(before_[i]);
    // A new mode may put it where errors of the integration hide zero, as the speed of a block that begins to slip.
    // What an action sets itself has no such errors.
    const Mask still = lanes & !moved & !jumped_;
    const Mask close = still & (value <= max(Real(most_noise) * before, rounding));
    Real drifted(0.0);
    Real slow = rounding;
    Mask exact(true);
    if (any(close)) {
      Real terms;
      const Real errors = tolerances(i, state, Real(most_drift), terms);
      const Real noise_of_terms = Real(most_noise) * terms;
      drifted = select(close, min(errors, noise_of_terms), Real(0.0));
      slow = max(rounding, select(close, min(Real(slowly) * errors, noise_of_terms), Real(0.0)));
      exact = value <= Real(1e3 * epsilon<Real>) * terms;
    }
    const Mask hides = still & !(put_there & exact) & (leaving <= drifted) & (before > drifted);
    // What errors hid before another event, they hide after it.
    const Mask open = lanes & !jumped_ & !crosses & (doubt_[i] > Real(0.0)) & (max(before, value) <= doubt_[i]);
    // The side is known all the same where the discrete state has it, or where a new mode begins on zero of what occurs
    // in one direction. Then the function keeps it until errors can no longer hide that it is across.
    const Mask one_way = still & put_there & (leaving <= max(rounding, drifted)) & !crosses;
    // One that the action has put on zero from the side of its events, and that goes on in their direction, crosses: a
    // mode that contradicts itself as it begins.
    const Real ahead = Real(wanted) * here.slope[i];
    const Mask goes_on =
        lanes & !jumped_ & put_there & !crosses & (Real(wanted) * before_[i] < Real(0.0)) & (ahead > Real(0.0));
    // A side that is found behind the event is not known yet.
    const Mask unknown = open & ((side_[i] == Real(0.0)) | (came_from_[i] == Real(0.0)));
    // So is one that the function crosses to behind it, in the same step, whatever rounding says there.
    const Mask behind = crosses_later | (here.value[i] * side_[i] < Real(0.0)) | (value <= rounding);
    const Real own = select(behind, came_from_[i], side_[i]);
    const Real other = select(one_way | goes_on, Real(-wanted), select(open & !unknown, own, Real(0.0)));
    Leave result;
    result.side = select(stated != Real(0.0), stated, other);
    result.hidden = hides | unknown;
    // What rests on zero itself is there still, whatever errors have added up.
    const Mask resting = exact & (before <= rounding);
    result.doubt = select(open, select(resting, doubt_[i], max(doubt_[i], drifted)), select(hides, drifted, Real(0.0)));
    result.origin = select(open, origin_[i], here.value[i]);
    const Mask farther = Real(wanted) * here.value[i] < Real(wanted) * farthest_before_[i];
    result.farthest = select(open & !farther, farthest_before_[i], here.value[i]);
    const Mask begins = lanes & !jumped_ & !open & (result.side != Real(0.0)) & (leaving <= slow);
    if (any(begins)) {
      const Real across = max(-result.side * here.value[i], motion);
      const Real tolerance = reach(i, state);
      const Real most = min(Real(far) * across, tolerance);
      result.doubt = select(begins, max(most, Real(least_doubt) * tolerance), result.doubt);
    }
    // Errors may put it across where a new mode takes it to its side at once.
    const Mask returns = lanes & (stated * here.value[i] < Real(0.0)) & (stated * here.slope[i] > Real(0.0));
    result.doubt = select(returns & (value <= drifted), max(result.doubt, Real(far) * value), result.doubt);
    Mask heads = motion > max(rounding, drifted);
    // What an action sets is known to its own rounding: a ball that bounces a little less each time never falls
    // through.
    const Mask set = lanes & put_there & moved & !heads;
    if (any(set)) heads = heads | (set & (abs(here.slope[i]) > Real(16.0 * epsilon<Real>) * slope_terms(i, state)));
    result.next = select(heads, sign(here.slope[i]), Real(0.0));
    return result;
  }

  /// The sum of the sizes of the terms of function i's slope.
  MANYFOLD_INLINE Real slope_terms(int i, const State& state) const {
    Real along[n];
    Real none[n];
    for (int j = 0; j < n; ++j) along[j] = none[j] = Real(0.0);
    const Real of_time = root_values<System>(state.t, Real(1.0), state.y, none, state.dy, none, state.p).slope[i];
    Real sum = abs(of_time);
    for (int j = 0; j < n; ++j) {
      along[j] = state.dy[j];
      sum += abs(root_values<System>(state.t, Real(0.0), state.y, along, state.dy, none, state.p).slope[i]);
      along[j] = Real(0.0);
    }
    return sum;
  }

  /// What errors of the variables come to in function i, of one tolerance in algebraic ones and `differential` in
  /// others, and the sum of its linearized terms.
  MANYFOLD_INLINE Real tolerances(int i, const State& state, const Real& differential, Real& terms) const {
    Real along[n];
    Real none[n];
    for (int j = 0; j < n; ++j) along[j] = none[j] = Real(0.0);
    Real errors(0.0);
    terms = Real(0.0);
    for (int j = 0; j < n; ++j) {
      along[j] = Real(1.0);
      const Real slope = root_values<System>(state.t, Real(0.0), state.y, along, state.dy, none, state.p).slope[i];
      const Real multiple = System::algebraic_variables.contains(j) ? Real(1.0) : differential;
      errors += multiple * abs(slope / state.weight[j]);
      terms += abs(slope * state.y[j]);
      along[j] = Real(0.0);
    }
    return errors;
  }

  /// How well the time of the events is known: a root function that is smooth is next to zero there, and what it is
  /// instead is the rounding error of its terms. One that an action has put across has its event when the action has.
  /// What goes to and fro without progress is known less well than thought.
  MANYFOLD_INLINE void find_uncertainty(const Mask& struck, const Roots& here, const State& state,
                                        const Real (&fired)[size], const Mask& crowded) {
    const Real most = Real(most_uncertain) * abs(state.path.h);
    Real found(0.0);
    for (int i = 0; i < events; ++i) {
      const Real value = abs(here.value[i]);
      const Real time = min(value, most * abs(here.slope[i])) / max(abs(here.slope[i]), Real(1e-300));
      const Mask jumped = at_begin_ & (value > Real(surface) * range_[i]);
      found = select((fired[i] != Real(0.0)) & !jumped, max(found, time), found);
    }
    const Real grown = min(Real(4.0) * max(uncertain_, Real(location_tolerance<Real>) * abs(state.t)), most);
    uncertain_ = select(struck, select(crowded, max(found, grown), found), uncertain_);
  }

  Real remembered_[System::remembers_sides ? size : 1] = {};  ///< sides that the discrete state has
  Real uncertain_ = Real(0.0);                                ///< time of the last events, as far as `remembers_sides`
  Mask stays_[System::remembers_sides ? size : 1];            ///< lanes whose side there is hidden by rounding
  Real before_[size];                                         ///< root functions there, before the actions
  Real passing_[size];  ///< the sides of those that pass zero there, without event
};

}  // namespace manyfold
