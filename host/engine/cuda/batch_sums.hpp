#pragma once
// Sums over the instances of a batch, which are all that comes back of it.
#include <memory>
#include <optional>
#include <utility>

#include "host/engine/cuda/batch_array.hpp"
#include "host/engine/cuda/batch_sketch.hpp"
#include "host/engine/cuda/kept_columns.hpp"
#include "host/engine/group_sums.hpp"
#include "kernels/device/batch.hpp"
#include "kernels/device/sums.hpp"

namespace manyfold::cuda {

/// What of its batches stays on a device; null: nothing does.
struct KeptOfDevice {
  std::shared_ptr<KeptOnDevice> values;
  std::shared_ptr<KeptOnDevice> event_times;
};

class BatchSums {
 public:
  /// For batches of at most `capacity` instances.
  BatchSums(const SumRequest& request, const InstanceShape& shape, std::size_t capacity,
            std::shared_ptr<const SumsModule> module, KeptOfDevice kept)
      : terms_(request.terms.data(), request.terms.size()),
        term_end_(request.term_end.data(), request.term_end.size()),
        end_places_(request.end_places.data(), request.end_places.size()),
        reduced_(capacity * request.term_end.size()),
        module_(std::move(module)),
        kept_(std::move(kept)) {
    sums_.times = shape.times;
    sums_.saved = shape.saved;
    sums_.columns = request.values ? shape.times * shape.saved : 0;
    sums_.end_width = shape.variables + shape.quantities();
    sums_.end_places = request.end_places.empty() ? nullptr : end_places_.get();
    sums_.events = shape.events;
    sums_.reductions = request.reductions();
    sums_.terms = terms_.get();
    sums_.term_end = term_end_.get();
    sums_.reduced = reduced_.get();
    const auto groups = static_cast<std::size_t>(groups_of(static_cast<int>(capacity)));
    values_.allocate(groups, sums_.columns);
    reductions_.allocate(groups, sums_.reductions);
    events_.allocate(groups, sums_.events);
    event_counts_.allocate(groups, std::int64_t{sums_.events} * sums_.times);
    outcomes_.allocate(groups, 1);
    if (request.summary_values > 0) sketch_.emplace(sums_.columns, request.summary_values, capacity, module_);
    sums_.value_moments = values_.get();
    sums_.reduced_moments = reductions_.get();
    sums_.event_moments = events_.get();
    sums_.event_counts = event_counts_.get();
    sums_.outcome_sums = outcomes_.get();
  }

  static std::size_t bytes_per_instance(const SumRequest& request, const InstanceShape& shape) {
    const int columns = shape.times * shape.saved + request.reductions() + shape.events;
    const std::size_t of_group = static_cast<std::size_t>(columns) * sizeof(ColumnMoments) +
                                 static_cast<std::size_t>(shape.events * shape.times) * sizeof(EventCount) +
                                 sizeof(OutcomeSums);
    const std::size_t of_sketch =
        request.summary_values > 0 ? BatchSketch::bytes_per_instance(shape.times * shape.saved) : 0;
    return request.term_end.size() * sizeof(double) + of_group / rows_per_group + 1 + of_sketch;
  }

  /// Bytes of an instance that stay on the device after its batch.
  static std::size_t bytes_kept(const SumRequest& request, const InstanceShape& shape) {
    const int values = request.keeps_values ? shape.times * shape.saved : 0;
    return static_cast<std::size_t>(values + shape.events) * sizeof(double);
  }

  /// Before `batch` is integrated: has what stays written where it stays.
  void begin(DeviceBatch& batch) {
    if (kept_.values) batch.values = kept_.values->add(batch.count);
    if (kept_.event_times) batch.first_event_times = kept_.event_times->add(batch.count);
  }

  /// Adds up `batch` once it is integrated. Returns the bytes that are copied.
  std::int64_t begin_copy_out(const DeviceBatch& batch, CUstream stream) {
    sums_.count = batch.count;
    sums_.time = batch.times;
    sums_.values = batch.values;
    sums_.outcomes = batch.outcomes;
    sums_.t_span = batch.t_span;
    sums_.end_states = batch.end_states;
    sums_.first_event_times = batch.first_event_times;
    constexpr int block = 128;
    const auto blocks = [](int threads) { return (threads + block - 1) / block; };
    if (sums_.reductions > 0 || sums_.end_places != nullptr) {
      launch(module_->reduce, blocks(sums_.count), block, 0, stream, "manyfold_reduce", sums_);
    }
    launch(module_->add_up, blocks(threads_of_sums(sums_)), block, 0, stream, "manyfold_add_up", sums_);
    const auto groups = static_cast<std::size_t>(groups_of(sums_.count));
    const std::int64_t of_sketch = sketch_ ? sketch_->begin_copy_out(batch, stream) : 0;
    return of_sketch + static_cast<std::int64_t>(
                           values_.begin_copy_out(groups, stream) + reductions_.begin_copy_out(groups, stream) +
                           events_.begin_copy_out(groups, stream) + event_counts_.begin_copy_out(groups, stream) +
                           outcomes_.begin_copy_out(groups, stream));
  }

  /// After the copy.
  std::shared_ptr<GroupSums> copy_out() const {
    auto result = std::make_shared<GroupSums>();
    const auto groups = static_cast<std::size_t>(groups_of(sums_.count));
    result->values.resize(groups * static_cast<std::size_t>(sums_.columns));
    result->reductions.resize(groups * static_cast<std::size_t>(sums_.reductions));
    result->outcomes.resize(groups);
    result->first_event_times.resize(groups * static_cast<std::size_t>(sums_.events));
    result->event_counts.resize(groups * static_cast<std::size_t>(sums_.events * sums_.times));
    values_.copy_out(result->values);
    reductions_.copy_out(result->reductions);
    outcomes_.copy_out(result->outcomes);
    events_.copy_out(result->first_event_times);
    event_counts_.copy_out(result->event_counts);
    if (sketch_) result->summaries = sketch_->copy_out();
    result->kept_values = kept_.values;
    result->kept_event_times = kept_.event_times;
    return result;
  }

 private:
  DeviceTable<ReductionTerm> terms_;
  DeviceTable<int> term_end_;
  DeviceTable<int> end_places_;
  DeviceArray<double> reduced_;
  BatchArray<ColumnMoments> values_;
  BatchArray<ColumnMoments> reductions_;
  BatchArray<ColumnMoments> events_;
  BatchArray<EventCount> event_counts_;
  BatchArray<OutcomeSums> outcomes_;
  DeviceSums sums_{};
  std::shared_ptr<const SumsModule> module_;
  KeptOfDevice kept_;
  std::optional<BatchSketch> sketch_;
};

}  // namespace manyfold::cuda
