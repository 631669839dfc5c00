#pragma once
// Do the derivatives y' stand in a model's equations as in M y' = f(t, y), with factors that are constant? Found at
// compile time as the sparsity pattern is.
#include "traced_number.hpp"

namespace manyfold {

/// A number known only by how t, y and y' stand in it.
struct SlopeUse : TracedNumber<SlopeUse> {
  bool varies = false;  ///< with t, y or y'
  bool slopes = false;  ///< has y' in it
  bool other = false;   ///< has y' in it otherwise than as a sum with constant factors

  constexpr SlopeUse() = default;
  template <class Number>
  requires(__is_constructible(double, Number)) constexpr SlopeUse(Number) {}
  /// t or an element of y; an element of y'.
  static constexpr SlopeUse variable() { return {true, false, false}; }
  static constexpr SlopeUse slope() { return {true, true, false}; }

  static constexpr SlopeUse sum(const SlopeUse& a, const SlopeUse& b) {
    return {a.varies || b.varies, a.slopes || b.slopes, a.other || b.other};
  }
  static constexpr SlopeUse product(const SlopeUse& a, const SlopeUse& b) {
    SlopeUse result = sum(a, b);
    result.other = result.other || (a.slopes && b.varies) || (b.slopes && a.varies);
    return result;
  }
  static constexpr SlopeUse quotient(const SlopeUse& a, const SlopeUse& b) {
    SlopeUse result = product(a, b);
    result.other = result.other || b.slopes;
    return result;
  }
  static constexpr SlopeUse function(const SlopeUse& a, const SlopeUse& b) {
    SlopeUse result = sum(a, b);
    result.other = result.slopes;
    return result;
  }
  static constexpr SlopeUse choice(const SlopeUse& mask, const SlopeUse& a, const SlopeUse& b) {
    return product(mask, sum(a, b));
  }

 private:
  constexpr SlopeUse(bool does_vary, bool has_slopes, bool has_other)
      : varies(does_vary), slopes(has_slopes), other(has_other) {}
};

}  // namespace manyfold
