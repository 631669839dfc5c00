#pragma once
// The operators and functions of numbers that models are evaluated with at compile time, and that have no value: they
// remember what went into them.

namespace manyfold {

/// Gives `Number` all that a model's equations do with numbers, from what becomes of it in a sum, a product, a
/// quotient, a function of one or two numbers (comparisons and masks are such functions too), a function with kinks
/// or limits, an exponential, a root, a power, and a choice by a mask: `sum(a, b)`, `product(a, b)`, `quotient(a, b)`,
/// `function(a, b)`, `bent(a, b)`, `exponential(a)`, `root(a)`, `power(a, b)`, `choice(mask, a, b)`.
template <class Number>
struct TracedNumber {
  static constexpr Number bent(const Number& a, const Number& b) { return Number::function(a, b); }
  static constexpr Number exponential(const Number& a) { return Number::function(a, a); }
  static constexpr Number root(const Number& a) { return Number::function(a, a); }
  static constexpr Number power(const Number& a, const Number& b) { return Number::function(a, b); }

  constexpr Number& operator+=(const Number& other) { return self() = Number::sum(self(), other); }
  constexpr Number& operator-=(const Number& other) { return self() = Number::sum(self(), other); }
  constexpr Number& operator*=(const Number& other) { return self() = Number::product(self(), other); }
  constexpr Number& operator/=(const Number& other) { return self() = Number::quotient(self(), other); }

  friend constexpr Number operator+(const Number& a) { return a; }
  friend constexpr Number operator-(const Number& a) { return a; }
  friend constexpr Number operator+(const Number& a, const Number& b) { return Number::sum(a, b); }
  friend constexpr Number operator-(const Number& a, const Number& b) { return Number::sum(a, b); }
  friend constexpr Number operator*(const Number& a, const Number& b) { return Number::product(a, b); }
  friend constexpr Number operator/(const Number& a, const Number& b) { return Number::quotient(a, b); }

  friend constexpr Number operator<(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator<=(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator>(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator>=(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator==(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator!=(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator&(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator|(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator&&(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator||(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number operator!(const Number& a) { return Number::function(a, a); }
  friend constexpr Number select(const Number& mask, const Number& a, const Number& b) {
    return Number::choice(mask, a, b);
  }

  /// Of lanes: is there more to do? Two passes of a loop show what it depends on.
  friend constexpr bool any(const Number&) { return false; }

  friend constexpr Number min(const Number& a, const Number& b) { return Number::bent(a, b); }
  friend constexpr Number max(const Number& a, const Number& b) { return Number::bent(a, b); }
  friend constexpr Number pow(const Number& a, const Number& b) { return Number::power(a, b); }
  friend constexpr Number atan2(const Number& a, const Number& b) { return Number::function(a, b); }
  friend constexpr Number abs(const Number& a) { return Number::bent(a, a); }
  friend constexpr Number floor(const Number& a) { return Number::bent(a, a); }
  friend constexpr Number square(const Number& a) { return Number::product(a, a); }
  friend constexpr Number sqrt(const Number& a) { return Number::root(a); }
  friend constexpr Number cbrt(const Number& a) { return Number::root(a); }
  friend constexpr Number exp(const Number& a) { return Number::exponential(a); }
  friend constexpr Number expm1(const Number& a) { return Number::exponential(a); }
  friend constexpr Number log(const Number& a) { return Number::function(a, a); }
  friend constexpr Number log10(const Number& a) { return Number::function(a, a); }
  friend constexpr Number log1p(const Number& a) { return Number::function(a, a); }
  friend constexpr Number sin(const Number& a) { return Number::function(a, a); }
  friend constexpr Number cos(const Number& a) { return Number::function(a, a); }
  friend constexpr Number tan(const Number& a) { return Number::function(a, a); }
  friend constexpr Number asin(const Number& a) { return Number::function(a, a); }
  friend constexpr Number acos(const Number& a) { return Number::function(a, a); }
  friend constexpr Number atan(const Number& a) { return Number::bent(a, a); }
  friend constexpr Number sinh(const Number& a) { return Number::exponential(a); }
  friend constexpr Number cosh(const Number& a) { return Number::exponential(a); }
  friend constexpr Number tanh(const Number& a) { return Number::bent(a, a); }

 private:
  constexpr Number& self() { return static_cast<Number&>(*this); }
};

}  // namespace manyfold
