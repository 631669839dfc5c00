#pragma once
// Do a model's equations have kinks, jumps or limits where their unknowns take certain values, or exponentials, whose
// slope a small change multiplies? Found at compile time as the sparsity pattern is.
#include "traced_number.hpp"

namespace manyfold {

/// A number known only by how unknowns stand in it.
struct BendUse : TracedNumber<BendUse> {
  bool varies = false;  ///< with an unknown
  bool curves = false;  ///< has products of unknowns in it
  bool bends = false;   ///< by min, max, abs, floor, tanh or atan of an unknown, or a choice that depends on one
  bool rises = false;   ///< by an exponential of an unknown
  bool steep = false;   ///< by a root or a power of an unknown: the slope may be infinite at zero

  constexpr BendUse() = default;
  template <class Number>
  requires(__is_constructible(double, Number)) constexpr BendUse(Number) {}
  static constexpr BendUse unknown() {
    BendUse result;
    result.varies = true;
    return result;
  }

  static constexpr BendUse sum(const BendUse& a, const BendUse& b) {
    BendUse result;
    result.varies = a.varies || b.varies;
    result.curves = a.curves || b.curves;
    result.bends = a.bends || b.bends;
    result.rises = a.rises || b.rises;
    result.steep = a.steep || b.steep;
    return result;
  }
  static constexpr BendUse product(const BendUse& a, const BendUse& b) {
    BendUse result = sum(a, b);
    result.curves = result.curves || (a.varies && b.varies);
    return result;
  }
  static constexpr BendUse quotient(const BendUse& a, const BendUse& b) { return product(a, b); }
  static constexpr BendUse function(const BendUse& a, const BendUse& b) { return sum(a, b); }
  static constexpr BendUse bent(const BendUse& a, const BendUse& b) {
    BendUse result = sum(a, b);
    result.bends = result.varies;
    return result;
  }
  static constexpr BendUse exponential(const BendUse& a) {
    BendUse result = a;
    result.rises = a.varies;
    return result;
  }
  /// sqrt(x^2 + z^2) has a kink where x and z are zero, as the function of Fischer and Burmeister for complementarity.
  static constexpr BendUse root(const BendUse& a) {
    BendUse result = a;
    result.bends = a.bends || a.curves;
    result.steep = a.varies;
    return result;
  }
  static constexpr BendUse power(const BendUse& a, const BendUse& b) {
    BendUse result = sum(a, b);
    result.steep = result.steep || a.varies;
    return result;
  }
  static constexpr BendUse choice(const BendUse& mask, const BendUse& a, const BendUse& b) {
    BendUse result = sum(mask, sum(a, b));
    result.bends = mask.varies || result.bends;
    return result;
  }
};

}  // namespace manyfold
