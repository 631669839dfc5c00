#pragma once
// The entry points of a kernel that NVRTC compiles: the model of the file included before, with one method.
#include "../methods/bdf.hpp"
#include "../methods/dirk.hpp"
#include "../methods/explicit.hpp"
#include "../methods/radau.hpp"
#include "../methods/rosenbrock.hpp"
#include "thread_per_instance.hpp"

namespace manyfold {

/// Adds what the threads of a warp did; the warp's own time is that of its slowest thread.
inline __device__ void add_utilisation(Utilisation* total, const Utilisation& mine) {
  double lane_ticks = mine.lane_ticks;
  double ticks = mine.ticks;
  double lane_iterations = mine.lane_iterations;
  double iterations = mine.iterations;
  for (int distance = 16; distance > 0; distance /= 2) {
    lane_ticks += __shfl_xor_sync(0xffffffffu, lane_ticks, distance);
    lane_iterations += __shfl_xor_sync(0xffffffffu, lane_iterations, distance);
    ticks = max(ticks, __shfl_xor_sync(0xffffffffu, ticks, distance));
    iterations = max(iterations, __shfl_xor_sync(0xffffffffu, iterations, distance));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&total->lane_ticks, lane_ticks);
  atomicAdd(&total->ticks, 32.0 * ticks);
  atomicAdd(&total->lane_iterations, lane_iterations);
  atomicAdd(&total->iterations, 32.0 * iterations);
}

}  // namespace manyfold

#define MANYFOLD_DEVICE_KERNEL(METHOD, BLOCK_SIZE)                                                                  \
  namespace manyfold {                                                                                              \
  using DeviceMethod = METHOD<System<ModelOfFile>, double>;                                                         \
  }                                                                                                                 \
  extern "C" __global__ void manyfold_layout(manyfold::DeviceLayout* layout) {                                      \
    *layout = manyfold::device_layout<manyfold::DeviceMethod>(BLOCK_SIZE);                                          \
  }                                                                                                                 \
  extern "C" __global__ void manyfold_prepare(const manyfold::KernelOptions options, void* settings) {              \
    *static_cast<manyfold::IntegratorOptions<manyfold::DeviceMethod::n>*>(settings) =                               \
        manyfold::integrator_options<manyfold::DeviceMethod>(options);                                              \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) manyfold_initialize(const manyfold::DeviceBatch batch) { \
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);                                          \
    if (i < batch.count) manyfold::initialize_instance<manyfold::DeviceMethod>(batch, i);                           \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) manyfold_integrate(const manyfold::DeviceBatch batch) {  \
    manyfold::Utilisation mine;                                                                                     \
    manyfold::integrate_instances<manyfold::DeviceMethod>(batch, mine);                                             \
    __syncwarp();                                                                                                   \
    manyfold::add_utilisation(batch.utilisation, mine);                                                             \
  }
