#pragma once
// The lockstep tier on one stream of a device: launches the phases that kernels/cuda/lockstep.hpp describes, and cuBLAS
// between them.
#include <functional>
#include <map>
#include <utility>

#include "host/engine/cuda/memory.hpp"
#include "kernels/cuda/batch.hpp"

namespace manyfold::cuda {

/// The kernels of the tier in a module.
struct LockstepFunctions {
  CUfunction initialize = nullptr;
  CUfunction start = nullptr;
  CUfunction jacobian = nullptr;
  CUfunction assemble = nullptr;
  CUfunction finish = nullptr;
  CUfunction permute_corrections = nullptr;
  CUfunction permute_estimates = nullptr;
  CUfunction correct = nullptr;
  CUfunction estimate = nullptr;
  CUfunction attempt = nullptr;
  CUfunction turn = nullptr;

  /// Throws DeviceError if `module` lacks one.
  static LockstepFunctions of(CUmodule module);
};

/// Workspace of cuBLAS per stream. A handle's own would not do: graphs must not allocate, and results must not depend
/// on what other streams do.
inline constexpr std::size_t blas_workspace_bytes = std::size_t{4} << 20;

/// Device memory that an instance in flight needs, in bytes.
std::size_t lockstep_bytes_per_slot(const DeviceLayout& layout);

class Lockstep {
 public:
  /// `slots`: instances in flight. Throws DeviceError.
  Lockstep(const LockstepFunctions& functions, const DeviceLayout& layout, int slots, CUstream stream);
  ~Lockstep();
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  /// Integrates the instances of `batch`, whose data are on the stream. `watch` is called between passes.
  void integrate(const DeviceBatch& batch, const std::function<void()>& watch, Utilisation& utilisation);

 private:
  /// What is done to the instances of a list, from first to last in a pass.
  enum class Phase { factors, corrections, estimates, attempts };

  /// Entries of a batch of at least `count` instances: a power of two, so that few graphs serve all counts.
  int padded(int count) const;
  void run(Phase phase, int count);
  /// The launches of a phase as a graph; null if they cannot be captured.
  CUgraphExec capture(Phase phase, int size);
  void enqueue(Phase phase, int size);
  void factorize(int size);
  void solve(int systems, int size);
  void launch_kernel(CUfunction function, int size, int threads_per_instance, const char* name);

  const LockstepFunctions functions_;
  const DeviceLayout layout_;
  const CUstream stream_;
  cublasHandle_t blas_ = nullptr;
  LockstepMemory memory_{};
  DeviceArray<DeviceBatch> batch_;
  DeviceArray<char> supply_;
  DeviceArray<unsigned long long> frames_;
  DeviceArray<char> workspaces_;
  DeviceArray<LockstepCounts> counts_;
  DeviceArray<int> lists_;
  DeviceArray<void*> matrices_;
  DeviceArray<void*> solutions_;
  DeviceArray<int> pivots_;
  DeviceArray<int> info_;
  DeviceArray<char> blas_workspace_;
  PinnedArray<LockstepCounts> host_counts_;
  PinnedArray<DeviceBatch> host_batch_;

  struct Recorded {
    int uses = 0;
    CUgraphExec graph = nullptr;
  };
  std::map<std::pair<Phase, int>, Recorded> recorded_;
  bool captures_ = true;  ///< phases can be captured as graphs, as far as is known
};

}  // namespace manyfold::cuda
