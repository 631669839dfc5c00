#pragma once
// Results leave the engine in chunks: values that a sink writes, merges or forgets.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <manyfold/columns.hpp>

namespace manyfold {

template <class T>
using ColumnVector = std::vector<T>;

/// Finished instances `first` ... `first + count - 1`, in order. Each column has `count` rows, one per instance, of the
/// elements that `Columns` says.
struct Chunk : Columns<ColumnVector> {
  std::int64_t first = 0;
  std::int64_t count = 0;
  InstanceShape shape;

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

/// Where chunks go. `write` is called in the order of the instances, from one thread at a time.
class ResultSink {
 public:
  ResultSink() = default;
  ResultSink(const ResultSink&) = delete;
  ResultSink& operator=(const ResultSink&) = delete;
  virtual ~ResultSink() = default;
  virtual void write(const Chunk& chunk) = 0;
};

}  // namespace manyfold
