#pragma once
// The quantile sketch of a batch: what comes back are the summaries whose other halves are in other batches.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/engine/cuda/memory.hpp"
#include "host/engine/cuda/sums_module.hpp"
#include "host/engine/group_sums.hpp"
#include "kernels/device/batch.hpp"
#include "kernels/device/sketch.hpp"

namespace manyfold::cuda {

class BatchSketch {
 public:
  /// For batches of at most `capacity` instances. `most`: values of a column in a summary.
  BatchSketch(int columns, int most, std::size_t capacity, std::shared_ptr<const SumsModule> module)
      : columns_(columns),
        most_(most),
        blocks_(static_cast<std::size_t>(summaries_of(static_cast<int>(capacity)))),
        values_{DeviceArray<double>(blocks_ * block_size()), DeviceArray<double>(blocks_ * block_size())},
        kept_{DeviceArray<SummaryColumn>(blocks_ * width()), DeviceArray<SummaryColumn>(blocks_ * width())},
        module_(std::move(module)) {}

  static std::size_t bytes_per_instance(int columns) {
    const auto width = static_cast<std::size_t>(columns);
    return 2 * width * (sizeof(double) + sizeof(SummaryColumn) / rows_per_summary + 1);
  }
  /// Returns the bytes that are copied.
  std::int64_t begin_copy_out(const DeviceBatch& batch, CUstream stream) {
    sort_blocks(batch, stream);
    // The blocks are the first summaries.
    const std::int64_t first = batch.first / rows_per_summary;
    const int count = summaries_of(batch.count);
    plan_copies(first, count);
    std::int64_t bytes = 0;
    std::size_t copied = 0;
    climb_tree(
        first, count, [&](int, std::int64_t, int place) { bytes += copy(copied++, place, stream); },
        [&](int level, std::int64_t first_pair, int pairs, int place) {
          merge(level, first_pair, pairs, place, stream);
        });
    return bytes;
  }

  /// After the copy.
  std::vector<BatchSummary> copy_out() const {
    std::vector<BatchSummary> result;
    for (const Copy& copied : copies_) {
      const double* values = host_values_->data() + copied.at;
      const SummaryColumn* kept = host_kept_->data() + result.size() * width();
      result.push_back({copied.level,
                        copied.number,
                        {kept, kept + width()},
                        {values, values + size_of(room_of_level(copied.level, most_))}});
    }
    return result;
  }

 private:
  /// A summary that comes back, and where its values lie on the host.
  struct Copy {
    int level;
    std::int64_t number;
    std::size_t at;
  };

  std::size_t width() const { return static_cast<std::size_t>(columns_); }
  std::size_t size_of(int room) const { return width() * static_cast<std::size_t>(room); }
  std::size_t block_size() const { return size_of(rows_per_summary); }

  template <class Arguments>
  void start(CUfunction function, const char* name, int threads, CUstream stream, const Arguments& arguments) const {
    constexpr int block = 128;
    launch(function, (threads + block - 1) / block, block, 0, stream, name, arguments);
  }

  void sort_blocks(const DeviceBatch& batch, CUstream stream) {
    present_ = 0;
    DeviceRuns runs{batch.count, columns_, batch.values, rows_per_run, nullptr, values_[0].get(), nullptr};
    start(module_->sort_runs, "manyfold_sort_runs", threads_that_sort(runs), stream, runs);
    for (; runs.run < rows_per_summary; runs.run *= 2) {
      runs.from = values_[present_].get();
      present_ = 1 - present_;
      runs.to = values_[present_].get();
      start(module_->merge_runs, "manyfold_merge_runs", threads_that_merge_runs(runs), stream, runs);
    }
    runs.kept = kept_[present_].get();
    start(module_->count_summaries, "manyfold_count_summaries", threads_that_count(runs), stream, runs);
  }

  /// Makes room on the host for what comes back.
  void plan_copies(std::int64_t first, int count) {
    copies_.clear();
    std::size_t size = 0;
    climb_tree(
        first, count,
        [&](int level, std::int64_t number, int) {
          copies_.push_back({level, number, size});
          size += size_of(room_of_level(level, most_));
        },
        [](int, std::int64_t, int, int) {});
    if (size <= host_size_ && copies_.size() <= host_copies_) return;
    host_size_ = size;
    host_copies_ = copies_.size();
    host_values_.emplace(host_size_);
    host_kept_.emplace(host_copies_ * width());
  }

  /// Number `number` of the copies: summary `place` of those that are present. Returns the bytes.
  std::int64_t copy(std::size_t number, int place, CUstream stream) const {
    const std::size_t size = size_of(room_of_level(copies_[number].level, most_));
    const auto at = static_cast<std::size_t>(place);
    values_[present_].copy_to(host_values_->data() + copies_[number].at, size, stream, at * size);
    kept_[present_].copy_to(host_kept_->data() + number * width(), width(), stream, at * width());
    return static_cast<std::int64_t>(size * sizeof(double) + width() * sizeof(SummaryColumn));
  }

  void merge(int level, std::int64_t first_pair, int pairs, int place, CUstream stream) {
    const int room = room_of_level(level, most_);
    const auto at = static_cast<std::size_t>(place);
    const DeviceMerge merge{pairs,
                            columns_,
                            level,
                            first_pair,
                            room,
                            room_of_level(level + 1, most_),
                            values_[present_].get() + at * size_of(room),
                            kept_[present_].get() + at * width(),
                            values_[1 - present_].get(),
                            kept_[1 - present_].get()};
    start(module_->merge_summaries, "manyfold_merge_summaries", threads_that_merge(merge), stream, merge);
    present_ = 1 - present_;
  }

  int columns_;
  int most_;
  std::size_t blocks_;
  // The summaries of a level, and those of the next.
  std::array<DeviceArray<double>, 2> values_;
  std::array<DeviceArray<SummaryColumn>, 2> kept_;
  std::shared_ptr<const SumsModule> module_;
  int present_ = 0;
  std::vector<Copy> copies_;
  std::size_t host_size_ = 0;
  std::size_t host_copies_ = 0;
  std::optional<PinnedArray<double>> host_values_;
  std::optional<PinnedArray<SummaryColumn>> host_kept_;
};

}  // namespace manyfold::cuda
