#pragma once
// The phased tier on one stream of a device: launches the phases that kernels/device/phased.hpp describes, and a
// library's routines between them where matrices are full.
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "host/engine/cuda/full_matrices.hpp"

namespace manyfold::cuda {

/// The kernels of the tier in a module.
struct PhasedFunctions {
  CUfunction initialize = nullptr;
  CUfunction start = nullptr;
  CUfunction jacobian = nullptr;
  CUfunction assemble = nullptr;
  CUfunction finish = nullptr;
  CUfunction permute_corrections = nullptr;
  CUfunction permute_estimates = nullptr;
  CUfunction factorize = nullptr;
  CUfunction solve_corrections = nullptr;
  CUfunction solve_estimates = nullptr;
  CUfunction correct = nullptr;
  CUfunction estimate = nullptr;
  CUfunction attempt = nullptr;
  CUfunction turn = nullptr;

  /// Throws DeviceError if `module` lacks one.
  static PhasedFunctions of(CUmodule module);
};

/// Device memory that an instance in flight needs, and a stream apart from that, in bytes.
std::size_t phased_bytes_per_slot(const DeviceLayout& layout);
std::size_t phased_bytes_per_stream(LinearSolver solver, const DeviceLayout& layout);

class PhasedStream {
 public:
  /// `slots`: instances in flight; `solver`: of full matrices. Throws DeviceError.
  PhasedStream(const PhasedFunctions& functions, const DeviceLayout& layout, LinearSolver solver, int slots,
               CUstream stream);
  ~PhasedStream();
  PhasedStream(const PhasedStream&) = delete;
  PhasedStream& operator=(const PhasedStream&) = delete;

  /// Integrates the instances of `batch`, whose data are on the stream. `watch` is called between passes.
  void integrate(const DeviceBatch& batch, const std::function<void()>& watch, Utilisation& utilisation);

 private:
  /// What is done to the instances of a list, from first to last in a pass.
  enum class Phase { factors, corrections, estimates, attempts };

  /// Entries of a batch of at least `count` instances: with graphs one of four sizes from each power of two to the
  /// next, so that few graphs serve all counts, and a quarter at most is filled up.
  int padded(int count) const;
  void run(Phase phase, int count);
  /// The launches of a phase as a graph; null if they cannot be captured.
  CUgraphExec capture(Phase phase, int size);
  void enqueue(Phase phase, int size);
  void launch_kernel(CUfunction function, int size, int threads_per_instance, const char* name);

  const PhasedFunctions functions_;
  const DeviceLayout layout_;
  const CUstream stream_;
  PhasedMemory memory_{};
  DeviceArray<DeviceBatch> batch_;
  DeviceArray<char> supply_;
  DeviceArray<unsigned long long> frames_;
  DeviceArray<char> workspaces_;
  DeviceArray<PhasedCounts> counts_;
  DeviceArray<int> lists_;
  DeviceArray<char> factors_;           ///< of sparse matrices
  std::unique_ptr<FullMatrices> full_;  ///< if they are
  PinnedArray<PhasedCounts> host_counts_;
  PinnedArray<DeviceBatch> host_batch_;

  struct Recorded {
    int uses = 0;
    CUgraphExec graph = nullptr;
  };
  std::map<std::pair<Phase, int>, Recorded> recorded_;
  const bool in_graphs_;
  bool captures_;  ///< phases can be captured as graphs, as far as is known
};

}  // namespace manyfold::cuda
