#pragma once
// Where a branch of the algebraic equations ends: the solution to which it is led on.
//
// At a fold the branch that an instance follows meets another one, and behind it neither exists. What a model leaves
// out, as stray capacitances, takes the algebraic variables to another branch in no time. Here all equations are met
// but for a combination q, which the passage of time violates: the curve F(t, y, y') = lambda q is followed from the
// fold to where it arrives at lambda = 0. For one unknown that is what any fast dynamics do. Seydel, Practical
// Bifurcation and Stability Analysis, chapter 4: continuation along an arc length, here of the algebraic variables.
#include "search_matrix.hpp"

namespace manyfold {

/// Time as what leads along branches, from (y, y') at t: differential variables go on by their slope.
template <class System, class Real>
struct TimePath {
  static constexpr int n = System::n;
  Real t;
  Real y[n];
  Real dy[n];
  const Real (&p)[System::constants_size];

  MANYFOLD_INLINE void move_to(const Real& time, Real (&to)[n]) const {
    for (int i = 0; i < n; ++i) {
      if (System::derivative_occurs(i)) to[i] = y[i] + (time - t) * dy[i];
    }
  }
  MANYFOLD_INLINE void residual(const Real& time, const Real (&at)[n], const Real (&slope)[n], Real (&F)[n]) const {
    System::residual(time, at, slope, p, F);
  }
  MANYFOLD_INLINE void evaluate(const MaskOf<Real>& lanes, const Real& time, const Real (&at)[n],
                                const Real (&slope)[n], SearchMatrix<System, Real>& matrix) const {
    matrix.evaluate(lanes, time, at, slope, p);
  }
};

/// `Path` leads along branches by a parameter t: it says where the differential variables are and what F and its
/// matrix.
template <class System, class Real, class Path>
class BranchSearch {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

  BranchSearch(const Tolerances<n>& tolerances, const Path& path) : path_(path), tolerances_(tolerances) {}

  /// Looks from (y, y'), consistent at t, for values at t + `ahead`, where the branch has ended or is steeper than time
  /// resolves; `before` is a point of the branch at `t_before`. Returns the lanes in which it found some: in y and y',
  /// to be made consistent. In those of `elsewhere` it is another branch.
  MANYFOLD_INLINE Mask find(const Mask& lanes, const Real& t, const Real& ahead, const Real& t_before,
                            const Real (&before)[n], Real (&y)[n], Real (&dy)[n], Mask& elsewhere) {
    matrix_.measure(tolerances_, y);
    Curve curve;
    const Mask started = start(lanes, t, ahead, t_before, before, y, dy, curve);
    const Mask found = follow(started, t + ahead, curve, elsewhere);
    for (int i = 0; i < n; ++i) {
      y[i] = select(found, curve.y[i], y[i]);
      dy[i] = select(found, curve.dy[i], dy[i]);
    }
    return found;
  }

 private:
  using Matrix = SearchMatrix<System, Real>;
  static constexpr int most_steps = 200;
  static constexpr int most_corrections = 8;
  // Lengths are in tolerances.
  static constexpr double shortest = 1e-3;
  static constexpr double least_distance = 10.0;
  static constexpr double steep = 1000.0;
  static constexpr double most_drift = 100.0;

  /// A point of the curve, and where it goes.
  struct Curve {
    Real y[n];
    Real dy[n];
    Real lambda;
    Real direction[n];
    Real rise;  ///< of lambda along it
    Real q[n];

    MANYFOLD_INLINE void move(const Mask& lanes, const Real& by, const Real (&along)[n]) {
      for (int k = 0; k < n; ++k) Matrix::unknown(k, y, dy) += select(lanes, by * along[k], Real(0.0));
    }
  };

  MANYFOLD_INLINE Mask factor(const Mask& lanes, const Real& t, const Curve& at) {
    path_.evaluate(lanes, t, at.y, at.dy, matrix_);
    return matrix_.factor(lanes);
  }

  /// The curve next to (y, y'), at t + `ahead`. Behind the end of a branch lambda is positive, but for a tolerance.
  MANYFOLD_INLINE Mask start(const Mask& lanes, const Real& t, const Real& ahead, const Real& t_before,
                             const Real (&before)[n], const Real (&y)[n], const Real (&dy)[n], Curve& curve) {
    for (int i = 0; i < n; ++i) {
      curve.y[i] = y[i];
      curve.dy[i] = dy[i];
      curve.direction[i] = Real(0.0);
      curve.q[i] = Real(0.0);
    }
    curve.lambda = curve.rise = Real(0.0);
    Mask good = lanes & factor(lanes, t, curve);
    // The residual that a Newton iteration leaves, over a time in which more than rounding errors change.
    Real time = Real(100.0) * ahead;
    Curve later = curve;
    path_.move_to(t + time, later.y);
    Real delta[n];
    path_.residual(t + time, later.y, later.dy, delta);
    matrix_.solve(delta);
    const Real part = min(Real(1.0), Real(most_drift) / matrix_.length(delta));
    time *= part;
    path_.move_to(t + time, later.y);
    later.move(good, -part, delta);
    path_.residual(t + time, later.y, later.dy, curve.q);
    for (int i = 0; i < n; ++i) curve.direction[i] = curve.q[i];
    matrix_.solve(curve.direction);
    const Real size = matrix_.length(curve.direction);
    good = good & (size > Real(0.0)) & is_finite(size);
    for (int i = 0; i < n; ++i) {
      curve.q[i] /= size;
      curve.direction[i] /= size;
    }
    path_.move_to(t + ahead, curve.y);
    good = good & correct(good, t + ahead, Real(0.0), curve);
    const Real side = select(curve.lambda < Real(-1.0), Real(-1.0), Real(1.0));
    curve.lambda *= side;
    for (int i = 0; i < n; ++i) curve.q[i] *= side;

    // On the branch lambda falls that way: there is its stable side, whatever the matrix says at its end.
    Curve of_branch = curve;
    for (int i = 0; i < n; ++i) of_branch.y[i] = before[i];
    good = good & factor(good, t_before, of_branch);
    Real slope[n];
    for (int i = 0; i < n; ++i) slope[i] = curve.q[i];
    matrix_.solve(slope);
    const Real way = select(matrix_.product(slope, curve.direction) > Real(0.0), Real(-1.0), Real(1.0));
    for (int k = 0; k < n; ++k) curve.direction[k] *= way;
    curve.rise *= side * way;
    return good;
  }

  /// Follows the curve to where lambda falls to 0. Returns the lanes in which that is not next to where it began.
  MANYFOLD_INLINE Mask follow(const Mask& lanes, const Real& t, Curve& curve, Mask& elsewhere) {
    Mask searching = lanes;
    Mask found(false);
    Mask turned(false);
    Mask behind = lanes & (curve.lambda > Real(0.0));
    Real length(1.0);
    Real distance(0.0);
    for (int step = 0; step < most_steps && any(searching); ++step) {
      Curve next = curve;
      const Mask met = correct(searching, t, length, next);
      // Where the curve bends steps are short, but it may have corners.
      const Real expected = curve.lambda + length * curve.rise;
      const Mask straight =
          (abs(next.lambda - expected) <= max(abs(curve.lambda), abs(expected))) | (length <= Real(1.0));
      const Mask good = searching & met & straight;
      const Mask arrived = good & behind & (next.lambda <= Real(0.0));
      const Real part = select(arrived, curve.lambda / (curve.lambda - next.lambda), Real(1.0));
      distance += select(good, part * length, Real(0.0));
      for (int i = 0; i < n; ++i) {
        curve.y[i] += select(good, part * (next.y[i] - curve.y[i]), Real(0.0));
        curve.dy[i] += select(good, part * (next.dy[i] - curve.dy[i]), Real(0.0));
        curve.direction[i] = select(good, next.direction[i], curve.direction[i]);
      }
      turned = turned | (good & (next.lambda > curve.lambda));
      curve.lambda = select(good, next.lambda, curve.lambda);
      curve.rise = select(good, next.rise, curve.rise);
      found = found | arrived;
      behind = behind | (good & (next.lambda > Real(0.0)));
      searching = searching & !arrived & (behind | (distance < Real(least_distance)));
      searching = searching & (good | (length > Real(shortest)));
      length *= select(good, Real(2.0), Real(0.25));
    }
    elsewhere = found & (turned | (distance >= Real(steep)));
    return found & (distance >= Real(least_distance));
  }

  /// A step of `length`, and Newton's method back to the curve across its direction. Returns the lanes that met it.
  MANYFOLD_RARE Mask correct(const Mask& lanes, const Real& t, const Real& length, Curve& curve) {
    const Curve from = curve;
    curve.move(lanes, length, from.direction);
    curve.lambda += length * from.rise;
    Mask searching = lanes;
    Mask met(false);
    Real along(0.0);  // what corrections have left of the length
    for (int iteration = 0; iteration < most_corrections && any(searching); ++iteration) {
      searching = searching & factor(searching, t, curve);
      Real delta[n];
      Real slope[n];
      path_.residual(t, curve.y, curve.dy, delta);
      for (int i = 0; i < n; ++i) {
        delta[i] -= curve.lambda * curve.q[i];
        slope[i] = curve.q[i];
      }
      matrix_.solve(delta);
      matrix_.solve(slope);
      const Real change = (matrix_.product(from.direction, delta) - along) / matrix_.product(from.direction, slope);
      for (int k = 0; k < n; ++k) delta[k] = change * slope[k] - delta[k];
      const Real size = matrix_.length(delta);
      searching = searching & is_finite(size) & is_finite(change);
      curve.move(searching, Real(1.0), delta);
      curve.lambda += select(searching, change, Real(0.0));
      along += select(searching, matrix_.product(from.direction, delta), Real(0.0));
      const Mask close = searching & (size <= Real(0.01) * max(length, Real(1.0)));
      const Real forward = select(matrix_.product(from.direction, slope) < Real(0.0), Real(-1.0), Real(1.0));
      const Real rise = forward / matrix_.length(slope);
      for (int k = 0; k < n; ++k) curve.direction[k] = select(close, rise * slope[k], curve.direction[k]);
      curve.rise = select(close, rise, curve.rise);
      met = met | close;
      searching = searching & !close;
    }
    return met;
  }

  const Path& path_;
  const Tolerances<n>& tolerances_;
  Matrix matrix_;
};

}  // namespace manyfold
