// Arrays in expressions: constructors, products, iterators.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// Of an entry of a matrix in the order of rows.
std::size_t place_of(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

}  // namespace

Value Flattener::elementwise(const Value& a, const Value& b, Place place,
                             const std::function<Node(Node, Node)>& combine) {
  if (!a.is_numeric() || !b.is_numeric()) {
    fail(place, fmt::format("cannot compute with {} and {}", shape_text(a), shape_text(b)));
  }
  const bool spread_a = a.dims.empty() && !b.dims.empty();
  const bool spread_b = b.dims.empty() && !a.dims.empty();
  if (!spread_a && !spread_b && a.dims != b.dims) {
    fail(place, fmt::format("the operands do not fit: {} and {}", shape_text(a), shape_text(b)));
  }
  Value result;
  result.dims = spread_a ? b.dims : a.dims;
  result.truths = spread_a ? b.truths : a.truths;
  const std::size_t count = spread_a ? b.items.size() : a.items.size();
  for (std::size_t k = 0; k < count; ++k) {
    spend(place);
    result.items.push_back(combine(a.items[spread_a ? 0 : k], b.items[spread_b ? 0 : k]));
  }
  return result;
}

Value Flattener::product(const Value& a, const Value& b, Place place) {
  if (a.dims.empty() || b.dims.empty()) {
    return elementwise(a, b, place, [&](Node x, Node y) { return graph_.multiply(x, y); });
  }
  const int inner = a.dims.back();
  if (inner != b.dims[0] || a.dims.size() > 2 || b.dims.size() > 2 || !a.is_numeric() || !b.is_numeric()) {
    fail(place, fmt::format("the factors do not fit: {} and {}", shape_text(a), shape_text(b)));
  }
  const int rows = a.dims.size() == 2 ? a.dims[0] : 1;
  const int columns = b.dims.size() == 2 ? b.dims[1] : 1;
  Value result;
  if (a.dims.size() == 2) result.dims.push_back(rows);
  if (b.dims.size() == 2) result.dims.push_back(columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      Node sum = graph_.number(0.0);
      for (int k = 0; k < inner; ++k) {
        spend(place);
        sum = graph_.add(sum, graph_.multiply(a.items[place_of(i, inner, k)], b.items[place_of(k, columns, j)]));
      }
      result.items.push_back(sum);
    }
  }
  return result;
}

Value Flattener::array_of(std::vector<Value> elements, Place place) {
  Value result;
  result.dims.push_back(static_cast<int>(elements.size()));
  if (elements.empty()) return result;
  if (elements[0].is_record() || !elements[0].elements.empty()) {
    for (const Value& element : elements) {
      if (element.dims != elements[0].dims || element.is_record() != elements[0].is_record()) {
        fail(place,
             fmt::format("the elements of an array differ: {} and {}", shape_text(elements[0]), shape_text(element)));
      }
    }
    result.dims.insert(result.dims.end(), elements[0].dims.begin(), elements[0].dims.end());
    for (Value& element : elements) {
      if (element.is_record()) {
        result.elements.push_back(std::move(element));
      } else {
        std::move(element.elements.begin(), element.elements.end(), std::back_inserter(result.elements));
      }
    }
    return result;
  }
  if (std::all_of(elements.begin(), elements.end(), [](const Value& element) { return element.is_text; })) {
    const bool same = std::all_of(elements.begin(), elements.end(), [&](const Value& element) {
      return !element.computed && element.text == elements[0].text;
    });
    elements[0].computed = !same;
    elements[0].dims = result.dims;
    return elements[0];
  }
  result.logical = std::all_of(elements.begin(), elements.end(), [](const Value& element) { return element.logical; });
  for (const Value& element : elements) {
    if (element.dims != elements[0].dims || !element.is_numeric()) {
      fail(place,
           fmt::format("the elements of an array differ: {} and {}", shape_text(elements[0]), shape_text(element)));
    }
    result.items.insert(result.items.end(), element.items.begin(), element.items.end());
  }
  result.dims.insert(result.dims.end(), elements[0].dims.begin(), elements[0].dims.end());
  return result;
}

/// [a, b; c, d] of numbers, vectors (columns) and matrices.
Value Flattener::matrix(const Expression& expression, const Scope& scope) {
  Value result;
  int total_rows = 0;
  int width = -1;
  for (const ExpressionPtr& row : expression.operands) {
    std::vector<Value> blocks;
    for (const ExpressionPtr& operand : row->operands) {
      Value block = evaluate(*operand, scope);
      if (block.dims.size() > 2 || !block.is_numeric()) fail(operand->place, "no part of a matrix");
      while (block.dims.size() < 2) block.dims.push_back(1);
      if (!blocks.empty() && block.dims[0] != blocks[0].dims[0]) {
        fail(operand->place, fmt::format("{} rows beside {}", block.dims[0], blocks[0].dims[0]));
      }
      blocks.push_back(std::move(block));
    }
    int columns = 0;
    for (const Value& block : blocks) columns += block.dims[1];
    if (width >= 0 && columns != width) fail(row->place, fmt::format("{} columns below {}", columns, width));
    width = columns;
    for (int i = 0; i < blocks[0].dims[0]; ++i) {
      for (const Value& block : blocks) {
        for (int j = 0; j < block.dims[1]; ++j) {
          result.items.push_back(block.items[place_of(i, block.dims[1], j)]);
        }
      }
    }
    total_rows += blocks[0].dims[0];
  }
  result.dims = {total_rows, std::max(width, 0)};
  return result;
}

/// What the iterator stands for, one after the other.
std::vector<Node> Flattener::values_of(const Iterator& iterator, const Scope& scope) {
  if (!iterator.range) return deduced_range(iterator, scope);
  const int size = size_of_type(*iterator.range);
  return size > 0 ? numbered(size, is_truth_dimension(*iterator.range)) : evaluate(*iterator.range, scope).items;
}

/// 1, 2, ..., or false and true.
std::vector<Node> Flattener::numbered(int size, bool of_truths) {
  std::vector<Node> values;
  for (int k = 0; k < size; ++k) values.push_back(graph_.number(of_truths ? k : k + 1));
  return values;
}

/// All subscripts of the dimension that the iterator stands for. Where it stands for several, they have one size.
std::vector<Node> Flattener::deduced_range(const Iterator& iterator, const Scope& scope) {
  const std::string expected = fmt::format("expected for {} in 1:n", iterator.name);
  if (iterator.indexed.empty()) {
    fail(iterator.place,
         fmt::format("'{}' has no range, and is no subscript that would tell it: {}", iterator.name, expected));
  }
  int size = -1;
  bool of_truths = false;
  for (const Indexed& indexed : iterator.indexed) {
    const Value shape = shape_before(*indexed.reference, indexed.part, scope);
    if (indexed.subscript >= shape.dims.size()) {
      fail(indexed.reference->place, fmt::format("subscript {} of {}", indexed.subscript + 1, shape_text(shape)));
    }
    const int own = shape.dims[indexed.subscript];
    if (size >= 0 && (own != size || shape.has_truths(indexed.subscript) != of_truths)) {
      fail(iterator.place, fmt::format("'{}' has no range, and is the subscript of dimensions of {} and of {}: {}",
                                       iterator.name, size, own, expected));
    }
    size = own;
    of_truths = shape.has_truths(indexed.subscript);
  }
  return numbered(size, of_truths);
}

/// The dimensions of what a reference names up to this part, without the subscripts of the part.
Value Flattener::shape_before(const Expression& reference, std::size_t part, const Scope& scope) {
  const std::vector<NamePart>& parts = reference.parts;
  if (const Value* local = scope.find(parts[0].name)) {
    Value value = *local;
    for (std::size_t k = 1; k <= part; ++k) {
      if (!parts[k - 1].subscripts.empty() && !value.elements.empty()) value = Value(value.elements[0]);
      value = member(value, parts[k].name, reference.place);
    }
    return value;
  }
  // Of records in an array the first has the shape of all.
  std::string name;
  for (std::size_t k = 0; k <= part; ++k) {
    append_part(name, parts[k].name);
    if (k < part && !parts[k].subscripts.empty() && known_name(name)) {
      name += fmt::format("[{}]", fmt::join(std::vector<int>(parts[k].subscripts.size(), 1), ","));
    }
  }
  Value shape;
  const bool known = known_name(name);
  if (const auto found = instance_by_name_.find(name); found != instance_by_name_.end()) {
    const Instance& instance = instances_[static_cast<std::size_t>(found->second)];
    shape.dims = instance.dims;
    shape.truths = instance.truths;
  } else if (const auto array = record_arrays_.find(name); array != record_arrays_.end()) {
    shape.dims = array->second;
  } else {
    shape.dims = parts_of(name).dims;
    if (!known && shape.dims.empty()) {
      fail_unknown_name(reference.place, name);
    }
  }
  return shape;
}

void Flattener::for_each(const std::vector<Iterator>& iterators, std::size_t at, const Scope& scope,
                         const std::function<void(const Scope&)>& body) {
  if (at == iterators.size()) return body(scope);
  const Iterator& iterator = iterators[at];
  for (const Node node : values_of(iterator, scope)) {
    spend(iterator.place);
    Scope inner;
    inner.outer = &scope;
    inner.in_function = scope.in_function;
    inner.silent = scope.silent;
    const double known = numeric(node);
    inner.values[iterator.name] = Value::scalar(std::isfinite(known) ? graph_.number(known) : node);
    for_each(iterators, at + 1, inner, body);
  }
}

Value Flattener::comprehension(const Expression& expression, const Scope& scope) {
  if (expression.iterators.size() > 1) {
    // {f(i, j) for i in I, j in J} is {{f(i, j) for i in I} for j in J}.
    std::vector<Value> rows;
    const std::vector<Iterator>& all = expression.iterators;
    std::function<Value(std::size_t, const Scope&)> nest = [&](std::size_t level, const Scope& inner) -> Value {
      std::vector<Value> elements;
      for (const Node node : values_of(all[level], inner)) {
        Scope next;
        next.outer = &inner;
        next.in_function = scope.in_function;
        next.silent = scope.silent;
        next.values[all[level].name] = Value::scalar(node);
        elements.push_back(level == 0 ? evaluate(*expression.operands[0], next) : nest(level - 1, next));
      }
      return array_of(std::move(elements), expression.place);
    };
    return nest(all.size() - 1, scope);
  }
  std::vector<Value> elements;
  for_each(expression.iterators, 0, scope,
           [&](const Scope& inner) { elements.push_back(evaluate(*expression.operands[0], inner)); });
  return array_of(std::move(elements), expression.place);
}

Value Flattener::range(const Expression& expression, const Scope& scope) {
  const double begin = constant(*expression.operands[0], scope, "the beginning of a range");
  const double step = expression.operands.size() == 3 ? constant(*expression.operands[1], scope, "a step") : 1.0;
  const double end = constant(*expression.operands.back(), scope, "the end of a range");
  if (step == 0.0) fail(expression.place, "the step of a range is zero");
  const double count = std::floor((end - begin) / step + 1e-10) + 1.0;
  if (count > 1e6) fail(expression.place, "the range has more than 1000000 elements");
  std::vector<Node> nodes;
  for (int k = 0; k < static_cast<int>(count); ++k) nodes.push_back(graph_.number(begin + k * step));
  return Value::vector(std::move(nodes));
}

}  // namespace manyfold::modelica
