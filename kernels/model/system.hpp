#pragma once
// A model as the integrator sees it: F(t, y, y', p) = 0 with the matrices F_y and F_y' stored on their nonzeros. One
// layer stands on the other: declarations, patterns, start values, functions, Jacobian.
#include "../lane/team.hpp"
#include "jacobian.hpp"

namespace manyfold {

template <Model Equations, auto spec_ = KernelSpec<>{}>
struct System : ModelJacobian<Equations, spec_> {
  static constexpr auto spec = spec_;
};

/// `Base` in mixed precision: what Newton's method solves with is factorised in single precision, all else is double.
template <class Base>
struct MixedSystem : Base {
  static constexpr bool single_precision_factors = true;
};
template <class Base>
struct AloneSystem<MixedSystem<Base>> : AloneSystem<Base> {};

/// The system of a kernel that is compiled for `spec`.
template <Model Equations, auto spec = KernelSpec<>{}>
using KernelSystem = typename Either<spec.precision == Precision::mixed, MixedSystem<System<Equations, spec>>,
                                     System<Equations, spec>>::type;

/// `Base` for the phased tier, where linear systems are solved for many instances at once.
template <class Base>
struct BatchedSystem : Base {
  static constexpr bool batched = true;
};
template <class Base>
struct AloneSystem<BatchedSystem<Base>> : AloneSystem<Base> {};

template <class System>
constexpr bool has_single_precision_factors() {
  return requires {
    System::single_precision_factors;
  };
}

}  // namespace manyfold
