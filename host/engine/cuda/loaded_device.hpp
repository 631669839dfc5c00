#pragma once
// A device that is ready to integrate.
#include <memory>

#include "host/engine/cuda/batch_sums.hpp"
#include "host/engine/cuda/phased.hpp"
#include "kernels/device/batch.hpp"

namespace manyfold::cuda {

/// A device with the kernel loaded. Its context is the process's primary one, kept until the process ends.
struct LoadedDevice {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction prepare = nullptr;
  CUfunction initialize = nullptr;
  CUfunction integrate = nullptr;
  CUmodule sampling_module = nullptr;  ///< null unless inputs are computed on the device
  CUfunction sample = nullptr;
  std::shared_ptr<const SumsModule> sums_module;  ///< null unless instances are added up on the device
  KeptOfDevice kept;
  PhasedFunctions phased;  ///< of that tier, in place of `initialize` and `integrate`
  DeviceLayout layout{};
  std::size_t thread_memory = 0;  ///< bytes that the device sets aside for the threads' own memory
  // Launches of `integrate`:
  int threads = 0;             ///< of a block
  unsigned shared_memory = 0;  ///< bytes of a block
  int resident_blocks = 0;     ///< blocks that run at the same time
  int instances_of_block() const { return threads / layout.team_size; }
};

}  // namespace manyfold::cuda
