#pragma once
// Complex numbers of a lane type. Plain formulas without scaling: the iteration matrices are far from overflow, and
// std::complex neither takes packs nor compiles quickly.
#include "../lane/single.hpp"

namespace manyfold {

template <class Real>
struct Complex {
  Real re;
  Real im;

  Complex() = default;
  MANYFOLD_INLINE Complex(Real real, Real imaginary) : re(real), im(imaginary) {}
  MANYFOLD_INLINE explicit Complex(double real) : re(real), im(0.0) {}

  friend MANYFOLD_INLINE Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend MANYFOLD_INLINE Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
  friend MANYFOLD_INLINE Complex operator-(const Complex& a) { return {-a.re, -a.im}; }
  friend MANYFOLD_INLINE Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend MANYFOLD_INLINE Complex operator*(const Real& a, const Complex& b) { return {a * b.re, a * b.im}; }
};

MANYFOLD_INLINE double reciprocal(double x) {
  return 1.0 / x;
}
template <class Real>
MANYFOLD_INLINE Real reciprocal(const Real& x) {
  return Real(1.0) / x;
}
template <class Real>
MANYFOLD_INLINE Complex<Real> reciprocal(const Complex<Real>& x) {
  const Real scale = Real(1.0) / (x.re * x.re + x.im * x.im);
  return {x.re * scale, -x.im * scale};
}

/// A size that is cheap to compute and within a factor of sqrt(2) of the modulus.
template <class Real>
MANYFOLD_INLINE Real magnitude(const Real& x) {
  return abs(x);
}
template <class Real>
MANYFOLD_INLINE Real magnitude(const Complex<Real>& x) {
  return abs(x.re) + abs(x.im);
}

template <class Mask, class Real>
MANYFOLD_INLINE Complex<Real> select(const Mask& mask, const Complex<Real>& a, const Complex<Real>& b) {
  return {select(mask, a.re, b.re), select(mask, a.im, b.im)};
}

/// The lane type under a number: Real for Real and for Complex<Real>.
template <class Number>
struct LaneOf {
  using type = Number;
};
template <class Real>
struct LaneOf<Complex<Real>> {
  using type = Real;
};

template <class Real>
struct Narrowed<Complex<Real>> {
  using type = Complex<typename Narrowed<Real>::type>;
  static MANYFOLD_INLINE type narrow(const Complex<Real>& x) {
    return {Narrowed<Real>::narrow(x.re), Narrowed<Real>::narrow(x.im)};
  }
  static MANYFOLD_INLINE Complex<Real> widen(const type& x) {
    return {Narrowed<Real>::widen(x.re), Narrowed<Real>::widen(x.im)};
  }
};

/// How factors of a matrix of `Number` are kept: as they are, or in single precision.
template <class Number, bool single>
struct StoredAs {
  using type = Number;
  static MANYFOLD_INLINE const Number& store(const Number& x) { return x; }
  static MANYFOLD_INLINE const Number& load(const Number& x) { return x; }
  template <class Mask>
  static MANYFOLD_INLINE const Mask& store_mask(const Mask& mask) {
    return mask;
  }
  template <class Mask>
  static MANYFOLD_INLINE const Mask& load_mask(const Mask& mask) {
    return mask;
  }
};
template <class Number>
struct StoredAs<Number, true> {
  using Lane = Narrowed<typename LaneOf<Number>::type>;
  using type = typename Narrowed<Number>::type;
  static MANYFOLD_INLINE type store(const Number& x) { return Narrowed<Number>::narrow(x); }
  static MANYFOLD_INLINE Number load(const type& x) { return Narrowed<Number>::widen(x); }
  static MANYFOLD_INLINE auto store_mask(const auto& mask) { return Lane::narrow(mask); }
  static MANYFOLD_INLINE auto load_mask(const auto& mask) { return Lane::widen(mask); }
};

}  // namespace manyfold
