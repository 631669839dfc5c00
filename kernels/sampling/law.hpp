#pragma once
// The quantile functions of the distributions that hosts and devices evaluate alike.
#include "exact.hpp"

namespace manyfold {

/// A distribution as numbers. What a[] holds stands with each kind.
struct Law {
  enum class Kind : int {
    uniform,           ///< min, max
    loguniform,        ///< min, max, log min, log max
    normal,            ///< mean, sigma
    lognormal,         ///< median, sigma
    truncated_normal,  ///< mean, sigma, min, max, probabilities below min, below max, above min, above max
    triangular,        ///< min, mode, max
    choice,            ///< of the table's `count` values, with its `count` cumulative probabilities behind them
  };
  Kind kind = Kind::uniform;
  int count = 0;
  double a[8] = {};
};

namespace law {

MANYFOLD_INLINE double between(double x, double min, double max) {
  return x < min ? min : x > max ? max : x;
}

/// From the tail that is nearer, so that neither loses digits: probabilities above the bounds are small and accurate
/// where those below are not.
MANYFOLD_INLINE double truncated_normal(const double (&a)[8], double u) {
  const bool from_above = a[2] > a[0] || (a[3] > a[0] && u > 0.5);
  const double z = from_above ? -exact::normal_quantile(a[6] * (1.0 - u) + a[7] * u)
                              : exact::normal_quantile(a[4] * (1.0 - u) + a[5] * u);
  return between(a[0] + a[1] * z, a[2], a[3]);
}

/// Each side from its own end, where the other formula would subtract two nearly equal numbers.
MANYFOLD_INLINE double triangular(double min, double mode, double max, double u) {
  const double width = max - min;
  const double rise = (mode - min) / width;
  const double value = u < rise ? min + width * ::sqrt(u * rise) : max - width * ::sqrt((1.0 - u) * (1.0 - rise));
  return between(value, min, max);
}

MANYFOLD_INLINE double choice(const double* table, int count, double u) {
  // The first value whose cumulative probability is above u, else the last one.
  const double* cumulative = table + count;
  int first = 0;
  int last = count - 1;
  while (first < last) {
    const int middle = (first + last) / 2;
    if (cumulative[middle] <= u) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return table[first];
}

}  // namespace law

/// The value x with P(X <= x) = u, 0 < u < 1; u may be 0 or 1 where the distribution has ends.
MANYFOLD_INLINE double quantile(const Law& law, const double* table, double u) {
  const auto& a = law.a;
  switch (law.kind) {
    case Law::Kind::uniform:
      // Not min + u * (max - min): the difference of two large bounds of opposite sign overflows.
      return law::between(a[0] * (1.0 - u) + a[1] * u, a[0], a[1]);
    case Law::Kind::loguniform:
      return law::between(exact::exp(a[2] * (1.0 - u) + a[3] * u), a[0], a[1]);
    case Law::Kind::normal:
      return a[0] + a[1] * exact::normal_quantile(u);
    case Law::Kind::lognormal:
      return a[0] * exact::exp(a[1] * exact::normal_quantile(u));
    case Law::Kind::truncated_normal:
      return law::truncated_normal(a, u);
    case Law::Kind::triangular:
      return law::triangular(a[0], a[1], a[2], u);
    case Law::Kind::choice:
      return law::choice(table, law.count, u);
  }
  return 0.0;
}

}  // namespace manyfold
