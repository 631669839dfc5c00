#pragma once
// The sweep file: TOML in, a checked description of the ensemble out.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <manyfold/description.hpp>
#include <manyfold/error.hpp>
#include <manyfold/options.hpp>

#include "host/io/output_times.hpp"
#include "host/io/reduction.hpp"
#include "host/io/statistics.hpp"
#include "host/sampling/ensemble_inputs.hpp"

namespace manyfold {

/// More instances would run for days, and their numbers do not fit any file.
inline constexpr std::int64_t most_instances = 1'000'000'000'000;

/// A place in the sweep file, counted from 1. Line 0: on the command line.
struct SourcePosition {
  int line = 1;
  int column = 1;
};

struct PlacedName {
  std::string name;
  SourcePosition position;
};

/// A line of [parameters] or [initial], or a sampled end of t_span.
struct SweepQuantity {
  SampledQuantity quantity;
  SourcePosition position;  ///< of the name
  SourcePosition value_position;

  std::optional<std::int64_t> integer() const;  ///< the value, if it is a constant integer
};

struct PlacedTolerance {
  PlacedName variable;
  double value = 0.0;
};

struct PlacedReduction {
  Reduction reduction;
  SourcePosition position;
};

/// What the file says, checked as far as it goes without the model.
struct Sweep {
  std::filesystem::path path;
  std::string text;  ///< the file, verbatim
  std::string
      model;  ///< a built-in name, or the path of a .hpp file (relative ones made relative to the file's folder)
  SourcePosition model_position;
  std::optional<std::array<double, 2>> t_span;  ///< the median of an end that is sampled
  SourcePosition t_span_position;

  std::map<std::string, SourcePosition> solver_positions;  ///< of the values in [solver]
  SolverOptions options;                                   ///< atol: one value, that of variables not in `atol`
  std::vector<PlacedTolerance> atol;
  double verify = 0.0;  ///< share of the instances whose accuracy is verified

  SamplerSettings sampling;  ///< sampler may also be "table"; instances 0: not given
  SourcePosition instances_position;
  std::filesystem::path table;            ///< with sampler = "table"
  std::vector<SweepQuantity> quantities;  ///< of [parameters] and [initial], in the order of the file

  std::filesystem::path output_file;  ///< default: the sweep file's name with .nc, in the current directory
  OutputTimes times = OutputTimes::equal_steps(101);
  SourcePosition times_position;
  std::vector<PlacedName> variables;  ///< to save; empty: all
  bool instance_rows = true;          ///< false: what is known of all instances together, and no trajectories
  bool trajectories = true;
  std::vector<StatisticRequest> statistics;
  QuantileAccuracy quantiles = QuantileAccuracy::automatic;
  std::vector<PlacedReduction> reductions;
  int compression = 0;  ///< level of deflate; 0: none
  bool hold = false;    ///< after a terminal event values stay as they are
};

/// What the command line says in place of the file.
struct SweepOverrides {
  std::optional<std::string> method = {};
  std::optional<std::string> backend = {};
  std::optional<std::string> linear_solver = {};
  std::optional<double> rtol = {};
  std::optional<double> atol = {};  ///< of all variables
  std::vector<std::pair<std::string, double>> atol_by_variable = {};
  std::optional<double> verify = {};
  std::optional<std::int64_t> threads = {};
  std::optional<std::int64_t> instances = {};
  std::optional<std::int64_t> seed = {};
  std::vector<std::pair<std::string, double>> parameters = {};  ///< constants
};

/// Reads and checks the file at `path`. `methods` are the names a solver method may have. Throws UsageError with all
/// problems found, one line each: `FILE:LINE:COLUMN: error: ...`.
Sweep parse_sweep_file(const std::filesystem::path& path, std::span<const std::string> methods,
                       const SweepOverrides& overrides = {});

/// The value of parameter `name` if [parameters] gives it as an integer constant; nothing if the file does not name it.
/// Throws UsageError if it is given as anything else.
std::optional<long> constant_integer_parameter(const Sweep& sweep, std::string_view name);

/// The message with FILE:LINE:COLUMN of what it begins with, a key of [solver] or the model; as it is where it has a
/// place or that is not in the file.
std::string placed(const Sweep& sweep, const std::string& message);

/// Everything the engine and the result file need.
struct ResolvedSweep {
  EnsembleInputs inputs;
  SolverOptions options;   ///< atol: one per variable
  std::vector<int> saved;  ///< indices of what is saved, in the order asked for
  OutputTimes times;
  std::array<double, 2> t_span;  ///< of the instances whose ends are not sampled
  bool trajectories = true;
  std::vector<StatisticRequest> statistics;
  std::vector<Reduction> reductions;
  std::filesystem::path output_file;
  std::vector<std::string> warnings;  ///< of the table
};

/// Checks the names and times of `sweep` against `model` and reads its table. Throws UsageError with all problems
/// found. A structural parameter of the model is left out of the inputs: it is fixed when the model is compiled.
ResolvedSweep resolve(const Sweep& sweep, const ModelDescription& model);

}  // namespace manyfold
