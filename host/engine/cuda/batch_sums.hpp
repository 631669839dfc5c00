#pragma once
// Sums over the instances of a batch, which are all that comes back of it.
#include <memory>

#include "host/engine/cuda/batch_array.hpp"
#include "host/engine/group_sums.hpp"
#include "kernels/device/batch.hpp"
#include "kernels/device/sums.hpp"

namespace manyfold::cuda {

class BatchSums {
 public:
  /// For batches of at most `capacity` instances. `reduce` and `add_up`: of kernels/device/sums_kernel.hpp.
  BatchSums(const SumRequest& request, const InstanceShape& shape, std::size_t capacity, CUfunction reduce,
            CUfunction add_up)
      : terms_(request.terms.data(), request.terms.size()),
        term_end_(request.term_end.data(), request.term_end.size()),
        reduced_(capacity * request.term_end.size()),
        reduce_(reduce),
        add_up_(add_up) {
    sums_.times = shape.times;
    sums_.saved = shape.saved;
    sums_.columns = request.values ? shape.times * shape.saved : 0;
    sums_.reductions = request.reductions();
    sums_.terms = terms_.get();
    sums_.term_end = term_end_.get();
    sums_.reduced = reduced_.get();
    const auto groups = static_cast<std::size_t>(groups_of(static_cast<int>(capacity)));
    values_.allocate(groups, sums_.columns);
    reductions_.allocate(groups, sums_.reductions);
    outcomes_.allocate(groups, 1);
    sums_.value_moments = values_.get();
    sums_.reduced_moments = reductions_.get();
    sums_.outcome_sums = outcomes_.get();
  }

  static std::size_t bytes_per_instance(const SumRequest& request, const InstanceShape& shape) {
    const int columns = shape.times * shape.saved + request.reductions();
    const std::size_t of_group = static_cast<std::size_t>(columns) * sizeof(ColumnMoments) + sizeof(OutcomeSums);
    return request.term_end.size() * sizeof(double) + of_group / rows_per_group + 1;
  }

  /// Adds up `batch` once it is integrated. Returns the bytes that are copied.
  std::int64_t begin_copy_out(const DeviceBatch& batch, CUstream stream) {
    sums_.count = batch.count;
    sums_.time = batch.times;
    sums_.values = batch.values;
    sums_.outcomes = batch.outcomes;
    constexpr int block = 128;
    const auto blocks = [](int threads) { return (threads + block - 1) / block; };
    if (sums_.reductions > 0) launch(reduce_, blocks(sums_.count), block, 0, stream, "manyfold_reduce", sums_);
    launch(add_up_, blocks(threads_of_sums(sums_)), block, 0, stream, "manyfold_add_up", sums_);
    const auto groups = static_cast<std::size_t>(groups_of(sums_.count));
    return static_cast<std::int64_t>(values_.begin_copy_out(groups, stream) +
                                     reductions_.begin_copy_out(groups, stream) +
                                     outcomes_.begin_copy_out(groups, stream));
  }

  /// After the copy.
  std::shared_ptr<GroupSums> copy_out() const {
    auto result = std::make_shared<GroupSums>();
    const auto groups = static_cast<std::size_t>(groups_of(sums_.count));
    result->values.resize(groups * static_cast<std::size_t>(sums_.columns));
    result->reductions.resize(groups * static_cast<std::size_t>(sums_.reductions));
    result->outcomes.resize(groups);
    values_.copy_out(result->values);
    reductions_.copy_out(result->reductions);
    outcomes_.copy_out(result->outcomes);
    return result;
  }

 private:
  DeviceTable<ReductionTerm> terms_;
  DeviceTable<int> term_end_;
  DeviceArray<double> reduced_;
  BatchArray<ColumnMoments> values_;
  BatchArray<ColumnMoments> reductions_;
  BatchArray<OutcomeSums> outcomes_;
  DeviceSums sums_{};
  CUfunction reduce_;
  CUfunction add_up_;
};

}  // namespace manyfold::cuda
