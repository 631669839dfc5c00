// Expressions become values: what is known folds to numbers, the rest to nodes of the graph.
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// A model of 10^5 equations takes about a tenth of this.
constexpr long most_work = 40'000'000;

std::size_t count_of(const std::vector<int>& dims) {
  std::size_t count = 1;
  for (const int dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

/// Of an entry of a matrix in the order of rows.
std::size_t place_of(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

}  // namespace

std::string shape_text(const Value& value) {
  if (value.is_record()) return "a record";
  if (value.table != nullptr) return "a table";
  if (value.is_text) return "a string";
  if (value.dims.empty()) return "a number";
  return fmt::format("an array [{}]", fmt::join(value.dims, ", "));
}

void Flattener::spend(Place place) {
  if (++spent_ > most_work) fail(place, "the model takes too long to flatten: its loops or functions are too large");
}

Value Flattener::evaluate(const Expression& expression, const Scope& scope) {
  spend(expression.place);
  switch (expression.kind) {
    case Kind::number:
    case Kind::boolean:
      return Value::scalar(graph_.number(expression.number));
    case Kind::string: {
      Value value;
      value.is_text = true;
      value.text = expression.text;
      return value;
    }
    case Kind::reference:
      return reference(expression, scope);
    case Kind::partial_call:
      fail(expression.place, "a function without all its inputs may be an argument alone");
    case Kind::call:
      return call(expression, scope);
    case Kind::chain:
      return chain(expression, scope);
    case Kind::power:
      return power(expression, scope);
    case Kind::negation: {
      Value value = evaluate(*expression.operands[0], scope);
      const bool logical = expression.words[0] == "not";
      for (Node& item : value.items) item = logical ? graph_.negation(item) : graph_.negate(item);
      return value;
    }
    case Kind::relation:
      return relation(expression, scope);
    case Kind::choice:
      return choice(expression, scope);
    case Kind::array: {
      std::vector<Value> elements;
      for (const ExpressionPtr& operand : expression.operands) elements.push_back(evaluate(*operand, scope));
      return array_of(std::move(elements), expression.place);
    }
    case Kind::matrix:
      return matrix(expression, scope);
    case Kind::comprehension:
      return comprehension(expression, scope);
    case Kind::range:
      return range(expression, scope);
    case Kind::last: {
      if (scope.indexed == nullptr) fail(expression.place, "'end' stands outside subscripts");
      const auto at = static_cast<std::size_t>(scope.dimension);
      if (at >= scope.indexed->dims.size()) fail(expression.place, "more subscripts than dimensions");
      return Value::scalar(graph_.number(scope.indexed->dims[at]));
    }
    case Kind::tuple:
      if (expression.operands.size() != 1 || !expression.operands[0]) {
        fail(expression.place, "several values in brackets stand on the left of a function call alone");
      }
      return evaluate(*expression.operands[0], scope);
    case Kind::member:
      return member(evaluate(*expression.operands[0], scope), expression.parts[0].name, expression.place);
    case Kind::element:
      return subscripted(evaluate(*expression.operands[0], scope), expression.parts[0].subscripts, scope,
                         expression.place);
    case Kind::colon:
      break;
  }
  fail(expression.place, "':' stands for a whole dimension in subscripts alone");
}

Value Flattener::power(const Expression& expression, const Scope& scope) {
  const Value base = evaluate(*expression.operands[0], scope);
  const Value exponent = evaluate(*expression.operands[1], scope);
  if (expression.words[0] == "^" && base.dims.size() == 2) {
    const int times = integer(*expression.operands[1], scope, "the power of a matrix");
    if (times < 1 || times > 100) fail(expression.place, "the power of a matrix needs to be from 1 to 100");
    Value result = base;
    for (int k = 1; k < times; ++k) result = product(result, base, expression.place);
    return result;
  }
  return elementwise(base, exponent, expression.place, [&](Node a, Node b) { return graph_.power(a, b); });
}

Value Flattener::relation(const Expression& expression, const Scope& scope) {
  const Value left = evaluate(*expression.operands[0], scope);
  const Value right = evaluate(*expression.operands[1], scope);
  const std::string& word = expression.words[0];
  if (left.is_text && right.is_text) {
    if (left.computed || right.computed) fail(expression.place, "strings that compute are not supported");
    return Value::scalar(graph_.number((left.text == right.text) == (word == "==") ? 1.0 : 0.0));
  }
  return elementwise(left, right, expression.place, [&](Node a, Node b) {
    const bool silent = scope.silent || scope.in_function;
    if (word == "<") return graph_.relation(Op::less, a, b, silent);
    if (word == "<=") return graph_.relation(Op::less_equal, a, b, silent);
    if (word == ">") return graph_.relation(Op::less, b, a, silent);
    if (word == ">=") return graph_.relation(Op::less_equal, b, a, silent);
    const Node same = graph_.relation(Op::equal, a, b, silent);
    return word == "==" ? same : graph_.negation(same);
  });
}

Value Flattener::member(const Value& record, const std::string& name, Place place) {
  if (!record.elements.empty()) {
    std::vector<Value> members;
    for (const Value& element : record.elements) members.push_back(member(element, name, place));
    return array_of(std::move(members), place);
  }
  for (const auto& [field, value] : record.fields) {
    if (field == name) return value;
  }
  fail(place, fmt::format("{} has no member '{}'", shape_text(record), name));
}

Node Flattener::scalar(const Expression& expression, const Scope& scope) {
  const Value value = evaluate(expression, scope);
  if (value.items.size() != 1 || value.is_text || value.is_record()) {
    fail(expression.place, fmt::format("expected a number, found {}", shape_text(value)));
  }
  return value.items[0];
}

double Flattener::numeric(Node node) {
  std::function<double(Node)> leaf = [&](Node at) -> double {
    const NodeData data = graph_[at];
    if (data.op != Op::variable || data.order > 0) return std::nan("");
    const auto index = static_cast<std::size_t>(data.index);
    if (!model_.variables[index].is_parameter()) return std::nan("");
    bind(instance_of_[index]);
    const FlatVariable variable = model_.variables[index];
    const Node value = variable.binding != no_node ? variable.binding : variable.start;
    model_.variables[index].evaluated = true;
    return value == no_node ? std::nan("") : graph_.evaluate(value, leaf);
  };
  return graph_.evaluate(node, leaf);
}

double Flattener::constant(const Expression& expression, const Scope& scope, const char* what) {
  const double value = numeric(scalar(expression, scope));
  if (!std::isfinite(value))
    fail(expression.place, fmt::format("{} needs to be known when the model is compiled", what));
  return value;
}

int Flattener::integer(const Expression& expression, const Scope& scope, const char* what) {
  const double value = constant(expression, scope, what);
  if (value != std::floor(value) || std::abs(value) > 1e9) {
    fail(expression.place, fmt::format("{} needs to be a whole number, and is {}", what, value));
  }
  return static_cast<int>(value);
}

Value Flattener::reference(const Expression& expression, const Scope& scope) {
  const NamePart& first = expression.parts[0];
  if (const Value* local = scope.find(first.name)) {
    if (local->function != nullptr) {
      fail(expression.place, fmt::format("'{}' is a function: it may be called, or be an argument", first.name));
    }
    Value value = *local;
    for (std::size_t k = 0; k < expression.parts.size(); ++k) {
      if (k > 0) value = member(value, expression.parts[k].name, expression.place);
      if (!expression.parts[k].subscripts.empty()) {
        value = subscripted(value, expression.parts[k].subscripts, scope, expression.place);
      }
    }
    return value;
  }
  if (!first.quoted && expression.parts.size() == 1 && first.name == "time") return Value::scalar(graph_.time());
  std::string name = dotted(expression.parts);
  if (const auto literal = literals_.find(name); literal != literals_.end()) {
    return Value::scalar(graph_.number(literal->second));
  }
  if (name == "Modelica.Constants.pi") return Value::scalar(graph_.number(3.141592653589793));
  name.clear();
  for (std::size_t k = 0; k < expression.parts.size(); ++k) {
    const NamePart& part = expression.parts[k];
    append_part(name, part.name);
    const bool known = known_name(name);
    if (part.subscripts.empty()) continue;
    // Elements that are declared one by one have their subscripts in the name.
    std::string subscripts;
    bool all_known = !known || record_arrays_.contains(name);
    for (std::size_t i = 0; all_known && i < part.subscripts.size(); ++i) {
      const Kind kind = part.subscripts[i]->kind;
      all_known = kind != Kind::colon && kind != Kind::last && kind != Kind::range;
      if (!all_known) continue;
      const Value index = evaluate(*part.subscripts[i], scope);
      const double number = index.is_scalar() ? numeric(index.items[0]) : std::nan("");
      all_known = std::isfinite(number);
      subscripts += fmt::format("{}{}", i > 0 ? "," : "", number);
    }
    if (all_known) {
      name += fmt::format("[{}]", subscripts);
      continue;
    }
    if (const std::string element = element_name(name, part.subscripts, scope); !element.empty()) {
      name = element;
      continue;
    }
    Value whole;
    if (known || !assembled(name, scope, expression.place, whole)) whole = value_of_name(name, expression.place);
    Value value = subscripted(whole, part.subscripts, scope, expression.place);
    for (++k; k < expression.parts.size(); ++k) {
      value = member(value, expression.parts[k].name, expression.place);
      if (!expression.parts[k].subscripts.empty()) {
        value = subscripted(value, expression.parts[k].subscripts, scope, expression.place);
      }
    }
    return value;
  }
  if (known_name(name)) return value_of_name(name, expression.place);
  Value parts;
  if (assembled(name, scope, expression.place, parts)) return parts;
  if (const Class* own = find_class(name); own != nullptr && own->kind == Class::Kind::function) {
    fail(expression.place, fmt::format("'{}' is a function: it may be called, or be an argument", name));
  }
  // A member of a record whose value has no declaration of its own.
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && known_name(name.substr(0, dot)) && expression.parts.size() > 1) {
    return member(value_of_name(name.substr(0, dot), expression.place), name.substr(dot + 1), expression.place);
  }
  fail(expression.place, fmt::format("unknown name '{}'{}", name, did_you_mean_name(name)));
}

/// The name of one element of an array of variables; empty unless its subscripts are known numbers. It spares making
/// the whole array.
std::string Flattener::element_name(const std::string& name, const std::vector<ExpressionPtr>& subscripts,
                                    const Scope& scope) {
  const auto found = instance_by_name_.find(name);
  if (found == instance_by_name_.end()) return "";
  Value shape;
  shape.dims = instances_[static_cast<std::size_t>(found->second)].dims;
  if (shape.dims.size() != subscripts.size()) return "";
  std::string element = name;
  for (std::size_t k = 0; k < subscripts.size(); ++k) {
    if (subscripts[k]->kind == Kind::colon) return "";
    Scope inner;
    inner.outer = &scope;
    inner.in_function = scope.in_function;
    inner.indexed = &shape;
    inner.dimension = static_cast<int>(k);
    const Value index = evaluate(*subscripts[k], inner);
    if (!index.is_scalar() || !graph_.is_number(index.items[0])) return "";
    element += fmt::format("{}{}", k > 0 ? "," : "[", graph_.value(index.items[0]));
  }
  element += ']';
  return scalar_by_name_.contains(element) ? element : "";
}

Value Flattener::element_at(const Value& value, const std::vector<Node>& indices, Place place) {
  // Positions along each dimension; a subscript that is not known chooses among all.
  Value result;
  std::vector<std::pair<Node, std::size_t>> cases = {{no_node, 0}};
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const int size = value.dims[k];
    std::vector<std::pair<Node, std::size_t>> next;
    const double known = graph_.is_number(indices[k]) ? graph_.value(indices[k]) : std::nan("");
    if (std::isfinite(known) && (known < 1.0 || known > size || known != std::floor(known))) {
      fail(place, fmt::format("subscript {} is out of range: from 1 to {}", known, size));
    }
    for (const auto& [condition, offset] : cases) {
      for (int i = 1; i <= size; ++i) {
        if (std::isfinite(known) && known != i) continue;
        const Node here =
            std::isfinite(known) ? no_node : graph_.relation(Op::equal, indices[k], graph_.number(i), true);
        const Node both = condition == no_node ? here
                          : here == no_node    ? condition
                                               : graph_.conjunction(condition, here);
        next.emplace_back(both, offset * static_cast<std::size_t>(size) + static_cast<std::size_t>(i - 1));
      }
    }
    cases = std::move(next);
  }
  const std::vector<int> rest(value.dims.begin() + static_cast<std::ptrdiff_t>(indices.size()), value.dims.end());
  const std::size_t block = count_of(rest);
  if (cases.empty()) fail(place, "the array has no elements");
  if (!value.elements.empty()) return value.elements[cases[0].second];
  result.dims = rest;
  for (std::size_t j = 0; j < block; ++j) {
    Node chosen = value.items[cases.back().second * block + j];
    for (std::size_t k = cases.size() - 1; k-- > 0;) {
      chosen = graph_.choice(cases[k].first, value.items[cases[k].second * block + j], chosen);
    }
    result.items.push_back(chosen);
  }
  return result;
}

Value Flattener::subscripted(const Value& value, const std::vector<ExpressionPtr>& subscripts, const Scope& scope,
                             Place place) {
  if (value.is_text && !value.dims.empty()) {
    Value element = value;
    element.dims.clear();
    return element;
  }
  if (subscripts.size() > value.dims.size()) {
    fail(place, fmt::format("{} subscripts for {}", subscripts.size(), shape_text(value)));
  }
  std::vector<std::vector<Node>> chosen;
  std::vector<bool> keeps;
  for (std::size_t k = 0; k < subscripts.size(); ++k) {
    Scope inner;
    inner.outer = &scope;
    inner.in_function = scope.in_function;
    inner.silent = scope.silent;
    inner.indexed = &value;
    inner.dimension = static_cast<int>(k);
    std::vector<Node> nodes;
    if (subscripts[k]->kind == Kind::colon) {
      for (int i = 1; i <= value.dims[k]; ++i) nodes.push_back(graph_.number(i));
      keeps.push_back(true);
    } else {
      const Value index = evaluate(*subscripts[k], inner);
      nodes = index.items;
      keeps.push_back(!index.dims.empty());
      for (Node& node : nodes) {
        // Whole parameters shape the equations as soon as they choose elements.
        const double known = graph_.is_number(node) ? graph_.value(node) : numeric(node);
        if (std::isfinite(known)) node = graph_.number(known);
      }
    }
    chosen.push_back(std::move(nodes));
  }
  Value result;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (keeps[k]) result.dims.push_back(static_cast<int>(chosen[k].size()));
  }
  std::vector<std::size_t> at(chosen.size(), 0);
  for (const auto& nodes : chosen) {
    if (nodes.empty()) return result;
  }
  for (;;) {
    spend(place);
    std::vector<Node> indices;
    for (std::size_t k = 0; k < chosen.size(); ++k) indices.push_back(chosen[k][at[k]]);
    Value element = element_at(value, indices, place);
    if (element.is_record()) {
      if (result.dims.empty()) return element;
      result.elements.push_back(element);
    }
    result.items.insert(result.items.end(), element.items.begin(), element.items.end());
    std::size_t k = chosen.size();
    while (k > 0 && ++at[k - 1] == chosen[k - 1].size()) at[--k] = 0;
    if (k == 0) {
      if (!element.is_record()) result.dims.insert(result.dims.end(), element.dims.begin(), element.dims.end());
      return result;
    }
  }
}

Value Flattener::elementwise(const Value& a, const Value& b, Place place,
                             const std::function<Node(Node, Node)>& combine) {
  if (a.is_text || b.is_text || a.is_record() || b.is_record()) {
    fail(place, fmt::format("cannot compute with {} and {}", shape_text(a), shape_text(b)));
  }
  const bool spread_a = a.dims.empty() && !b.dims.empty();
  const bool spread_b = b.dims.empty() && !a.dims.empty();
  if (!spread_a && !spread_b && a.dims != b.dims) {
    fail(place, fmt::format("the operands do not fit: {} and {}", shape_text(a), shape_text(b)));
  }
  Value result;
  result.dims = spread_a ? b.dims : a.dims;
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
  if (inner != b.dims[0] || a.dims.size() > 2 || b.dims.size() > 2 || a.is_text || b.is_text) {
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

Value Flattener::chain(const Expression& expression, const Scope& scope) {
  Value result = evaluate(*expression.operands[0], scope);
  for (std::size_t k = 0; k < expression.words.size(); ++k) {
    const std::string& word = expression.words[k];
    const Value next = evaluate(*expression.operands[k + 1], scope);
    const Place place = expression.operands[k + 1]->place;
    if (result.is_text && next.is_text && word == "+") {
      result.text += next.text;
      result.computed = result.computed || next.computed;
    } else if (word == "*") {
      result = product(result, next, place);
    } else {
      result = elementwise(result, next, place, [&](Node a, Node b) {
        if (word == "and") return graph_.conjunction(a, b);
        if (word == "or") return graph_.disjunction(a, b);
        if (word.back() == '+') return graph_.add(a, b);
        if (word.back() == '-') return graph_.subtract(a, b);
        if (word.back() == '/') return graph_.divide(a, b);
        return graph_.multiply(a, b);
      });
    }
  }
  return result;
}

Value Flattener::array_of(std::vector<Value> elements, Place place) {
  Value result;
  result.dims.push_back(static_cast<int>(elements.size()));
  if (elements.empty()) return result;
  if (elements[0].is_record()) {
    result.elements = std::move(elements);
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
  for (const Value& element : elements) {
    if (element.dims != elements[0].dims || element.is_text || element.is_record()) {
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
      if (block.dims.size() > 2 || block.is_text || block.is_record()) fail(operand->place, "no part of a matrix");
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

void Flattener::for_each(const std::vector<Iterator>& iterators, std::size_t at, const Scope& scope,
                         const std::function<void(const Scope&)>& body) {
  if (at == iterators.size()) return body(scope);
  const Iterator& iterator = iterators[at];
  if (!iterator.range) fail(iterator.place, "an iterator needs a range: for i in 1:n");
  Value values;
  const Expression& range = *iterator.range;
  const Class* type = range.kind == Kind::reference ? find_class(range.parts[0].name) : nullptr;
  if (type != nullptr && !type->literals.empty()) {
    for (std::size_t k = 1; k <= type->literals.size(); ++k)
      values.items.push_back(graph_.number(static_cast<double>(k)));
  } else {
    values = evaluate(range, scope);
  }
  for (const Node node : values.items) {
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
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!all[k].range) fail(all[k].place, "an iterator needs a range: for i in 1:n");
    }
    std::function<Value(std::size_t, const Scope&)> nest = [&](std::size_t level, const Scope& inner) -> Value {
      std::vector<Value> elements;
      const Value values = evaluate(*all[level].range, inner);
      for (const Node node : values.items) {
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

Value Flattener::merge(Node condition, const Value& a, const Value& b, Place place) {
  if (a.is_text && b.is_text && !a.computed && !b.computed && a.text == b.text) return a;
  if (a.is_text || b.is_text) return Value::computed_text();
  if (a.dims != b.dims || a.items.size() != b.items.size() || a.fields.size() != b.fields.size()) {
    fail(place, fmt::format("the branches differ: {} and {}", shape_text(a), shape_text(b)));
  }
  Value result = a;
  for (std::size_t k = 0; k < a.items.size(); ++k) result.items[k] = graph_.choice(condition, a.items[k], b.items[k]);
  for (std::size_t k = 0; k < a.fields.size(); ++k) {
    result.fields[k].value = merge(condition, a.fields[k].value, b.fields[k].value, place);
  }
  return result;
}

Value Flattener::choice(const Expression& expression, const Scope& scope) {
  // Conditions that are known choose before what they exclude is looked at.
  std::vector<std::pair<Node, Value>> open;
  const std::size_t last = expression.operands.size() - 1;
  Value result;
  for (std::size_t k = 0;; k += 2) {
    if (k == last) {
      result = evaluate(*expression.operands[k], scope);
      break;
    }
    const Node condition = scalar(*expression.operands[k], scope);
    if (graph_.is_number(condition)) {
      if (graph_.value(condition) == 0.0) continue;
      result = evaluate(*expression.operands[k + 1], scope);
      break;
    }
    open.emplace_back(condition, evaluate(*expression.operands[k + 1], scope));
  }
  for (std::size_t k = open.size(); k-- > 0;) {
    result = merge(open[k].first, open[k].second, result, expression.place);
  }
  return result;
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
