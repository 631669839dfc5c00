#pragma once
// The entry points of the phased tier's kernels: the model of the file included before, with one method.
#include "fused_kernel.hpp"
#include "phased.hpp"

// SPEC: a KernelSpec in float64 or mixed precision; BLOCK_SIZE: threads of a block.
#define MANYFOLD_PHASED_KERNEL(METHOD, SPEC, BLOCK_SIZE)                                                  \
  namespace manyfold {                                                                                    \
  using DeviceMethod =                                                                                    \
      typename Phased<METHOD<BatchedSystem<DeviceSystem<ModelOfFile, SPEC, 1>>, DeviceReal<SPEC>>>::type; \
  using DevicePhases = PhasedKernels<DeviceMethod>;                                                       \
  }                                                                                                       \
  extern "C" __global__ void manyfold_phased_layout(manyfold::DeviceLayout* layout) {                     \
    *layout = manyfold::device_layout<manyfold::DeviceMethod>(BLOCK_SIZE, true);                          \
    layout->phased = manyfold::DevicePhases::layout();                                                    \
  }                                                                                                       \
  MANYFOLD_DEVICE_PREPARATION                                                                             \
  MANYFOLD_PHASED_ENTRY(initialize, initialize, (BLOCK_SIZE, 1))                                          \
  MANYFOLD_PHASED_ENTRY(start, start, (BLOCK_SIZE, 1))                                                    \
  MANYFOLD_PHASED_ENTRY(jacobian, jacobian, (BLOCK_SIZE))                                                 \
  MANYFOLD_PHASED_ENTRY(assemble, assemble, (BLOCK_SIZE))                                                 \
  MANYFOLD_PHASED_ENTRY(finish, finish, (BLOCK_SIZE))                                                     \
  MANYFOLD_PHASED_ENTRY(permute_corrections, permute<true>, (BLOCK_SIZE))                                 \
  MANYFOLD_PHASED_ENTRY(permute_estimates, permute<false>, (BLOCK_SIZE))                                  \
  MANYFOLD_PHASED_ENTRY(factorize, factorize, (BLOCK_SIZE))                                               \
  MANYFOLD_PHASED_ENTRY(solve_corrections, solve<true>, (BLOCK_SIZE))                                     \
  MANYFOLD_PHASED_ENTRY(solve_estimates, solve<false>, (BLOCK_SIZE))                                      \
  MANYFOLD_PHASED_ENTRY(correct, correct, (BLOCK_SIZE, 1))                                                \
  MANYFOLD_PHASED_ENTRY(estimate, estimate, (BLOCK_SIZE, 1))                                              \
  MANYFOLD_PHASED_ENTRY(attempt, attempt, (BLOCK_SIZE, 1))                                                \
  extern "C" __global__ void manyfold_phased_turn(const manyfold::PhasedMemory memory) {                  \
    manyfold::DevicePhases::turn(memory);                                                                 \
  }

// BOUNDS: of a launch. Kernels whose threads have an instance each get all registers: by itself the assembler gives
// some of them 32, and spills kilobytes.
#define MANYFOLD_PHASED_ENTRY(NAME, FUNCTION, BOUNDS)                                                             \
  extern "C" __global__ void __launch_bounds__ BOUNDS manyfold_phased_##NAME(const manyfold::PhasedMemory memory, \
                                                                             int size) {                          \
    manyfold::DevicePhases::FUNCTION(memory, size, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));      \
  }
