#pragma once
// Results leave the engine in chunks: values that a sink writes, merges or forgets.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <manyfold/columns.hpp>

namespace manyfold {

template <class T>
using ColumnVector = std::vector<T>;

/// What a sink has made of a chunk before it is written.
struct ChunkDigest {
  ChunkDigest() = default;
  ChunkDigest(const ChunkDigest&) = delete;
  ChunkDigest& operator=(const ChunkDigest&) = delete;
  virtual ~ChunkDigest() = default;
};

/// Finished instances `first` ... `first + count - 1`, in order. Each column has `count` rows, one per instance, of the
/// elements that `Columns` says.
struct Chunk : Columns<ColumnVector> {
  std::int64_t first = 0;
  std::int64_t count = 0;
  InstanceShape shape;
  std::shared_ptr<ChunkDigest> digest;  ///< of `ResultSink::prepare`; kept, for its memory, when a chunk is used again

  Chunk() = default;
  /// Room for `count` instances from `first` on; all numbers are missing yet.
  Chunk(const InstanceShape& shape_of_instances, std::int64_t first_instance, std::int64_t instances)
      : first(first_instance), shape(shape_of_instances) {
    resize(instances);
  }

  /// Drops instances at the end, or adds some whose numbers are missing.
  void resize(std::int64_t instances) {
    count = instances;
    for_each_column(
        shape,
        [&]<class T>(const Column& column, std::vector<T>& array) {
          array.resize(static_cast<std::size_t>(count * column.width), missing<T>());
        },
        *this);
  }

  /// Makes room for the inputs of `instances` instances alone: their results have no rows.
  void resize_inputs(std::int64_t instances) {
    count = instances;
    for_each_column(
        shape,
        [&](const Column& column, auto& array) {
          if (column.role == ColumnRole::input) array.resize(static_cast<std::size_t>(count * column.width));
        },
        *this);
  }

  /// Makes what instance `first + i` has missing: its results and, if so, its inputs. Its log ends where its counters
  /// say.
  void clear(std::int64_t i, bool with_inputs) {
    for_each_column(
        shape,
        [&]<class T>(const Column& column, std::vector<T>& array) {
          if (column.role == ColumnRole::log || (column.role == ColumnRole::input && !with_inputs)) return;
          std::fill_n(array.begin() + i * column.width, column.width, missing<T>());
        },
        *this);
  }

  /// Copies all of `part`, whose instances this chunk has too.
  void put(const Chunk& part) {
    for_each_column(
        shape,
        [at = part.first - first](const Column& column, const auto& from, auto& to) {
          std::copy(from.begin(), from.end(), to.begin() + at * column.width);
        },
        part, *this);
  }

  /// The columns of all instances, by their addresses.
  Columns<ColumnPointer> columns() {
    Columns<ColumnPointer> result{};
    for_each_column(
        shape, [](const Column&, auto& array, auto*& address) { address = array.data(); }, *this, result);
    return result;
  }

  /// The entries in the log of instance `first + i`.
  std::span<const EventRecord> event_log(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t filled = std::min<std::int64_t>(outcomes[at].counters.events, shape.event_capacity);
    return {events.data() + at * static_cast<std::size_t>(shape.event_capacity), static_cast<std::size_t>(filled)};
  }
};

/// Where chunks go.
class ResultSink {
 public:
  ResultSink() = default;
  ResultSink(const ResultSink&) = delete;
  ResultSink& operator=(const ResultSink&) = delete;
  virtual ~ResultSink() = default;
  /// Called by the thread that finished the chunk, for several chunks at the same time: whatever of the work needs no
  /// other chunk goes here, and its outcome into `chunk.digest`.
  virtual void prepare(Chunk& chunk) const { static_cast<void>(chunk); }
  /// Called from one thread at a time, after `prepare`.
  virtual void write(const Chunk& chunk) = 0;
  /// Whether chunks must come in the order of the instances; else they come as they finish, and a slow one delays no
  /// other.
  virtual bool in_order() const { return true; }
};

/// Keeps all results: one chunk, whatever the order in which its parts come.
class InMemoryResult : public ResultSink {
 public:
  void write(const Chunk& chunk) override {
    if (all_.count == 0) all_ = Chunk(chunk.shape, chunk.first, 0);
    if (chunk.first < all_.first) {
      Chunk longer(all_.shape, chunk.first, all_.first - chunk.first + all_.count);
      longer.put(all_);
      all_ = std::move(longer);
    }
    all_.resize(std::max(all_.count, chunk.first - all_.first + chunk.count));
    all_.put(chunk);
  }
  bool in_order() const override { return false; }

  /// All instances that were written, in their order; those between them that were not are missing.
  const Chunk& results() const { return all_; }

 private:
  Chunk all_;
};

}  // namespace manyfold
