#pragma once
// A team of threads on a GPU: neighbours in a warp, 2 to 32 of them, which divide its lanes among their instances.
#include "../team.hpp"

namespace manyfold {

template <int size_>
class Tile {
 public:
  static constexpr int size = size_;
  static_assert(size >= 2 && size <= 32 && (size & (size - 1)) == 0, "a tile has 2, 4, 8, 16 or 32 threads");

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x) % size; }

  __device__ __forceinline__ void synchronize() const { __syncwarp(mask()); }

  __device__ __forceinline__ int broadcast(int value) const { return __shfl_sync(mask(), value, 0, size); }

  __device__ __forceinline__ void largest(double& value, int& index) const {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      const double other = __shfl_xor_sync(mask(), value, distance, size);
      const int its_index = __shfl_xor_sync(mask(), index, distance, size);
      if (other > value || (other == value && its_index < index)) {
        value = other;
        index = its_index;
      }
    }
  }

 private:
  /// The lanes of the warp that belong to this tile.
  __device__ __forceinline__ unsigned mask() const {
    if constexpr (size == 32) {
      return 0xffffffffu;
    } else {
      return ((1u << size) - 1u) << (static_cast<int>(threadIdx.x) % 32 / size * size);
    }
  }
};

/// Threads per instance: one while the matrices are small or their pattern makes them cheap, for then they stay in
/// registers or near them; a tile where the full matrix, divided among its threads, costs each of them less.
template <class System>
constexpr int threads_per_instance() {
  constexpr int n = System::n;
  if (n <= 12) return 1;
  const int tile = n <= 16 ? 8 : n <= 32 ? 16 : 32;
  using Alone = Factors<double, IterationStructure<System>>;
  return static_cast<long>(n) * n * n / (3 * tile) < Alone::work ? tile : 1;
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

}  // namespace manyfold
