#include "host/engine/cuda/program.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "host/engine/cuda/batch_worker.hpp"

namespace manyfold::cuda {
namespace {

/// Instances in flight of a stream of the phased tier at most: enough to fill the largest devices with matrices.
constexpr std::int64_t most_slots = 16384;

/// Instances and bytes of a batch at most.
constexpr std::int64_t most_batch = 1 << 20;
constexpr std::int64_t most_batch_bytes = std::int64_t{512} << 20;

/// How often a batch refills the place of an instance, so that its stragglers count little.
constexpr int refills = 8;

/// Bytes per instance on the device, and in page-locked memory but for `ready_size`.
std::size_t bytes_per_instance(const DeviceLayout& layout, const DeviceDemand& demand) {
  const std::size_t rows = static_cast<std::size_t>(bytes_of_instance(demand.shape) + layout.ready_size);
  if (!demand.sums) return rows;
  const SumRequest& request = demand.sums->request;
  return rows + BatchSums::bytes_per_instance(request, demand.shape) - BatchSums::bytes_kept(request, demand.shape);
}

/// The block size that keeps most instances in flight; of equals the smallest, whose blocks end soonest.
void choose_block(LoadedDevice& loaded) {
  const Driver& cu = driver();
  const DeviceLayout& layout = loaded.layout;
  int multiprocessors = 0;
  int most_shared_memory = 0;
  cu.check(cu.device_get_attribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, loaded.device),
           "cuDeviceGetAttribute");
  cu.check(cu.device_get_attribute(&most_shared_memory, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                   loaded.device),
           "cuDeviceGetAttribute");
  constexpr int warp = 32;
  const auto shared_memory = [&](int threads) { return layout.shared_memory * (threads / layout.team_size); };
  const int first = layout.block_size_forced ? layout.block_size : layout.team_size > 1 ? layout.team_size : warp;
  int most = 0;
  for (int threads = first; threads <= layout.block_size; threads += first) {
    if (shared_memory(threads) > most_shared_memory) break;
    cu.check(cu.set_function_attribute(loaded.integrate, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       shared_memory(threads)),
             "cuFuncSetAttribute");
    int blocks = 0;
    cu.check(cu.occupancy(&blocks, loaded.integrate, threads, static_cast<std::size_t>(shared_memory(threads))),
             "cuOccupancyMaxActiveBlocks");
    if (blocks * threads <= most) continue;
    most = blocks * threads;
    loaded.threads = threads;
    loaded.shared_memory = static_cast<unsigned>(shared_memory(threads));
    loaded.resident_blocks = blocks * multiprocessors;
  }
  if (most == 0) {
    throw DeviceError(fmt::format(
        "a block of {} threads, {} of which share {} KiB for the matrices of an instance, does not fit the device, "
        "whose blocks have {} KiB: set tier = \"phased\", device_tile = 1, or a smaller device_block",
        first, layout.team_size, (layout.shared_memory + 1023) / 1024, most_shared_memory / 1024));
  }
  cu.check(cu.set_function_attribute(loaded.integrate, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(loaded.shared_memory)),
           "cuFuncSetAttribute");
}

/// What a device sets aside for the threads' own memory when a kernel is launched first: for as many threads as it can
/// have, whatever the launch.
std::size_t thread_memory_of(const LoadedDevice& loaded) {
  const Driver& cu = driver();
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    cu.check(cu.device_get_attribute(&value, which, loaded.device), "cuDeviceGetAttribute");
    return static_cast<std::size_t>(value);
  };
  std::size_t bytes = 0;
  const PhasedFunctions& phased = loaded.phased;
  for (const CUfunction function :
       {loaded.initialize, loaded.integrate, phased.initialize, phased.start, phased.jacobian, phased.assemble,
        phased.finish, phased.factorize, phased.solve_corrections, phased.correct, phased.estimate, phased.attempt}) {
    int value = 0;
    if (function == nullptr) continue;
    cu.check(cu.get_function_attribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function), "cuFuncGetAttribute");
    bytes = std::max(bytes, static_cast<std::size_t>(value));
  }
  return bytes * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
         attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
}

LoadedDevice load_device(CUdevice device, const ProgramCode& code, Tier tier, bool sampled) {
  const Driver& cu = driver();
  LoadedDevice loaded;
  loaded.device = device;
  cu.check(cu.retain_context(&loaded.context, device), "cuDevicePrimaryCtxRetain");
  cu.check(cu.set_current(loaded.context), "cuCtxSetCurrent");
  cu.check(cu.load_module(&loaded.module, code.kernel.binary.data()), "cuModuleLoadData");
  if (sampled) {
    cu.check(cu.load_module(&loaded.sampling_module, code.sampling.binary.data()), "cuModuleLoadData");
    cu.check(cu.get_function(&loaded.sample, loaded.sampling_module, "manyfold_sample"), "cuModuleGetFunction");
  }
  if (!code.sums.binary.empty()) {
    loaded.sums_module = std::make_shared<const SumsModule>(loaded.context, code.sums.binary.data());
  }
  CUfunction layout = nullptr;
  const bool fused = tier == Tier::fused;
  cu.check(cu.get_function(&layout, loaded.module, fused ? "manyfold_layout" : "manyfold_phased_layout"),
           "cuModuleGetFunction");
  cu.check(cu.get_function(&loaded.prepare, loaded.module, "manyfold_prepare"), "cuModuleGetFunction");
  if (fused) {
    cu.check(cu.get_function(&loaded.initialize, loaded.module, "manyfold_initialize"), "cuModuleGetFunction");
    cu.check(cu.get_function(&loaded.integrate, loaded.module, "manyfold_integrate"), "cuModuleGetFunction");
  } else {
    loaded.phased = PhasedFunctions::of(loaded.module);
  }
  loaded.thread_memory = thread_memory_of(loaded);
  const DeviceArray<DeviceLayout> answer(1);
  const Stream stream;
  launch(layout, 1, 1, 0, stream.get(), "manyfold_layout", answer.get());
  answer.copy_to(&loaded.layout, 1, stream.get());
  stream.synchronize();
  if (loaded.layout.interface_version != kernel_interface_version) {
    throw DeviceError("the compiled device kernel does not fit this version; empty the kernel cache");
  }
  if (fused) choose_block(loaded);
  return loaded;
}

void check_library(LinearSolver solver) {
  const std::string& reason = unavailable(solver);
  if (!reason.empty()) throw DeviceError("tier 'phased': " + reason);
}

}  // namespace

Program::Program(const std::vector<CUdevice>& devices, const std::vector<ProgramCode>& codes, Tier tier,
                 const DeviceDemand& demand)
    : tier_(tier), demand_(demand) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices_.push_back(load_device(devices[i], codes[i], tier, demand.sampling.has_value()));
    if (tier == Tier::phased && !devices_.back().layout.phased.sparse) check_library(demand.linear_solver);
  }
  choose_batch_size();
  if (!demand_.sums) return;
  const InstanceShape& shape = demand_.shape;
  for (LoadedDevice& device : devices_) {
    const auto keep = [&](int columns) {
      return std::make_shared<KeptOnDevice>(device.sums_module, columns, copied_back_);
    };
    if (demand_.sums->request.keeps_values) device.kept.values = keep(shape.times * shape.saved);
    if (shape.events > 0) device.kept.event_times = keep(shape.events);
  }
}

double Program::allowed_memory(const LoadedDevice& device) const {
  const Driver& cu = driver();
  cu.check(cu.set_current(device.context), "cuCtxSetCurrent");
  std::size_t free = 0;
  std::size_t total = 0;
  cu.check(cu.memory_info(&free, &total), "cuMemGetInfo");
  if (device.thread_memory >= free) {
    throw DeviceError(fmt::format(
        "device memory: the threads' own memory would take {} MiB of {} that are free: set the other tier, or a "
        "larger device_tile",
        device.thread_memory >> 20, free >> 20));
  }
  return demand_.memory_mib > 0.0 ? demand_.memory_mib * 1048576.0
                                  : 0.5 * static_cast<double>(free - device.thread_memory);
}

double Program::memory_for_kept(double allowed) {
  if (!demand_.sums) return 0.0;
  const auto kept = static_cast<double>(BatchSums::bytes_kept(demand_.sums->request, demand_.shape)) *
                    static_cast<double>(demand_.instances);
  // Batches need memory too, and counts of instances have 32 bits.
  if (kept <= 0.5 * allowed && demand_.instances <= std::numeric_limits<std::uint32_t>::max()) return kept;
  demand_.sums.reset();
  return 0.0;
}

void Program::choose_batch_size() {
  const std::int64_t share = (demand_.instances + Program::workers() - 1) / Program::workers();
  std::int64_t fits = std::numeric_limits<std::int64_t>::max();
  std::int64_t resident = 0;  // instances in flight of a device
  if (tier_ == Tier::phased) slots_ = static_cast<int>(std::min<std::int64_t>(share, most_slots));
  std::vector<double> memory;
  for (const LoadedDevice& device : devices_) memory.push_back(allowed_memory(device));
  const double kept = memory_for_kept(*std::min_element(memory.begin(), memory.end()));
  for (std::size_t k = 0; k < devices_.size(); ++k) {
    const LoadedDevice& device = devices_[k];
    double allowed = (memory[k] - kept) / streams_per_device;
    const auto bytes = static_cast<double>(bytes_per_instance(device.layout, demand_));
    if (tier_ == Tier::phased) {
      // A batch refills each slot a few times.
      const auto bytes_of_slot = static_cast<double>(phased_bytes_per_slot(device.layout));
      allowed -= static_cast<double>(phased_bytes_per_stream(demand_.linear_solver, device.layout));
      slots_ = std::min(slots_, static_cast<int>(allowed / (bytes_of_slot + refills * bytes)));
      allowed -= slots_ * bytes_of_slot;
      resident = slots_;
    } else {
      resident = std::max(resident, std::int64_t{device.resident_blocks} * device.instances_of_block());
    }
    fits = std::min(fits, static_cast<std::int64_t>(allowed / bytes));
  }
  const bool too_little = fits < 32 || (tier_ == Tier::phased && slots_ < 1);
  if (too_little && !demand_.sums) {
    throw DeviceError(fmt::format(
        "device memory: {} streams of 32 instances do not fit the memory allowed; save fewer times, variables "
        "or events",
        Program::workers()));
  }
  // Enough instances to refill every place several times, and pieces small enough for all streams to get some.
  const std::int64_t full = std::max<std::int64_t>(refills * resident, 1024);
  // Of every batch the host keeps a few copies.
  const auto bytes = static_cast<std::int64_t>(bytes_per_instance(devices_.front().layout, demand_));
  const std::int64_t most = std::max<std::int64_t>(std::min({fits, most_batch, most_batch_bytes / bytes}), 32);
  batch_size_ = std::clamp<std::int64_t>(std::min(share, full), 32, most);
  if (!demand_.sums) return;
  batch_size_ = too_little ? 0 : batch_of_groups(std::min(share, full), most);
  if (batch_size_ > 0) return;
  demand_.sums.reset();
  choose_batch_size();
}

std::int64_t Program::batch_of_groups(std::int64_t suitable, std::int64_t fit) const {
  if (demand_.instances <= std::min(fit, rows_per_group)) return std::max<std::int64_t>(demand_.instances, 32);
  const std::int64_t groups = std::min((suitable + rows_per_group - 1) / rows_per_group, fit / rows_per_group);
  if (demand_.sums->request.summary_values == 0) return groups * rows_per_group;
  // Then all summaries of a batch but one have their other halves in it.
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(groups))) * rows_per_group;
}

Program::~Program() {
  for (const LoadedDevice& loaded : devices_) {
    driver().set_current(loaded.context);
    driver().unload_module(loaded.module);
    if (loaded.sampling_module != nullptr) driver().unload_module(loaded.sampling_module);
  }
}

std::string Program::shape() const {
  const LoadedDevice& device = devices_.front();
  if (tier_ == Tier::phased) {
    return fmt::format("a thread per instance and phase, blocks of {} threads, {} instances in flight per stream",
                       device.layout.block_size, slots_);
  }
  const int team = device.layout.team_size;
  return fmt::format("{}, blocks of {} threads, {} instances in flight",
                     team == 1 ? "a thread per instance" : fmt::format("a tile of {} threads per instance", team),
                     device.threads, device.resident_blocks * device.instances_of_block());
}

void Program::integrate(int worker, const KernelOptions& options, DeviceFeed& feed, Utilisation& utilisation) {
  const LoadedDevice& device = devices_[static_cast<std::size_t>(worker) % devices_.size()];
  driver().check(driver().set_current(device.context), "cuCtxSetCurrent");
  const auto batch_size = static_cast<std::size_t>(batch_size_);
  BatchWorker(device, tier_, demand_, batch_size, slots_, options).integrate(feed, *copied_back_, utilisation);
}

}  // namespace manyfold::cuda
