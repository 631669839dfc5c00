// Arrays and records that stand as a whole in expressions, while the file declares their elements and members one by
// one: 'frame.R' of 'frame.R.T[1,1]', ..., 'frame.R.w[3]'.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// Reads "1,2]" at the beginning of `text`; the number of letters read, or 0.
std::size_t read_subscripts(std::string_view text, std::vector<int>& subscripts) {
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || next == end || number < 1) return 0;
    subscripts.push_back(number);
    at = next + 1;
    if (*next == ']') return static_cast<std::size_t>(at - text.data());
    if (*next != ',') return 0;
  }
}

}  // namespace

/// Empty, if nothing is declared below this name, or not all elements.
const Flattener::Parts& Flattener::parts_of(const std::string& name) {
  const auto [entry, added] = parts_.try_emplace(name);
  Parts& result = entry->second;
  if (!added) return result;
  std::map<std::vector<int>, std::string> elements;
  for (auto at = pending_.lower_bound(name + "["); at != pending_.end() && at->first.starts_with(name + "["); ++at) {
    std::vector<int> subscripts;
    const std::size_t length = read_subscripts(std::string_view(at->first).substr(name.size() + 1), subscripts);
    if (length > 0) elements[subscripts] = at->first.substr(0, name.size() + 1 + length);
  }
  for (const auto& [subscripts, element] : elements) {
    result.dims.resize(std::max(result.dims.size(), subscripts.size()));
    for (std::size_t k = 0; k < subscripts.size(); ++k) result.dims[k] = std::max(result.dims[k], subscripts[k]);
    result.names.push_back(element);
  }
  std::size_t count = 1;
  for (const int dim : result.dims) count *= static_cast<std::size_t>(dim);
  if (!elements.empty()) {
    if (count != elements.size()) result = Parts();
    return result;
  }
  // Members stand in the order of their declarations, as in the record.
  std::vector<std::pair<Place, std::string>> members;
  for (auto at = pending_.lower_bound(name + "."); at != pending_.end() && at->first.starts_with(name + "."); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(name.size() + 1);
    const std::string member(rest.substr(0, rest.find_first_of(".[")));
    if (std::none_of(members.begin(), members.end(), [&](const auto& known) { return known.second == member; })) {
      members.emplace_back(at->second->place, member);
    }
  }
  std::sort(members.begin(), members.end());
  for (const auto& [place, member] : members) {
    result.members.push_back(member);
    result.names.push_back(name + "." + member);
  }
  return result;
}

/// False if nothing is declared below this name.
bool Flattener::assembled(const std::string& name, const Scope& scope, Place place, Value& result) {
  const Parts parts = parts_of(name);
  if (parts.names.empty()) return false;
  std::vector<Value> values;
  for (const std::string& part : parts.names) {
    Value value;
    if (const Value* local = scope.find(part)) {
      value = *local;
    } else if (known_name(part)) {
      value = value_of_name(part, place);
    } else if (!assembled(part, scope, place, value)) {
      return false;
    }
    values.push_back(std::move(value));
  }
  result = Value();
  if (!parts.members.empty()) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      result.fields.push_back({parts.members[k], std::move(values[k])});
    }
    return true;
  }
  result = shaped(std::move(values), parts.dims, place);
  return true;
}

/// In an algorithm: elements that are declared one by one, of an array that is assigned as a whole or at a place that
/// is not known.
void Flattener::assign_parts(const std::string& name, const Expression& target, const Value& value, Frame& frame) {
  const Parts parts = parts_of(name);
  if (parts.names.empty() || !parts.members.empty()) fail_unknown_name(target.place, name);
  Value whole;
  whole.dims = parts.dims;
  for (const std::string& part : parts.names) {
    if (!frame.scope.values.contains(part) && !known_name(part)) {
      fail_unknown_name(target.place, part);
    }
    whole.items.push_back(current(part, frame, target.place).items[0]);
  }
  const std::vector<Node> before = whole.items;
  assign_elements(whole, name, target.parts.back().subscripts, value, frame, target.place);
  for (std::size_t k = 0; k < parts.names.size(); ++k) {
    if (whole.items[k] == before[k] && !target.parts.back().subscripts.empty()) continue;
    frame.scope.values[parts.names[k]] = Value::scalar(whole.items[k]);
    frame.assigned.insert(parts.names[k]);
  }
}

}  // namespace manyfold::modelica
