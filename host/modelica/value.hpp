#pragma once
// What an expression is while a model is flattened: a number, an array of numbers, a text or a record.
#include <string>
#include <utility>
#include <vector>

#include "host/modelica/graph.hpp"

namespace manyfold::modelica {

struct Value {
  std::vector<int> dims;    ///< of an array; empty: a scalar
  std::vector<Node> items;  ///< in the order of rows
  bool is_text = false;
  std::string text;
  std::vector<std::pair<std::string, Value>> fields;  ///< of a record
  std::vector<Value> elements;                        ///< of an array of records; one dimension

  static Value scalar(Node node) { return {{}, {node}, false, "", {}, {}}; }
  static Value vector(std::vector<Node> nodes) {
    return {{static_cast<int>(nodes.size())}, std::move(nodes), false, "", {}, {}};
  }
  bool is_scalar() const { return dims.empty() && items.size() == 1; }
  bool is_record() const { return !fields.empty(); }
};

/// "[2, 3]", or "a number".
std::string shape_text(const Value& value);

}  // namespace manyfold::modelica
