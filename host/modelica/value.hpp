#pragma once
// What an expression is while a model is flattened: a number, an array of numbers, a text or a record.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/modelica/graph.hpp"

namespace manyfold::modelica {

struct Class;
struct Member;
struct Table;

/// Of a declaration.
inline constexpr std::size_t most_dimensions = 32;

struct Value {
  std::vector<int> dims;    ///< of an array; empty: a scalar
  unsigned truths = 0;      ///< bit k: the subscripts of dimension k are false and true
  std::vector<Node> items;  ///< in the order of rows
  bool is_text = false;
  bool logical = false;   ///< surely true or false, and no number
  bool computed = false;  ///< a text, or an array of texts, that nobody needs to know: of messages
  std::string text;
  std::vector<Member> fields;   ///< of a record
  std::vector<Value> elements;  ///< of an array of records, in the order of rows
  std::shared_ptr<const Table> table;
  const Class* function = nullptr;  ///< that is an argument; `fields` are inputs that have their value already

  static Value scalar(Node node);
  static Value computed_text();
  static Value vector(std::vector<Node> nodes);
  bool is_scalar() const;
  bool is_record() const;
  bool is_numeric() const;            ///< a number or an array of numbers
  std::size_t element_count() const;  ///< of an array; otherwise 1
  bool has_truths(std::size_t dimension) const;
};

/// Of a record.
struct Member {
  std::string name;
  Value value;
};

inline Value Value::scalar(Node node) {
  Value value;
  value.items = {node};
  return value;
}
inline Value Value::computed_text() {
  Value value;
  value.is_text = value.computed = true;
  return value;
}
inline Value Value::vector(std::vector<Node> nodes) {
  Value value;
  value.dims = {static_cast<int>(nodes.size())};
  value.items = std::move(nodes);
  return value;
}
inline bool Value::is_scalar() const {
  return dims.empty() && items.size() == 1;
}
inline bool Value::is_record() const {
  return !fields.empty() && function == nullptr;
}

inline std::size_t Value::element_count() const {
  std::size_t count = 1;
  for (const int dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}
inline bool Value::has_truths(std::size_t dimension) const {
  return dimension < most_dimensions && ((truths >> dimension) & 1U) != 0;
}
inline bool Value::is_numeric() const {
  return !is_text && fields.empty() && items.size() == element_count();
}

/// The nodes of a value and of all its parts, one after the other.
inline void gather(const Value& value, std::vector<Node>& nodes) {
  nodes.insert(nodes.end(), value.items.begin(), value.items.end());
  for (const Value& element : value.elements) gather(element, nodes);
  for (const Member& field : value.fields) gather(field.value, nodes);
}

/// Each node of a value and of all its parts becomes `change` of it.
void change_nodes(Value& value, const auto& change) {
  for (Node& item : value.items) item = change(item);
  for (Value& element : value.elements) change_nodes(element, change);
  for (Member& field : value.fields) change_nodes(field.value, change);
}

/// "[2, 3]", or "a number".
std::string shape_text(const Value& value);

}  // namespace manyfold::modelica
