#pragma once
// Do a model's equations have kinks or jumps where their unknowns take certain values, or exponentials, whose slope a
// small change multiplies? Found at compile time as the sparsity pattern is.
#include "traced_number.hpp"

namespace manyfold {

/// A number known only by how unknowns stand in it.
struct KinkUse : TracedNumber<KinkUse> {
  bool varies = false;  ///< with an unknown
  bool bends = false;   ///< by min, max, abs, floor or an exponential of an unknown, or a choice that depends on one

  constexpr KinkUse() = default;
  template <class Number>
  requires(__is_constructible(double, Number)) constexpr KinkUse(Number) {}
  static constexpr KinkUse unknown() { return {true, false}; }

  static constexpr KinkUse sum(const KinkUse& a, const KinkUse& b) {
    return {a.varies || b.varies, a.bends || b.bends};
  }
  static constexpr KinkUse product(const KinkUse& a, const KinkUse& b) { return sum(a, b); }
  static constexpr KinkUse quotient(const KinkUse& a, const KinkUse& b) { return sum(a, b); }
  static constexpr KinkUse function(const KinkUse& a, const KinkUse& b) { return sum(a, b); }
  static constexpr KinkUse bent(const KinkUse& a, const KinkUse& b) {
    const bool varies = a.varies || b.varies;
    return {varies, varies};
  }
  static constexpr KinkUse exponential(const KinkUse& a) { return bent(a, a); }
  static constexpr KinkUse choice(const KinkUse& mask, const KinkUse& a, const KinkUse& b) {
    const KinkUse both = sum(a, b);
    return {mask.varies || both.varies, mask.varies || both.bends};
  }

 private:
  constexpr KinkUse(bool does_vary, bool does_bend) : varies(does_vary), bends(does_bend) {}
};

}  // namespace manyfold
