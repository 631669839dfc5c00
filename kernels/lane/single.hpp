#pragma once
// A lane of width one in single precision. A class of its own and not `float`: numbers that a model writes as `2.0`
// would turn its arithmetic into that of `double`.
#include "scalar.hpp"

namespace manyfold {

class Single {
 public:
  Single() = default;
  MANYFOLD_INLINE Single(double value) : value_(static_cast<float>(value)) {}
  MANYFOLD_INLINE explicit Single(float value) : value_(value) {}
  MANYFOLD_INLINE explicit Single(int value) : value_(static_cast<float>(value)) {}
  MANYFOLD_INLINE float value() const { return value_; }
  MANYFOLD_INLINE explicit operator double() const { return static_cast<double>(value_); }
  MANYFOLD_INLINE explicit operator int() const { return static_cast<int>(value_); }

  friend MANYFOLD_INLINE Single operator+(Single a, Single b) { return Single(a.value_ + b.value_); }
  friend MANYFOLD_INLINE Single operator-(Single a, Single b) { return Single(a.value_ - b.value_); }
  friend MANYFOLD_INLINE Single operator*(Single a, Single b) { return Single(a.value_ * b.value_); }
  friend MANYFOLD_INLINE Single operator/(Single a, Single b) { return Single(a.value_ / b.value_); }
  friend MANYFOLD_INLINE Single operator-(Single a) { return Single(-a.value_); }
  friend MANYFOLD_INLINE Single operator+(Single a) { return a; }
  MANYFOLD_INLINE Single& operator+=(Single other) { return *this = *this + other; }
  MANYFOLD_INLINE Single& operator-=(Single other) { return *this = *this - other; }
  MANYFOLD_INLINE Single& operator*=(Single other) { return *this = *this * other; }
  MANYFOLD_INLINE Single& operator/=(Single other) { return *this = *this / other; }

  friend MANYFOLD_INLINE bool operator<(Single a, Single b) { return a.value_ < b.value_; }
  friend MANYFOLD_INLINE bool operator<=(Single a, Single b) { return a.value_ <= b.value_; }
  friend MANYFOLD_INLINE bool operator>(Single a, Single b) { return a.value_ > b.value_; }
  friend MANYFOLD_INLINE bool operator>=(Single a, Single b) { return a.value_ >= b.value_; }
  friend MANYFOLD_INLINE bool operator==(Single a, Single b) { return a.value_ == b.value_; }
  friend MANYFOLD_INLINE bool operator!=(Single a, Single b) { return a.value_ != b.value_; }

  friend MANYFOLD_INLINE Single select(bool mask, Single if_true, Single if_false) { return mask ? if_true : if_false; }
  friend MANYFOLD_INLINE Single min(Single a, Single b) { return b < a ? b : a; }
  friend MANYFOLD_INLINE Single max(Single a, Single b) { return a < b ? b : a; }
  friend MANYFOLD_INLINE Single square(Single x) { return x * x; }
  friend MANYFOLD_INLINE bool is_finite(Single x) { return x - x == Single(0.0); }

  friend MANYFOLD_INLINE Single abs(Single x) { return Single(::fabsf(x.value_)); }
  friend MANYFOLD_INLINE Single acos(Single x) { return Single(::acosf(x.value_)); }
  friend MANYFOLD_INLINE Single asin(Single x) { return Single(::asinf(x.value_)); }
  friend MANYFOLD_INLINE Single atan(Single x) { return Single(::atanf(x.value_)); }
  friend MANYFOLD_INLINE Single cbrt(Single x) { return Single(::cbrtf(x.value_)); }
  friend MANYFOLD_INLINE Single cos(Single x) { return Single(::cosf(x.value_)); }
  friend MANYFOLD_INLINE Single cosh(Single x) { return Single(::coshf(x.value_)); }
  friend MANYFOLD_INLINE Single exp(Single x) { return Single(::expf(x.value_)); }
  friend MANYFOLD_INLINE Single expm1(Single x) { return Single(::expm1f(x.value_)); }
  friend MANYFOLD_INLINE Single floor(Single x) { return Single(::floorf(x.value_)); }
  friend MANYFOLD_INLINE Single log(Single x) { return Single(::logf(x.value_)); }
  friend MANYFOLD_INLINE Single log10(Single x) { return Single(::log10f(x.value_)); }
  friend MANYFOLD_INLINE Single log1p(Single x) { return Single(::log1pf(x.value_)); }
  friend MANYFOLD_INLINE Single sin(Single x) { return Single(::sinf(x.value_)); }
  friend MANYFOLD_INLINE Single sinh(Single x) { return Single(::sinhf(x.value_)); }
  friend MANYFOLD_INLINE Single sqrt(Single x) { return Single(::sqrtf(x.value_)); }
  friend MANYFOLD_INLINE Single tan(Single x) { return Single(::tanf(x.value_)); }
  friend MANYFOLD_INLINE Single tanh(Single x) { return Single(::tanhf(x.value_)); }
  friend MANYFOLD_INLINE Single atan2(Single y, Single x) { return Single(::atan2f(y.value_, x.value_)); }
  friend MANYFOLD_INLINE Single pow(Single x, Single y) { return Single(::powf(x.value_, y.value_)); }

 private:
  float value_;
};

template <>
struct LaneTraits<Single> {
  using Double = double;
  static constexpr double epsilon = 1.1920929e-7;
  using Mask = bool;
  using Count = int;
  static constexpr int width = 1;
  static MANYFOLD_INLINE double get(const Single& value, int) { return static_cast<double>(value); }
  static MANYFOLD_INLINE void set(Single& value, int, double to) { value = Single(to); }
  static MANYFOLD_INLINE double get(const Count& count, int) { return count; }
  static MANYFOLD_INLINE void set(Count& count, int, double to) { count = static_cast<Count>(to); }
  static MANYFOLD_INLINE bool test(const bool& mask, int) { return mask; }
  static MANYFOLD_INLINE bool only(int) { return true; }
};

/// A lane type of double precision with its counterpart of single precision and as many lanes, and the way there and
/// back, for numbers and masks.
template <class Real>
struct Narrowed;
template <>
struct Narrowed<double> {
  using type = Single;
  static MANYFOLD_INLINE Single narrow(double x) { return Single(x); }
  static MANYFOLD_INLINE double widen(Single x) { return static_cast<double>(x); }
  static MANYFOLD_INLINE bool narrow(bool mask) { return mask; }
  static MANYFOLD_INLINE bool widen(bool mask) { return mask; }
};

}  // namespace manyfold
