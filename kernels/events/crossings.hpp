#pragma once
// Which root functions cross zero in a step, and where: every one has its first crossing.
#include "root_search.hpp"
#include "sides.hpp"

namespace manyfold {

template <class System, class Real, class State>
class Crossings : public RootSides<System, Real, State> {
  using Base = RootSides<System, Real, State>;
  using Search = RootSearch<System, Real, State>;
  using Ends = PartEnds<Real>;
  using Base::arriving_;
  using Base::came_from_;
  using Base::doubt_;
  using Base::farthest_;
  using Base::farthest_before_;
  using Base::heading_;
  using Base::jumped_;
  using Base::origin_;
  using Base::range_;
  using Base::scale_;
  using Base::side_;
  using Base::start_;
  static constexpr int parts = Search::parts;
  /// Samples do not show a function that they miss, from their neighbours, by this part of its change in the step at
  /// most, and by that at least. Of random sines, also of changing frequency, none of less than one turn in a step was
  /// taken for such, and all of more than 2.2. A jump, or a kink, is not missed by all samples.
  static constexpr double most_missed = 0.5;
  static constexpr double least_missed = 0.02;
  /// What errors of algebraic variables come to where these have been made to meet their equations, in parts of what
  /// they come to elsewhere.
  static constexpr double settled_noise = 1e-2;
  /// So many variables with derivatives are moved one by one, to see what their errors come to.
  static constexpr int most_differential = 8;
  static constexpr int differential = [] {
    int count = 0;
    for (int j = 0; j < System::n; ++j) count += System::derivative_occurs(j) ? 1 : 0;
    return count;
  }();

 public:
  using Mask = MaskOf<Real>;
  using Roots = RootValues<System, Real>;
  static constexpr int n = System::n;
  static constexpr int events = System::events;
  static constexpr int size = System::events_size;

  /// What `forget_step` needs.
  struct BeforeStep {
    Real start[size];
    Real doubt[size];
    Real heading[size];
  };

  /// Samples the step in the lanes of `accepted`; where a root function may cross, locates its first event. Returns
  /// those lanes. In the lanes of `rough` a coarse answer will do. `error`: of the step, in tolerances. `tolerance`: of
  /// places in units of the step. `meet`: as for `EventMonitor::find`. In the lanes of `unclear` a shorter step tells
  /// the side of a function better.
  template <bool meets>
  MANYFOLD_INLINE Mask scan(const Mask& accepted, const Mask& rough, const State& state, const Real& error,
                            const Real& tolerance, auto&& meet, BeforeStep& before, Mask& unclear) {
    for (int i = 0; i < events; ++i) {
      before.start[i] = start_[i];
      // Errors decide no more where the function has left zero, or has found its side.
      const Mask decided = ((came_from_[i] == Real(0.0)) & (side_[i] != Real(0.0))) | (abs(start_[i]) > doubt_[i]);
      doubt_[i] = select(decided, Real(0.0), doubt_[i]);
      before.doubt[i] = doubt_[i];
      farthest_before_[i] = farthest_[i];
      came_from_[i] = side_[i];
      root_[i] = Real(1.0);
    }
    Roots sample[parts + 1];
    for (int j = 0; j <= parts; ++j) sample[j] = Search::at(state, Real(double(j) / parts - 1.0));
    Mask interesting(false);
    for (int i = 0; i < events; ++i) {
      // The polynomial meets the begin of the step up to rounding only.
      sample[0].value[i] = start_[i];
      Real largest(0.0);
      for (int j = 0; j <= parts; ++j) largest = max(largest, abs(sample[j].value[i]));
      scale_[i] = largest;
      if constexpr (System::remembers_sides) range_[i] = select(accepted, max(range_[i], largest), range_[i]);
      const Mask turns = missed_by(sample, parts / 2, i) > Real(least_missed) * largest;
      interesting = interesting | may_cross(i, state, sample, tolerance) | turns;
      start_[i] = select(accepted, sample[parts].value[i], start_[i]);
      before.heading[i] = arriving_[i] = heading_[i];
      heading_[i] = select(accepted, sample[parts].slope[i], heading_[i]);
    }
    interesting = interesting & accepted;
    if (any(interesting)) locate<meets>(interesting, rough, state, sample, error, tolerance, meet, unclear);
    return interesting;
  }

  /// Does what crosses at `first`, a flight of the length `time` after an impact, rise more than errors hide?
  MANYFOLD_INLINE Mask flies(const Real& first, const Real& time, const BeforeStep& before) const {
    Mask result(false);
    for (int i = 0; i < events; ++i) {
      const Real rise = abs(before.heading[i]) * time;
      result = result | ((root_[i] == first) & (rise > Real(4.0) * before.doubt[i]));
    }
    return result;
  }

  /// The step is to be taken again in the lanes of `lanes`.
  MANYFOLD_INLINE void forget_step(const Mask& lanes, const BeforeStep& before) {
    for (int i = 0; i < events; ++i) {
      side_[i] = select(lanes, came_from_[i], side_[i]);
      start_[i] = select(lanes, before.start[i], start_[i]);
      doubt_[i] = select(lanes, before.doubt[i], doubt_[i]);
      farthest_[i] = select(lanes, farthest_before_[i], farthest_[i]);
      heading_[i] = select(lanes, before.heading[i], heading_[i]);
    }
  }

  /// The state of the lanes of `lanes` has jumped to where the root functions are `here`. Those that are across there
  /// are put among `fired`. Returns the lanes with any.
  MANYFOLD_INLINE Mask jump(const Mask& lanes, const Roots& here, Real (&fired)[size]) {
    Mask struck(false);
    static_for<events>([&](auto i) {
      constexpr double wanted = System::event(i).direction;
      const Real side = sign(here.value[i]);
      const Mask across = lanes & (side * side_[i] < Real(0.0));
      const Mask now = across & ((Real(wanted) == Real(0.0)) | (Real(wanted) == side));
      came_from_[i] = select(lanes, side_[i], came_from_[i]);
      side_[i] = select(across, side, side_[i]);
      start_[i] = select(lanes, here.value[i], start_[i]);
      direction_[i] = select(lanes, select(now, side, Real(0.0)), direction_[i]);
      fired[i] = select(lanes, select(now, Real(1.0), Real(0.0)), fired[i]);
      struck = struck | now;
    });
    jumped_ = jumped_ | struck;
    return struck;
  }

  /// Direction in which function i crosses there; 0: it does not.
  MANYFOLD_INLINE const Real& direction(int i) const { return direction_[i]; }
  MANYFOLD_INLINE void clear_directions() {
    for (int i = 0; i < events; ++i) direction_[i] = Real(0.0);
  }

  /// Before the actions of the events of `fired` in the lanes of `struck`.
  MANYFOLD_INLINE void enter(const Mask& struck, const State& state, const Real (&fired)[size], const Real& since,
                             const Mask& crowded) {
    Mask at_begin(false);
    for (int i = 0; i < events; ++i) at_begin = at_begin | is_at_begin(i, fired[i]);
    Base::enter(struck, state, fired, since, crowded, at_begin & !jumped_);
  }

  /// After the actions of the events of `fired`, at the consistent state of `start`.
  MANYFOLD_INLINE void restart(const Mask& lanes, const State& state, const EventStart<System, Real>& start,
                               const Real (&fired)[size], const Mask& moved, const Real& h) {
    Base::restart(lanes, state, start, fired, direction_, moved, h);
  }

  /// Function i has not crossed in the step in the lanes of `lanes`, at the end of which it has the value `end`.
  MANYFOLD_INLINE void postpone(const Mask& lanes, int i, const Real& end) {
    side_[i] = select(lanes, came_from_[i], side_[i]);
    start_[i] = select(lanes, end, start_[i]);
    direction_[i] = select(lanes, Real(0.0), direction_[i]);
  }
  /// Is function i found across from the begin of the step?
  MANYFOLD_INLINE Mask is_at_begin(int i, const Real& fired) const {
    return (fired != Real(0.0)) & (root_[i] <= Real(-1.0));
  }
  /// Is function i, which is to cross at another place of the step, across with the value `here`?
  MANYFOLD_INLINE Mask crosses_later(int i, const Real& here) const {
    return (root_[i] <= Real(0.0)) & (here * direction_[i] > Real(0.0));
  }

  /// Where in the step function i crosses first, in units of the step, from -1 to 0; positive: nowhere.
  MANYFOLD_INLINE const Real& root(int i) const { return root_[i]; }

 private:
  /// In which lanes may function i cross in the step? Where it is undefined, it may.
  MANYFOLD_INLINE Mask may_cross(int i, const State& state, const Roots (&sample)[parts + 1],
                                 const Real& tolerance) const {
    Mask result = this->astray(i, state, sample[0], tolerance) | ((side_[i] == Real(0.0)) & (scale_[i] > Real(0.0)));
    for (int part = 0; part < parts; ++part) {
      const Ends values = Search::ends(sample, part, i, side_[i]);
      result = result | !(values.end >= Real(0.0)) | Search::may_dip(values);
    }
    return result;
  }

  /// By how much the cubic through values and slopes of its neighbours misses sample j of function i, in value or
  /// slope.
  static MANYFOLD_INLINE Real missed_by(const Roots (&sample)[parts + 1], int j, int i) {
    constexpr double apart = 2.0 / parts;
    const Real change = sample[j + 1].value[i] - sample[j - 1].value[i];
    const Real begin = Real(apart) * sample[j - 1].slope[i];
    const Real end = Real(apart) * sample[j + 1].slope[i];
    const Real value = sample[j - 1].value[i] + Real(0.5) * change - Real(0.125) * (end - begin);
    const Real slope = Real(1.5) * change - Real(0.25) * (end + begin);
    return max(abs(sample[j].value[i] - value), abs(Real(apart) * sample[j].slope[i] - slope));
  }

  /// By how much samples of function i miss it, where it may reach zero between them for that; else 0. One that turns
  /// more often than they show is missed at all of them, by as much as it changes.
  MANYFOLD_INLINE Real missed_by_samples(int i, const Roots (&sample)[parts + 1]) const {
    Real low = sample[0].value[i];
    Real high = low;
    Real most(0.0);
    Real least(largest_number);
    for (int j = 1; j <= parts; ++j) {
      low = min(low, sample[j].value[i]);
      high = max(high, sample[j].value[i]);
      if (j == parts) break;
      const Real missed = missed_by(sample, j, i);
      most = max(most, missed);
      least = min(least, missed);
    }
    const Real change = high - low;
    const Mask hides = (most > Real(most_missed) * change) & (least > Real(least_missed) * change);
    const Real nearest = max(max(low, -high), Real(0.0));
    return select(hides & (Real(4.0) * most > nearest), most, Real(0.0));
  }

  /// In which of the lanes is function i zero throughout the step, as far as rounding and the errors of algebraic
  /// variables tell? A voltage that an equation holds at a threshold crosses it with each of these errors.
  MANYFOLD_INLINE Mask rests(const Mask& lanes, int i, const State& state) const {
    return lanes & (scale_[i] <= this->noise(i, state));
  }

  /// Is the path of function i a straight line, as that of an implicit Euler step?
  static MANYFOLD_INLINE Mask is_straight(const Roots (&sample)[parts + 1], int i) {
    const Real way = sample[parts].value[i] - sample[0].value[i];
    return abs(sample[0].slope[i] - way) <= Real(1e-3) * abs(way);
  }

  /// Is function i zero at the begin of the step, beside what it is a little later?
  static MANYFOLD_INLINE Mask begins_on_zero(const Roots (&sample)[parts + 1], int i) {
    return abs(sample[0].value[i]) <= Real(1e-3) * abs(sample[1].value[i]);
  }

  /// Does function i, which begins on zero, owe what it is a little later to its curvature? `least`: what is smaller
  /// may be rounding; 0: functions of t have no errors.
  static MANYFOLD_INLINE Mask leaves_slowly(const Roots (&sample)[parts + 1], int i, const Real& least) {
    const Real first = abs(sample[1].value[i]);
    const Mask curved = abs(sample[0].slope[i]) < Real(0.5 * parts) * first;
    return begins_on_zero(sample, i) & curved & (first > least) & (least > Real(0.0));
  }

  /// What begins on zero and leaves slowly grows with the second or third power of time: eightfold from the first
  /// sample to the second. Function i, which has no side yet, grows faster where it has been on the other side before.
  /// `least`: what is smaller may be rounding.
  static MANYFOLD_INLINE Mask grows_too_fast(const Roots (&sample)[parts + 1], int i, const Real& least) {
    const Real first = abs(sample[1].value[i]);
    const Real second = sample[2].value[i] * sign(sample[1].value[i]);
    return begins_on_zero(sample, i) & (second > Real(9.0) * first) & (second > least);
  }

  /// The step that is searched for crossings.
  struct Scanned {
    const Mask& lanes;
    const Mask& rough;  ///< where the polynomial is not accurate
    const State& state;
    const Roots (&sample)[parts + 1];
    const Real& error;
    const Real& tolerance;  ///< of places, in units of the step
  };

  /// What of a part of the step may hold a crossing of one function, and where that is.
  struct Candidate {
    Real begin;  ///< of the part
    Real lo;
    Real hi;
    Real level;     ///< that is crossed there, positive on the side where the function was
    Real value_lo;  ///< what the function is more than that
    Real value_hi;
    Real direction;
    Mask at_once;  ///< across from the begin of the part
    Mask occurs;
  };

  /// The side of function i, which had none and has moved to `end`. Its events have the direction `filter`. If it went
  /// back to the side from which they occur, it comes from there.
  MANYFOLD_INLINE Real side_found(int i, const Real& end, const Real& filter, const Real& visible) const {
    const Mask returned = (farthest_[i] * filter < Real(0.0)) & ((origin_[i] - farthest_[i]) * filter > visible);
    return select(returned, -filter, sign(end));
  }

  /// What one tolerance of every variable comes to in function i. Errors of algebraic variables follow from those of
  /// the others: both ends of a diode that conducts are off by nearly the same.
  template <bool meets>
  MANYFOLD_INLINE Real reach_of(const Mask& lanes, int i, const State& state, auto&& meet) const {
    const Real of_all = this->reach(i, state);
    if constexpr (meets && System::highest_index() == 1 && System::invariants == 0 &&
                  differential <= most_differential) {
      const auto value_of = [&](typename Search::Place& place) {
        meet(lanes, state.t, place.y, place.dy);
        return place.roots(state, Real(0.0)).value[i];
      };
      const typename Search::Place end(state, Real(0.0));
      typename Search::Place settled = end;
      const Real here = value_of(settled);
      Real sum(0.0);
      for (int j = 0; j < n; ++j) {
        if (!System::derivative_occurs(j)) continue;
        typename Search::Place moved = settled;
        moved.y[j] += Real(1.0) / state.weight[j];
        sum += abs(value_of(moved) - here);
      }
      return min(of_all, sum);
    } else {
      return of_all;
    }
  }

  /// Does function i, which errors of algebraic variables may hide, cross zero all the same? It does if it is across at
  /// the end of the step with variables that meet their equations.
  MANYFOLD_INLINE Mask passes(const Mask& lanes, int i, const State& state, auto&& meet) const {
    typename Search::Place end(state, Real(0.0));
    meet(lanes, state.t, end.y, end.dy);
    const Real across = -side_[i] * end.roots(state, Real(0.0)).value[i];
    return lanes & (across > Real(settled_noise) * this->noise(i, state));
  }

  /// The first event of every root function in the lanes of `lanes`: its place in `root_` and its direction; else the
  /// side at the end of the step.
  template <bool meets>
  MANYFOLD_OUTLINE void locate(const Mask& lanes, const Mask& rough, const State& state,
                               const Roots (&sample)[parts + 1], const Real& error, const Real& tolerance, auto&& meet,
                               Mask& unclear) {
    double wanted[size];
    Base::get_directions(wanted);
    for (int i = 0; i < events; ++i) {
      Mask resting = lanes & may_cross(i, state, sample, tolerance);
      if (any(resting)) resting = rests(resting, i, state);
      if constexpr (meets) {
        if (any(resting)) resting = resting & !passes(resting, i, state, meet);
      }
      const Mask open = lanes & ((side_[i] == Real(0.0)) | (doubt_[i] > Real(0.0)));
      const Real reach = any(open) ? reach_of<meets>(open, i, state, meet) : Real(0.0);
      locate_one(i, {lanes, rough, state, sample, error, tolerance}, resting, wanted[i], reach, unclear);
    }
  }

  /// The same for function i, whose events have the direction `wanted`, or any if that is 0, and which rests on zero in
  /// the lanes of `resting`. `reach`: what one tolerance comes to, where errors may decide on its side.
  MANYFOLD_INLINE void locate_one(int i, const Scanned& step, const Mask& resting, double wanted, const Real& reach,
                                  Mask& unclear) {
    const auto& [lanes, rough, state, sample, error, tolerance] = step;
    Mask open = lanes & !resting;
    this->widen_doubt(lanes, i, error, sample[0].slope[i], reach);
    const Real missed = missed_by_samples(i, sample);
    const Mask wild = open & (missed > Real(0.0));
    if (any(wild)) unclear = unclear | (wild & (missed > this->hidden_motion(error, this->reach(i, state))));
    Real side = side_[i];
    const Real filter(wanted);
    Real near(0.0);
    const Mask without_side = lanes & (side == Real(0.0));
    const Mask doubtful = lanes & (doubt_[i] > Real(0.0));
    // Found late, it may begin behind the surface that it is leaving. It crosses where it is back, not before.
    const Real first = side * sample[0].value[i];
    Real level = select((first <= Real(0.0)) & (side * sample[0].slope[i] > Real(0.0)), first, Real(0.0));
    Mask has_left = first > Real(0.0);
    Real visible(0.0);
    if (any(without_side | doubtful)) visible = Real(1e-3) * reach;
    if (any(without_side)) {
      unclear = unclear | (without_side & grows_too_fast(sample, i, visible));
      near = this->hidden_motion(error, reach);
    }
    for (int part = 0; part < parts; ++part) {
      const Real left(double(part) / parts - 1.0);
      Real right(double(part + 1) / parts - 1.0);
      // Where it has just left the surface, a dip is an error of the polynomial. As long as errors may decide, it has
      // no side. They hide where zero is, but less of how far it has moved.
      const Mask leaves = open & (side == Real(0.0));
      const Real& end = sample[part + 1].value[i];
      if (any(leaves)) {
        const Mask undecided = (abs(end) <= doubt_[i]) & ((end - origin_[i]) * sign(end) <= near);
        side = select(leaves & !undecided, side_found(i, end, filter, visible), side);
        const Mask farther = leaves & ((end - farthest_[i]) * filter < Real(0.0));
        farthest_[i] = select(farther, end, farthest_[i]);
      }
      Ends values = Search::ends(sample, part, i, side);
      const Mask undefined = open & Search::leaves_domain(values);
      if (any(undefined)) Search::retreat(undefined, state, i, side, left, right, values);
      has_left = has_left | (values.end > Real(0.0));
      values.begin -= level;
      values.end -= level;
      const Mask at_begin = part == 0 ? open & this->astray(i, state, sample[0], tolerance) : Mask(false);
      const Real rounding = this->allowance(i, values.begin);
      const Mask across = open & (at_begin | (values.end < -rounding));
      const Mask dip = open & !leaves & Search::may_dip(values);
      if (!any(across | dip)) {
        level = select(has_left, Real(0.0), level);
        continue;
      }

      // Begins on the surface or, by rounding, behind it: first it must have left it.
      const Mask lift = across & (values.begin <= Real(0.0));
      const Mask allowed = (filter == Real(0.0)) | (filter == -side);
      const Mask at_once = at_begin | (lift & !(values.begin_slope > Real(0.0)));
      const Mask occurs = across & allowed;
      Candidate found{left, left, right, level, values.begin, values.end, -side, at_once, occurs};
      if (any(lift & !found.at_once)) leave_surface(lift, state, i, values, found, has_left);
      // It may be on its side for a moment that the samples do not show.
      unclear = unclear | (found.at_once & doubtful & !at_begin & leaves_slowly(sample, i, visible));
      if (any(dip)) follow_dip(dip, state, i, values, rounding, allowed, found);
      if (any(found.occurs)) {
        // A straight line does not show that it turns, and where it crosses the other variables are not there yet.
        const Mask turned = found.direction * arriving_[i] < Real(0.0);
        unclear = unclear | (found.occurs & !at_begin & turned & is_straight(sample, i));
        // Values so far are positive on the side where the function was; from here on, on the side it goes to.
        const Real turn = select(found.direction == side, Real(1.0), Real(-1.0));
        const Real place =
            Search::bracket(found.occurs & !found.at_once, rough, state, i, found.direction, side * found.level,
                            found.lo, found.hi, turn * found.value_lo, turn * found.value_hi, tolerance);
        root_[i] = select(found.occurs, select(found.at_once, left, place), root_[i]);
        direction_[i] = select(found.occurs, found.direction, direction_[i]);
        arriving_[i] = select(found.occurs & has_left, Real(0.0), arriving_[i]);
        open = open & !found.occurs;
      }
      side = select(across, -side, side);
      has_left = has_left | across;
      level = select(has_left, Real(0.0), level);
    }
    side_[i] = select(lanes, side, side_[i]);
  }

  /// Function i, on its level at the begin of a part of the step in the lanes of `lift`, and across at its end,
  /// crosses behind its highest point; at once if it never rises. `has_left`: has been on its side of the surface.
  MANYFOLD_INLINE void leave_surface(const Mask& lift, const State& state, int i, const Ends& values, Candidate& found,
                                     Mask& has_left) const {
    Real top;
    Real above;
    const Ends turned{-values.begin, -values.end, -values.begin_slope, -values.end_slope};
    const Mask left_it = Search::seek(lift & !found.at_once, state, i, found.direction, found.lo, found.hi, turned,
                                      found.level, top, above);
    found.at_once = found.at_once | (lift & !left_it);
    found.lo = select(left_it, top, found.lo);
    found.value_lo = select(left_it, -above - found.level, found.value_lo);
    has_left = has_left | (left_it & (above < Real(0.0)));
  }

  /// Function i may cross twice in a part of the step: the first of its crossings, or the second one if events go that
  /// way alone.
  MANYFOLD_INLINE void follow_dip(const Mask& dip, const State& state, int i, const Ends& values, const Real& rounding,
                                  const Mask& allowed, Candidate& found) const {
    Real bottom;
    Real below;
    const Real side = -found.direction;
    const Mask through =
        Search::seek(dip, state, i, side, found.begin, found.hi, values, rounding - found.level, bottom, below);
    below -= found.level;
    const Mask downwards = through & allowed;
    const Mask upwards = through & !downwards;
    found.hi = select(downwards, bottom, found.hi);
    found.value_hi = select(downwards, below, found.value_hi);
    found.lo = select(upwards, bottom, found.lo);
    found.value_lo = select(upwards, below, found.value_lo);
    found.direction = select(upwards, side, found.direction);
    found.occurs = found.occurs | through;
  }

  Real root_[size];
  Real direction_[size];
};

}  // namespace manyfold
