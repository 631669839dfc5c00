#pragma once
// Logarithm, exponential and quantile of the normal distribution from additions, multiplications, divisions and square
// roots alone. IEEE 754 rounds these the same everywhere, so samples are the same to the last bit on every processor
// and device, whatever its mathematical library. Whoever includes this must be compiled without the contraction of
// products and sums: -ffp-contract=off, --fmad=false.
#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

#include "../lane/qualifiers.hpp"

namespace manyfold::exact {

using Bits = unsigned long long;
static_assert(sizeof(Bits) == sizeof(double));

// ln 2 in two parts, the first with trailing zeros, so that its multiples by exponents are exact.
inline constexpr double ln2_high = 0x1.62e42feep-1;
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// 2^k, -1022 <= k <= 1023.
MANYFOLD_INLINE double power_of_two(int k) {
  return __builtin_bit_cast(double, static_cast<Bits>(k + 1023) << 52);
}

/// Natural logarithm of a positive finite number, within 1 unit in the last place.
MANYFOLD_INLINE double log(double x) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const Bits bits = __builtin_bit_cast(Bits, x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt 2
    m *= 0.5;
    ++k;
  }
  // With s = f / (2 + f): log(1 + f) = 2 artanh s = 2 s + s r, r = 2/3 s^2 + 2/5 s^4 + ..., and 2 s = f - s f, so that
  // the large part, f - f^2/2, is nearly exact: log(1 + f) = f - (f^2/2 - s (f^2/2 + r)).
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double r = 0.0;
  for (int i = 23; i >= 3; i -= 2) r = z * (2.0 / i + r);
  const double half_square = 0.5 * f * f;
  return k * ln2_high - ((half_square - (s * (half_square + r) + k * ln2_low)) - f);
}

/// e^x, within 1 unit in the last place where the result is a normal number; infinite beyond the largest.
MANYFOLD_INLINE double exp(double x) {
  if (x > 709.8) return __builtin_bit_cast(double, 0x7ffULL << 52);  // infinity
  if (x < -745.2) return 0.0;
  const int k = static_cast<int>(x * 0x1.71547652b82fep+0 + (x < 0.0 ? -0.5 : 0.5));
  const double r = (x - k * ln2_high) - k * ln2_low;
  // |r| <= ln 2 / 2: the first term left out is below 1e-17.
  double q = 0.0;
  double factorial = 6227020800.0;  // of 13
  for (int i = 13; i >= 2; --i) {
    q = 1.0 / factorial + r * q;
    factorial /= i;
  }
  const double result = 1.0 + (r + r * r * q);
  // In two factors, for each alone may leave the range of normal numbers.
  return result * power_of_two(k / 2) * power_of_two(k - k / 2);
}

/// The value below which a standard normal number lies with probability u, 0 < u < 1: Wichura, "The percentage points
/// of the normal distribution", Applied Statistics 37 (1988), algorithm AS 241, PPND16, relative accuracy about 1e-16.
MANYFOLD_INLINE double normal_quantile(double u) {
  const double q = u - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           (((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r + 6.7265770927008700853e+4) * r +
                4.5921953931549871457e+4) *
                   r +
               1.3731693765509461125e+4) *
                  r +
              1.9715909503065514427e+3) *
                 r +
             1.3314166789178437745e+2) *
                r +
            3.3871328727963666080e+0) /
           (((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r + 3.9307895800092710610e+4) * r +
                2.1213794301586595867e+4) *
                   r +
               5.3941960214247511077e+3) *
                  r +
              6.8718700749205790830e+2) *
                 r +
             4.2313330701600911252e+1) *
                r +
            1.0);
  }
  const double tail = ::sqrt(-log(q < 0.0 ? u : 1.0 - u));
  double value = 0.0;
  if (tail <= 5.0) {
    const double r = tail - 1.6;
    value = (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r +
                 1.27045825245236838258e+0) *
                    r +
                3.64784832476320460504e+0) *
                   r +
               5.76949722146069140550e+0) *
                  r +
              4.63033784615654529590e+0) *
                 r +
             1.42343711074968357734e+0) /
            (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r +
                 1.48103976427480074590e-1) *
                    r +
                6.89767334985100004550e-1) *
                   r +
               1.67638483018380384940e+0) *
                  r +
              2.05319162663775882187e+0) *
                 r +
             1.0);
  } else {
    const double r = tail - 5.0;
    value = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r +
                 2.65321895265761230930e-2) *
                    r +
                2.96560571828504891230e-1) *
                   r +
               1.78482653991729133580e+0) *
                  r +
              5.46378491116411436990e+0) *
                 r +
             6.65790464350110377720e+0) /
            (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r +
                 7.86869131145613259100e-4) *
                    r +
                1.48753612908506148525e-2) *
                   r +
               1.36929880922735805310e-1) *
                  r +
              5.99832206555887937690e-1) *
                 r +
             1.0);
  }
  return q < 0.0 ? -value : value;
}

}  // namespace manyfold::exact
