#pragma once
// The entry points of a kernel that NVRTC compiles: the model of the file included before, with one method.
#include "../methods/auto.hpp"
#include "fused.hpp"
#include "tile.hpp"

namespace manyfold {

/// Adds what the threads of a warp did, teams of `team_size`; the warp's own time is that of its slowest. The last warp
/// of a block may have fewer threads than 32.
inline __device__ void add_utilisation(Utilisation* total, const Utilisation& mine, int team_size) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int rest = static_cast<int>(blockDim.x - threadIdx.x) + lane;
  const int threads = rest < 32 ? rest : 32;
  const unsigned mask = threads == 32 ? 0xffffffffu : (1u << threads) - 1u;
  double lane_ticks = mine.lane_ticks;
  double ticks = mine.ticks;
  double lane_iterations = mine.lane_iterations;
  double iterations = mine.iterations;
  __syncwarp(mask);
  for (int distance = 16; distance > 0; distance /= 2) {
    const bool there = lane + distance < threads;
    const int other = there ? lane + distance : lane;
    const auto sum = [&](double& value) {
      const double its = __shfl_sync(mask, value, other);
      if (there) value += its;
    };
    const auto larger = [&](double& value) { value = max(value, __shfl_sync(mask, value, other)); };
    sum(lane_ticks);
    sum(lane_iterations);
    larger(ticks);
    larger(iterations);
  }
  if (lane != 0) return;
  const int teams = threads / team_size;
  atomicAdd(&total->lane_ticks, lane_ticks);
  atomicAdd(&total->ticks, teams * ticks);
  atomicAdd(&total->lane_iterations, lane_iterations);
  atomicAdd(&total->iterations, teams * iterations);
}

/// Threads per instance: one while the matrices are small or their pattern makes them cheap, for then they stay in
/// registers or near them; a tile where the full matrix, divided among its threads, costs each of them less.
template <class System>
constexpr int threads_per_instance() {
  constexpr int n = System::n;
  if (n <= 12) return 1;
  const int tile = n <= 16 ? 8 : n <= 32 ? 16 : 32;
  using AloneFactors = Factors<double, IterationStructure<System>>;
  return static_cast<long>(n) * n * n / (3 * tile) < AloneFactors::work ? tile : 1;
}

/// `System` for a tile of `size` threads; 0: as `threads_per_instance` says.
template <class System, int size>
struct TiledSystem {
  using type = typename TiledSystem<System, threads_per_instance<System>()>::type;
};
template <class System, int size>
requires(size > 1) struct TiledSystem<System, size> {
  using type = SharedSystem<System, Tile<size>>;
};
template <class System>
struct TiledSystem<System, 1> {
  using type = System;
};

/// The system of a kernel, for a tile of `tile` threads.
template <Model Equations, auto spec, int tile>
using DeviceSystem = typename TiledSystem<KernelSystem<Equations, spec>, tile>::type;

/// Its numbers.
template <auto spec>
using DeviceReal = typename Either<spec.precision == Precision::float32, Single, double>::type;

/// Integrates what the threads of this block can take.
template <class Method>
inline __device__ void integrate_in_block(const DeviceBatch& batch, const IntegratorOptions<Method::n>& options) {
  using Team = TeamOf<typename Method::System>;
  Utilisation mine;
  if constexpr (Team::size == 1) {
    typename Method::Workspace in_thread;
    integrate_instances<Method>(batch, options, in_thread, Team(), mine);
  } else {
    extern __shared__ double shared_memory[];
    auto* in_shared = reinterpret_cast<typename Method::Workspace*>(shared_memory) + threadIdx.x / Team::size;
    integrate_instances<Method>(batch, options, *in_shared, Team(), mine);
    if (!leads(Team())) mine = {};
  }
  add_utilisation(batch.utilisation, mine, Team::size);
}

}  // namespace manyfold

// SPEC: a KernelSpec; BLOCK_SIZE: threads of a block, at most, or exactly if FORCED; TILE: threads of an instance, 0
// for as many as suit it.
#define MANYFOLD_DEVICE_KERNEL(METHOD, SPEC, BLOCK_SIZE, FORCED, TILE)                                              \
  namespace manyfold {                                                                                              \
  using DeviceMethod = METHOD<DeviceSystem<ModelOfFile, SPEC, TILE>, DeviceReal<SPEC>>;                             \
  }                                                                                                                 \
  extern "C" __global__ void manyfold_layout(manyfold::DeviceLayout* layout) {                                      \
    *layout = manyfold::device_layout<manyfold::DeviceMethod>(BLOCK_SIZE, FORCED);                                  \
  }                                                                                                                 \
  MANYFOLD_DEVICE_PREPARATION                                                                                       \
  extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) manyfold_initialize(const manyfold::DeviceBatch batch) { \
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);                                          \
    manyfold::Integrator<manyfold::DeviceMethod>::Conditions conditions;                                            \
    if (i < batch.count) manyfold::initialize_instance<manyfold::DeviceMethod>(batch, i, conditions);               \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)                                                          \
      manyfold_integrate(const __grid_constant__ manyfold::DeviceBatch batch,                                       \
                         const __grid_constant__ manyfold::IntegratorOptions<manyfold::DeviceMethod::n> options) {  \
    manyfold::integrate_in_block<manyfold::DeviceMethod>(batch, options);                                           \
  }

// What the tiers have in common.
#define MANYFOLD_DEVICE_PREPARATION                                                                    \
  extern "C" __global__ void manyfold_prepare(const manyfold::KernelOptions options, void* settings) { \
    *static_cast<manyfold::IntegratorOptions<manyfold::DeviceMethod::n>*>(settings) =                  \
        manyfold::integrator_options<manyfold::DeviceMethod>(options);                                 \
  }
