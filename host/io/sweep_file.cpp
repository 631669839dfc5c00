#include "host/io/sweep_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <manyfold/tolerances.hpp>

#include "host/io/initial_conditions.hpp"
#include "host/io/memory_need.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

using Names = std::vector<std::string>;

/// More would run for days, and their numbers do not fit any file.
constexpr std::int64_t most_instances = 1'000'000'000'000;

// Problems of one file, reported together in the order of the file.
class Problems {
 public:
  explicit Problems(const std::filesystem::path& path) : file_(path.string()) {}

  void add(SourcePosition position, const std::string& message) {
    entries_.emplace_back(std::pair(position.line, position.column), message);
  }

  /// A problem that already names its place.
  void add_placed(const std::string& line) { placed_.push_back(line); }

  bool empty() const { return entries_.empty() && placed_.empty(); }

  void raise() {
    if (empty()) return;
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> lines;
    for (const auto& [position, message] : entries_) {
      lines.push_back(fmt::format("{}:{}:{}: error: {}", file_, position.first, position.second, message));
    }
    lines.insert(lines.end(), placed_.begin(), placed_.end());
    throw UsageError(fmt::format("{}", fmt::join(lines, "\n")));
  }

 private:
  std::string file_;
  std::vector<std::pair<std::pair<int, int>, std::string>> entries_;
  std::vector<std::string> placed_;
};

SourcePosition position_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

SourcePosition position_of(const toml::node& node) {
  return position_of(node.source());
}
SourcePosition position_of(const toml::key& key) {
  return position_of(key.source());
}

// A number as the file says it, for messages.
std::string spelled(const toml::node& node) {
  if (const auto integer = node.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
  if (const auto text = node.value_exact<std::string>()) return fmt::format("\"{}\"", *text);
  if (const auto boolean = node.value_exact<bool>()) return *boolean ? "true" : "false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a table" : "a date or time";
}

// The arguments of a distribution in a sweep file, required ones first, and how to make it from their values.
struct Form {
  Names required;
  Names optional;
  std::function<Distribution(std::span<const double>)> make;  // required, then optional
};

const std::map<std::string, Form>& forms() {
  using Values = std::span<const double>;
  static const std::map<std::string, Form> all = {
      {"constant", {{"value"}, {}, [](Values v) { return Distribution::constant(v[0]); }}},
      {"uniform", {{"min", "max"}, {}, [](Values v) { return Distribution::uniform(v[0], v[1]); }}},
      {"loguniform", {{"min", "max"}, {}, [](Values v) { return Distribution::loguniform(v[0], v[1]); }}},
      {"normal", {{"mean", "sigma"}, {}, [](Values v) { return Distribution::normal(v[0], v[1]); }}},
      {"lognormal", {{"median", "sigma"}, {}, [](Values v) { return Distribution::lognormal(v[0], v[1]); }}},
      {"truncated_normal",
       {{"mean", "sigma", "min", "max"},
        {},
        [](Values v) { return Distribution::truncated_normal(v[0], v[1], v[2], v[3]); }}},
      {"triangular", {{"min", "mode", "max"}, {}, [](Values v) { return Distribution::triangular(v[0], v[1], v[2]); }}},
      {"beta",
       {{"alpha", "beta"},
        {"min", "max"},
        [](Values v) {
          return Distribution::beta(v[0], v[1], std::isnan(v[2]) ? 0.0 : v[2], std::isnan(v[3]) ? 1.0 : v[3]);
        }}},
      {"gamma", {{"shape", "scale"}, {}, [](Values v) { return Distribution::gamma(v[0], v[1]); }}},
  };
  return all;
}

Names distribution_names() {
  Names names;
  for (const auto& [name, form] : forms()) names.push_back(name);
  names.push_back("choice");
  return names;
}

class Reader {
 public:
  Reader(Sweep& sweep, std::span<const std::string> methods, Problems& problems)
      : sweep_(sweep), methods_(methods.begin(), methods.end()), problems_(problems) {}

  void read(const toml::table& root) {
    const bool complete = check_keys(root, "the sweep file",
                                     {"model", "t_span", "solver", "ensemble", "parameters", "initial", "output"});
    read_model(root);
    if (const toml::node* node = root.get("t_span")) read_t_span(*node);
    if (const toml::table* solver = section(root, "solver")) read_solver(*solver);
    const toml::table* ensemble = section(root, "ensemble");
    if (ensemble != nullptr) read_ensemble(*ensemble);
    for (const char* name : {"parameters", "initial"}) {
      if (const toml::table* table = section(root, name)) read_quantities(*table, name);
    }
    // toml++ sorts keys by name; the last one in the file runs fastest in a grid.
    std::sort(sweep_.quantities.begin(), sweep_.quantities.end(), [](const SweepQuantity& a, const SweepQuantity& b) {
      return std::pair(a.position.line, a.position.column) < std::pair(b.position.line, b.position.column);
    });
    // A misspelt [ensemble] is not missing too.
    check_number_of_instances(ensemble, complete);
    sweep_.output_file = sweep_.path.filename().replace_extension(".nc");
    if (const toml::table* output = section(root, "output")) read_output(*output);
  }

 private:
  // Whether all keys are known.
  bool check_keys(const toml::table& table, std::string_view where, const Names& known) {
    bool good = true;
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      good = false;
      problems_.add(position_of(key),
                    fmt::format("unknown key \"{}\" in {}{}", key.str(), where, did_you_mean(key.str(), known)));
    }
    return good;
  }

  const toml::table* section(const toml::table& root, std::string_view name) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong(*node, name, "a table");
    return node->as_table();
  }

  void wrong(const toml::node& node, std::string_view what, std::string_view need) {
    problems_.add(position_of(node), fmt::format("{} is {}, but must be {}", what, spelled(node), need));
  }

  std::optional<double> number(const toml::node& node, std::string_view what) {
    if (!node.is_number()) {
      wrong(node, what, "a number");
      return std::nullopt;
    }
    const auto value = node.value<double>();
    if (!value || !std::isfinite(*value)) {
      wrong(node, what, "a finite number");
      return std::nullopt;
    }
    return value;
  }

  std::optional<double> number_where(const toml::node& node, std::string_view what, bool (*good)(double),
                                     std::string_view need) {
    const auto value = number(node, what);
    if (!value || good(*value)) return value;
    wrong(node, what, need);
    return std::nullopt;
  }

  std::optional<std::int64_t> integer(const toml::node& node, std::string_view what, std::int64_t least,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    auto value = node.value_exact<std::int64_t>();
    // 2e4 is an integer too.
    const auto real = node.value_exact<double>();
    if (real && *real == std::floor(*real) && std::abs(*real) < 9e15) value = static_cast<std::int64_t>(*real);
    if (value && *value >= least && *value <= most) return value;
    wrong(node, what,
          fmt::format("an integer of at least {}", least) +
              (value && *value > most ? fmt::format(" and at most {}", most) : std::string()));
    return std::nullopt;
  }

  std::optional<std::string> text(const toml::node& node, std::string_view what) {
    auto value = node.value_exact<std::string>();
    if (value && !value->empty()) return value;
    wrong(node, what, "a text that is not empty");
    return std::nullopt;
  }

  void read_name(const toml::table& table, std::string_view key, std::string_view what, const Names& known,
                 std::string& target) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    const auto name = text(*node, what);
    if (!name) return;
    if (std::find(known.begin(), known.end(), *name) != known.end()) {
      target = *name;
    } else {
      problems_.add(position_of(*node), fmt::format("unknown {} \"{}\"{}", what, *name, did_you_mean(*name, known)));
    }
  }

  void read_model(const toml::table& root) {
    const toml::node* node = root.get("model");
    if (node == nullptr) {
      problems_.add({}, "model is missing: give a built-in model's name or the path of a .hpp or .mo file");
      return;
    }
    sweep_.model_position = position_of(*node);
    const auto name = text(*node, "model");
    if (!name) return;
    const std::filesystem::path file(*name);
    const bool is_file = file.extension() == ".hpp" || file.extension() == ".mo";
    sweep_.model = is_file ? (sweep_.path.parent_path() / file).string() : *name;
  }

  void read_t_span(const toml::node& node) {
    sweep_.t_span_position = position_of(node);
    const toml::array* ends = node.as_array();
    if (ends == nullptr || ends->size() != 2) {
      wrong(node, "t_span", "a list of two, start and end, each a number or { distribution = ... }");
      return;
    }
    std::array<double, 2> span{};
    bool sampled = false;
    for (std::size_t end = 0; end < 2; ++end) {
      const std::string what = end == 0 ? "the start of t_span" : "the end of t_span";
      const toml::node& value = *ends->get(end);
      if (const toml::table* arguments = value.as_table()) {
        SweepQuantity entry;
        entry.quantity.kind = SampledQuantity::Kind::time;
        entry.quantity.name = end == 0 ? "t_begin" : "t_end";
        entry.position = entry.value_position = position_of(value);
        read_distribution(*arguments, what, entry);
        span[end] = entry.quantity.distribution.quantile(0.5);
        sweep_.quantities.push_back(std::move(entry));
        sampled = true;
      } else if (const auto fixed = number(value, what)) {
        span[end] = *fixed;
      } else {
        return;
      }
    }
    if (!sampled && span[0] == span[1]) {
      problems_.add(position_of(node), fmt::format("t_span starts and ends at {}, but its ends must differ", span[0]));
      return;
    }
    sweep_.t_span = span;
  }

  void read_solver(const toml::table& table) {
    check_keys(table, "[solver]",
               {"method",        "rtol",           "atol",         "backend",    "precision",
                "tier",          "threads",        "max_steps",    "first_step", "max_step",
                "device_memory", "device_tile",    "device_block", "event_log",  "initial_conditions",
                "jacobian",      "jacobian_reuse", "error_test",   "projection", "verify"});
    for (const auto& [key, node] : table) sweep_.solver_positions[std::string(key.str())] = position_of(node);
    SolverOptions& options = sweep_.options;
    read_name(table, "method", "method", methods_, options.method);
    read_name(table, "backend", "backend", {"auto", "cpu", "cuda"}, options.backend);
    read_name(table, "jacobian", "jacobian", {"automatic", "dual_numbers", "finite_differences"}, options.jacobian);
    read_name(table, "jacobian_reuse", "jacobian_reuse", {"automatic", "every_step", "contraction", "cameron", "dassl"},
              options.jacobian_reuse);
    read_name(table, "error_test", "error_test", {"all", "differential"}, options.error_test);
    read_name(table, "precision", "precision", {"float64", "float32", "mixed"}, options.precision);
    read_name(table, "tier", "tier", {"auto", "fused", "lockstep"}, options.tier);
    if (const toml::node* node = table.get("rtol")) {
      if (const auto value = number(*node, "rtol")) {
        const std::string problem = rtol_problem(*value, options.precision);
        if (problem.empty()) {
          options.rtol = *value;
        } else {
          problems_.add(position_of(*node), "rtol " + problem);
        }
      }
    }
    if (const toml::node* node = table.get("atol")) read_atol(*node);
    if (const toml::node* node = table.get("initial_conditions")) read_initial_conditions(*node);
    if (const toml::node* node = table.get("verify")) {
      sweep_.verify = number_where(
                          *node, "verify", [](double x) { return x >= 0.0 && x <= 1.0; },
                          "the share of the instances to verify, from 0 to 1")
                          .value_or(0.0);
    }
    if (const toml::node* node = table.get("threads")) {
      options.threads = static_cast<int>(integer(*node, "threads", 0, 65536).value_or(0));
    }
    if (const toml::node* node = table.get("device_memory")) {
      options.device_memory = number_where(
                                  *node, "device_memory", [](double x) { return x > 0.0; }, "MiB, greater than 0")
                                  .value_or(0.0);
    }
    if (const toml::node* node = table.get("device_tile")) {
      options.device_tile = static_cast<int>(integer(*node, "device_tile", 0, 32).value_or(0));
      if ((options.device_tile & (options.device_tile - 1)) != 0) {
        problems_.add(position_of(*node), fmt::format("device_tile is {}, but must be 1, 2, 4, 8, 16 or 32 (0: chosen "
                                                      "by the kernel)",
                                                      options.device_tile));
      }
    }
    if (const toml::node* node = table.get("device_block")) {
      options.device_block = static_cast<int>(integer(*node, "device_block", 0, 1024).value_or(0));
      if (options.device_block % 32 != 0) {
        problems_.add(position_of(*node),
                      fmt::format("device_block is {}, but must be a multiple of 32 (0: chosen from "
                                  "the occupancy)",
                                  options.device_block));
      }
    }
    if (const toml::node* node = table.get("projection")) {
      const auto value = node->value_exact<bool>();
      if (!value) wrong(*node, "projection", "true or false");
      options.projection = value.value_or(false);
    }
    if (const toml::node* node = table.get("max_steps")) {
      options.max_steps = integer(*node, "max_steps", 1).value_or(options.max_steps);
    }
    if (const toml::node* node = table.get("event_log")) {
      options.event_log =
          static_cast<int>(integer(*node, "event_log", 0, std::numeric_limits<int>::max()).value_or(options.event_log));
    }
    if (const toml::node* node = table.get("first_step")) {
      options.first_step =
          number_where(
              *node, "first_step", [](double x) { return x >= 0.0; }, "at least 0 (0: chosen by the method)")
              .value_or(0.0);
    }
    if (const toml::node* node = table.get("max_step")) {
      options.max_step = number_where(
                             *node, "max_step", [](double x) { return x > 0.0; }, "greater than 0")
                             .value_or(options.max_step);
    }
  }

  void read_atol(const toml::node& node) {
    constexpr auto positive = [](double x) { return x > 0.0; };
    if (!node.is_table()) {
      if (!node.is_number()) {
        wrong(node, "atol", "a number, or a table of numbers by variable");
      } else if (const auto value = number_where(node, "atol", positive, "greater than 0")) {
        sweep_.options.atol = {*value};
      }
      return;
    }
    for (const auto& [key, entry] : *node.as_table()) {
      const auto value = number_where(entry, fmt::format("atol of \"{}\"", key.str()), positive, "greater than 0");
      if (!value) continue;
      if (key.str() == "default") {
        sweep_.options.atol = {*value};
      } else {
        sweep_.atol.push_back({{std::string(key.str()), position_of(key)}, *value});
      }
    }
  }

  void read_initial_conditions(const toml::node& node) {
    const auto word = node.value_exact<std::string>();
    if (word == "steady_state" || word == "projected") {
      sweep_.options.initial_conditions = {*word};
    } else if (!node.is_array()) {
      wrong(node, "initial_conditions",
            "\"steady_state\", \"projected\", or a list of variables and derivatives, der(variable)");
    } else {
      for (const auto& [name, position] : texts(node, "initial_conditions", false)) {
        sweep_.options.initial_conditions.push_back(name);
      }
    }
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
          problems_.add(position_of(*node), fmt::format("table is \"{}\", but must be a file of this machine", *file));
        } else if (!std::filesystem::is_regular_file(sweep_.table)) {
          problems_.add(position_of(*node), fmt::format("the table \"{}\" is not a file that can be read", *file));
        }
      }
      if (!needs_table) problems_.add(position_of(*node), "table is given, but the sampler is not \"table\"");
    } else if (needs_table) {
      problems_.add(position_of(table), "sampler = \"table\" needs the key table: the path of a .csv or .nc file");
    }
  }

  void read_quantities(const toml::table& table, std::string_view section_name) {
    const auto kind = section_name == "parameters" ? SampledQuantity::Kind::parameter : SampledQuantity::Kind::initial;
    for (const auto& [key, node] : table) {
      SweepQuantity entry;
      entry.quantity.kind = kind;
      entry.quantity.name = std::string(key.str());
      entry.position = position_of(key);
      entry.value_position = position_of(node);
      const std::string what = fmt::format("{}.{}", section_name, key.str());
      if (const toml::table* arguments = node.as_table()) {
        read_distribution(*arguments, what, entry);
      } else if (node.is_number()) {
        entry.integer = node.value_exact<std::int64_t>();
        if (const auto value = number(node, what)) entry.quantity.distribution = Distribution::constant(*value);
      } else {
        wrong(node, what, "a number or { distribution = ... }");
      }
      sweep_.quantities.push_back(std::move(entry));
    }
  }

  void read_distribution(const toml::table& table, const std::string& what, SweepQuantity& entry) {
    std::string name;
    if (table.get("distribution") == nullptr) {
      problems_.add(position_of(table),
                    fmt::format("{} has no key distribution; known: {}", what, fmt::join(distribution_names(), ", ")));
      return;
    }
    read_name(table, "distribution", "distribution", distribution_names(), name);
    if (name.empty()) return;
    const bool choice = name == "choice";
    const Form& form = choice ? choice_form_ : forms().at(name);
    Names known = {"distribution", "levels"};
    known.insert(known.end(), form.required.begin(), form.required.end());
    known.insert(known.end(), form.optional.begin(), form.optional.end());
    check_keys(table, fmt::format("{} of distribution \"{}\"", what, name), known);
    try {
      const auto distribution = choice ? make_choice(table, what) : make_from_numbers(table, what, form);
      if (distribution) {
        entry.quantity.distribution = *distribution;
        read_levels(table, what, entry.quantity);
      }
    } catch (const DistributionError& error) {
      const toml::node* argument = table.get(error.key);
      problems_.add(argument != nullptr ? position_of(*argument) : position_of(table),
                    fmt::format("{}: {}", what, error.what()));
    }
  }

  std::optional<Distribution> make_from_numbers(const toml::table& table, const std::string& what, const Form& form) {
    std::vector<double> values;
    bool good = true;
    const auto take = [&](const std::string& key, bool required) {
      const toml::node* node = table.get(key);
      if (node == nullptr && required) problems_.add(position_of(table), fmt::format("{} has no key {}", what, key));
      const auto value = node == nullptr ? std::nullopt : number(*node, fmt::format("{}.{}", what, key));
      if (!value && (required || node != nullptr)) good = false;
      values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    };
    for (const std::string& key : form.required) take(key, true);
    for (const std::string& key : form.optional) take(key, false);
    if (!good) return std::nullopt;
    return form.make(values);
  }

  std::optional<std::vector<double>> numbers(const toml::node& node, const std::string& what) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) {
      wrong(node, what, "a list of at least one number");
      return std::nullopt;
    }
    std::vector<double> values;
    for (const toml::node& element : *list) {
      if (const auto value = number(element, fmt::format("an element of {}", what))) values.push_back(*value);
    }
    if (values.size() != list->size()) return std::nullopt;
    return values;
  }

  std::optional<Distribution> make_choice(const toml::table& table, const std::string& what) {
    const toml::node* values_node = table.get("values");
    const toml::node* weights_node = table.get("weights");
    if (values_node == nullptr) {
      problems_.add(position_of(table), fmt::format("{} has no key values", what));
      return std::nullopt;
    }
    const auto values = numbers(*values_node, what + ".values");
    const auto weights = weights_node == nullptr ? std::vector<double>() : numbers(*weights_node, what + ".weights");
    if (!values || !weights) return std::nullopt;
    return Distribution::choice(*values, *weights);
  }

  void read_levels(const toml::table& table, const std::string& what, SampledQuantity& quantity) {
    const bool grid = sweep_.sampling.sampler == "grid";
    const int natural = quantity.distribution.natural_levels();
    const toml::node* node = table.get("levels");
    if (node == nullptr) {
      if (grid && natural == 0) {
        problems_.add(position_of(table), fmt::format("{} has no key levels, which sampler = \"grid\" needs", what));
        quantity.levels = 1;
      }
      return;
    }
    if (!grid) problems_.add(position_of(*node), fmt::format("{}.levels is for sampler = \"grid\" only", what));
    constexpr std::int64_t most_levels = 100'000'000;
    quantity.levels = static_cast<int>(integer(*node, what + ".levels", 1, most_levels).value_or(1));
    if (natural != 0 && quantity.levels != natural) {
      wrong(*node, what + ".levels", fmt::format("left out or {}, the number of values", natural));
      quantity.levels = natural;
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
        problems_.add(entry.value_position,
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
          problems_.add(entry.position,
                        fmt::format("the grid has more than {} instances: take fewer levels", most_instances));
          return;
        }
        product *= std::max<std::int64_t>(levels, 1);
      }
      if (sampling.instances != 0 && sampling.instances != product && problems_.empty()) {
        problems_.add(sweep_.instances_position,
                      fmt::format("instances is {}, but the grid has {}: leave it out", sampling.instances, product));
      }
    } else if (sampling.instances == 0) {
      if (anything_sampled && (ensemble != nullptr || complete)) {
        problems_.add(ensemble != nullptr ? position_of(*ensemble) : SourcePosition(),
                      "instances is missing in [ensemble]: give the number of instances to draw");
      }
      sampling.instances = 1;
    }
  }

  void read_output(const toml::table& table) {
    check_keys(table, "[output]", {"file", "times", "variables", "trajectories", "statistics"});
    if (const toml::node* node = table.get("file")) {
      if (const auto file = text(*node, "output.file")) sweep_.output_file = *file;
    }
    if (const toml::node* node = table.get("times")) {
      sweep_.times_position = position_of(*node);
      try {
        read_times(*node);
      } catch (const UsageError& error) {
        problems_.add(sweep_.times_position, error.what());
      }
    }
    if (const toml::node* node = table.get("variables")) read_variables(*node);
    if (const toml::node* node = table.get("trajectories")) {
      const auto value = node->value_exact<bool>();
      if (!value) wrong(*node, "trajectories", "true or false");
      sweep_.trajectories = value.value_or(true);
    }
    if (const toml::node* node = table.get("statistics")) read_statistics(*node);
  }

  void read_times(const toml::node& node) {
    if (node.is_number()) {
      const auto count = integer(node, "times as a count", 2, std::numeric_limits<int>::max());
      if (count && fits_memory(node, *count)) sweep_.times = OutputTimes::equal_steps(static_cast<int>(*count));
    } else if (node.is_array()) {
      if (auto times = numbers(node, "times")) sweep_.times = OutputTimes::list(std::move(*times));
    } else if (const toml::table* table = node.as_table()) {
      check_keys(*table, "output.times", {"log"});
      const toml::node* entry = table->get("log");
      if (entry == nullptr) {
        wrong(node, "times", "{ log = [from, to, count] } if it is a table");
        return;
      }
      const toml::array* log = entry->as_array();
      if (log == nullptr || log->size() != 3) {
        wrong(*entry, "times.log", "a list of three numbers: from, to, count");
        return;
      }
      const auto from = number(*log->get(0), "the start of times.log");
      const auto to = number(*log->get(1), "the end of times.log");
      const auto count = integer(*log->get(2), "the count of times.log", 2, std::numeric_limits<int>::max());
      if (from && to && count && fits_memory(*log->get(2), *count))
        sweep_.times = OutputTimes::log(*from, *to, static_cast<int>(*count));
    } else if (node.value_exact<std::string>() == "end") {
      sweep_.times = OutputTimes::end();
    } else {
      wrong(node, "times", "a count of equal steps, a list of times, { log = [from, to, count] } or \"end\"");
    }
  }

  /// With one variable saved; how many there are is not known yet.
  bool fits_memory(const toml::node& node, std::int64_t times) {
    const std::string problem = memory_problem(2.0 * static_cast<double>(times), sweep_.sampling.instances);
    if (problem.empty()) return true;
    problems_.add(position_of(node), fmt::format("times has {} output times, which {}", times, problem));
    return false;
  }

  // The texts of a list, each once; reports the others.
  std::vector<PlacedName> texts(const toml::node& node, std::string_view what, bool may_be_empty) {
    std::vector<PlacedName> names;
    const toml::array* list = node.as_array();
    if (list == nullptr || (list->empty() && !may_be_empty)) {
      wrong(node, what, may_be_empty ? "a list of texts" : "a list of at least one text");
      return names;
    }
    std::set<std::string> seen;
    for (const toml::node& element : *list) {
      const auto name = text(element, fmt::format("an element of {}", what));
      if (!name) continue;
      if (seen.insert(*name).second) {
        names.push_back({*name, position_of(element)});
      } else {
        problems_.add(position_of(element), fmt::format("{} has \"{}\" twice", what, *name));
      }
    }
    return names;
  }

  void read_variables(const toml::node& node) { sweep_.variables = texts(node, "variables", false); }

  void read_statistics(const toml::node& node) {
    const Names known = {"mean", "std", "min", "max", "quantile(0.5)"};
    for (const auto& [name, position] : texts(node, "statistics", true)) {
      if (const auto request = StatisticRequest::parse(name)) {
        sweep_.statistics.push_back(*request);
      } else if (name.starts_with("quantile(")) {
        problems_.add(position, fmt::format("statistic \"{}\" must be quantile(p) with p from 0 to 1", name));
      } else if (name == "median") {
        problems_.add(position, "unknown statistic \"median\"; did you mean \"quantile(0.5)\"?");
      } else {
        problems_.add(position, fmt::format("unknown statistic \"{}\"{}", name, did_you_mean(name, known)));
      }
    }
  }

  Sweep& sweep_;
  Names methods_;
  Problems& problems_;
  const Form choice_form_ = {{"values"}, {"weights"}, {}};
};

std::string read_text(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  const bool readable = file && !std::filesystem::is_directory(path);
  if (readable) text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (!readable) {
    throw UsageError(fmt::format("{}:1:1: error: the sweep file cannot be read: {}", path.string(),
                                 std::strerror(errno != 0 ? errno : EISDIR)));
  }
  return text;
}

Names variable_names(const ModelDescription& model) {
  Names names;
  for (const auto& variable : model.variables) names.push_back(variable.name);
  return names;
}

int index_of(const Names& names, std::string_view name) {
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? -1 : static_cast<int>(place - names.begin());
}

// Quantities with names the model knows; the structural parameter is checked and left out.
std::vector<SampledQuantity> known_quantities(const Sweep& sweep, const ModelDescription& model, Problems& problems) {
  Names parameters;
  for (const auto& parameter : model.parameters) parameters.push_back(parameter.name);
  const StructuralParameter& structural = model.structural;
  if (!structural.name.empty()) parameters.push_back(structural.name);
  Names initial;
  for (const auto& quantity : model.initial_quantities()) initial.push_back(quantity.name);
  std::vector<SampledQuantity> known;
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.quantity.kind == SampledQuantity::Kind::time) {
      known.push_back(entry.quantity);
      continue;
    }
    const bool parameter = entry.quantity.kind == SampledQuantity::Kind::parameter;
    const std::string& name = entry.quantity.name;
    const Names& names = parameter ? parameters : initial;
    if (index_of(names, name) < 0) {
      problems.add(entry.position, fmt::format("model \"{}\" has no {} \"{}\"{}", model.name,
                                               parameter ? "parameter" : "variable", name, did_you_mean(name, names)));
    } else if (parameter && !structural.name.empty() && name == structural.name) {
      if (!entry.integer || *entry.integer < structural.minimum || *entry.integer > structural.maximum) {
        problems.add(entry.value_position,
                     fmt::format("parameters.{} must be an integer constant from {} to {}: it shapes "
                                 "the equations",
                                 name, structural.minimum, structural.maximum));
      }
    } else {
      known.push_back(entry.quantity);
    }
  }
  return known;
}

}  // namespace

Sweep parse_sweep_file(const std::filesystem::path& path, std::span<const std::string> methods) {
  Sweep sweep;
  sweep.path = path;
  sweep.text = read_text(path);
  sweep.options.method = "radau5";
  Problems problems(path);
  try {
    const toml::table root = toml::parse(sweep.text, path.string());
    Reader(sweep, methods, problems).read(root);
  } catch (const toml::parse_error& error) {
    problems.add(position_of(error.source()), std::string(error.description()));
  }
  problems.raise();
  return sweep;
}

std::optional<long> constant_integer_parameter(const Sweep& sweep, std::string_view name) {
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.quantity.kind != SampledQuantity::Kind::parameter || entry.quantity.name != name) continue;
    if (!entry.integer) {
      Problems problems(sweep.path);
      problems.add(entry.value_position,
                   fmt::format("parameters.{} must be an integer constant: it shapes the equations", name));
      problems.raise();
    }
    return static_cast<long>(*entry.integer);
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
    return fmt::format("{}:{}:{}: error: {}", sweep.path.string(), position.line, position.column, message);
  };
  for (const auto& [key, position] : sweep.solver_positions) {
    if (about(key)) return at(position);
  }
  return about("model") ? at(sweep.model_position) : message;
}

ResolvedSweep resolve(const Sweep& sweep, const ModelDescription& model) {
  Problems problems(sweep.path);
  const Names variables = variable_names(model);

  SolverOptions options = sweep.options;
  options.atol.assign(variables.size(), sweep.options.atol.front());
  for (const auto& [variable, value] : sweep.atol) {
    const int index = index_of(variables, variable.name);
    if (index >= 0) {
      options.atol[static_cast<std::size_t>(index)] = value;
    } else {
      problems.add(variable.position, fmt::format("atol: model \"{}\" has no variable \"{}\"{}", model.name,
                                                  variable.name, did_you_mean(variable.name, variables)));
    }
  }

  std::vector<int> saved;
  for (const auto& [name, position] : sweep.variables) {
    const int index = index_of(variables, name);
    if (index < 0) {
      problems.add(position, fmt::format("output.variables: model \"{}\" has no variable \"{}\"{}", model.name, name,
                                         did_you_mean(name, variables)));
    }
    saved.push_back(index);
  }
  if (sweep.variables.empty()) {
    for (std::size_t i = 0; i < variables.size(); ++i) saved.push_back(static_cast<int>(i));
  }

  const std::vector<SampledQuantity> quantities = known_quantities(sweep, model, problems);
  const bool from_table = sweep.sampling.sampler == "table";
  std::optional<EnsembleInputs> inputs;
  try {
    inputs = from_table ? EnsembleInputs::tabulated(model, read_table(sweep.table), quantities)
                        : EnsembleInputs::sampled(model, sweep.sampling, quantities);
  } catch (const UsageError& error) {
    // Problems of the table name their place in it; the others are about the ensemble as a whole.
    const std::string message = error.what();
    if (from_table && message.starts_with(sweep.table.string())) {
      problems.add_placed(message);
    } else {
      problems.add(sweep.instances_position, message);
    }
  }

  const std::array<double, 2> t_span = sweep.t_span.value_or(std::array{model.t_begin, model.t_end});
  if (inputs) {
    inputs->set_t_span(t_span[0], t_span[1]);
    if (from_table && sweep.sampling.instances != 0 && sweep.sampling.instances != inputs->instances()) {
      problems.add(sweep.instances_position, fmt::format("instances is {}, but the table has {} rows: leave it out",
                                                         sweep.sampling.instances, inputs->instances()));
    }
    const auto [begin_varies, end_varies] = inputs->sampled_times();
    const bool varies = begin_varies || end_varies;
    double direction = 0.0;
    std::vector<double> parameters(model.parameters.size());
    std::vector<double> initial(model.initial_quantities().size());
    for (std::int64_t instance = 0; instance < (varies ? inputs->instances() : 1); ++instance) {
      std::array<double, 2> span{};
      inputs->fill(instance, parameters.data(), initial.data(), span.data());
      if (span[0] == span[1]) {
        problems.add(sweep.t_span_position,
                     fmt::format("the time span of instance {} starts and ends at {}, but its ends must differ",
                                 instance, span[0]));
        break;
      }
      if (direction == 0.0) direction = span[1] - span[0];
      if ((span[1] - span[0]) * direction < 0.0) {
        problems.add(sweep.t_span_position,
                     fmt::format("the time span of instance {} runs from {} to {}, against that of instance 0: the "
                                 "distributions of its ends must not cross",
                                 instance, span[0], span[1]));
        break;
      }
      if (const auto problem = sweep.times.problem(span[0], span[1], !varies)) {
        problems.add(sweep.times_position, *problem);
        break;
      }
    }
  }
  if (inputs) {
    const double times = static_cast<double>(sweep.times.count()) * (1.0 + static_cast<double>(saved.size()));
    if (const std::string problem = memory_problem(times, inputs->instances()); !problem.empty()) {
      problems.add(sweep.times_position,
                   fmt::format("times has {} output times, which with {} variables {}: take fewer of them",
                               sweep.times.count(), saved.size(), problem));
    }
    const double per_event = 2.0 + 2.0 * static_cast<double>(saved.size() + model.discrete.size());
    const double events = model.events.empty() ? 0.0 : per_event * options.event_log;
    if (const std::string problem = memory_problem(events, inputs->instances()); !problem.empty()) {
      const auto position = sweep.solver_positions.find("event_log");
      problems.add(position != sweep.solver_positions.end() ? position->second : SourcePosition(),
                   fmt::format("event_log is {}, which {}: take fewer", options.event_log, problem));
    }
  }
  problems.raise();
  return {std::move(*inputs), std::move(options), std::move(saved), sweep.times, t_span,
          sweep.trajectories, sweep.statistics,   sweep.output_file};
}

}  // namespace manyfold
