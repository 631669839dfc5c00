#pragma once
// What the host asks of a model but its integration: a kernel without a method, which compiles in a second.
#include "../drive/interface.hpp"
#include "../stage/linearisation.hpp"
#include "describe.hpp"

namespace manyfold {

template <Model Equations, auto spec = KernelSpec<>{}>
const Kernel& model_kernel() {
  using S = System<Equations, spec>;
  static const Kernel table = {kernel_interface_version,
                               "",
                               "",
                               0,
                               Factors<double, IterationStructure<S>>::work,
                               &describe_model<Equations, spec>,
                               &S::complete_initial,
                               nullptr};
  return table;
}

}  // namespace manyfold

// The entry point of a description that is compiled by itself, of the model of the file included before.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_DESCRIPTION(SPEC)                                                              \
  extern "C" __attribute__((visibility("default"))) const manyfold::Kernel* manyfold_kernel() { \
    return &manyfold::model_kernel<manyfold::ModelOfFile, SPEC>();                              \
  }
#endif
