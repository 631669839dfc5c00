#pragma once
// What a batch, and the computation of its inputs, have in the memory of a device.
#include "host/engine/chunk_queue.hpp"
#include "host/engine/cuda/batch_array.hpp"
#include "host/engine/device.hpp"
#include "kernels/device/batch.hpp"
#include "kernels/device/sampling.hpp"

namespace manyfold::cuda {

/// The data of one batch.
class BatchMemory {
 public:
  BatchMemory(std::size_t capacity, const DeviceLayout& layout, const DeviceDemand& demand)
      : shape_(demand.shape), ready_(capacity * static_cast<std::size_t>(layout.ready_size)), next_(1) {
    // Of instances that are added up inputs may travel; what stays after the batch has memory of its own.
    each([&](const Column& column, auto& array) {
      const void* const address = &array;
      const bool kept = demand.sums && (address == &columns_.first_event_times ||
                                        (address == &columns_.values && demand.sums->request.keeps_values));
      const bool travels = !demand.sums || (column.role == ColumnRole::input && !demand.sampling);
      array.allocate(capacity, kept ? 0 : column.width, travels);
    });
  }

  /// Once, before the first batch: logs are copied whole, also where nothing was written.
  void clear_logs(CUstream stream) {
    each([&](const Column& column, auto& array) {
      if (column.role == ColumnRole::log) array.clear(stream);
    });
  }

  /// The inputs of `chunk` to the device.
  void copy_in(const Chunk& chunk, CUstream stream) {
    each(
        [&](const Column& column, auto& array, const auto& from) {
          if (column.role == ColumnRole::input) array.copy_in(from, stream);
        },
        chunk);
  }

  /// Results, and inputs if they were computed there, from the device. Returns the bytes.
  std::int64_t begin_copy_out(std::size_t count, bool with_inputs, CUstream stream) {
    std::size_t bytes = 0;
    each([&](const Column& column, auto& array) {
      if (comes_back(column, &array, with_inputs)) bytes += array.begin_copy_out(count, stream);
    });
    return static_cast<std::int64_t>(bytes);
  }
  /// After the copy.
  void copy_out(Chunk& chunk, bool with_inputs) {
    each(
        [&](const Column& column, const auto& array, auto& to) {
          if (comes_back(column, &array, with_inputs)) array.copy_out(to);
        },
        chunk);
  }

  /// The instances of a batch, and an empty queue.
  DeviceBatch batch(std::size_t count, CUstream stream) {
    next_.clear(stream);
    DeviceBatch batch{};
    each([](const Column&, const auto& array, auto*& address) { address = array.get(); }, batch);
    batch.count = static_cast<int>(count);
    batch.shape = shape_;
    batch.ready = ready_.get();
    batch.next = next_.get();
    return batch;
  }

 private:
  /// Output times follow from the time span: the host computes them itself.
  bool comes_back(const Column& column, const void* array, bool with_inputs) const {
    return column.role != ColumnRole::input || (with_inputs && array != &columns_.times);
  }

  /// Visits all arrays, with the columns of `others` beside them.
  void each(auto&& visit, auto&... others) { for_each_column(shape_, visit, columns_, others...); }

  InstanceShape shape_;
  Columns<BatchArray> columns_;
  DeviceArray<char> ready_;
  DeviceArray<int> next_;
};

/// A plan whose numbers are in device memory.
class DevicePlan {
 public:
  explicit DevicePlan(const InputPlan& plan)
      : targets_(plan.targets, size(plan.target_count)),
        table_(plan.table, size(plan.table_size)),
        parameters_(plan.parameters, size(plan.parameter_count)),
        initial_(plan.initial, size(plan.initial_count)),
        times_(plan.times, plan.times != nullptr ? size(plan.time_count) : 0),
        directions_(plan.points.directions, sobol_dimensions(plan) * UnitPoints::sobol_bits),
        scrambles_(plan.points.scrambles, sobol_dimensions(plan)),
        plan_(plan) {
    plan_.targets = targets_.get();
    plan_.table = table_.get();
    plan_.parameters = parameters_.get();
    plan_.initial = initial_.get();
    plan_.times = plan.times != nullptr ? times_.get() : nullptr;
    plan_.points.directions = directions_.get();
    plan_.points.scrambles = scrambles_.get();
  }
  const InputPlan& get() const { return plan_; }

 private:
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }
  static std::size_t sobol_dimensions(const InputPlan& plan) {
    return plan.points.directions != nullptr ? size(plan.target_count) : 0;
  }

  DeviceTable<SampledTarget> targets_;
  DeviceTable<double> table_;
  DeviceTable<double> parameters_;
  DeviceTable<double> initial_;
  DeviceTable<double> times_;
  DeviceTable<std::uint32_t> directions_;
  DeviceTable<std::uint32_t> scrambles_;
  InputPlan plan_;
};

}  // namespace manyfold::cuda
