#pragma once
// Full matrices of the phased tier, which a library factorises and solves with: cuBLAS all at once, cuSOLVER one by
// one.
#include <memory>
#include <mutex>
#include <string>

#include "host/engine/cuda/memory.hpp"
#include "host/engine/device.hpp"
#include "kernels/device/batch.hpp"

namespace manyfold::cuda {

/// While a stream is captured, other threads must not make or destroy handles of libraries, which wait for the device.
std::mutex& captures();

/// Elements of an array with `per_slot` for every slot.
inline std::size_t total(int per_slot, int slots) {
  return static_cast<std::size_t>(per_slot) * static_cast<std::size_t>(slots);
}

inline int systems_of(const DeviceLayout& layout) {
  return layout.phased.real_systems + layout.phased.complex_systems;
}

/// The matrices of the instances in flight of a stream. All throw DeviceError.
class FullMatrices {
 public:
  FullMatrices(const DeviceLayout& layout, int slots, CUstream stream);
  virtual ~FullMatrices() = default;
  FullMatrices(const FullMatrices&) = delete;
  FullMatrices& operator=(const FullMatrices&) = delete;

  /// Tells kernels where they are to put theirs.
  void enter(PhasedMemory& memory) const;
  /// The matrices of all systems, `size` of each.
  virtual void factorize(int size) = 0;
  /// The first `systems` systems, `size` of each.
  virtual void solve(int systems, int size) = 0;
  /// Is a phase the same launches whatever instances it is for, so that a graph can have them?
  virtual bool in_graphs() const = 0;

 protected:
  // Of system number `system`:
  void** matrices(int system) const { return matrices_.get() + total(system, slots_); }
  void** solutions(int system) const { return solutions_.get() + total(system, slots_); }
  int* pivots(int system) const { return pivots_.get() + total(system * layout_.variables, slots_); }
  int* info(int system) const { return info_.get() + total(system, slots_); }
  bool complex(int system) const { return system >= layout_.phased.real_systems; }

  const DeviceLayout layout_;
  const int slots_;
  const CUstream stream_;
  DeviceArray<void*> matrices_;
  DeviceArray<void*> solutions_;
  DeviceArray<int> pivots_;
  DeviceArray<int> info_;
};

/// Why the library of `solver` cannot be used; empty if it can.
const std::string& unavailable(LinearSolver solver);

std::unique_ptr<FullMatrices> full_matrices(LinearSolver solver, const DeviceLayout& layout, int slots,
                                            CUstream stream);

/// Device memory that they need for an instance in flight, and for a stream apart from that, in bytes.
std::size_t full_matrices_bytes_per_slot(const DeviceLayout& layout);
std::size_t full_matrices_bytes_per_stream(LinearSolver solver, const DeviceLayout& layout);

}  // namespace manyfold::cuda
