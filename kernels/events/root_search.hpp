#pragma once
// Where one root function crosses zero on the dense polynomial of a step.
#include "root_functions.hpp"

namespace manyfold {

/// A root function at the ends of a part of a step.
template <class Real>
struct PartEnds {
  Real begin;        ///< value at the begin of a part, positive on the side where the function was
  Real end;          ///< at its end
  Real begin_slope;  ///< derivatives, per part
  Real end_slope;
};

/// The step is looked at in equal parts, in the lanes of a pack at once.
template <class System, class Real, class State>
struct RootSearch {
  using Mask = MaskOf<Real>;
  using Roots = RootValues<System, Real>;
  static constexpr int n = System::n;

  /// Root functions are sampled at the ends of so many equal parts of a step. What has at most one extremum in each
  /// part has no crossing that is missed.
  static constexpr int parts = 4;
  /// The polynomial meets the solution at both ends of a step; its error at this part of the step from there is small
  /// beside that in the middle.
  static constexpr double close_to_end = 0.01;
  /// A step that is taken again ends so much later, relative to its length, than the event was found.
  static constexpr double cut_margin = 1e-3;
  /// Where the event was found in this first part of a step, the polynomial's error is large beside the way to it. At a
  /// kink the step that is taken again may end before the event then, again and again.
  static constexpr double close_to_begin = 0.1;
  /// So it ends so much later there. It is so short that its polynomial is accurate everywhere.
  static constexpr double early_margin = 0.3;
  /// Extrema are resolved to this part of a step: two crossings that are closer may count as a touch.
  static constexpr double extremum_resolution = max(1e-8, 4.0 * epsilon<Real>);

  /// The step's polynomial at u, with derivatives with respect to u.
  struct Place {
    Real y[n];
    Real y_slope[n];
    Real dy[n];
    Real dy_slope[n];

    MANYFOLD_INLINE Place(const State& state, const Real& u) {
      const Real over_h = Real(1.0) / state.path.h;
      for (int i = 0; i < n; ++i) {
        y[i] = state.y[i] + state.path.increment(i, u);
        y_slope[i] = state.path.slope(i, u);
        dy[i] = y_slope[i] * over_h;
        dy_slope[i] = state.path.curvature(i, u) * over_h;
      }
    }
    /// The root functions there.
    MANYFOLD_INLINE Roots roots(const State& state, const Real& u) const {
      return root_values<System>(state.t + u * state.path.h, state.path.h, y, y_slope, dy, dy_slope, state.p);
    }
  };
  static MANYFOLD_OUTLINE Roots at(const State& state, const Real& u) { return Place(state, u).roots(state, u); }

  static MANYFOLD_INLINE PartEnds<Real> ends(const Roots (&sample)[parts + 1], int part, int i, const Real& side) {
    const Real scaled = side * Real(1.0 / parts);
    return {side * sample[part].value[i], side * sample[part + 1].value[i], scaled * sample[part].slope[i],
            scaled * sample[part + 1].slope[i]};
  }

  /// Positive at both ends, but perhaps not between: falling and rising again, or the cubic through values and slopes
  /// leaves its control polygon on the other side.
  static MANYFOLD_INLINE Mask may_dip(const PartEnds<Real>& at) {
    const Mask turns = (at.begin_slope < Real(0.0)) & (at.end_slope > Real(0.0));
    const Real third(1.0 / 3.0);
    const Mask bends = (at.begin + third * at.begin_slope < Real(0.0)) | (at.end - third * at.end_slope < Real(0.0));
    return (at.begin >= Real(0.0)) & (at.end >= Real(0.0)) & (turns | bends);
  }

  /// Is a root function undefined at the end of a part, as a logarithm beyond its domain, and not at the begin?
  static MANYFOLD_INLINE Mask leaves_domain(const PartEnds<Real>& at) {
    return (at.begin == at.begin) & (at.end != at.end);
  }

  /// Shortens such a part, in the lanes of `lanes`, if it begins on the side of the function: it ends where the
  /// function is across, or just before the end of its domain.
  static MANYFOLD_OUTLINE void retreat(Mask lanes, const State& state, int i, const Real& side, const Real& left,
                                       Real& right, PartEnds<Real>& values) {
    constexpr double shortest = 1e-10;
    lanes = lanes & (values.begin >= Real(0.0));
    const Mask wanted = lanes;
    Real lo = left;
    Real hi = right;
    Real end = values.begin;
    Real slope = values.begin_slope;
    for (Real length = hi - lo; any(lanes); length *= Real(0.5)) {
      const Real middle = Real(0.5) * (lo + hi);
      const Roots here = at(state, middle);
      const Real value = side * here.value[i];
      const Mask defined = lanes & (value == value);
      hi = select(lanes & !defined, middle, hi);
      lo = select(defined, middle, lo);
      end = select(defined, value, end);
      slope = select(defined, side * here.slope[i] * Real(1.0 / parts), slope);
      lanes = lanes & (end >= Real(0.0)) & (length > Real(shortest));
    }
    right = select(wanted, lo, right);
    values.end = select(wanted, end, values.end);
    values.end_slope = select(wanted, slope, values.end_slope);
  }

  /// Looks between lo and hi for a place where `side` times root function i is below -rounding, by minimising it: cubic
  /// interpolation, a point close by on the other side of the minimum, bisection, in turn. Returns the lanes where
  /// there is one, and it in `place`.
  static MANYFOLD_OUTLINE Mask seek(Mask lanes, const State& state, int i, const Real& side, Real lo, Real hi,
                                    const PartEnds<Real>& values, const Real& rounding, Real& place,
                                    Real& value_there) {
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

  /// Where root function i crosses `level` in [lo, hi] from behind: a place where it has crossed, at most `tolerance`
  /// after the crossing. `value_lo`, not positive, and `value_hi`, positive, are `direction` times its distance from
  /// the level. In the lanes of `rough` a coarse answer will do unless it is close to an end of the step. T. R.
  /// Chandrupatla, Adv. Eng. Softw. 28 (1997): inverse quadratic interpolation where that is safe, else bisection; here
  /// after a first secant.
  static MANYFOLD_OUTLINE Real bracket(Mask lanes, const Mask& rough, const State& state, int i, const Real& direction,
                                       const Real& level, const Real& lo, const Real& hi, const Real& value_lo,
                                       const Real& value_hi, const Real& tolerance) {
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
      const Real fx = direction * (at(state, x).value[i] - level);
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

 private:
  /// Where the cubic with values a, b and slopes s, t at the ends of [0, 1] is smallest; the middle if that is outside.
  static MANYFOLD_INLINE Real cubic_minimum(const Real& a, const Real& b, const Real& s, const Real& t) {
    const Real q = Real(3.0) * (b - a) - Real(2.0) * s - t;
    const Real r = s + t - Real(2.0) * (b - a);
    const Real root = sqrt(max(q * q - Real(3.0) * r * s, Real(0.0)));
    const Real x = select(q > Real(0.0), -s / (q + root), (root - q) / (Real(3.0) * r));
    return select((x > Real(0.0)) & (x < Real(1.0)), x, Real(0.5));
  }
};

}  // namespace manyfold
