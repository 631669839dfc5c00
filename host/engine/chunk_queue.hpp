#pragma once
// Where workers get chunks of instances and leave them finished, and where the writer finds them.
//
// A chunk belongs to one worker from when it is opened until it is closed: nothing that concerns a single instance
// needs a lock. Chunks are used again, so that their memory is taken once, by a worker, near the processor it runs on.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <manyfold/result.hpp>

namespace manyfold {

/// A chunk in the hands of a worker.
struct OpenChunk {
  Chunk chunk;
  std::int64_t handed_out = 0;
  std::int64_t finished = 0;
  bool closed = false;  ///< for the queue alone
};

/// What chunks have arrays for.
enum class ChunkRows { none, inputs, all };

/// How instances are cut into chunks.
struct ChunkSizes {
  std::int64_t largest = 0;
  ChunkRows rows = ChunkRows::all;
  bool shrinking = false;     ///< towards the end, so that workers finish together
  std::size_t most_open = 0;  ///< chunks that exist at a time
};

/// For workers of the processor. Chunks are of a size that stays in its cache until they are prepared, and that locks
/// and writes do not count for. Where instances are large, there are fewer chunks and then fewer instances in each: all
/// of them together take a gibibyte at most, or two chunks of 8 instances per worker and two more.
ChunkSizes chunk_sizes(std::int64_t bytes_per_instance, int workers);

class ChunkQueue {
 public:
  /// For the instances `first` ... `end - 1`. `stop`: set from outside to end the run; may be null.
  ChunkQueue(const InstanceShape& shape, std::int64_t first, std::int64_t end, int workers, const ChunkSizes& sizes,
             const std::atomic<bool>* stop);

  /// The next chunk, with whatever it held when it was used last. Null: there are no more or, without `wait`, none at
  /// the moment.
  OpenChunk* open(bool wait);
  /// Gives a chunk to the writer.
  void close(OpenChunk& chunk);
  /// Writes chunks as they are closed, in order if the sink asks for that, until all workers have left.
  void write_all(ResultSink& sink);

  void worker_left();
  /// Ends the run: no more chunks.
  void stop();
  bool stopped() const { return halted_ || (stop_ != nullptr && *stop_); }
  /// Returns after a tenth of a second, or as soon as all workers have left: true in that case.
  bool wait_for_workers();

 private:
  std::int64_t next_size() const;
  OpenChunk* next_chunk(std::unique_lock<std::mutex>& lock);

  const InstanceShape shape_;
  const std::int64_t end_;
  const int workers_;
  const ChunkSizes sizes_;
  const std::atomic<bool>* stop_;
  alignas(64) std::atomic<bool> halted_ = false;  // on a cache line that is read alone: kernels ask every tick
  alignas(64) std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<OpenChunk>> open_;     // in the order of the instances
  std::vector<std::unique_ptr<OpenChunk>> unused_;  // written ones
  std::int64_t next_;                               // first instance that is in no chunk yet
  int workers_left_;
};

}  // namespace manyfold
