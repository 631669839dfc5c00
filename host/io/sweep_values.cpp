#include "host/io/sweep_values.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

// A number as the file says it, for messages.
std::string spelled(const toml::node& node) {
  if (const auto integer = node.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
  if (const auto text = node.value_exact<std::string>()) return fmt::format("\"{}\"", *text);
  if (const auto boolean = node.value_exact<bool>()) return *boolean ? "true" : "false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a table" : "a date or time";
}

}  // namespace

SourcePosition position_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

SourcePosition position_of(const toml::node& node) {
  return position_of(node.source());
}
SourcePosition position_of(const toml::key& key) {
  return position_of(key.source());
}

void SweepProblems::raise() {
  if (empty()) return;
  std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  for (const auto& [position, message] : entries_) {
    const std::string place =
        position.first == 0 ? "manyfold" : fmt::format("{}:{}:{}", file_, position.first, position.second);
    lines.push_back(fmt::format("{}: error: {}", place, message));
  }
  lines.insert(lines.end(), placed_.begin(), placed_.end());
  throw UsageError(fmt::format("{}", fmt::join(lines, "\n")));
}

bool SweepValues::check_keys(const toml::table& table, std::string_view where, const Names& known) {
  bool good = true;
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    good = false;
    problems_.add(position_of(key),
                  fmt::format("unknown key \"{}\" in {}{}", key.str(), where, did_you_mean(key.str(), known)));
  }
  return good;
}

void SweepValues::wrong(const toml::node& node, std::string_view what, std::string_view need) {
  problems_.add(position_of(node), fmt::format("{} is {}, but must be {}", what, spelled(node), need));
}

std::optional<double> SweepValues::number(const toml::node& node, std::string_view what) {
  if (!node.is_number()) {
    wrong(node, what, "a number");
    return std::nullopt;
  }
  // An integer of more digits than a double has is rounded.
  const auto integer = node.value_exact<std::int64_t>();
  const auto value = integer ? static_cast<double>(*integer) : node.value<double>();
  if (!value || !std::isfinite(*value)) {
    wrong(node, what, "a finite number");
    return std::nullopt;
  }
  return value;
}

std::optional<double> SweepValues::number_where(const toml::node& node, std::string_view what, bool (*good)(double),
                                                std::string_view need) {
  const auto value = number(node, what);
  if (!value || good(*value)) return value;
  wrong(node, what, need);
  return std::nullopt;
}

std::optional<std::int64_t> SweepValues::integer(const toml::node& node, std::string_view what, std::int64_t least,
                                                 std::int64_t most) {
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

std::optional<std::string> SweepValues::text(const toml::node& node, std::string_view what) {
  auto value = node.value_exact<std::string>();
  const bool cut = value && value->find('\0') != std::string::npos;
  if (value && !value->empty() && !cut) return value;
  wrong(node, what, cut ? "a text without NUL" : "a text that is not empty");
  return std::nullopt;
}

void SweepValues::read_name(const toml::table& table, std::string_view key, std::string_view what, const Names& known,
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

std::optional<bool> SweepValues::boolean(const toml::node& node, std::string_view what) {
  const auto value = node.value_exact<bool>();
  if (!value) wrong(node, what, "true or false");
  return value;
}

std::optional<std::vector<double>> SweepValues::numbers(const toml::node& node, const std::string& what) {
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

std::vector<PlacedName> SweepValues::texts(const toml::node& node, std::string_view what, bool may_be_empty) {
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

}  // namespace manyfold
