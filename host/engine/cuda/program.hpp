#pragma once
// A compiled kernel on every device of the machine: batches of instances are copied there, integrated and copied back.
#include <atomic>
#include <memory>
#include <mutex>

#include "host/engine/cuda/loaded_device.hpp"
#include "host/engine/device.hpp"

namespace manyfold::cuda {

/// What is compiled for a device.
struct ProgramCode {
  DeviceCode kernel;
  DeviceCode sampling;  ///< if inputs are computed there
  DeviceCode sums;      ///< if instances are added up there
};

class Program : public DeviceProgram {
 public:
  /// `codes`: compiled for each of `devices`. Throws DeviceError.
  Program(const std::vector<CUdevice>& devices, const std::vector<ProgramCode>& codes, Tier tier,
          const DeviceDemand& demand);
  ~Program() override;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int workers() const override { return static_cast<int>(devices_.size()) * streams_per_device; }
  std::int64_t batch_size() const override { return batch_size_; }
  bool adds_up() const override { return demand_.sums.has_value(); }
  std::string shape() const override;
  void integrate(int worker, const KernelOptions& options, DeviceFeed& feed, Utilisation& utilisation) override;
  std::int64_t bytes_copied_back() const override { return *copied_back_; }

 private:
  /// One computes, one copies back, one is filled.
  static constexpr int streams_per_device = 3;

  /// Divides the memory that the devices allow between instances in flight and batches. Where it does not suffice for
  /// sums over whole groups, rows come back after all.
  void choose_batch_size();
  /// Bytes of a device that a run may use.
  double allowed_memory(const LoadedDevice& device) const;
  /// Bytes that stay of all instances, which one device may be given. Where they leave batches too little of the
  /// `allowed` bytes, there are no sums.
  double memory_for_kept(double allowed);
  /// `fit`: instances at most, and `suitable` ones at best. 0: whole groups do not fit.
  std::int64_t batch_of_groups(std::int64_t suitable, std::int64_t fit) const;

  std::vector<LoadedDevice> devices_;
  Tier tier_;
  DeviceDemand demand_;
  std::int64_t batch_size_ = 0;
  int slots_ = 0;  ///< instances in flight of a stream, of the phased tier
  std::shared_ptr<std::atomic<std::int64_t>> copied_back_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace manyfold::cuda
