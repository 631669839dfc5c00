#pragma once
// The branch of the algebraic equations that an instance stays on where an action or a source makes it jump.
//
// Behind the jump the equations may have several solutions, and Newton's method, from the values before, may find any
// of them. A jump stands for a change that is fast beside the solution: while it lasts, the algebraic variables go on
// along their branch. So (1 - s) F_before + s F_behind = 0 is followed from s = 0 to 1, with the differential
// variables on the line between their values. Allgower & Georg, Introduction to Numerical Continuation Methods, chapter
// 2: predictor and corrector, here with s for the parameter. Where the branch ends on its way, they go on where it
// leads.
#include "branch_search.hpp"
#include "consistent_lanes.hpp"

namespace manyfold {

/// A point before a jump or behind it, with the constants and the discrete state that belong to it.
template <class System, class Real>
struct JumpSide {
  Real t;
  Real y[System::n];
  Real dy[System::n];
  Real p[System::constants_size];
};

/// The jump as what leads along branches, by s. Discrete numbers that equations compute with go along a line too; those
/// that they choose by, and others, change over with F.
template <class System, class Real>
class JumpPath {
 public:
  using Side = JumpSide<System, Real>;
  static constexpr int n = System::n;

  JumpPath(const Side& before, const Side& behind) : before_(before), behind_(behind) {
    for (int k = 0; k < System::discrete; ++k) change_[k] = continuous_change(k);
  }

  MANYFOLD_INLINE void move_to(const Real& s, Real (&y)[n]) const {
    for (int i = 0; i < n; ++i) {
      if (System::derivative_occurs(i)) y[i] = before_.y[i] + s * (behind_.y[i] - before_.y[i]);
    }
  }
  MANYFOLD_INLINE void residual(const Real& s, const Real (&y)[n], const Real (&dy)[n], Real (&F)[n]) const {
    Real p[System::constants_size];
    Real behind[n];
    constants_before(s, p);
    System::residual(before_.t, y, dy, p, F);
    constants_behind(s, p);
    System::residual(behind_.t, y, dy, p, behind);
    for (int i = 0; i < n; ++i) {
      F[i] = s * behind[i] + select(s < Real(1.0), (Real(1.0) - s) * F[i], Real(0.0));
    }
  }
  MANYFOLD_INLINE void evaluate(const MaskOf<Real>& lanes, const Real& s, const Real (&y)[n], const Real (&dy)[n],
                                SearchMatrix<System, Real>& matrix) const {
    Real p[System::constants_size];
    constants_before(s, p);
    matrix.evaluate(lanes, before_.t, y, dy, p);
    constants_behind(s, p);
    matrix.blend(lanes, s, behind_.t, y, dy, p);
  }

 private:
  /// What discrete number k changes by, in the lanes where F, at a quarter and three quarters of the way, is neither
  /// that of its beginning nor that of its end.
  MANYFOLD_INLINE Real continuous_change(int k) const {
    const int number = System::first_discrete + k;
    const Real change = behind_.p[number] - before_.p[number];
    if (!any(change != Real(0.0))) return Real(0.0);
    const auto residual_at = [&](double part, Real(&F)[n]) {
      Real p[System::constants_size];
      for (int i = 0; i < System::constants_size; ++i) p[i] = before_.p[i];
      p[number] = part == 1.0 ? behind_.p[number] : p[number] + Real(part) * change;
      System::residual(before_.t, before_.y, before_.dy, p, F);
    };
    Real first[n];
    Real last[n];
    residual_at(0.0, first);
    residual_at(1.0, last);
    MaskOf<Real> chosen(true);
    for (const double part : {0.25, 0.75}) {
      Real F[n];
      residual_at(part, F);
      for (int i = 0; i < n; ++i) chosen = chosen & ((F[i] == first[i]) | (F[i] == last[i]));
    }
    return select(chosen | !is_finite(change), Real(0.0), change);
  }
  MANYFOLD_INLINE void constants_before(const Real& s, Real (&p)[System::constants_size]) const {
    for (int i = 0; i < System::constants_size; ++i) p[i] = before_.p[i];
    for (int k = 0; k < System::discrete; ++k) p[System::first_discrete + k] += s * change_[k];
  }
  MANYFOLD_INLINE void constants_behind(const Real& s, Real (&p)[System::constants_size]) const {
    for (int i = 0; i < System::constants_size; ++i) p[i] = behind_.p[i];
    for (int k = 0; k < System::discrete; ++k) p[System::first_discrete + k] -= (Real(1.0) - s) * change_[k];
  }

  const Side& before_;
  const Side& behind_;
  Real change_[System::discrete > 0 ? System::discrete : 1];
};

template <class System, class Real>
class KeptBranch {
 public:
  using Mask = MaskOf<Real>;
  using Path = JumpPath<System, Real>;
  static constexpr int n = System::n;

  KeptBranch(const Tolerances<n>& tolerances, const Path& path) : tolerances_(tolerances), path_(path) {}

  /// Leads (y, y'), consistent before the jump, to a point next to its branch behind it. Returns the lanes of `lanes`
  /// that got there.
  MANYFOLD_INLINE Mask follow(const Mask& lanes, Real (&y)[n], Real (&dy)[n]) {
    Mask going = lanes;
    Mask arrived(false);
    Real s(0.0);
    Real length(1.0);
    Real s_before = s;  // the last point that is not next to the end of the branch
    Real y_before[n];
    for (int i = 0; i < n; ++i) y_before[i] = y[i];
    for (int step = 0; step < most_steps && any(going); ++step) {
      const Real next = min(s + length, Real(1.0));
      Real next_y[n];
      Real next_dy[n];
      for (int i = 0; i < n; ++i) {
        next_y[i] = y[i];
        next_dy[i] = dy[i];
      }
      const Mask met = correct(going & predict(going, s, next, next_y, next_dy), next, next_y, next_dy);
      const Mask good = met & leads_back(met, next, next_y, next_dy, s, y);
      s = select(good, next, s);
      for (int i = 0; i < n; ++i) {
        y[i] = select(good, next_y[i], y[i]);
        dy[i] = select(good, next_dy[i], dy[i]);
      }
      const Mask far = good & (length >= Real(usual));
      s_before = select(far, s, s_before);
      for (int i = 0; i < n; ++i) y_before[i] = select(far, y[i], y_before[i]);
      arrived = arrived | (good & (s == Real(1.0)));
      going = going & !arrived;
      length *= select(good, Real(2.0), Real(0.25));
      const Mask ended = going & (length < Real(shortest));
      if (any(ended)) {
        going = going & (Mask(!ended) | change(ended, s_before, y_before, s, y, dy));
        length = select(ended, Real(usual), length);
      }
    }
    return arrived;
  }

 private:
  static constexpr int most_steps = 200;
  static constexpr int most_corrections = 8;
  static constexpr double shortest = 1e-6;  ///< step in s: the branch ends
  static constexpr double usual = 1e-3;     ///< from the end of a branch, of a point that is off it
  /// Each correction is at most this part of the one before, the first of the prediction: on another branch it is not.
  static constexpr double most_contraction = 0.25;
  /// The way back ends at most this part of the prediction from where it began.
  static constexpr double most_parting = 0.5;
  /// Corrections below, in tolerances or relative to the prediction, are the last.
  static constexpr double small_correction = 0.01;

  /// Takes the lanes of `lanes`, whose branch ends next to s, to the one that it leads to, and s behind that end.
  /// Returns those in which there is one.
  MANYFOLD_RARE Mask change(const Mask& lanes, const Real& s_before, const Real (&y_before)[n], Real& s, Real (&y)[n],
                            Real (&dy)[n]) {
    Mask left = lanes;
    Real ahead(10.0 * shortest);
    for (int k = 0; k < 3 && any(left); ++k) {
      Mask elsewhere(false);
      const Mask found = BranchSearch<System, Real, Path>(tolerances_, path_)
                             .find(left, s, ahead, s_before, y_before, y, dy, elsewhere);
      s = select(found, min(s + ahead, Real(1.0)), s);
      left = left & !found;
      ahead = Real(10.0) * ahead;
    }
    return lanes & !left;
  }

  /// Moves (y, y') from s to `next` by the matrix at s, and measures with the tolerances there from now on. Returns the
  /// lanes in which there is a matrix.
  MANYFOLD_INLINE Mask predict(const Mask& lanes, const Real& s, const Real& next, Real (&y)[n], Real (&dy)[n]) {
    matrix_.measure(tolerances_, y);
    const Mask good = factor(lanes, s, y, dy);
    Real delta[n];
    path_.move_to(next, y);
    path_.residual(next, y, dy, delta);
    matrix_.solve(delta);
    subtract(good, delta, y, dy);
    matrix_.measure(tolerances_, y);
    predicted_ = matrix_.length(delta);
    return good & is_finite(predicted_);
  }

  /// Newton's method at s. Returns the lanes that it keeps on their branch.
  MANYFOLD_INLINE Mask correct(const Mask& lanes, const Real& s, Real (&y)[n], Real (&dy)[n]) {
    Mask searching = lanes;
    Mask met(false);
    Real last = predicted_;
    for (int k = 0; k < most_corrections && any(searching); ++k) {
      searching = searching & factor(searching, s, y, dy);
      Real delta[n];
      path_.residual(s, y, dy, delta);
      matrix_.solve(delta);
      const Real size = matrix_.length(delta);
      const Mask close = size <= Real(small_correction) * max(Real(1.0), predicted_);
      searching = searching & (close | (size <= Real(most_contraction) * last));
      subtract(searching, delta, y, dy);
      met = met | (searching & close);
      searching = searching & !close;
      last = size;
    }
    return met;
  }

  /// Does the prediction from (y, y') at s lead back to where the algebraic variables were at `before`? Behind a pole
  /// it does not, although corrections are small by chance.
  MANYFOLD_INLINE Mask leads_back(const Mask& lanes, const Real& s, const Real (&y)[n], const Real (&dy)[n],
                                  const Real& before, const Real (&y_before)[n]) {
    if (!any(lanes)) return lanes;
    const Mask good = factor(lanes, s, y, dy);
    Real back[n];
    Real back_dy[n];
    Real delta[n];
    for (int i = 0; i < n; ++i) {
      back[i] = y[i];
      back_dy[i] = dy[i];
    }
    path_.move_to(before, back);
    path_.residual(before, back, dy, delta);
    matrix_.solve(delta);
    subtract(good, delta, back, back_dy);
    Real parting[n];
    for (int k = 0; k < n; ++k) {
      const int i = SearchMatrix<System, Real>::unknowns.variable[k];
      parting[k] = back[i] - y_before[i];
    }
    return good & (matrix_.length(parting) <= max(Real(1.0), Real(most_parting) * predicted_));
  }

  static MANYFOLD_INLINE void subtract(const Mask& lanes, const Real (&delta)[n], Real (&y)[n], Real (&dy)[n]) {
    for (int k = 0; k < n; ++k) SearchMatrix<System, Real>::unknown(k, y, dy) -= select(lanes, delta[k], Real(0.0));
  }

  /// Factorises the matrix at s.
  MANYFOLD_INLINE Mask factor(const Mask& lanes, const Real& s, const Real (&y)[n], const Real (&dy)[n]) {
    path_.evaluate(lanes, s, y, dy, matrix_);
    return matrix_.factor(lanes);
  }

  const Tolerances<n>& tolerances_;
  const Path& path_;
  SearchMatrix<System, Real> matrix_;
  Real predicted_;
};

/// Puts what was found behind a jump on the branch of the values before it, in the lanes of `lanes` in which it is on
/// another one. An action that sets algebraic variables itself says where to look for them.
template <class System, class Real>
MANYFOLD_RARE void keep_branch(const MaskOf<Real>& lanes, const Real& span, const JumpSide<System, Real>& before,
                               const JumpSide<System, Real>& behind, const Tolerances<System::n>& tolerances,
                               ConsistentLanes<System, Real>& found) {
  constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  Real weight[n];
  error_weights(tolerances, before.y, weight);
  const auto distance = [&](const Real(&a)[n], const Real(&b)[n]) {
    Real sum(0.0);
    for (int i = 0; i < n; ++i) {
      if (!System::derivative_occurs(i)) sum += square((a[i] - b[i]) * weight[i]);
    }
    return sum;
  };
  const Mask failed = !(found.status == Real(running));
  Mask doubtful =
      lanes & (distance(before.y, behind.y) == Real(0.0)) & (failed | (distance(before.y, found.y) > Real(1.0)));
  if (!any(doubtful)) return;
  ConsistentLanes<System, Real> other;
  for (int i = 0; i < n; ++i) {
    other.y[i] = before.y[i];
    other.dy[i] = before.dy[i];
  }
  const JumpPath<System, Real> path(before, behind);
  doubtful = KeptBranch<System, Real>(tolerances, path).follow(doubtful, other.y, other.dy);
  // The way ends beside its branch, by a hundredth of its last step or less.
  error_weights(tolerances, other.y, weight);
  const Real beside = max(Real(n), Real(1e-4) * distance(before.y, found.y));
  doubtful = doubtful & (failed | (distance(other.y, found.y) > beside));
  if (!any(doubtful)) return;
  for (int i = 0; i < n; ++i) {
    if (System::derivative_occurs(i)) other.y[i] = behind.y[i];
  }
  find_consistent(doubtful, behind.t, span, behind.p, tolerances, other);
  error_weights(tolerances, other.y, weight);
  const Mask elsewhere = doubtful & (other.status == Real(running)) & (failed | (distance(other.y, found.y) > Real(n)));
  const auto put = [&](Real& to, const Real& value) { to = select(elsewhere, value, to); };
  put(found.status, other.status);
  put(found.residual_norm, other.residual_norm);
  put(found.worst_equation, other.worst_equation);
  put(found.first_step, other.first_step);
  for (int i = 0; i < n; ++i) {
    put(found.y[i], other.y[i]);
    put(found.dy[i], other.dy[i]);
  }
}

}  // namespace manyfold
