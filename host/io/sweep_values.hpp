#pragma once
// How the sections of a sweep file are read: values with their places, and the problems found on the way.
#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/io/sweep_file.hpp"
#include "host/text/printable.hpp"

namespace manyfold {

using Names = std::vector<std::string>;

SourcePosition position_of(const toml::source_region& region);
SourcePosition position_of(const toml::node& node);
SourcePosition position_of(const toml::key& key);

/// Problems of one file, reported together in the order of the file.
class SweepProblems {
 public:
  /// `text`: what is in the file, where its numbers are read.
  explicit SweepProblems(const std::filesystem::path& path, std::string_view text = "")
      : file_(printable(path.string())), text_(text) {}

  void add(SourcePosition position, const std::string& message) {
    entries_.emplace_back(std::pair(position.line, position.column), printable(message));
  }
  /// A problem that already names its place.
  void add_placed(const std::string& line) { placed_.push_back(line); }
  bool empty() const { return entries_.empty() && placed_.empty(); }
  /// The number that begins there as it is written, but for its underscores.
  std::string number_at(SourcePosition position) const;
  /// Throws UsageError with all of them, if there are any.
  void raise();

 private:
  std::string file_;
  std::string text_;
  std::vector<std::pair<std::pair<int, int>, std::string>> entries_;
  std::vector<std::string> placed_;
};

/// Values of a sweep file. What is wrong with one goes to the problems, and nothing is returned.
class SweepValues {
 public:
  explicit SweepValues(SweepProblems& problems) : problems_(problems) {}

  SweepProblems& problems() { return problems_; }
  /// Whether all keys are known.
  bool check_keys(const toml::table& table, std::string_view where, const Names& known);
  void wrong(const toml::node& node, std::string_view what, std::string_view need);
  std::optional<double> number(const toml::node& node, std::string_view what);
  std::optional<double> number_where(const toml::node& node, std::string_view what, bool (*good)(double),
                                     std::string_view need);
  std::optional<std::int64_t> integer(const toml::node& node, std::string_view what, std::int64_t least,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::optional<bool> boolean(const toml::node& node, std::string_view what);
  std::optional<std::string> text(const toml::node& node, std::string_view what);
  /// Those of a list of at least one.
  std::optional<std::vector<double>> numbers(const toml::node& node, const std::string& what);
  /// Those of a list, each once; reports the others.
  std::vector<PlacedName> texts(const toml::node& node, std::string_view what, bool may_be_empty);
  /// Puts the text of `key` into `target` if it is there and known.
  void read_name(const toml::table& table, std::string_view key, std::string_view what, const Names& known,
                 std::string& target);

 private:
  SweepProblems& problems_;
};

/// The sections and keys of the file, into `sweep`. `name`: "parameters" or "initial".
void read_t_span(const toml::node& node, Sweep& sweep, SweepProblems& problems);
void read_solver(const toml::table& table, std::span<const std::string> methods, Sweep& sweep, SweepProblems& problems);
void read_quantities(const toml::table& table, std::string_view name, Sweep& sweep, SweepProblems& problems);
void read_output(const toml::table& table, Sweep& sweep, SweepProblems& problems);

/// What the command line says goes in place of what was read.
void apply(const SweepOverrides& overrides, std::span<const std::string> methods, Sweep& sweep,
           SweepProblems& problems);

}  // namespace manyfold
