#pragma once
// The entry points of a kernel that NVRTC compiles: the model of the file included before, with one method.
#include "../methods/bdf.hpp"
#include "../methods/dirk.hpp"
#include "../methods/dirka.hpp"
#include "../methods/explicit.hpp"
#include "../methods/radau.hpp"
#include "../methods/rosenbrock.hpp"
#include "../methods/variable_radau.hpp"
#include "fused.hpp"
#include "tile.hpp"

namespace manyfold {

/// Adds what the threads of a warp did, `lanes` of which stand for an instance each; the warp's own time is that of its
/// slowest.
inline __device__ void add_utilisation(Utilisation* total, const Utilisation& mine, int lanes) {
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
  atomicAdd(&total->ticks, lanes * ticks);
  atomicAdd(&total->lane_iterations, lane_iterations);
  atomicAdd(&total->iterations, lanes * iterations);
}

/// Integrates what the threads of this block can take.
template <class Method>
inline __device__ void integrate_in_block(const DeviceBatch& batch) {
  using Team = TeamOf<typename Method::System>;
  Utilisation mine;
  if constexpr (Team::size == 1) {
    typename Method::Fallback in_thread;
    integrate_instances<Method>(batch, in_thread, Team(), mine);
  } else {
    extern __shared__ double shared_memory[];
    auto* in_shared = reinterpret_cast<typename Method::Fallback*>(shared_memory) + threadIdx.x / Team::size;
    integrate_instances<Method>(batch, *in_shared, Team(), mine);
    if (!leads(Team())) mine = {};
  }
  __syncwarp();
  add_utilisation(batch.utilisation, mine, 32 / Team::size);
}

}  // namespace manyfold

// BLOCK_SIZE: threads of a block, at most, or exactly if FORCED; TILE: threads of an instance, 0 for as many as suit
// it.
#define MANYFOLD_DEVICE_KERNEL(METHOD, BLOCK_SIZE, FORCED, TILE)                                                    \
  namespace manyfold {                                                                                              \
  using DeviceMethod = METHOD<typename TiledSystem<System<ModelOfFile>, TILE>::type, double>;                       \
  }                                                                                                                 \
  extern "C" __global__ void manyfold_layout(manyfold::DeviceLayout* layout) {                                      \
    *layout = manyfold::device_layout<manyfold::DeviceMethod>(BLOCK_SIZE, FORCED);                                  \
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
    manyfold::integrate_in_block<manyfold::DeviceMethod>(batch);                                                    \
  }
