#pragma once
// A team of threads on a GPU: neighbours in a warp, 2 to 32 of them, which divide its lanes among their instances.
#include "../lane/team.hpp"

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

}  // namespace manyfold
