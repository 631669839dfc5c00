#pragma once
// Events in a result file: their log, first times, probabilities and histograms.
#include <cstdint>
#include <limits>
#include <vector>

#include "host/io/result_target.hpp"

namespace manyfold {

class ResultEvents {
 public:
  /// Defines the variables.
  explicit ResultEvents(const ResultTarget& target);
  void write(const Chunk& chunk);
  /// After the last chunk.
  void write_statistics();
  /// The kinds of events.
  void write_what_is_known() const;

 private:
  void define_log();
  void define_kinds();
  void write_log(const Chunk& chunk);
  void write_instances(const Chunk& chunk);
  void count_occurrences(const Chunk& chunk);
  std::vector<double> first_times(std::size_t kind) const;
  /// Numbers in an entry of the log, before or after the event.
  std::size_t entry_size() const { return target_.saved() + target_.settings().model.discrete.size(); }

  const ResultTarget& target_;
  int event_instance_ = -1;
  int event_time_ = -1;
  int event_name_ = -1;
  int event_direction_ = -1;
  int event_kind_ = -1;
  int event_probability_ = -1;
  int event_quantile_ = -1;
  int events_not_logged_ = -1;
  int last_event_ = -1;
  int event_bin_edge_ = -1;
  int event_histogram_ = -1;
  double earliest_ = std::numeric_limits<double>::infinity();  // ends of the time spans of all instances
  double latest_ = -std::numeric_limits<double>::infinity();
  std::vector<int> event_values_;       // before and after, of each saved variable and discrete number
  std::size_t events_ = 0;              // entries written
  std::vector<std::int64_t> occurred_;  // [events of the model][times]: instances in which it has occurred
  std::vector<std::int64_t> known_;     // instances that say whether it has
};

}  // namespace manyfold
