#include "host/engine/cuda/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include <fmt/format.h>

namespace manyfold::cuda {
namespace {

/// Instances in flight of a stream of the lockstep tier at most: enough to fill the largest devices with matrices.
constexpr std::int64_t most_slots = 4096;

/// How often a batch refills the place of an instance, so that its stragglers count little.
constexpr int refills = 8;

/// Entries in the event log of an instance, and the numbers of all of them.
std::size_t event_capacity_of(const DeviceLayout& layout, const DeviceDemand& demand) {
  return layout.events > 0 ? static_cast<std::size_t>(demand.event_log) : 0;
}
std::size_t event_numbers_of(const DeviceLayout& layout, const DeviceDemand& demand) {
  return event_capacity_of(layout, demand) * 2 * static_cast<std::size_t>(demand.saved_count + layout.discrete);
}

/// Bytes per instance on the device, and in page-locked memory but for `ready_size`.
std::size_t bytes_per_instance(const DeviceLayout& layout, const DeviceDemand& demand) {
  const auto n = static_cast<std::size_t>(layout.variables);
  const auto times = static_cast<std::size_t>(demand.time_count);
  const std::size_t doubles = static_cast<std::size_t>(layout.parameters + layout.initial) + 2 + times +
                              times * static_cast<std::size_t>(demand.saved_count) + (demand.end_states ? 2 * n : 0) +
                              event_numbers_of(layout, demand) + static_cast<std::size_t>(layout.events);
  return doubles * sizeof(double) + event_capacity_of(layout, demand) * sizeof(EventRecord) + sizeof(InstanceOutcome) +
         static_cast<std::size_t>(layout.ready_size);
}

/// The data of one batch, on the host and on the device.
class BatchMemory {
 public:
  BatchMemory(std::size_t capacity, const DeviceLayout& layout, const DeviceDemand& demand)
      : variables_(static_cast<std::size_t>(layout.variables)),
        initial_(static_cast<std::size_t>(layout.initial)),
        parameters_(static_cast<std::size_t>(layout.parameters)),
        times_(static_cast<std::size_t>(demand.time_count)),
        saved_(static_cast<std::size_t>(demand.saved_count)),
        end_state_(demand.end_states ? 2 * variables_ : 0),
        events_(static_cast<std::size_t>(layout.events)),
        event_capacity_(event_capacity_of(layout, demand)),
        event_numbers_(event_numbers_of(layout, demand)),
        host_parameters_(capacity * parameters_),
        host_initial_(capacity * initial_),
        host_t_span_(capacity * 2),
        host_times_(capacity * times_),
        host_values_(capacity * times_ * saved_),
        host_end_states_(capacity * end_state_),
        host_outcomes_(capacity),
        host_events_(capacity * event_capacity_),
        host_event_values_(capacity * event_numbers_),
        host_first_event_times_(capacity * events_),
        parameters_array_(capacity * parameters_),
        initial_array_(capacity * initial_),
        t_span_array_(capacity * 2),
        times_array_(capacity * times_),
        values_array_(capacity * times_ * saved_),
        end_states_array_(capacity * end_state_),
        outcomes_array_(capacity),
        events_array_(capacity * event_capacity_),
        event_values_array_(capacity * event_numbers_),
        first_event_times_array_(capacity * events_),
        ready_array_(capacity * static_cast<std::size_t>(layout.ready_size)),
        next_(1) {}

  void put(std::size_t i, const Assignment& assignment) {
    std::copy_n(assignment.parameters, parameters_, host_parameters_.data() + i * parameters_);
    std::copy_n(assignment.initial, initial_, host_initial_.data() + i * initial_);
    host_t_span_[2 * i] = assignment.t_begin;
    host_t_span_[2 * i + 1] = assignment.t_end;
    std::copy_n(assignment.times, times_, host_times_.data() + i * times_);
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(host_values_.data() + i * times_ * saved_, times_ * saved_, missing);
    std::fill_n(host_first_event_times_.data() + i * events_, events_, missing);
    host_outcomes_[i] = InstanceOutcome{};
    host_outcomes_[i].t_reached = assignment.t_begin;
  }

  void copy_in(std::size_t count, CUstream stream) {
    parameters_array_.copy_from(host_parameters_.data(), count * parameters_, stream);
    initial_array_.copy_from(host_initial_.data(), count * initial_, stream);
    t_span_array_.copy_from(host_t_span_.data(), count * 2, stream);
    times_array_.copy_from(host_times_.data(), count * times_, stream);
    values_array_.copy_from(host_values_.data(), count * times_ * saved_, stream);
    outcomes_array_.copy_from(host_outcomes_.data(), count, stream);
    first_event_times_array_.copy_from(host_first_event_times_.data(), count * events_, stream);
    next_.clear(stream);
  }

  void copy_out(std::size_t count, CUstream stream) {
    values_array_.copy_to(host_values_.data(), count * times_ * saved_, stream);
    end_states_array_.copy_to(host_end_states_.data(), count * end_state_, stream);
    outcomes_array_.copy_to(host_outcomes_.data(), count, stream);
    events_array_.copy_to(host_events_.data(), count * event_capacity_, stream);
    event_values_array_.copy_to(host_event_values_.data(), count * event_numbers_, stream);
    first_event_times_array_.copy_to(host_first_event_times_.data(), count * events_, stream);
  }

  /// Instance i's results into `assignment`.
  const InstanceOutcome& get(std::size_t i, const Assignment& assignment) const {
    std::copy_n(host_values_.data() + i * times_ * saved_, times_ * saved_, assignment.values);
    if (assignment.end_state != nullptr) {
      std::copy_n(host_end_states_.data() + i * end_state_, end_state_, assignment.end_state);
    }
    const InstanceOutcome& outcome = host_outcomes_[i];
    if (event_capacity_ > 0) {
      const auto logged = std::min(static_cast<std::size_t>(outcome.counters.events), event_capacity_);
      std::copy_n(host_events_.data() + i * event_capacity_, logged, assignment.events);
      std::copy_n(host_event_values_.data() + i * event_numbers_, event_numbers_ / event_capacity_ * logged,
                  assignment.event_values);
    }
    std::copy_n(host_first_event_times_.data() + i * events_, events_, assignment.first_event_times);
    return outcome;
  }

  DeviceBatch batch(std::int64_t first, std::size_t count) const {
    DeviceBatch batch{};
    batch.first = first;
    batch.count = static_cast<int>(count);
    batch.parameters = parameters_array_.get();
    batch.initial = initial_array_.get();
    batch.t_span = t_span_array_.get();
    batch.times = times_array_.get();
    batch.time_count = static_cast<int>(times_);
    batch.values = values_array_.get();
    batch.end_states = end_state_ > 0 ? end_states_array_.get() : nullptr;
    batch.outcomes = outcomes_array_.get();
    batch.events = events_array_.get();
    batch.event_values = event_values_array_.get();
    batch.event_capacity = static_cast<int>(event_capacity_);
    batch.first_event_times = first_event_times_array_.get();
    batch.ready = ready_array_.get();
    batch.next = next_.get();
    return batch;
  }

 private:
  std::size_t variables_;
  std::size_t initial_;
  std::size_t parameters_;
  std::size_t times_;
  std::size_t saved_;
  std::size_t end_state_;
  std::size_t events_;
  std::size_t event_capacity_;
  std::size_t event_numbers_;  ///< in the log of an instance
  PinnedArray<double> host_parameters_;
  PinnedArray<double> host_initial_;
  PinnedArray<double> host_t_span_;
  PinnedArray<double> host_times_;
  PinnedArray<double> host_values_;
  PinnedArray<double> host_end_states_;
  PinnedArray<InstanceOutcome> host_outcomes_;
  PinnedArray<EventRecord> host_events_;
  PinnedArray<double> host_event_values_;
  PinnedArray<double> host_first_event_times_;
  DeviceArray<double> parameters_array_;
  DeviceArray<double> initial_array_;
  DeviceArray<double> t_span_array_;
  DeviceArray<double> times_array_;
  DeviceArray<double> values_array_;
  DeviceArray<double> end_states_array_;
  DeviceArray<InstanceOutcome> outcomes_array_;
  DeviceArray<EventRecord> events_array_;
  DeviceArray<double> event_values_array_;
  DeviceArray<double> first_event_times_array_;
  DeviceArray<char> ready_array_;
  DeviceArray<int> next_;
};

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
        "whose blocks have {} KiB: set tier = \"lockstep\", device_tile = 1, or a smaller device_block",
        first, layout.team_size, (layout.shared_memory + 1023) / 1024, most_shared_memory / 1024));
  }
  cu.check(cu.set_function_attribute(loaded.integrate, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(loaded.shared_memory)),
           "cuFuncSetAttribute");
}

LoadedDevice load_device(CUdevice device, const DeviceCode& code, Tier tier) {
  const Driver& cu = driver();
  LoadedDevice loaded;
  loaded.device = device;
  cu.check(cu.retain_context(&loaded.context, device), "cuDevicePrimaryCtxRetain");
  cu.check(cu.set_current(loaded.context), "cuCtxSetCurrent");
  cu.check(cu.load_module(&loaded.module, code.binary.data()), "cuModuleLoadData");
  CUfunction layout = nullptr;
  const bool fused = tier == Tier::fused;
  cu.check(cu.get_function(&layout, loaded.module, fused ? "manyfold_layout" : "manyfold_lockstep_layout"),
           "cuModuleGetFunction");
  cu.check(cu.get_function(&loaded.prepare, loaded.module, "manyfold_prepare"), "cuModuleGetFunction");
  if (fused) {
    cu.check(cu.get_function(&loaded.initialize, loaded.module, "manyfold_initialize"), "cuModuleGetFunction");
    cu.check(cu.get_function(&loaded.integrate, loaded.module, "manyfold_integrate"), "cuModuleGetFunction");
  } else {
    loaded.lockstep = LockstepFunctions::of(loaded.module);
  }
  const DeviceArray<DeviceLayout> answer(1);
  const Stream stream;
  launch(layout, 1, 1, 0, stream.get(), "manyfold_layout", answer.get());
  answer.copy_to(&loaded.layout, 1, stream.get());
  stream.synchronize();
  if (loaded.layout.interface_version != kernel_interface_version) {
    throw DeviceError("the compiled device kernel does not fit this version; empty the kernel cache");
  }
  if (fused) {
    choose_block(loaded);
  } else if (!loaded.layout.lockstep.sparse && !blas().failure.empty()) {
    throw DeviceError("tier 'lockstep': " + blas().failure);
  }
  return loaded;
}

}  // namespace

Program::Program(const std::vector<CUdevice>& devices, const std::vector<DeviceCode>& codes, Tier tier,
                 const DeviceDemand& demand)
    : tier_(tier), demand_(demand) {
  for (std::size_t i = 0; i < devices.size(); ++i) devices_.push_back(load_device(devices[i], codes[i], tier));
  choose_batch_size();
}

void Program::choose_batch_size() {
  const Driver& cu = driver();
  const std::int64_t share = (demand_.instances + workers() - 1) / workers();
  std::int64_t fits = std::numeric_limits<std::int64_t>::max();
  std::int64_t resident = 0;  // instances in flight of a device
  if (tier_ == Tier::lockstep) slots_ = static_cast<int>(std::min<std::int64_t>(share, most_slots));
  for (const LoadedDevice& device : devices_) {
    cu.check(cu.set_current(device.context), "cuCtxSetCurrent");
    std::size_t free = 0;
    std::size_t total = 0;
    cu.check(cu.memory_info(&free, &total), "cuMemGetInfo");
    double allowed = (demand_.memory_mib > 0.0 ? demand_.memory_mib * 1048576.0 : 0.5 * static_cast<double>(free)) /
                     streams_per_device;
    const auto bytes = static_cast<double>(bytes_per_instance(device.layout, demand_));
    if (tier_ == Tier::lockstep) {
      // A batch refills each slot a few times.
      const auto bytes_of_slot = static_cast<double>(lockstep_bytes_per_slot(device.layout));
      allowed -= static_cast<double>(lockstep_bytes_per_stream(device.layout));
      slots_ = std::min(slots_, static_cast<int>(allowed / (bytes_of_slot + refills * bytes)));
      allowed -= slots_ * bytes_of_slot;
      resident = slots_;
    } else {
      resident = std::max(resident, std::int64_t{device.resident_blocks} * device.instances_of_block());
    }
    fits = std::min(fits, static_cast<std::int64_t>(allowed / bytes));
  }
  if (fits < 32 || (tier_ == Tier::lockstep && slots_ < 1)) {
    throw DeviceError(fmt::format(
        "device memory: {} streams of 32 instances do not fit the memory allowed; save fewer times, variables "
        "or events",
        workers()));
  }
  // Enough instances to refill every place several times, and pieces small enough for all streams to get some.
  const std::int64_t full = std::max<std::int64_t>(refills * resident, 1024);
  batch_size_ = std::clamp<std::int64_t>(std::min(share, full), 32, std::min<std::int64_t>(fits, 1 << 20));
}

Program::~Program() {
  for (const LoadedDevice& loaded : devices_) {
    driver().set_current(loaded.context);
    driver().unload_module(loaded.module);
    driver().release_context(loaded.device);
  }
}

std::string Program::shape() const {
  const LoadedDevice& device = devices_.front();
  if (tier_ == Tier::lockstep) {
    return fmt::format("a thread per instance and phase, blocks of {} threads, {} instances in flight per stream",
                       device.layout.block_size, slots_);
  }
  const int team = device.layout.team_size;
  return fmt::format("{}, blocks of {} threads, {} instances in flight",
                     team == 1 ? "a thread per instance" : fmt::format("a tile of {} threads per instance", team),
                     device.threads, device.resident_blocks * device.instances_of_block());
}

void Program::integrate_fused(const LoadedDevice& device, const DeviceBatch& batch, CUstream stream) const {
  const int block = device.layout.block_size;
  launch(device.initialize, (batch.count + block - 1) / block, block, 0, stream, "manyfold_initialize", batch);
  const int instances = device.instances_of_block();
  launch(device.integrate, std::min((batch.count + instances - 1) / instances, device.resident_blocks), device.threads,
         device.shared_memory, stream, "manyfold_integrate", batch);
}

void Program::integrate(int worker, const KernelOptions& options, KernelFeed& feed, Utilisation& utilisation) {
  const Driver& cu = driver();
  const LoadedDevice& device = devices_[static_cast<std::size_t>(worker) % devices_.size()];
  cu.check(cu.set_current(device.context), "cuCtxSetCurrent");
  const DeviceLayout& layout = device.layout;
  const auto capacity = static_cast<std::size_t>(batch_size_);
  BatchMemory memory(capacity, layout, demand_);
  const auto variables = static_cast<std::size_t>(layout.variables);
  DeviceArray<double> atol(variables);
  DeviceArray<int> place(variables);
  DeviceArray<char> settings(static_cast<std::size_t>(layout.options_size));
  DeviceArray<int> cancelled(1);
  DeviceArray<Utilisation> used(1);
  const Stream stream;
  // Signals must reach a kernel that is running: they travel on a stream of their own.
  const Stream signals;
  atol.copy_from(options.atol, variables, stream.get());
  place.copy_from(options.saved.place, variables, stream.get());
  cancelled.clear(stream.get());
  used.clear(stream.get());
  KernelOptions device_options = options;
  device_options.atol = atol.get();
  device_options.saved.place = place.get();
  launch(device.prepare, 1, 1, 0, stream.get(), "manyfold_prepare", device_options, settings.address());
  stream.synchronize();

  std::optional<Lockstep> lockstep;
  if (tier_ == Tier::lockstep) lockstep.emplace(device.lockstep, layout, slots_, stream.get());

  std::vector<Assignment> assignments(capacity);
  while (!feed.cancelled(feed.context)) {
    std::size_t count = 0;
    while (count < capacity) {
      const auto most = static_cast<int>(capacity - count);
      const int taken = feed.take(feed.context, assignments.data() + count, most, count == 0);
      if (taken == 0) break;
      count += static_cast<std::size_t>(taken);
    }
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) memory.put(i, assignments[i]);
    memory.copy_in(count, stream.get());
    DeviceBatch batch = memory.batch(0, count);
    batch.saved = device_options.saved;
    batch.options = reinterpret_cast<const void*>(settings.address());
    batch.cancelled = cancelled.get();
    batch.utilisation = used.get();
    bool told = false;
    const auto watch = [&] {
      if (told || !feed.cancelled(feed.context)) return;
      const int yes = 1;
      cancelled.copy_from(&yes, 1, signals.get());
      signals.synchronize();
      told = true;
    };
    if (lockstep) {
      lockstep->integrate(batch, watch, utilisation);
    } else {
      integrate_fused(device, batch, stream.get());
    }
    memory.copy_out(count, stream.get());
    while (stream.busy()) {
      watch();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const InstanceOutcome& outcome = memory.get(i, assignments[i]);
      feed.store(feed.context, assignments[i], outcome);
    }
  }
  Utilisation mine;
  used.copy_to(&mine, 1, stream.get());
  stream.synchronize();
  utilisation.lane_ticks += mine.lane_ticks;
  utilisation.ticks += mine.ticks;
  utilisation.lane_iterations += mine.lane_iterations;
  utilisation.iterations += mine.iterations;
}

}  // namespace manyfold::cuda
