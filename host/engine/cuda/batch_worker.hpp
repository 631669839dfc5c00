#pragma once
// One stream of a device: batches are copied there, integrated and copied back, one after the other.
#include <atomic>
#include <optional>
#include <vector>

#include "host/engine/cuda/batch_memory.hpp"
#include "host/engine/cuda/loaded_device.hpp"

namespace manyfold::cuda {

class BatchWorker {
 public:
  /// For batches of at most `batch_size` instances. `slots`: instances in flight, of the phased tier. The context of
  /// `device` is current, here and in `integrate`. Throws DeviceError, as `integrate` does.
  BatchWorker(const LoadedDevice& device, Tier tier, const DeviceDemand& demand, std::size_t batch_size, int slots,
              const KernelOptions& options);

  /// Integrates what `feed` gives. Adds the bytes that come back to `copied_back`, and what lanes did to `utilisation`.
  void integrate(DeviceFeed& feed, std::atomic<std::int64_t>& copied_back, Utilisation& utilisation);

 private:
  /// The chunk on the device, with its inputs there or on their way.
  DeviceBatch begin(const Chunk& chunk);
  /// Runs the kernels of the fused tier over a batch.
  void integrate_fused(DeviceBatch& batch);
  /// Has the results of `batch` copied. Returns the bytes.
  std::int64_t begin_copy_out(const DeviceBatch& batch);
  /// After the copy.
  void copy_out(Chunk& chunk);
  /// Passes on that the run is cancelled.
  void watch(DeviceFeed& feed);
  void add_to(Utilisation& utilisation);

  const LoadedDevice& device_;
  const bool sampled_;  ///< inputs are computed on the device
  BatchMemory memory_;
  DeviceTable<double> atol_;
  DeviceTable<int> place_;
  std::optional<DevicePlan> plan_;
  std::optional<BatchSums> sums_;
  DeviceArray<char> settings_;
  /// Threads have settings that are arguments at hand without registers.
  std::vector<char> settings_at_host_;
  DeviceArray<int> cancelled_;
  DeviceArray<Utilisation> used_;
  const Stream stream_;
  /// Signals must reach a kernel that is running: they travel on a stream of their own.
  const Stream signals_;
  bool told_ = false;  ///< that the run is cancelled
  SavedVariables saved_;
  std::optional<PhasedStream> phased_;
};

}  // namespace manyfold::cuda
