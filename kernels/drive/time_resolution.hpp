#pragma once
// How short a step may be beside the time.
#include "../lane/scalar.hpp"

namespace manyfold {

/// In single precision short steps are lost in t: what rounding takes from it is kept beside it.
template <class Real>
inline constexpr bool coarse_time = epsilon<Real> > 1e-10;

/// The times at which the integration of an instance begins and ends.
template <class Real>
struct TimeSpan {
  Real begin;
  Real end;

  /// A step that is negligible beside the time since the begin, or that t hardly resolves: errors within it are passed
  /// over if they do not fall with h.
  MANYFOLD_INLINE Real negligible_step(const Real& t) const {
    const Real resolved = Real(1e3 * epsilon<Real>) * max(abs(t), abs(end));
    // In single precision that is always more.
    if constexpr (coarse_time<Real>) return resolved;
    return max(Real(1e-9) * abs(t - begin), resolved);
  }

  /// The longer of its parts before and behind t.
  MANYFOLD_INLINE Real longer_part(const Real& t) const { return max(abs(end - t), abs(t - begin)); }
};

/// Lanes whose differential variables, with the slopes `dy`, move by less than a tolerance in a step of length h. A
/// fast solution at a late time does not, however negligible its steps are beside the time.
template <class System, class Real>
MANYFOLD_INLINE MaskOf<Real> rests(const Real (&dy)[System::n], const Real (&weight)[System::n], const Real& h) {
  Real motion(0.0);
  for (int j = 0; j < System::n; ++j) {
    if (System::derivative_occurs(j)) motion = max(motion, abs(h * dy[j] * weight[j]));
  }
  return motion < Real(1.0);
}

/// In double precision many steps are, where t is large and they are short: the rest adds up. On devices the registers
/// that this takes would cost every step.
template <class Real>
#if defined(__CUDACC__)
inline constexpr bool keeps_rest = coarse_time<Real>;
#else
inline constexpr bool keeps_rest = true;
#endif

/// So long after a start steps may be shorter than the resolution of t. Later they may not: where nothing leads on, as
/// at the end of a branch, such steps would be accepted for ever, since t stands still.
template <class Real>
MANYFOLD_INLINE Real young_span(const Real& t) {
  return Real(1e4 * epsilon<Real>) * abs(t);
}

}  // namespace manyfold
