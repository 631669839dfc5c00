#pragma once
// Numbers of finished batches that stay in the memory of their device.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "host/engine/cuda/batch_array.hpp"
#include "host/engine/cuda/sums_module.hpp"
#include "host/engine/kept_columns.hpp"
#include "kernels/device/ranks.hpp"

namespace manyfold::cuda {

class KeptOnDevice : public KeptColumns {
 public:
  /// `copied_back`: bytes of answers are added to it.
  KeptOnDevice(std::shared_ptr<const SumsModule> module, int columns,
               std::shared_ptr<std::atomic<std::int64_t>> copied_back)
      : module_(std::move(module)), columns_(columns), copied_back_(std::move(copied_back)) {}
  ~KeptOnDevice() override { driver().set_current(module_->context()); }

  /// Room for `rows` rows, which count from now on. By the threads of several streams.
  double* add(int rows) {
    auto part = std::make_unique<Part>(rows, columns_);
    double* const values = part->values.get();
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
    return values;
  }

  void ask(const DigitQuestion& question) override {
    begin(question.first, question.leading.size() * digit_values);
    shifts_.emplace(question.shifts.data(), question.shifts.size());
    leading_.emplace(question.leading.data(), question.leading.size());
    each_part(module_->count_digits, "manyfold_count_digits", [&](const DeviceColumns& of) {
      return DeviceDigits{of, shifts_->get(), leading_->get(), counts_->get()};
    });
    end();
  }

  void ask(const BinQuestion& question) override {
    begin(question.first, question.edges.size() + static_cast<std::size_t>(columns_));
    edges_.emplace(question.edges.data(), question.edges.size());
    each_part(module_->count_bins, "manyfold_count_bins", [&](const DeviceColumns& of) {
      return DeviceBins{of, edges_->get(), counts_->get()};
    });
    end();
  }

  void answer(std::span<std::int64_t> counts) override {
    driver().check(driver().set_current(module_->context()), "cuCtxSetCurrent");
    stream_->synchronize();
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += (*answer_)[k];
  }

 private:
  struct Part {
    Part(int number_of_rows, int columns)
        : rows(number_of_rows), values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}
    int rows;
    DeviceArray<double> values;
  };

  void begin(const std::vector<int>& first, std::size_t counts) {
    driver().check(driver().set_current(module_->context()), "cuCtxSetCurrent");
    if (!stream_) stream_.emplace();
    first_.emplace(first.data(), first.size());
    size_ = counts;
    counts_.emplace(counts);
    answer_.emplace(counts);
    counts_->clear(stream_->get());
  }

  void each_part(CUfunction function, const char* name, const auto& arguments) {
    for (const std::unique_ptr<Part>& part : parts_) {
      constexpr int rows_per_thread = 64;
      constexpr int block = 128;
      const int slices = (part->rows + rows_per_thread - 1) / rows_per_thread;
      const DeviceColumns of{part->rows, columns_, slices, part->values.get(), first_->get()};
      launch(function, (slices * columns_ + block - 1) / block, block, 0, stream_->get(), name, arguments(of));
    }
  }

  void end() {
    counts_->copy_to(answer_->data(), size_, stream_->get());
    *copied_back_ += static_cast<std::int64_t>(size_ * sizeof(std::uint32_t));
  }

  std::shared_ptr<const SumsModule> module_;
  int columns_;
  std::shared_ptr<std::atomic<std::int64_t>> copied_back_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Part>> parts_;
  // The question that is being answered:
  std::optional<DeviceTable<int>> first_;
  std::optional<DeviceTable<int>> shifts_;
  std::optional<DeviceTable<std::uint64_t>> leading_;
  std::optional<DeviceTable<double>> edges_;
  std::size_t size_ = 0;
  std::optional<DeviceArray<std::uint32_t>> counts_;
  std::optional<PinnedArray<std::uint32_t>> answer_;
  std::optional<Stream> stream_;  // waits for its work before the arrays above go
};

}  // namespace manyfold::cuda
