#pragma once
// Arrays in the memory of a device.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/engine/cuda/memory.hpp"

namespace manyfold::cuda {

/// An array of one batch on the device, and in page-locked memory from where it is copied while the host works on.
template <class T>
class BatchArray {
 public:
  /// `width`: elements of an instance. `travels`: it is copied to or from the host.
  void allocate(std::size_t capacity, std::int64_t width, bool travels = true) {
    width_ = static_cast<std::size_t>(width);
    if (travels) host_.emplace(capacity * width_);
    device_.emplace(capacity * width_);
  }
  void copy_in(const std::vector<T>& from, CUstream stream) {
    std::copy(from.begin(), from.end(), host_->data());
    device_->copy_from(host_->data(), from.size(), stream);
  }
  /// Returns the bytes.
  std::size_t begin_copy_out(std::size_t count, CUstream stream) {
    device_->copy_to(host_->data(), count * width_, stream);
    return count * width_ * sizeof(T);
  }
  /// After the copy.
  void copy_out(std::vector<T>& to) const { std::copy_n(host_->data(), to.size(), to.begin()); }
  void clear(CUstream stream) { device_->clear(stream); }
  T* get() const { return width_ > 0 ? device_->get() : nullptr; }

 private:
  std::size_t width_ = 0;
  std::optional<PinnedArray<T>> host_;
  std::optional<DeviceArray<T>> device_;
};

/// Numbers that stay in device memory.
template <class T>
class DeviceTable {
 public:
  DeviceTable(const T* numbers, std::size_t count) : numbers_(count) {
    const Stream stream;
    numbers_.copy_from(numbers, count, stream.get());
    stream.synchronize();
  }
  const T* get() const { return numbers_.get(); }

 private:
  DeviceArray<T> numbers_;
};

}  // namespace manyfold::cuda
