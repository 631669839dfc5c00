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

struct Value {
  std::vector<int> dims;    ///< of an array; empty: a scalar
  std::vector<Node> items;  ///< in the order of rows
  bool is_text = false;
  bool computed = false;  ///< a text, or an array of texts, that nobody needs to know: of messages
  std::string text;
  std::vector<Member> fields;   ///< of a record
  std::vector<Value> elements;  ///< of an array of records; one dimension
  std::shared_ptr<const Table> table;
  const Class* function = nullptr;  ///< that is an argument; `fields` are inputs that have their value already

  static Value scalar(Node node);
  static Value computed_text();
  static Value vector(std::vector<Node> nodes);
  bool is_scalar() const;
  bool is_record() const;
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

/// "[2, 3]", or "a number".
std::string shape_text(const Value& value);

}  // namespace manyfold::modelica
