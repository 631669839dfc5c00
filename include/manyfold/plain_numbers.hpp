#pragma once
#if !defined(__CUDACC_RTC__)
// Not <cmath>: of the global functions that promises only the C ones, and ::abs would be that of integers.
#include <math.h>
#endif

// Models are also evaluated with plain numbers, for which no lookup finds what the lanes have.
constexpr double select(bool condition, double if_true, double if_false) {
  return condition ? if_true : if_false;
}
/// Does a condition hold in some lane of a pack? It may skip work, but must not change the arithmetic of another lane.
constexpr bool in_some_lane(bool condition) {
  return condition;
}
template <class Mask>
constexpr bool in_some_lane(const Mask& mask) {
  return any(mask);
}
constexpr double square(double x) {
  return x * x;
}
#if !defined(__CUDACC__)  // which has the others
constexpr double min(double a, double b) {
  return b < a ? b : a;
}
constexpr double max(double a, double b) {
  return a < b ? b : a;
}
#endif
