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
    for (int i = 0; i < size; ++i) side_[i] = came_from_[i] = start_[i] = doubt_[i] = Real(0.0);
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
      }
    }
    put(uncertain_, 0.0);
  }

  /// Lanes of `struck` are at their events, before the actions, with algebraic variables that meet their equations if
  /// that can be done. `fired`: which occur there; `crowded`: lanes in which events follow each other without progress.
  MANYFOLD_INLINE void enter(const Mask& struck, const State& state, const Real (&fired)[size], const Mask& crowded,
                             const Mask& at_begin) {
    if constexpr (System::has_state_events) {
      at_begin_ = at_begin;
      Real none[n];
      for (int i = 0; i < n; ++i) none[i] = Real(0.0);
      const Roots here = root_values<System>(state.t, Real(1.0), state.y, state.dy, state.dy, none, state.p);
      static_for<events>([&](auto i) {
        constexpr Event event = System::event(i);
        before_[i] = here.value[i];
        passing_[i] = Real(0.0);
        if constexpr (event.direction != 0) {
          const Real rise = here.slope[i] * state.path.h;
          const Mask unwanted =
              (rise * Real(double(event.direction)) < Real(0.0)) & (abs(rise) > Real(surface) * scale_[i]);
          const Real passed = Real(8.0 * location_tolerance<Real>) * abs(state.t) * abs(here.slope[i]);
          const Mask near = abs(before_[i]) <= max(Real(surface) * scale_[i], passed);
          passing_[i] = select(unwanted & near, sign(rise), Real(0.0));
        }
      });
      if constexpr (System::remembers_sides) find_uncertainty(struck, here, state, fired, crowded);
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
  /// lanes of `moved` the actions have changed differential variables.
  MANYFOLD_INLINE void restart(const Mask& lanes, const State& state, const EventStart<System, Real>& start,
                               const Real (&fired)[size], const Real (&direction)[size], const Mask& moved) {
    if constexpr (System::has_state_events) {
      double wanted[size];
      static_for<events>([&](auto k) {
        constexpr Event event = System::event(k);
        wanted[k] = event.direction;
      });
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
        const Mask still = lanes & !moved & !jumped_;
        Real known(0.0);
        if constexpr (System::remembers_sides) known = start.side[i];
        Real doubt = drift_at_zero(i, still, state, value, rounding);
        // Nor do those have a side yet that a new mode puts where errors of the integration hide zero, as the speed of
        // a block that begins to slip, if they hardly move. What an action sets itself has no such errors.
        const Real leaving = max(abs(value), abs(heading * state.path.h));
        // What errors hid before another event, they hide after it.
        const Mask open = lanes & !jumped_ & !through & (fired[i] == Real(0.0)) & (doubt_[i] > Real(0.0)) &
                          (max(abs(before_[i]), abs(value)) <= doubt_[i]);
        const Mask hidden =
            (open & (side_[i] == Real(0.0))) | (still & !put_there & (leaving <= doubt) & (abs(before_[i]) > doubt));
        // The side is known all the same where the discrete state has it, or where a new mode begins on zero of what
        // occurs in one direction. Then the function keeps it until errors can no longer hide that it is across.
        const Mask one_way = still & put_there & (leaving <= rounding) & (fired[i] == Real(0.0));
        known = select(known == Real(0.0), select(one_way, Real(-wanted[i]), select(open, side_[i], known)), known);
        const Mask slow = lanes & !jumped_ & (leaving <= max(rounding, doubt));
        const Mask kept = (known != Real(0.0)) & (slow | open);
        const Real next = select(abs(heading * state.path.h) > max(rounding, doubt), sign(heading), Real(0.0));
        doubt = select(open, max(doubt_[i], doubt), select(hidden, doubt, Real(0.0)));
        const Mask begins = kept & !open;
        if (any(begins)) doubt = select(begins, max(Real(4.0) * leaving, Real(least_doubt) * reach(i, state)), doubt);
        // At the begin of the step the polynomial is off by its rounding, and what began on zero is there still.
        Mask rests = at_begin_ & (fired[i] == Real(0.0)) & (value == before_[i]) & (abs(value) <= rounding);
        if constexpr (System::remembers_sides) rests = rests & (start.side[i] == Real(0.0));
        const Mask at_zero = rests | ((before_[i] == Real(0.0)) & (value == Real(0.0)));
        const Real seen =
            select(put_there, next, select(hidden, Real(0.0), select(at_zero, came_from_[i], sign(value))));
        Real sided = select(through, passing_[i], seen);
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
        const Mask back = unseen | turned | (near & (heading * end < Real(0.0)));
        const Real crossed = select(back, -end, end);
        Real side = select(fired[i] != Real(0.0), crossed, sided);
        side = select(known != Real(0.0), known, side);
        // What begins on zero and is heading for its side may seem to be across at first, by errors of the step.
        const Mask on_surface = (side != Real(0.0)) & (abs(value) <= rounding) & !jumped_;
        doubt = select(on_surface, max(max(doubt, rounding), Real(1e-300)), doubt);
        doubt_[i] = select(lanes, doubt, doubt_[i]);
        if constexpr (System::remembers_sides) remembered_[i] = select(lanes, start.side[i], remembered_[i]);
        side_[i] = select(lanes, side, side_[i]);
        came_from_[i] = select(lanes, side, came_from_[i]);
        start_[i] = select(lanes, select(rests, Real(0.0), value), start_[i]);
      }
      jumped_ = jumped_ & !lanes;
    }
  }

 protected:
  /// Is function i on the other side than the discrete state has it, at the begin of the step already? A function
  /// that is back within the uncertainty of the last event's time was only found a little early.
  MANYFOLD_INLINE Mask astray(int i, const State& state, const Roots& begin_of_step, const Real& tolerance) const {
    if constexpr (System::remembers_sides) {
      const Real begin = remembered_[i] * begin_of_step.value[i];
      const Real back = max(Real(no_progress) * tolerance, Real(4.0) * uncertain_ / abs(state.path.h));
      const Real soon = begin + back * max(remembered_[i] * begin_of_step.slope[i], Real(0.0));
      return (begin < -max(Real(surface) * range_[i], doubt_[i])) & (soon < Real(0.0));
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
  /// the last one, in tolerances.
  MANYFOLD_INLINE void widen_doubt(const Mask& lanes, int i, const State& state, const Real& error) {
    const Mask open = lanes & (side_[i] != Real(0.0)) & (doubt_[i] > Real(0.0));
    if (!any(open)) return;
    doubt_[i] = select(open, max(doubt_[i], step_errors(i, state, error)), doubt_[i]);
  }

  /// What the error of the last step, `error` tolerances, may come to in function i within the step.
  MANYFOLD_INLINE Real step_errors(int i, const State& state, const Real& error) const {
    return Real(most_in_step) * error * reach(i, state);
  }

  /// What one tolerance of every variable comes to in function i.
  MANYFOLD_INLINE Real reach(int i, const State& state) const {
    Real terms;
    return tolerances(i, state, Real(1.0), terms);
  }

  /// What the errors of algebraic variables, which polynomials have in every step, come to in function i as far as the
  /// tolerances tell.
  MANYFOLD_INLINE Real noise(int i, const State& state) const { return noise(i, state, Real(0.0)); }
  /// What the errors of all variables come to there; those of differential ones add up over steps.
  MANYFOLD_INLINE Real drift(int i, const State& state) const { return noise(i, state, Real(most_drift)); }

  Mask at_begin_ = Mask(false);                          ///< lanes whose events are where the step began
  Mask jumped_ = Mask(false);                            ///< lanes whose events are at a jump, not at a zero
  Real side_[size];                                      ///< sign of every root function; 0: not known yet
  Real doubt_[size];                                     ///< where it begins on zero: how large errors may be there
  Real start_[size];                                     ///< root functions at the begin of the next step
  Real came_from_[size];                                 ///< the side at the begin of the last step
  Real scale_[size];                                     ///< largest size of the root functions in it
  Real range_[System::remembers_sides ? size : 1] = {};  ///< largest size so far of those with a remembered side

 private:
  /// A root function smaller than this part of its size over the last step lies on the surface.
  static constexpr double surface = max(1e-10, 16.0 * epsilon<Real>);
  /// The time of an event is known to this part of the step at least.
  static constexpr double most_uncertain = 1e-4;
  /// A root function is known to this part of its terms at least: tolerances may be larger than variables are.
  static constexpr double most_noise = 1e-3;
  /// Errors that have added up over the steps are at most so many tolerances, but for problems that magnify them. With
  /// one tolerance, `bdf` lost its way with the block of tests/engine/sides_test.cpp in each of three runs.
  static constexpr double most_drift = 10.0;
  /// Within a step the polynomial is off by so many times the estimate at most. With 1, one of 400 blocks of
  /// tests/engine/sides_test.cpp ended in an event storm; 10 hides bounces of 35 tolerances.
  static constexpr double most_in_step = 3.0;
  /// What leaves zero slowly on a known side is across if it is so by this part of a tolerance at least. The event
  /// before has errors too: a rope that goes slack too early stretches a little at first.
  static constexpr double least_doubt = 0.01;

  /// What errors that have added up come to in function i where it begins on zero; 0 where it does not.
  MANYFOLD_INLINE Real drift_at_zero(int i, const Mask& lanes, const State& state, const Real& value,
                                     const Real& rounding) const {
    const Mask close = lanes & (abs(value) <= max(Real(most_noise) * abs(before_[i]), rounding));
    if (!any(close)) return Real(0.0);
    return select(close, drift(i, state), Real(0.0));
  }

  /// `differential`: how many tolerances the errors of differential variables are.
  MANYFOLD_INLINE Real noise(int i, const State& state, const Real& differential) const {
    Real terms;
    const Real errors = tolerances(i, state, differential, terms);
    return min(errors, Real(most_noise) * terms);
  }

  /// What these errors come to in function i, and the sum of its linearized terms.
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
  /// instead is the rounding error of its terms. What goes to and fro without progress is known less well than thought.
  MANYFOLD_INLINE void find_uncertainty(const Mask& struck, const Roots& here, const State& state,
                                        const Real (&fired)[size], const Mask& crowded) {
    const Real most = Real(most_uncertain) * abs(state.path.h);
    Real found(0.0);
    for (int i = 0; i < events; ++i) {
      const Real time = min(abs(here.value[i]), most * abs(here.slope[i])) / max(abs(here.slope[i]), Real(1e-300));
      found = select(fired[i] != Real(0.0), max(found, time), found);
    }
    const Real grown = min(Real(4.0) * max(uncertain_, Real(location_tolerance<Real>) * abs(state.t)), most);
    uncertain_ = select(struck, select(crowded, max(found, grown), found), uncertain_);
  }

  Real remembered_[System::remembers_sides ? size : 1] = {};  ///< sides that the discrete state has
  Real uncertain_ = Real(0.0);                                ///< time of the last events, as far as `remembers_sides`
  Real before_[size];                                         ///< root functions there, before the actions
  Real passing_[size];  ///< the sides of those that pass zero there, without event
};

}  // namespace manyfold
