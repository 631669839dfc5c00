// What is sampled or set in a sweep file: [parameters], [initial] and the ends of t_span.
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/tolerances.hpp>

#include "host/io/sweep_values.hpp"

namespace manyfold {
namespace {

// The arguments of a distribution in a sweep file, required ones first, and how to make it from their values.
struct DistributionForm {
  Names required;
  Names optional;
  std::function<Distribution(std::span<const double>)> make;  // required, then optional
};

const std::map<std::string, DistributionForm>& forms() {
  using Values = std::span<const double>;
  static const std::map<std::string, DistributionForm> all = {
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

class QuantityReader : SweepValues {
 public:
  QuantityReader(Sweep& sweep, SweepProblems& problems) : SweepValues(problems), sweep_(sweep) {}

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
      problems().add(position_of(node), fmt::format("t_span starts and ends at {}, but its ends must differ", span[0]));
      return;
    }
    if (std::abs(span[1] - span[0]) < least_span) {
      problems().add(position_of(node), fmt::format("t_span has the length {}, but needs at least {}",
                                                    std::abs(span[1] - span[0]), least_span));
      return;
    }
    if (!std::isfinite(span[1] - span[0])) {
      problems().add(position_of(node), fmt::format("t_span runs from {} to {}, but its length must be what a double "
                                                    "holds (1.8e308)",
                                                    span[0], span[1]));
      return;
    }
    sweep_.t_span = span;
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
        if (const auto value = number(node, what)) entry.quantity.distribution = Distribution::constant(*value);
      } else {
        wrong(node, what, "a number or { distribution = ... }");
      }
      sweep_.quantities.push_back(std::move(entry));
    }
  }

 private:
  void read_distribution(const toml::table& table, const std::string& what, SweepQuantity& entry) {
    std::string name;
    if (table.get("distribution") == nullptr) {
      problems().add(position_of(table),
                     fmt::format("{} has no key distribution; known: {}", what, fmt::join(distribution_names(), ", ")));
      return;
    }
    read_name(table, "distribution", "distribution", distribution_names(), name);
    if (name.empty()) return;
    const bool choice = name == "choice";
    const DistributionForm& form = choice ? choice_form_ : forms().at(name);
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
      problems().add(argument != nullptr ? position_of(*argument) : position_of(table),
                     fmt::format("{}: {}", what, error.what()));
    }
  }

  std::optional<Distribution> make_from_numbers(const toml::table& table, const std::string& what,
                                                const DistributionForm& form) {
    std::vector<double> values;
    bool good = true;
    const auto take = [&](const std::string& key, bool required) {
      const toml::node* node = table.get(key);
      if (node == nullptr && required) problems().add(position_of(table), fmt::format("{} has no key {}", what, key));
      const auto value = node == nullptr ? std::nullopt : number(*node, fmt::format("{}.{}", what, key));
      if (!value && (required || node != nullptr)) good = false;
      values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    };
    for (const std::string& key : form.required) take(key, true);
    for (const std::string& key : form.optional) take(key, false);
    if (!good) return std::nullopt;
    return form.make(values);
  }

  std::optional<Distribution> make_choice(const toml::table& table, const std::string& what) {
    const toml::node* values_node = table.get("values");
    const toml::node* weights_node = table.get("weights");
    if (values_node == nullptr) {
      problems().add(position_of(table), fmt::format("{} has no key values", what));
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
        problems().add(position_of(table), fmt::format("{} has no key levels, which sampler = \"grid\" needs", what));
        quantity.levels = 1;
      }
      return;
    }
    if (!grid) problems().add(position_of(*node), fmt::format("{}.levels is for sampler = \"grid\" only", what));
    constexpr std::int64_t most_levels = 100'000'000;
    quantity.levels = static_cast<int>(integer(*node, what + ".levels", 1, most_levels).value_or(1));
    if (natural != 0 && quantity.levels != natural) {
      wrong(*node, what + ".levels", fmt::format("left out or {}, the number of values", natural));
      quantity.levels = natural;
    }
  }

  Sweep& sweep_;
  const DistributionForm choice_form_ = {{"values"}, {"weights"}, {}};
};

}  // namespace

void read_t_span(const toml::node& node, Sweep& sweep, SweepProblems& problems) {
  QuantityReader(sweep, problems).read_t_span(node);
}

void read_quantities(const toml::table& table, std::string_view name, Sweep& sweep, SweepProblems& problems) {
  QuantityReader(sweep, problems).read_quantities(table, name);
}

}  // namespace manyfold
