#pragma once
// Do a model's equations have kinks, jumps or limits where their unknowns take certain values, or exponentials, whose
// slope a small change multiplies? Found at compile time as the sparsity pattern is.
#include "traced_number.hpp"

namespace manyfold {

/// A number known only by how unknowns stand in it.
struct BendUse : TracedNumber<BendUse> {
  bool varies = false;  ///< with an unknown
  bool bends = false;   ///< by min, max, abs, floor, tanh or atan of an unknown, or a choice that depends on one
  bool rises = false;   ///< by an exponential of an unknown

  constexpr BendUse() = default;
  template <class Number>
  requires(__is_constructible(double, Number)) constexpr BendUse(Number) {}
  static constexpr BendUse unknown() { return {true, false, false}; }

  static constexpr BendUse sum(const BendUse& a, const BendUse& b) {
    return {a.varies || b.varies, a.bends || b.bends, a.rises || b.rises};
  }
  static constexpr BendUse product(const BendUse& a, const BendUse& b) { return sum(a, b); }
  static constexpr BendUse quotient(const BendUse& a, const BendUse& b) { return sum(a, b); }
  static constexpr BendUse function(const BendUse& a, const BendUse& b) { return sum(a, b); }
  static constexpr BendUse bent(const BendUse& a, const BendUse& b) {
    const BendUse both = sum(a, b);
    return {both.varies, both.varies, both.rises};
  }
  static constexpr BendUse exponential(const BendUse& a) { return {a.varies, a.bends, a.varies}; }
  static constexpr BendUse choice(const BendUse& mask, const BendUse& a, const BendUse& b) {
    const BendUse both = sum(a, b);
    return {mask.varies || both.varies, mask.varies || both.bends, both.rises};
  }

 private:
  constexpr BendUse(bool does_vary, bool does_bend, bool does_rise)
      : varies(does_vary), bends(does_bend), rises(does_rise) {}
};

}  // namespace manyfold
