#pragma once
// Arithmetic to some six digits, for what steers an integration and does not enter its solution: lengths of steps,
// weights and norms of errors, rates of convergence. In double precision a GPU takes ten instructions or more for a
// division or a root, but one of its special function units for the first twenty bits; AVX-512 has estimates too (see
// pack.hpp). Elsewhere these are exact.
#include "scalar.hpp"

namespace manyfold {

#if defined(__CUDA_ARCH__)
__device__ __forceinline__ double reciprocal_estimate(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
__device__ __forceinline__ double reciprocal_root_estimate(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
#endif

template <class Real>
MANYFOLD_INLINE Real rough_quotient(const Real& a, const Real& b) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_same<Real, double>) return a * reciprocal_estimate(b);
#endif
  return a / b;
}

template <class Real>
MANYFOLD_INLINE Real rough_sqrt(const Real& x) {
#if defined(__CUDA_ARCH__)
  // Beyond these bounds only whether x is small or large counts.
  if constexpr (is_same<Real, double>) return x > 1e-290 && x < 1e290 ? x * reciprocal_root_estimate(x) : x;
#endif
  return sqrt(x);
}

/// x^(1/order), with square roots where these do. x: of a size that single precision has too.
template <int order, class Real>
MANYFOLD_INLINE Real rough_root(const Real& x) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_same<Real, double>) return exp2f(__log2f(static_cast<float>(x)) * static_cast<float>(1.0 / order));
#endif
  if constexpr (order == 2) {
    return sqrt(x);
  } else if constexpr (order == 4) {
    return sqrt(sqrt(x));
  } else {
    return pow(x, Real(1.0 / order));
  }
}

}  // namespace manyfold
