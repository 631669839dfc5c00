#pragma once
// A number type that counts what is done to it, as a lane: the work of a kernel in operations. To be included before
// the kernels.
#include <cmath>

#include "kernels/lane/scalar.hpp"

namespace manyfold {

/// Operations by kind.
struct OperationCounts {
  double additions = 0.0;  ///< and subtractions, comparisons, minima, maxima
  double multiplications = 0.0;
  double divisions = 0.0;
  double roots = 0.0;
  double powers = 0.0;
  double functions = 0.0;  ///< exp, log, trigonometric and hyperbolic functions
};

inline OperationCounts counted;

/// A double that counts what is done to it.
class Counted {
 public:
  Counted() = default;
  Counted(double value) : value_(value) {}
  double value() const { return value_; }
  explicit operator int() const { return static_cast<int>(value_); }

  friend Counted operator+(Counted a, Counted b) { return ++counted.additions, a.value_ + b.value_; }
  friend Counted operator-(Counted a, Counted b) { return ++counted.additions, a.value_ - b.value_; }
  friend Counted operator*(Counted a, Counted b) { return ++counted.multiplications, a.value_ * b.value_; }
  friend Counted operator/(Counted a, Counted b) { return ++counted.divisions, a.value_ / b.value_; }
  friend Counted operator-(Counted a) { return -a.value_; }
  friend Counted operator+(Counted a) { return a; }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  Counted& operator-=(Counted b) { return *this = *this - b; }
  Counted& operator*=(Counted b) { return *this = *this * b; }
  Counted& operator/=(Counted b) { return *this = *this / b; }
  friend bool operator<(Counted a, Counted b) { return ++counted.additions, a.value_ < b.value_; }
  friend bool operator<=(Counted a, Counted b) { return ++counted.additions, a.value_ <= b.value_; }
  friend bool operator>(Counted a, Counted b) { return ++counted.additions, a.value_ > b.value_; }
  friend bool operator>=(Counted a, Counted b) { return ++counted.additions, a.value_ >= b.value_; }
  friend bool operator==(Counted a, Counted b) { return ++counted.additions, a.value_ == b.value_; }
  friend bool operator!=(Counted a, Counted b) { return ++counted.additions, a.value_ != b.value_; }

 private:
  double value_;  ///< without initial value, as lanes are
};

template <>
struct LaneTraits<Counted> {
  using Mask = bool;
  using Count = int;
  using Double = Counted;
  static constexpr int width = 1;
  static constexpr double epsilon = LaneTraits<double>::epsilon;
  static double get(const Counted& value, int) { return value.value(); }
  static double get(const int& count, int) { return count; }
  static void set(Counted& value, int, double to) { value = to; }
  static void set(int& count, int, double to) { count = static_cast<int>(to); }
  static bool test(const bool& mask, int) { return mask; }
  static bool only(int) { return true; }
};

// A selection moves a register and is not counted.
inline Counted select(bool mask, Counted a, Counted b) {
  return mask ? a : b;
}
inline bool is_finite(Counted x) {
  return ++counted.additions, is_finite(x.value());
}
inline Counted min(Counted a, Counted b) {
  return ++counted.additions, min(a.value(), b.value());
}
inline Counted max(Counted a, Counted b) {
  return ++counted.additions, max(a.value(), b.value());
}
inline Counted abs(Counted a) {
  return std::abs(a.value());
}
inline Counted square(Counted a) {
  return a * a;
}
inline Counted sqrt(Counted a) {
  return ++counted.roots, std::sqrt(a.value());
}
inline Counted pow(Counted a, Counted b) {
  return ++counted.powers, std::pow(a.value(), b.value());
}
inline Counted exp(Counted a) {
  return ++counted.functions, std::exp(a.value());
}
inline Counted log(Counted a) {
  return ++counted.functions, std::log(a.value());
}
inline Counted sin(Counted a) {
  return ++counted.functions, std::sin(a.value());
}
inline Counted cos(Counted a) {
  return ++counted.functions, std::cos(a.value());
}

}  // namespace manyfold
