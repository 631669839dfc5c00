#pragma once
// Memory, streams, events and launches of the CUDA driver. All throw DeviceError.
#include <algorithm>
#include <cstddef>

#include "host/engine/cuda/driver.hpp"

namespace manyfold::cuda {

/// Device memory of `count` elements.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    driver().check(driver().allocate(&address_, std::max<std::size_t>(count, 1) * sizeof(T)), "cuMemAlloc");
  }
  ~DeviceArray() { driver().free(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return reinterpret_cast<T*>(address_); }
  CUdeviceptr address() const { return address_; }

  void copy_from(const T* host, std::size_t count, CUstream stream) {
    if (count > 0) driver().check(driver().copy_to_device(address_, host, count * sizeof(T), stream), "cuMemcpyHtoD");
  }
  /// From number `first` on.
  void copy_to(T* host, std::size_t count, CUstream stream, std::size_t first = 0) const {
    if (count == 0) return;
    driver().check(driver().copy_to_host(host, address_ + first * sizeof(T), count * sizeof(T), stream),
                   "cuMemcpyDtoH");
  }
  void clear(CUstream stream) {
    if (count_ > 0) driver().check(driver().set_bytes(address_, 0, count_ * sizeof(T), stream), "cuMemsetD8");
  }

 private:
  std::size_t count_;
  CUdeviceptr address_ = 0;
};

/// Page-locked host memory, from which devices copy while the host works on.
template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t count) {
    void* memory = nullptr;
    driver().check(driver().allocate_host(&memory, std::max<std::size_t>(count, 1) * sizeof(T)), "cuMemAllocHost");
    data_ = static_cast<T*>(memory);
  }
  ~PinnedArray() { driver().free_host(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() { driver().check(driver().create_stream(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
  /// Waits: what is on its way uses memory that is freed after the stream.
  ~Stream() {
    driver().synchronize_stream(stream_);
    driver().destroy_stream(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const { driver().check(driver().synchronize_stream(stream_), "cuStreamSynchronize"); }
  bool busy() const {
    const CUresult result = driver().query_stream(stream_);
    if (result == CUDA_ERROR_NOT_READY) return true;
    driver().check(result, "kernel");
    return false;
  }

 private:
  CUstream stream_ = nullptr;
};

/// A place in the work of a stream.
class Event {
 public:
  Event() { driver().check(driver().create_event(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate"); }
  ~Event() { driver().destroy_event(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// `follower` goes on when what `leader` has to do by now is done.
  void order(CUstream leader, CUstream follower) const {
    driver().check(driver().record_event(event_, leader), "cuEventRecord");
    driver().check(driver().wait_for_event(follower, event_, CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
  }

 private:
  CUevent event_ = nullptr;
};

/// Runs `function` on `blocks` blocks of `threads` threads. `arguments`: their addresses.
inline void launch_with(CUfunction function, int blocks, int threads, unsigned shared_memory, CUstream stream,
                        const char* name, void** arguments) {
  driver().check(driver().launch(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1,
                                 shared_memory, stream, arguments, nullptr),
                 name);
}

template <class... Arguments>
void launch(CUfunction function, int blocks, int threads, unsigned shared_memory, CUstream stream, const char* name,
            Arguments... arguments) {
  void* addresses[] = {&arguments...};
  launch_with(function, blocks, threads, shared_memory, stream, name, addresses);
}

}  // namespace manyfold::cuda
