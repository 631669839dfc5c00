#pragma once
// The subcommands of `manyfold`. Each returns the exit code; misuse throws UsageError.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <manyfold/options.hpp>

#include "host/io/sweep_file.hpp"

namespace manyfold::cli {

/// Exit codes, as users' scripts rely on them.
enum ExitCode { all_succeeded = 0, internal_error = 1, misuse = 2, some_failed = 3, interrupted = 130 };

int list(bool json);
int describe(const std::string& model, bool json);
int info(bool json);
/// What is wrong with the model, one line per problem, without integrating.
int check(const std::string& model);

struct CacheArguments {
  bool clear = false;
  std::optional<double> limit;  ///< MiB
  bool json = false;
};
int cache(const CacheArguments& arguments);

struct CompileArguments {
  std::string model;
  bool explain = false;
  std::optional<std::string> picture;  ///< an SVG file
  std::optional<std::string> emit;     ///< a C++ file
  bool json = false;
};
/// What becomes of a Modelica file.
int compile(const CompileArguments& arguments);

struct RunArguments {
  std::string sweep;
  std::optional<std::string> output;
  SweepOverrides overrides;             ///< `atol` and `parameters` aside
  std::vector<std::string> atol;        ///< VALUE or NAME=VALUE
  std::vector<std::string> parameters;  ///< NAME=VALUE
  bool force = false;                   ///< replaces a result
  bool json = false;
  std::string command_line;
};
int run(const RunArguments& arguments);

struct SolveArguments {
  std::string model;
  std::vector<std::string> parameters;  ///< NAME=VALUE
  std::vector<std::string> initial;     ///< NAME=VALUE
  std::optional<double> t_end;
  std::string times;  ///< a count, or a list separated by commas; empty: 11, or the end alone with --json
  SolverOptions options = {.method = "auto", .tier = "fused", .threads = 1};
  std::vector<std::string> atol;  ///< VALUE or NAME=VALUE
  bool json = false;
  std::optional<std::string> csv;
};
int solve(const SolveArguments& arguments);

struct VerifyArguments {
  std::string model;
  std::vector<std::string> parameters;  ///< NAME=VALUE
  std::int64_t instances = 20;          ///< beside the nominal one
  double perturb = 0.05;                ///< of every parameter's value, at most
  std::int64_t seed = 0;
  std::string method = "auto";
  std::vector<double> rtol = {1e-6};
  std::optional<double> atol;  ///< default: rtol / 1000
  std::optional<double> t_end;
  bool json = false;
};
int verify(const VerifyArguments& arguments);

}  // namespace manyfold::cli
