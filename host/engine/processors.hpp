#pragma once
// The processors that this process may use, and threads on them.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace manyfold {

/// Those of its affinity mask (taskset, job schedulers), of which threads without a mask of their own have all.
inline int available_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  return std::max(1, CPU_COUNT(&mask));
}

/// Calls `work(0)` ... `work(count - 1)` from `threads` threads (0: one per processor). Throws what one of the calls
/// threw; the others may not have been made then.
template <class Work>
void in_threads(int threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = static_cast<std::size_t>(threads > 0 ? threads : available_processors());
    for (std::size_t i = 1; i < std::min(wanted, count); ++i) {
      try {
        others.emplace_back(take);
      } catch (const std::system_error&) {
        break;  // fewer do
      }
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace manyfold
