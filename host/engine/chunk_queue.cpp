#include "host/engine/chunk_queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace manyfold {
namespace {

constexpr std::int64_t smallest_chunk = 16;  // some packs: lanes are refilled by the pack
constexpr std::int64_t widest_pack = 8;      // with double precision
constexpr std::int64_t most_memory = std::int64_t{1} << 30;
constexpr std::int64_t block = 64;  // statistics are added up by that many instances
constexpr auto patience = std::chrono::milliseconds(100);

}  // namespace

ChunkSizes chunk_sizes(std::int64_t bytes_per_instance, int workers) {
  const std::int64_t bytes = std::max<std::int64_t>(bytes_per_instance, 1);
  const std::int64_t least_open = 2 * std::int64_t{workers} + 2;  // one is handed out, one ends, one is written
  std::int64_t largest =
      std::clamp<std::int64_t>((std::int64_t{1} << 21) / bytes / block * block, smallest_chunk, 16384);
  if (most_memory / bytes < least_open * largest) largest = widest_pack;
  const std::int64_t fitting = most_memory / bytes / largest;
  const std::int64_t open = std::clamp<std::int64_t>(fitting, least_open, 2 * least_open + 4);
  return {largest, ChunkRows::all, true, static_cast<std::size_t>(open)};
}

ChunkQueue::ChunkQueue(const InstanceShape& shape, std::int64_t first, std::int64_t end, int workers,
                       const ChunkSizes& sizes, const std::atomic<bool>* stop)
    : shape_(shape), end_(end), workers_(workers), sizes_(sizes), stop_(stop), next_(first), workers_left_(workers) {}

OpenChunk* ChunkQueue::open(bool wait) {
  std::unique_lock lock(mutex_);
  while (!stopped() && next_ != end_) {
    if (open_.size() < sizes_.most_open) return next_chunk(lock);
    if (!wait) return nullptr;
    changed_.wait_for(lock, patience);
  }
  return nullptr;
}

std::int64_t ChunkQueue::next_size() const {
  const std::int64_t left = end_ - next_;
  if (!sizes_.shrinking) return std::min(sizes_.largest, left);
  const std::int64_t smallest = std::min(smallest_chunk, sizes_.largest);
  const std::int64_t share = std::clamp(left / (4 * std::int64_t{workers_}), smallest, sizes_.largest);
  return std::min(share >= block ? share / block * block : smallest, left);
}

OpenChunk* ChunkQueue::next_chunk(std::unique_lock<std::mutex>& lock) {
  const std::int64_t first = next_;
  const std::int64_t count = next_size();
  next_ = first + count;
  if (unused_.empty()) {
    open_.push_back(std::make_unique<OpenChunk>());
  } else {
    open_.push_back(std::move(unused_.back()));
    unused_.pop_back();
  }
  OpenChunk& chunk = *open_.back();
  lock.unlock();
  chunk.handed_out = 0;
  chunk.finished = 0;
  chunk.chunk.first = first;
  chunk.chunk.shape = shape_;
  if (sizes_.rows == ChunkRows::all) {
    chunk.chunk.resize(count);
  } else if (sizes_.rows == ChunkRows::inputs) {
    chunk.chunk.resize_inputs(count);
  } else {
    chunk.chunk.count = count;
  }
  return &chunk;
}

void ChunkQueue::close(OpenChunk& chunk) {
  const std::lock_guard lock(mutex_);
  chunk.closed = true;
  changed_.notify_all();
}

void ChunkQueue::write_all(ResultSink& sink) {
  std::unique_lock lock(mutex_);
  while (true) {
    auto next = open_.begin();
    changed_.wait(lock, [&] {
      next = open_.begin();
      if (!sink.in_order()) next = std::find_if(next, open_.end(), [](const auto& open) { return open->closed; });
      return workers_left_ == 0 || (next != open_.end() && (*next)->closed);
    });
    if (next == open_.end() || !(*next)->closed) return;
    std::unique_ptr<OpenChunk> done = std::move(*next);
    open_.erase(next);
    lock.unlock();
    sink.write(done->chunk);
    lock.lock();
    done->closed = false;
    unused_.push_back(std::move(done));
    changed_.notify_all();
  }
}

void ChunkQueue::worker_left() {
  const std::lock_guard lock(mutex_);
  --workers_left_;
  changed_.notify_all();
}

void ChunkQueue::stop() {
  halted_ = true;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool ChunkQueue::wait_for_workers() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return workers_left_ == 0; });
}

}  // namespace manyfold
