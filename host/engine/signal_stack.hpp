#pragma once
// Where a thread handles the signal that its own stack is used up.
#include <signal.h>

#include <cstddef>
#include <memory>
#include <new>

namespace manyfold {

/// Of the thread that makes it, while it exists. Without memory there is none.
class SignalStack {
 public:
  SignalStack() : memory_(new (std::nothrow) char[size]) {
    if (memory_ == nullptr) return;
    stack_t own{};
    own.ss_sp = memory_.get();
    own.ss_size = size;
    sigaltstack(&own, &before_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() {
    if (memory_ != nullptr) sigaltstack(&before_, nullptr);
  }

 private:
  static constexpr std::size_t size = 65536;  // the registers of AVX-512 alone take 3 KiB
  std::unique_ptr<char[]> memory_;
  stack_t before_{};
};

}  // namespace manyfold
