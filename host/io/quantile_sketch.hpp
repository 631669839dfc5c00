#pragma once
// Approximate quantiles of columns over the instances of an ensemble, in memory that grows with the logarithm of their
// number.
//
// A summary has some values of each column, sorted, each of which stands for 2^k values. Two summaries are merged by
// merging their values. If that makes too many, every second one goes, and the others stand for twice as many values; a
// coin decides whether the first or the second of each pair goes. Agarwal, Cormode, Huang, Phillips, Wei & Yi:
// Mergeable summaries (PODS 2012), section 3.
//
// Summaries begin with blocks of 512 instances and are merged in a binary tree over the numbers of the blocks. Each
// coin follows from its place in this tree. So the result does not depend, to the last bit, on threads and chunks.
// (Apache DataSketches has sketches in C++, but is not packaged, and flips coins that belong to threads.)
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "host/engine/group_sums.hpp"

namespace manyfold {

struct ApproximateQuantiles {
  std::vector<double> values;
  /// The rank of a value, as a share of all values, is off by no more than this with a probability of 99 %: the
  /// inequality of Azuma and Hoeffding for the coins that were flipped. 0: the values are exact.
  double rank_error = 0.0;
};

class QuantileSketch {
 public:
  /// Of `instances` rows. A summary has at most `most_values` of each column, a power of two and at least 512.
  QuantileSketch(std::size_t columns, std::int64_t instances, std::size_t most_values);
  ~QuantileSketch();

  /// The largest `most_values` in [512, 4096] with which `bytes_of` is no more than `bytes`, else 512.
  static std::size_t most_values_within(double bytes, std::size_t columns, std::int64_t instances);
  /// Memory that a sketch takes, but for what its threads have in work.
  static double bytes_of(std::size_t columns, std::int64_t instances, std::size_t most_values);

  /// `values` [rows][columns] from row number `first` on, each row once. May be called by several threads at a time.
  void put(std::int64_t first, std::span<const double> values);
  /// What a device has made of whole blocks, in place of their rows. By several threads, too.
  void put(const BatchSummary& summary);
  /// After the last row; rows that were not put count as missing.
  void end();
  /// Of the finite values, of which `min` and `max` are the smallest and the largest, by linear interpolation. NaN when
  /// there are none. After `end`.
  ApproximateQuantiles quantiles(std::size_t column, std::span<const double> probabilities, double min,
                                 double max) const;

 private:
  struct Summary;
  struct StartedBlock;
  using Place = std::pair<int, std::int64_t>;  // in the tree: level, counted from the blocks, and number in the level

  void put_part(std::int64_t block, std::int64_t first, std::span<const double> values);
  std::unique_ptr<Summary> summary_of(StartedBlock& block) const;
  void take_in(Place place, std::unique_ptr<Summary> summary);
  std::unique_ptr<Summary> merged(std::unique_ptr<Summary> left, std::unique_ptr<Summary> right, Place place) const;

  std::size_t columns_;
  std::int64_t instances_;
  std::size_t most_values_;
  std::mutex mutex_;
  std::map<Place, std::unique_ptr<Summary>> waiting_;  // for the other half of their pair
  std::map<std::int64_t, StartedBlock> started_;       // blocks of which some rows are there
};

}  // namespace manyfold
