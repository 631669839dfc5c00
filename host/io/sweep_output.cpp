// [output] of a sweep file.
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "host/io/memory_need.hpp"
#include "host/io/sweep_values.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

class OutputReader : SweepValues {
 public:
  OutputReader(Sweep& sweep, SweepProblems& problems) : SweepValues(problems), sweep_(sweep) {}

  void read(const toml::table& table) {
    check_keys(table, "[output]",
               {"file", "times", "variables", "instances", "trajectories", "statistics", "quantiles", "reduce",
                "after_end", "compression"});
    if (const toml::node* node = table.get("file")) {
      if (const auto file = text(*node, "output.file")) sweep_.output_file = *file;
    }
    if (const toml::node* node = table.get("times")) {
      sweep_.times_position = position_of(*node);
      try {
        read_times(*node);
      } catch (const UsageError& error) {
        problems().add(sweep_.times_position, error.what());
      }
    }
    if (const toml::node* node = table.get("variables")) sweep_.variables = texts(*node, "variables", false);
    read_rows(table);
    if (const toml::node* node = table.get("statistics")) read_statistics(*node);
    std::string quantiles = "automatic";
    read_name(table, "quantiles", "value of quantiles", {"automatic", "exact", "approximate"}, quantiles);
    sweep_.quantiles = quantiles == "exact"         ? QuantileAccuracy::exact
                       : quantiles == "approximate" ? QuantileAccuracy::approximate
                                                    : QuantileAccuracy::automatic;
    if (const toml::node* node = table.get("reduce")) read_reductions(*node);
    std::string after_end = "missing";
    read_name(table, "after_end", "value of after_end", {"missing", "hold"}, after_end);
    sweep_.hold = after_end == "hold";
    if (const toml::node* node = table.get("compression")) read_compression(*node);
  }

 private:
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
    const std::string problem =
        memory_problem(2.0 * static_cast<double>(times), sweep_.sampling.instances, sweep_.options.threads);
    if (problem.empty()) return true;
    problems().add(position_of(node), fmt::format("times has {} output times, which {}", times, problem));
    return false;
  }

  /// What the file has of each instance.
  void read_rows(const toml::table& table) {
    if (const toml::node* node = table.get("instances")) {
      if (const auto rows = node->value_exact<bool>()) {
        sweep_.instance_rows = *rows;
      } else {
        wrong(*node, "instances in [output]", "true or false; how many there are stands in [ensemble]");
      }
    }
    sweep_.trajectories = sweep_.instance_rows;
    const toml::node* node = table.get("trajectories");
    if (node == nullptr) return;
    sweep_.trajectories = boolean(*node, "trajectories").value_or(true);
    if (!sweep_.trajectories || sweep_.instance_rows) return;
    problems().add(position_of(*node), "trajectories is true, but needs instances = true: they belong to instances");
  }

  void read_statistics(const toml::node& node) {
    const Names known = {"mean", "std", "min", "max", "quantile(0.5)"};
    for (const auto& [name, position] : texts(node, "statistics", true)) {
      if (const auto request = StatisticRequest::parse(name)) {
        const auto same = [&](const StatisticRequest& other) {
          return other.kind == request->kind && other.probability == request->probability;
        };
        if (std::any_of(sweep_.statistics.begin(), sweep_.statistics.end(), same)) {
          problems().add(position, fmt::format("statistics has \"{}\" twice", name));
          continue;
        }
        sweep_.statistics.push_back(*request);
      } else if (name.starts_with("quantile(")) {
        problems().add(position, fmt::format("statistic \"{}\" must be quantile(p) with p from 0 to 1", name));
      } else if (name == "median") {
        problems().add(position, "unknown statistic \"median\"; did you mean \"quantile(0.5)\"?");
      } else {
        problems().add(position, fmt::format("unknown statistic \"{}\"{}", name, did_you_mean(name, known)));
      }
    }
  }

  void read_reductions(const toml::node& node) {
    for (const auto& [text, position] : texts(node, "reduce", false)) {
      try {
        sweep_.reductions.push_back({Reduction::parse(text), position});
      } catch (const UsageError& error) {
        problems().add(position, fmt::format("reduce: {}", error.what()));
      }
    }
  }

  void read_compression(const toml::node& node) {
    if (node.value_exact<std::string>() == "none") return;
    if (!node.is_number()) return wrong(node, "compression", "\"none\" or a level from 1 to 9");
    sweep_.compression = static_cast<int>(integer(node, "compression", 1, 9).value_or(0));
  }

  Sweep& sweep_;
};

}  // namespace

void read_output(const toml::table& table, Sweep& sweep, SweepProblems& problems) {
  OutputReader(sweep, problems).read(table);
}

}  // namespace manyfold
