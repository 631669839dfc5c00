#pragma once
// One compiled kernel: a model, a method and the lanes of this translation unit, behind the run-time interface.
#include <memory>

#if !defined(MANYFOLD_ONE_LANE)
#include "../lane/pack.hpp"
#endif
#include "../drive/pack_supply.hpp"
#include "../methods/auto.hpp"

namespace manyfold {

/// Lanes of doubles and of floats.
#if defined(MANYFOLD_ONE_LANE)
using DoubleLane = double;
using SingleLane = Single;
inline constexpr const char* kernel_instruction_set = "scalar";
#else
using DoubleLane = Pack;
using SingleLane = SinglePack;
#if defined(__AVX512F__)
inline constexpr const char* kernel_instruction_set = "avx512";
#elif defined(__AVX2__)
inline constexpr const char* kernel_instruction_set = "avx2";
#else
inline constexpr const char* kernel_instruction_set = "baseline";
#endif
#endif

/// The lanes of a precision.
template <Precision precision = Precision::float64>
using KernelLane = typename Either<precision == Precision::float32, SingleLane, DoubleLane>::type;

/// The method of a kernel, in lanes of type `Real`.
template <Model Equations, template <class, class> class Method, auto spec = KernelSpec<>{},
          class Real = KernelLane<spec.precision>>
using KernelStepper = Method<KernelSystem<Equations, spec>, Real>;

/// The kernel that integrates `Equations` with `Method` in lanes of type `Real`, under the eyes of an `Observer`.
template <Model Equations, template <class, class> class Method, auto spec = KernelSpec<>{},
          class Real = KernelLane<spec.precision>, class Observer = NoObserver>
const Kernel& kernel() {
  using Stepper = KernelStepper<Equations, Method, spec, Real>;
  static const Kernel table = {
      kernel_interface_version,
      Stepper::Tableau::name,
      kernel_instruction_set,
      lane_width<Real>,
      Factors<double, IterationStructure<System<Equations, spec>>>::work,
      nullptr,  // the model has been described before
      &System<Equations, spec>::complete_initial,
      [](const KernelOptions& options, KernelFeed& feed, Utilisation& utilisation) {
        // On the heap: the state of a pack of large systems does not fit a thread's stack.
        const auto settings = integrator_options<Stepper>(options);
        const auto supply = std::make_unique<PackSupply<Stepper>>(settings, feed);
        const auto workspace = std::make_unique<typename Stepper::Workspace>();
        ObserverLink<Observer> link;
        if constexpr (StepObserver<Observer>) link.observer = static_cast<Observer*>(options.observer);
        using Driver = LaneDriver<Stepper, PackSupply<Stepper>, Observer>;
        const auto driver = std::make_unique<Driver>(settings, options.saved, *supply, *workspace, link);
        driver->run(utilisation);
      },
  };
  return table;
}

}  // namespace manyfold

// The entry point of a kernel that is compiled by itself: the model of the file included before, with one method.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_KERNEL(METHOD, SPEC, OBSERVER)                                                                     \
  extern "C" __attribute__((visibility("default"))) const manyfold::Kernel* manyfold_kernel() {                     \
    return &manyfold::kernel<manyfold::ModelOfFile, manyfold::METHOD, SPEC, manyfold::KernelLane<(SPEC).precision>, \
                             manyfold::OBSERVER>();                                                                 \
  }
#endif
