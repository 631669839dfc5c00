#pragma once
// A lane of width one: `double` with `bool` as its mask. On a GPU every thread runs this one.
#include <manyfold/plain_numbers.hpp>

#include "qualifiers.hpp"

namespace manyfold {

/// What a lane type is: how many instances it holds, the type of its mask, and access to one of them.
template <class Real>
struct LaneTraits;

template <>
struct LaneTraits<double> {
  using Double = double;  ///< the lane type of as many numbers of double precision, or fewer
  static constexpr double epsilon = 2.220446049250313e-16;
  using Mask = bool;
  using Count = int;
  static constexpr int width = 1;
  static MANYFOLD_INLINE double get(const double& value, int) { return value; }
  static MANYFOLD_INLINE void set(double& value, int, double to) { value = to; }
  static MANYFOLD_INLINE double get(const Count& count, int) { return count; }
  static MANYFOLD_INLINE void set(Count& count, int, double to) { count = static_cast<Count>(to); }
  static MANYFOLD_INLINE bool test(const bool& mask, int) { return mask; }
  static MANYFOLD_INLINE bool only(int) { return true; }
};

template <class Real>
using MaskOf = typename LaneTraits<Real>::Mask;

/// Distance from 1 to the next number of the lane type.
template <class Real>
inline constexpr double epsilon = LaneTraits<Real>::epsilon;

/// Counts of work, one per lane: of half the size of a number where that saves registers.
template <class Real>
using CountOf = typename LaneTraits<Real>::Count;

template <class Real>
inline constexpr int lane_width = LaneTraits<Real>::width;

/// For what never comes, in every precision: NVRTC has no infinity in constant expressions.
inline constexpr double largest_number = 3.4e38;

MANYFOLD_INLINE bool any(bool mask) {
  return mask;
}
MANYFOLD_INLINE bool all(bool mask) {
  return mask;
}
MANYFOLD_INLINE int count(bool mask) {
  return mask ? 1 : 0;
}
/// Calls `visit(lane)` for the lanes of the mask.
MANYFOLD_INLINE void for_each_lane(bool mask, auto&& visit) {
  if (mask) visit(0);
}
MANYFOLD_INLINE bool select(bool mask, bool if_true, bool if_false) {
  return mask ? if_true : if_false;
}

#if defined(__CUDACC__)
MANYFOLD_INLINE double select(bool mask, double if_true, double if_false) {
  return mask ? if_true : if_false;
}
constexpr MANYFOLD_INLINE double min(double a, double b) {
  return b < a ? b : a;
}
constexpr MANYFOLD_INLINE double max(double a, double b) {
  return a < b ? b : a;
}
MANYFOLD_INLINE double square(double x) {
  return x * x;
}
#else
// The same functions, so that a model with `using namespace manyfold` finds one of them.
using ::max;
using ::min;
using ::select;
using ::square;
#endif

/// `mask ? target : value` with assignment: the only way kernel code changes the state of some lanes.
template <class Real>
MANYFOLD_INLINE void assign(MaskOf<Real> mask, Real& target, Real value) {
  target = select(mask, value, target);
}

MANYFOLD_INLINE bool is_finite(double x) {
  return x - x == 0.0;
}

// The vector math of a lane, under the names of <cmath>, so that `using namespace manyfold` is never needed: a model
// calls `exp(x)` and argument-dependent lookup, or for a plain double the global function, finds the right one.
using ::abs;
using ::acos;
using ::asin;
using ::atan;
using ::atan2;
using ::cbrt;
using ::cos;
using ::cosh;
using ::exp;
using ::expm1;
using ::floor;
using ::log;
using ::log10;
using ::log1p;
using ::pow;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;

}  // namespace manyfold
