#pragma once
// The result file of a sweep: netCDF-4, one dimension `instance`, one `time`.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <manyfold/description.hpp>
#include <manyfold/options.hpp>
#include <manyfold/result.hpp>

#include "host/engine/verification.hpp"
#include "host/io/output_file.hpp"
#include "host/io/output_times.hpp"
#include "host/io/reduction.hpp"
#include "host/io/statistics.hpp"
#include "host/io/wilson.hpp"

namespace manyfold {

/// The instances whose accuracy is verified, and against what.
struct VerificationPlan {
  std::vector<std::int64_t> instances;    ///< ascending
  std::array<std::string, 2> references;  ///< methods
  double rtol = 0.0;                      ///< of the references
  double share = 0.0;                     ///< that was asked for
};

/// A reduction over all instances for which it is known.
struct ReductionSummary {
  std::string text;
  bool criterion = false;
  std::int64_t instances = 0;
  double mean = 0.0;  ///< of a criterion: the yield
  double std = 0.0;
  double min = 0.0;
  double max = 0.0;
  Interval interval;  ///< of the yield
};

struct ResultFileSettings {
  ModelDescription model;
  std::int64_t instances = 0;
  std::vector<int> saved;  ///< indices of the saved quantities, as in Chunk::values
  OutputTimes times = OutputTimes::equal_steps(101);
  std::array<double, 2> t_span = {0.0, 1.0};  ///< where it is not sampled
  std::vector<int> sampled_parameters;        ///< indices
  std::vector<int> sampled_initial;           ///< indices
  std::array<bool, 2> sampled_times = {false, false};
  bool instance_rows = true;  ///< false: what is known of all instances together, and no trajectories
  bool trajectories = true;   ///< false: statistics only
  bool sums_only = false;     ///< chunks have no rows either, but `GroupSums`
  int compression = 0;        ///< level of deflate, 1 to 9; 0: none
  bool hold = false;          ///< after a terminal event values stay as they are; needs `Chunk::end_states`
  std::vector<StatisticRequest> statistics;
  QuantileAccuracy quantiles = QuantileAccuracy::automatic;
  std::vector<Reduction> reductions;
  SolverOptions options;   ///< attributes method, rtol, atol, precision, projection
  std::string sweep_file;  ///< its text
  std::uint64_t seed = 0;
  std::string sampler;
  std::string version;
  std::string backend;  ///< the one that was chosen, not "auto"
  std::string tier;
  std::string linear_solver;
  std::string history;  ///< for instance the command line
  std::optional<VerificationPlan> verification;
};

/// Where the saved quantities of a model with `variables` variables are among `Chunk::end_states`.
std::vector<int> places_at_end(const std::vector<int>& saved, std::size_t variables);

/// Bytes on disk that grow with the instances, without the log of events: what they would be if nothing could be
/// compressed.
std::uintmax_t largest_size(const ResultFileSettings& settings);

/// Writes chunks to disk with memory that does not grow with the number of instances (quantiles: one column at a time).
/// Equal steps of sampled time spans make `time(instance, time)`, else it is `time(time)`. Instances never written have
/// status `cancelled`, NaN values and netCDF's default fill value in the counters.
/// A write that fails throws std::runtime_error with file and reason. Without a call of `finish` that succeeds the file
/// does not come into being.
class ResultFile : public ResultSink {
 public:
  /// Throws UsageError for names that netCDF does not take as they are, and where nothing can be created.
  ResultFile(ResultFileSettings settings, OutputFile output);
  ~ResultFile() override;

  void prepare(Chunk& chunk) const override;
  /// Each instance at most once; prepares a chunk that is not prepared; throws UsageError for arrays of the wrong size
  /// and instances outside the ensemble.
  void write(const Chunk& chunk) override;

  /// Of the instances that are written.
  std::vector<ReductionSummary> reductions() const;
  /// The largest `ApproximateQuantiles::rank_error` of all quantiles; 0: they are exact. Nothing without quantiles and
  /// before `finish`.
  std::optional<double> quantile_error() const;

  /// Writes what was found of the instances of `ResultFileSettings::verification`, in their order.
  void write_verification(const Verification& verification);

  /// Writes the statistics, closes, and renames to the final name. `interrupted`: instances that were not finished have
  /// status `cancelled`, and the attributes `interrupted` and `instances_finished` say so.
  void finish(bool interrupted = false);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace manyfold
