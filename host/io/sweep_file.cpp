#include "host/io/sweep_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "host/io/sweep_values.hpp"
#include "host/text/nearest_name.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

/// Why the file cannot be read; empty: it can.
std::string problem_of_reading(const std::filesystem::path& path) {
  if (access(path.c_str(), R_OK) != 0) return std::strerror(errno);
  return std::filesystem::is_regular_file(path) ? "" : "it is not a file";
}

/// What stands outside the sections, and [ensemble].
class SweepReader : SweepValues {
 public:
  SweepReader(Sweep& sweep, std::span<const std::string> methods, SweepProblems& problems)
      : SweepValues(problems), sweep_(sweep), methods_(methods) {}

  void read(const toml::table& root, const SweepOverrides& overrides) {
    const bool complete = check_keys(root, "the sweep file",
                                     {"model", "t_span", "solver", "ensemble", "parameters", "initial", "output"});
    read_model(root);
    if (const toml::node* node = root.get("t_span")) read_t_span(*node, sweep_, problems());
    if (const toml::table* solver = section(root, "solver")) read_solver(*solver, methods_, sweep_, problems());
    const toml::table* ensemble = section(root, "ensemble");
    if (ensemble != nullptr) read_ensemble(*ensemble);
    for (const char* name : {"parameters", "initial"}) {
      if (const toml::table* table = section(root, name)) read_quantities(*table, name, sweep_, problems());
    }
    // toml++ sorts keys by name; the last one in the file runs fastest in a grid.
    std::sort(sweep_.quantities.begin(), sweep_.quantities.end(), [](const SweepQuantity& a, const SweepQuantity& b) {
      return std::pair(a.position.line, a.position.column) < std::pair(b.position.line, b.position.column);
    });
    apply(overrides, methods_, sweep_, problems());
    // A misspelt [ensemble] is not missing too.
    check_number_of_instances(ensemble, complete);
    sweep_.output_file = sweep_.path.filename().replace_extension(".nc");
    if (const toml::table* output = section(root, "output")) read_output(*output, sweep_, problems());
  }

 private:
  const toml::table* section(const toml::table& root, std::string_view name) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong(*node, name, "a table");
    return node->as_table();
  }

  void read_model(const toml::table& root) {
    const toml::node* node = root.get("model");
    if (node == nullptr) {
      problems().add({}, "model is missing: give a built-in model's name or the path of a .hpp or .mo file");
      return;
    }
    sweep_.model_position = position_of(*node);
    const auto name = text(*node, "model");
    if (!name) return;
    const std::filesystem::path file(*name);
    const bool is_file = file.extension() == ".hpp" || file.extension() == ".mo" || file.extension() == ".bmo";
    sweep_.model = is_file ? (sweep_.path.parent_path() / file).string() : *name;
  }

  void read_ensemble(const toml::table& table) {
    check_keys(table, "[ensemble]", {"instances", "sampler", "seed", "table"});
    read_name(table, "sampler", "sampler", {"monte_carlo", "latin_hypercube", "sobol", "grid", "table"},
              sweep_.sampling.sampler);
    if (const toml::node* node = table.get("instances")) {
      sweep_.instances_position = position_of(*node);
      // A wrong number counts as given, so that it is not reported as missing too.
      sweep_.sampling.instances = integer(*node, "instances", 1, most_instances).value_or(1);
    }
    if (const toml::node* node = table.get("seed")) {
      sweep_.sampling.seed = static_cast<std::uint64_t>(integer(*node, "seed", 0).value_or(0));
    }
    const bool needs_table = sweep_.sampling.sampler == "table";
    const toml::node* node = table.get("table");
    if (node != nullptr) {
      if (const auto file = text(*node, "table")) {
        sweep_.table = sweep_.path.parent_path() / *file;
        if (file->find("://") != std::string::npos) {
          problems().add(position_of(*node), fmt::format("table is \"{}\", but must be a file of this machine", *file));
        } else if (const std::string problem = problem_of_reading(sweep_.table); !problem.empty()) {
          problems().add(position_of(*node), fmt::format("the table \"{}\" cannot be read: {}", *file, problem));
        }
      }
      if (!needs_table) problems().add(position_of(*node), "table is given, but the sampler is not \"table\"");
    } else if (needs_table) {
      problems().add(position_of(table), "sampler = \"table\" needs the key table: the path of a .csv or .nc file");
    }
  }

  void check_number_of_instances(const toml::table* ensemble, bool complete) {
    SamplerSettings& sampling = sweep_.sampling;
    const bool anything_sampled =
        std::any_of(sweep_.quantities.begin(), sweep_.quantities.end(),
                    [](const SweepQuantity& entry) { return !entry.quantity.distribution.is_constant(); });
    if (sampling.sampler == "table") {
      for (const SweepQuantity& entry : sweep_.quantities) {
        if (entry.quantity.distribution.is_constant()) continue;
        problems().add(entry.value_position,
                       fmt::format("\"{}\" has a distribution, but with sampler = \"table\" it must "
                                   "be a number or a column of the table",
                                   entry.quantity.name));
      }
    } else if (sampling.sampler == "grid") {
      std::int64_t product = 1;
      for (const SweepQuantity& entry : sweep_.quantities) {
        const SampledQuantity& quantity = entry.quantity;
        const std::int64_t levels = quantity.levels != 0 ? quantity.levels : quantity.distribution.natural_levels();
        if (product > most_instances / std::max<std::int64_t>(levels, 1)) {
          problems().add(entry.position,
                         fmt::format("the grid has more than {} instances: take fewer levels", most_instances));
          return;
        }
        product *= std::max<std::int64_t>(levels, 1);
      }
      if (sampling.instances != 0 && sampling.instances != product && problems().empty()) {
        problems().add(sweep_.instances_position,
                       fmt::format("instances is {}, but the grid has {}: leave it out", sampling.instances, product));
      }
    } else if (sampling.instances == 0) {
      if (anything_sampled && (ensemble != nullptr || complete)) {
        problems().add(ensemble != nullptr ? position_of(*ensemble) : SourcePosition(),
                       "instances is missing in [ensemble]: give the number of instances to draw");
      }
      sampling.instances = 1;
    }
  }

  Sweep& sweep_;
  std::span<const std::string> methods_;
};

/// A pipe may be read too. A device may have no end.
std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t most = std::size_t{64} << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw UsageError(fmt::format("{}:1:1: error: the sweep file cannot be read: {}", printable(path.string()),
                                 std::strerror(errno != 0 ? errno : EISDIR)));
  }
  // Files that the system makes up, as those in /proc, say that they are empty. Some wait, or have no end.
  std::error_code none;  // of pipes
  if (std::filesystem::file_size(path, none) == 0) {
    throw UsageError(
        fmt::format("{}:1:1: error: the sweep file is empty, but needs a model", printable(path.string())));
  }
  std::string text;
  std::array<char, 65536> part;
  while (text.size() <= most && (file.read(part.data(), part.size()) || file.gcount() > 0)) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > most) {
    throw UsageError(fmt::format("{}:1:1: error: the sweep file has more than {} bytes: is it one?",
                                 printable(path.string()), most));
  }
  return text;
}

/// The length of what stands in quotation marks where `text` begins, with them: in TOML, one or three of either kind,
/// and a backslash before a double one that does not end the string. One quotation mark does not reach beyond its line.
std::size_t quoted_length(std::string_view text) {
  const char mark = text.front();
  const std::string three(3, mark);
  const bool long_string = text.starts_with(three);
  for (std::size_t at = long_string ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && mark == '"') {
      ++at;
    } else if (!long_string && (text[at] == mark || text[at] == '\n')) {
      return at + (text[at] == mark ? 1 : 0);
    } else if (long_string && text.substr(at).starts_with(three)) {
      // Up to two more belong to the string.
      return std::min({text.find_first_not_of(mark, at), at + 5, text.size()});
    }
  }
  return text.size();
}

/// toml++ 3.3 bounds the depth of values alone: tables of a key with more parts would overflow the stack.
void check_dotted_keys(std::string_view text, SweepProblems& problems) {
  constexpr int most_points = 255;
  int points = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '#') at = std::min(text.find('\n', at), text.size());
    if (letter == '"' || letter == '\'') at += quoted_length(text.substr(at)) - 1;
    if (std::string_view("\n#=,[]{}").find(letter) != std::string_view::npos) points = 0;
    if (letter != '.' || ++points <= most_points) continue;
    const std::string_view before = text.substr(0, at);
    const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    problems.add({line, static_cast<int>(at - before.rfind('\n'))},
                 fmt::format("a key has more than {} parts", most_points + 1));
    problems.raise();
  }
}

}  // namespace

std::optional<std::int64_t> SweepQuantity::integer() const {
  const double value = quantity.distribution.quantile(0.5);
  const bool whole = quantity.distribution.is_constant() && value == std::floor(value) && std::abs(value) < 0x1p53;
  return whole ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

Sweep parse_sweep_file(const std::filesystem::path& path, std::span<const std::string> methods,
                       const SweepOverrides& overrides) {
  Sweep sweep;
  sweep.path = path;
  sweep.text = read_text(path);
  sweep.options.method = "radau5";
  SweepProblems problems(path, sweep.text);
  check_dotted_keys(sweep.text, problems);
  try {
    const toml::table root = toml::parse(sweep.text, path.string());
    SweepReader(sweep, methods, problems).read(root, overrides);
  } catch (const toml::parse_error& error) {
    problems.add(position_of(error.source()), std::string(error.description()));
  }
  problems.raise();
  return sweep;
}

std::optional<long> constant_integer_parameter(const Sweep& sweep, std::string_view name) {
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.quantity.kind != SampledQuantity::Kind::parameter || entry.quantity.name != name) continue;
    const std::optional<std::int64_t> value = entry.integer();
    if (!value) {
      SweepProblems problems(sweep.path);
      problems.add(entry.value_position,
                   fmt::format("parameters.{} must be an integer constant: it shapes the equations", name));
      problems.raise();
    }
    return static_cast<long>(*value);
  }
  return std::nullopt;
}

std::string placed(const Sweep& sweep, const std::string& message) {
  if (message.find(": error: ") != std::string::npos) return message;
  const auto about = [&](const std::string& key) {
    return message.starts_with(key + " ") || message.starts_with(key + ":") ||
           message.starts_with("unknown " + key + " ");
  };
  const auto at = [&](SourcePosition position) {
    return fmt::format("{}:{}:{}: error: {}", printable(sweep.path.string()), position.line, position.column, message);
  };
  for (const auto& [key, position] : sweep.solver_positions) {
    if (about(key)) return at(position);
  }
  return about("model") ? at(sweep.model_position) : message;
}

}  // namespace manyfold
