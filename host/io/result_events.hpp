#pragma once
// Events in a result file: their log, first times, probabilities and histograms.
#include <cstdint>
#include <memory>
#include <vector>

#include "host/engine/group_sums.hpp"
#include "host/io/kept_numbers.hpp"
#include "host/io/quantiles.hpp"
#include "host/io/result_digest.hpp"
#include "host/io/result_target.hpp"

namespace manyfold {

class ResultEvents {
 public:
  /// Defines the variables.
  explicit ResultEvents(const ResultTarget& target);
  /// By several threads at a time.
  void prepare(const Chunk& chunk, ResultDigest& digest) const;
  void write(const Chunk& chunk, const ResultDigest& digest);
  void write(const GroupSums& sums);
  /// After the last chunk.
  void write_statistics();
  void forget();
  /// The kinds of events.
  void write_what_is_known() const;

 private:
  void add(const std::vector<EventCount>& counts);
  void define_log();
  void define_rows();
  void define_kinds();
  void write_log(const Chunk& chunk);
  void write_instances(const Chunk& chunk);
  void write_probabilities() const;
  struct Histogram {
    std::vector<double> edges;  // one more than counts, or none of both
    std::vector<long long> counts;
  };
  /// Quantiles of the first times, one event after another, and their histograms.
  struct FirstTimes {
    std::vector<double> quantiles;
    std::vector<Histogram> histograms;
  };
  static Histogram histogram_of(std::vector<double>& times);
  FirstTimes first_times_on_host() const;
  FirstTimes first_times_on_devices() const;
  void write_histograms(const std::vector<Histogram>& histograms) const;
  std::vector<double> first_times(std::size_t kind) const;
  /// Numbers in an entry of the log, before or after the event.
  std::size_t entry_size() const { return target_.saved() + target_.settings().model.discrete.size(); }

  const ResultTarget& target_;
  int event_instance_ = -1;
  int event_time_ = -1;
  int event_name_ = -1;
  int event_direction_ = -1;
  int event_kind_ = -1;
  int event_kind_dimension_ = -1;
  int event_probability_ = -1;
  int event_probability_low_ = -1;
  int event_probability_high_ = -1;
  int event_quantile_ = -1;
  int events_not_logged_ = -1;
  int last_event_ = -1;
  std::vector<int> event_values_;             // before and after, of each saved variable and discrete number
  std::unique_ptr<ColumnSpill> first_times_;  // of each event; where there are rows, they have them
  std::size_t events_ = 0;                    // entries written
  KeptNumbers kept_;                          // the same where it stayed on devices,
  std::vector<ColumnMoments> moments_;        // and what is known of it
  std::vector<EventCount> counts_;            // [events of the model][times]
};

}  // namespace manyfold
