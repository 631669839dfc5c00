#pragma once
// Forward-mode dual numbers: a value and its derivatives along `N` directions. Jacobians of models that give none.
// Griewank & Walther, Evaluating Derivatives (2nd ed.), section 3.1.
#include "../lane/scalar.hpp"

namespace manyfold {

/// A number that is constant in every direction: a lane, or a plain number.
template <class Number, class Real>
concept DualConstant = __is_constructible(Real, Number);

template <class Real, int N>
struct Dual;

/// Duals of duals, for derivatives of derivatives, decide by the value too.
template <class Real, int N>
struct LaneTraits<Dual<Real, N>> {
  using Mask = MaskOf<Real>;
};

template <class Real, int N>
struct Dual {
  Real value;
  Real tangent[N];

  Dual() = default;
  MANYFOLD_INLINE Dual(Real constant) : value(constant) {
    for (int k = 0; k < N; ++k) tangent[k] = Real(0.0);
  }
  /// Plain numbers mix with duals of any lane type.
  template <class Number>
  requires(!is_same<Number, Real> && __is_constructible(Real, double) &&
           __is_constructible(double, Number)) MANYFOLD_INLINE Dual(Number constant)
      : Dual(Real(static_cast<double>(constant))) {}
  /// And lanes with duals of duals.
  template <class Number>
  requires(!is_same<Number, Real> && !__is_constructible(double, Number) &&
           __is_constructible(Real, Number)) MANYFOLD_INLINE Dual(const Number& constant)
      : Dual(Real(constant)) {}

  MANYFOLD_INLINE Dual& operator+=(const Dual& other) { return *this = *this + other; }
  MANYFOLD_INLINE Dual& operator-=(const Dual& other) { return *this = *this - other; }
  MANYFOLD_INLINE Dual& operator*=(const Dual& other) { return *this = *this * other; }
  MANYFOLD_INLINE Dual& operator/=(const Dual& other) { return *this = *this / other; }
  template <DualConstant<Real> Number>
  MANYFOLD_INLINE Dual& operator+=(const Number& other) {
    return *this = *this + other;
  }
  template <DualConstant<Real> Number>
  MANYFOLD_INLINE Dual& operator-=(const Number& other) {
    return *this = *this - other;
  }
  template <DualConstant<Real> Number>
  MANYFOLD_INLINE Dual& operator*=(const Number& other) {
    return *this = *this * other;
  }
  template <DualConstant<Real> Number>
  MANYFOLD_INLINE Dual& operator/=(const Number& other) {
    return *this = *this / other;
  }

  /// f(x) with the chain rule: value f(x.value), tangents f'(x.value) x.tangent.
  static MANYFOLD_INLINE Dual chain(const Dual& x, const Real& function, const Real& derivative) {
    Dual result;
    result.value = function;
    for (int k = 0; k < N; ++k) result.tangent[k] = derivative * x.tangent[k];
    return result;
  }

  /// The same where f'(x) may be infinite, at the end of f's domain: what does not change x does not change f(x), so
  /// sqrt(max(x, 0)) has the derivative 0 for x < 0.
  static MANYFOLD_INLINE Dual chain_to_the_end(const Dual& x, const Real& function, const Real& derivative) {
    Dual result;
    result.value = function;
    for (int k = 0; k < N; ++k) {
      result.tangent[k] = select(x.tangent[k] == Real(0.0), Real(0.0), derivative * x.tangent[k]);
    }
    return result;
  }

  friend MANYFOLD_INLINE Dual operator+(const Dual& a) { return a; }
  friend MANYFOLD_INLINE Dual operator-(const Dual& a) {
    Dual result;
    result.value = -a.value;
    for (int k = 0; k < N; ++k) result.tangent[k] = -a.tangent[k];
    return result;
  }
  friend MANYFOLD_INLINE Dual operator+(const Dual& a, const Dual& b) {
    Dual result;
    result.value = a.value + b.value;
    for (int k = 0; k < N; ++k) result.tangent[k] = a.tangent[k] + b.tangent[k];
    return result;
  }
  friend MANYFOLD_INLINE Dual operator-(const Dual& a, const Dual& b) {
    Dual result;
    result.value = a.value - b.value;
    for (int k = 0; k < N; ++k) result.tangent[k] = a.tangent[k] - b.tangent[k];
    return result;
  }
  friend MANYFOLD_INLINE Dual operator*(const Dual& a, const Dual& b) {
    Dual result;
    result.value = a.value * b.value;
    for (int k = 0; k < N; ++k) result.tangent[k] = a.tangent[k] * b.value + a.value * b.tangent[k];
    return result;
  }
  /// A quotient whose denominator or its derivative overflows, as that of 1 / (1 + exp(1000 x)), has the derivative 0.
  friend MANYFOLD_INLINE Dual operator/(const Dual& a, const Dual& b) {
    const Real reciprocal = Real(1.0) / b.value;
    const auto huge = reciprocal * reciprocal == Real(0.0);
    Dual result;
    result.value = a.value * reciprocal;
    for (int k = 0; k < N; ++k) {
      const Real tangent = (a.tangent[k] - result.value * b.tangent[k]) * reciprocal;
      const auto finite = tangent - tangent == Real(0.0);
      result.tangent[k] = select(huge & !finite, Real(0.0), tangent);
    }
    return result;
  }

  // With a number that does not depend on the directions, half the work.
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator+(const Dual& a, const Number& b) {
    Dual result = a;
    result.value = a.value + Real(b);
    return result;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator+(const Number& a, const Dual& b) {
    return b + a;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator-(const Dual& a, const Number& b) {
    Dual result = a;
    result.value = a.value - Real(b);
    return result;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator-(const Number& a, const Dual& b) {
    Dual result = -b;
    result.value = Real(a) - b.value;
    return result;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator*(const Dual& a, const Number& b) {
    return chain(a, a.value * Real(b), Real(b));
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator*(const Number& a, const Dual& b) {
    return b * a;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator/(const Dual& a, const Number& b) {
    return a * (Real(1.0) / Real(b));
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual operator/(const Number& a, const Dual& b) {
    Dual result;
    result.value = Real(a) / b.value;
    const Real derivative = -result.value / b.value;
    const auto vanishes = derivative == Real(0.0);
    for (int k = 0; k < N; ++k) {
      result.tangent[k] = select(vanishes, Real(0.0), derivative * b.tangent[k]);
    }
    return result;
  }

  friend MANYFOLD_INLINE MaskOf<Real> operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend MANYFOLD_INLINE MaskOf<Real> operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend MANYFOLD_INLINE MaskOf<Real> operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend MANYFOLD_INLINE MaskOf<Real> operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend MANYFOLD_INLINE MaskOf<Real> operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend MANYFOLD_INLINE MaskOf<Real> operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }

  friend MANYFOLD_INLINE Dual select(MaskOf<Real> mask, const Dual& a, const Dual& b) {
    Dual result;
    result.value = select(mask, a.value, b.value);
    for (int k = 0; k < N; ++k) result.tangent[k] = select(mask, a.tangent[k], b.tangent[k]);
    return result;
  }
  friend MANYFOLD_INLINE Dual min(const Dual& a, const Dual& b) { return select(b.value < a.value, b, a); }
  friend MANYFOLD_INLINE Dual max(const Dual& a, const Dual& b) { return select(a.value < b.value, b, a); }
  friend MANYFOLD_INLINE Dual abs(const Dual& x) {
    return chain(x, abs(x.value), select(x.value < Real(0.0), Real(-1.0), Real(1.0)));
  }
  friend MANYFOLD_INLINE Dual floor(const Dual& x) { return chain(x, floor(x.value), Real(0.0)); }
  friend MANYFOLD_INLINE Dual square(const Dual& x) { return chain(x, x.value * x.value, x.value + x.value); }

  friend MANYFOLD_INLINE Dual sqrt(const Dual& x) {
    const Real root = sqrt(x.value);
    return chain_to_the_end(x, root, Real(0.5) / root);
  }
  friend MANYFOLD_INLINE Dual cbrt(const Dual& x) {
    const Real root = cbrt(x.value);
    return chain_to_the_end(x, root, Real(1.0) / (Real(3.0) * root * root));
  }
  friend MANYFOLD_INLINE Dual exp(const Dual& x) {
    const Real power = exp(x.value);
    return chain(x, power, power);
  }
  friend MANYFOLD_INLINE Dual expm1(const Dual& x) {
    const Real power = expm1(x.value);
    return chain(x, power, power + Real(1.0));
  }
  friend MANYFOLD_INLINE Dual log(const Dual& x) { return chain(x, log(x.value), Real(1.0) / x.value); }
  friend MANYFOLD_INLINE Dual log10(const Dual& x) {
    return chain(x, log10(x.value), Real(0.43429448190325182765) / x.value);
  }
  friend MANYFOLD_INLINE Dual log1p(const Dual& x) {
    return chain(x, log1p(x.value), Real(1.0) / (Real(1.0) + x.value));
  }
  friend MANYFOLD_INLINE Dual sin(const Dual& x) { return chain(x, sin(x.value), cos(x.value)); }
  friend MANYFOLD_INLINE Dual cos(const Dual& x) { return chain(x, cos(x.value), -sin(x.value)); }
  friend MANYFOLD_INLINE Dual tan(const Dual& x) {
    const Real tangent_value = tan(x.value);
    return chain(x, tangent_value, Real(1.0) + tangent_value * tangent_value);
  }
  friend MANYFOLD_INLINE Dual asin(const Dual& x) {
    return chain_to_the_end(x, asin(x.value), Real(1.0) / sqrt(Real(1.0) - x.value * x.value));
  }
  friend MANYFOLD_INLINE Dual acos(const Dual& x) {
    return chain_to_the_end(x, acos(x.value), Real(-1.0) / sqrt(Real(1.0) - x.value * x.value));
  }
  friend MANYFOLD_INLINE Dual atan(const Dual& x) {
    return chain(x, atan(x.value), Real(1.0) / (Real(1.0) + x.value * x.value));
  }
  friend MANYFOLD_INLINE Dual sinh(const Dual& x) { return chain(x, sinh(x.value), cosh(x.value)); }
  friend MANYFOLD_INLINE Dual cosh(const Dual& x) { return chain(x, cosh(x.value), sinh(x.value)); }
  friend MANYFOLD_INLINE Dual tanh(const Dual& x) {
    const Real value_ = tanh(x.value);
    return chain(x, value_, Real(1.0) - value_ * value_);
  }
  friend MANYFOLD_INLINE Dual atan2(const Dual& y, const Dual& x) {
    const Real reciprocal = Real(1.0) / (x.value * x.value + y.value * y.value);
    Dual result;
    result.value = atan2(y.value, x.value);
    for (int k = 0; k < N; ++k) {
      result.tangent[k] = (x.value * y.tangent[k] - y.value * x.tangent[k]) * reciprocal;
    }
    return result;
  }
  template <DualConstant<Real> Number>
  friend MANYFOLD_INLINE Dual pow(const Dual& x, const Number& power) {
    const Real exponent(power);
    return chain_to_the_end(x, pow(x.value, exponent), exponent * pow(x.value, exponent - Real(1.0)));
  }
  friend MANYFOLD_INLINE Dual pow(const Dual& x, const Dual& exponent) {
    const Real power = pow(x.value, exponent.value);
    const Real by_base = exponent.value * pow(x.value, exponent.value - Real(1.0));
    // d/dy x^y = x^y log x, which is 0 at x = 0 in the limit.
    const Real by_exponent = select(power == Real(0.0), Real(0.0), power * log(x.value));
    Dual result;
    result.value = power;
    for (int k = 0; k < N; ++k) {
      result.tangent[k] = select(x.tangent[k] == Real(0.0), Real(0.0), by_base * x.tangent[k]);
      // 0 * NaN from log of a negative base must not spoil an exponent that is constant.
      result.tangent[k] += select(exponent.tangent[k] == Real(0.0), Real(0.0), by_exponent * exponent.tangent[k]);
    }
    return result;
  }
};

}  // namespace manyfold
