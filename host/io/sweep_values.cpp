#include "host/io/sweep_values.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/text/nearest_name.hpp"
#include "host/text/number.hpp"

namespace manyfold {
namespace {

// A value that is no number, for messages.
std::string spelled(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return fmt::format("\"{}\"", *text);
  if (const auto boolean = node.value_exact<bool>()) return *boolean ? "true" : "false";
  if (const toml::array* list = node.as_array()) return list->empty() ? "an empty list" : "a list";
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

std::string SweepProblems::number_at(SourcePosition position) const {
  std::size_t at = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (int line = 1; line < position.line; ++line) at = text_.find('\n', at) + 1;
  // Columns count letters, of which UTF-8 has one or several bytes.
  for (int column = 1; column < position.column; ++column) {
    do ++at;
    while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xc0U) == 0x80U);
  }
  std::string number = text_.substr(at, text_.find_first_of(" \t\r\n,]}#", at) - at);
  std::erase(number, '_');
  return number;
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
  const std::string got = node.is_number() ? problems_.number_at(position_of(node)) : spelled(node);
  problems_.add(position_of(node), fmt::format("{} is {}, but must be {}", what, got, need));
}

std::optional<double> SweepValues::number(const toml::node& node, std::string_view what) {
  // Not as the parser of TOML has it, which takes 1e-400 for 0.
  double value = 0.0;
  const std::string need = node.is_number() ? read_number(problems_.number_at(position_of(node)), value) : "a number";
  if (need.empty()) return value;
  wrong(node, what, need);
  return std::nullopt;
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
  std::int64_t value = 0;
  const std::string text = node.is_number() ? problems_.number_at(position_of(node)) : "";
  const std::string need = read_integer(text, least, most, value);
  if (need.empty()) return value;
  wrong(node, what, need);
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
