#pragma once
// The exponential function of eight doubles, put in line. A call of libmvec costs more than what it computes: no
// register survives it, and where all of a step waits for an exponential, as with diodes and transistors, so does the
// way to the function and back. Registers for half as many numbers, AVX2, are too few to gain by it.
#if defined(__AVX512F__)
#include <xsimd/xsimd.hpp>

#include "qualifiers.hpp"

namespace manyfold {

/// e^x = 2^(k/16) e^r with |r| <= log(2)/32: tables of 2^(j/16) in two registers, and e^r = 1 + r + r^2 q(r), q minimax
/// in the relative error, by Remez' algorithm. Within 1.1 units in the last place.
/// P. T. P. Tang, Table-driven implementation of the exponential function, ACM Trans. Math. Software 15 (1989).
MANYFOLD_INLINE __m512d exponential(__m512d argument) {
  const auto all = [](double x) { return _mm512_set1_pd(x); };
  constexpr __mmask8 every = 0xff;  // g++ 12 wrongly warns of some intrinsics without a mask
  // Beyond these bounds it is zero or infinity. Of what is no number, the second operand is taken.
  const __m512d x = _mm512_maskz_min_pd(every, all(710.0), _mm512_maskz_max_pd(every, all(-746.0), argument));
  // Added, this leaves the nearest whole number in the last bits.
  const __m512d whole = all(0x1.8p52);
  const __m512d shifted = _mm512_fmadd_pd(x, all(0x1.71547652b82fep+4), whole);
  const __m512d k = _mm512_sub_pd(shifted, whole);
  const __m512d rest = _mm512_fnmadd_pd(k, all(0x1.62e42fefa39efp-5), x);
  const __m512d r = _mm512_fnmadd_pd(k, all(0x1.abc9e3b39803fp-60), rest);
  const __m512d low =
      _mm512_set_pd(0x1.5ab07dd485429p+0, 0x1.4bfdad5362a27p+0, 0x1.3dea64c123422p+0, 0x1.306fe0a31b715p+0,
                    0x1.2387a6e756238p+0, 0x1.172b83c7d517bp+0, 0x1.0b5586cf9890fp+0, 1.0);
  const __m512d high =
      _mm512_set_pd(0x1.ea4afa2a490dap+0, 0x1.d5818dcfba487p+0, 0x1.c199bdd85529cp+0, 0x1.ae89f995ad3adp+0,
                    0x1.9c49182a3f090p+0, 0x1.8ace5422aa0dbp+0, 0x1.7a11473eb0187p+0, 0x1.6a09e667f3bcdp+0);
  const __m512d power = _mm512_permutex2var_pd(low, _mm512_castpd_si512(shifted), high);
  const __m512d square = _mm512_mul_pd(r, r);
  const __m512d q01 = _mm512_fmadd_pd(all(0x1.555555548f890p-3), r, all(0x1.fffffffffffb9p-2));
  const __m512d q23 = _mm512_fmadd_pd(all(0x1.11123aae7600dp-7), r, all(0x1.55555558fca6dp-5));
  const __m512d q = _mm512_fmadd_pd(_mm512_fmadd_pd(all(0x1.6c14c6eb88d07p-10), square, q23), square, q01);
  const __m512d grown = _mm512_fmadd_pd(q, square, r);
  return _mm512_maskz_scalef_pd(every, _mm512_fmadd_pd(power, grown, power), _mm512_mul_pd(k, all(1.0 / 16.0)));
}

}  // namespace manyfold
#endif
