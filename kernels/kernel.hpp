#pragma once
// One compiled kernel: a model, a method and the lanes of this translation unit, behind the run-time interface.
#include <memory>

#if !defined(MANYFOLD_ONE_LANE)
#include "lane/pack.hpp"
#endif
#include "describe.hpp"
#include "methods/auto.hpp"
#include "methods/bdf.hpp"
#include "methods/dirk.hpp"
#include "methods/dirka.hpp"
#include "methods/dirks.hpp"
#include "methods/explicit.hpp"
#include "methods/radau.hpp"
#include "methods/rosenbrock.hpp"
#include "methods/variable_radau.hpp"
#include "supply.hpp"

namespace manyfold {

// MANYFOLD_SINGLE: float32; MANYFOLD_MIXED: mixed precision; MANYFOLD_PROJECTED: with projection.
#if defined(MANYFOLD_MIXED)
template <class Base>
using KernelSystem = MixedSystem<KernelConstraints<Base>>;
#else
template <class Base>
using KernelSystem = KernelConstraints<Base>;
#endif

#if defined(MANYFOLD_ONE_LANE)
#if defined(MANYFOLD_SINGLE)
using KernelLane = Single;
#else
using KernelLane = double;
#endif
inline constexpr const char* kernel_instruction_set = "scalar";
#else
#if defined(MANYFOLD_SINGLE)
using KernelLane = SinglePack;
#else
using KernelLane = Pack;
#endif
#if defined(__AVX512F__)
inline constexpr const char* kernel_instruction_set = "avx512";
#elif defined(__AVX2__)
inline constexpr const char* kernel_instruction_set = "avx2";
#else
inline constexpr const char* kernel_instruction_set = "baseline";
#endif
#endif

/// The kernel that integrates `Equations` with `Method` in lanes of type `Real`, as `Wrap` makes of its system.
template <Model Equations, template <class, class> class Method, class Real = KernelLane,
          template <class> class Wrap = KernelSystem>
const Kernel& kernel() {
  using Stepper = Method<Wrap<System<Equations>>, Real>;
  static const Kernel table = {
      kernel_interface_version,
      Stepper::Tableau::name,
      kernel_instruction_set,
      lane_width<Real>,
      Factors<double, IterationStructure<System<Equations>>>::work,
      &describe_model<Equations>,
      &System<Equations>::complete_initial,
      [](const KernelOptions& options, KernelFeed& feed, Utilisation& utilisation) {
        // On the heap: the state of a pack of large systems does not fit a thread's stack.
        const auto settings = integrator_options<Stepper>(options);
        const auto supply = std::make_unique<PackSupply<Stepper>>(settings, feed);
        const auto workspace = std::make_unique<typename Stepper::Workspace>();
        const auto driver =
            std::make_unique<LaneDriver<Stepper, PackSupply<Stepper>>>(settings, options.saved, *supply, *workspace);
        driver->run(utilisation);
      },
  };
  return table;
}

}  // namespace manyfold

// The entry point of a kernel that is compiled by itself: the model of the file included before, with one method.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_KERNEL(METHOD)                                                                 \
  extern "C" __attribute__((visibility("default"))) const manyfold::Kernel* manyfold_kernel() { \
    return &manyfold::kernel<manyfold::ModelOfFile, manyfold::METHOD>();                        \
  }
#endif
