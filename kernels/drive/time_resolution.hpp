#pragma once
// How short a step may be beside the time.
#include "../lane/scalar.hpp"

namespace manyfold {

/// A step that is negligible beside the time: errors within it are passed over if they do not fall with h.
template <class Real>
MANYFOLD_INLINE Real negligible_step(const Real& t, const Real& t_end) {
  return max(Real(1e-9) * abs(t), Real(1e3 * epsilon<Real>) * abs(t_end));
}

/// In single precision short steps are lost in t: what rounding takes from it is kept beside it.
template <class Real>
inline constexpr bool coarse_time = epsilon<Real> > 1e-10;

/// In double precision the steps behind a start are, where t is large and a transient short. On devices the registers
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
