// Expressions become values: what is known folds to numbers, the rest to nodes of the graph.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// A model of 10^5 equations takes about a tenth of this.
constexpr long most_work = 40'000'000;

}  // namespace

std::string shape_text(const Value& value) {
  if (value.table != nullptr) return "a table";
  if (value.function != nullptr) return "a function";
  if (value.is_text) return value.dims.empty() ? "a string" : "an array of strings";
  if (value.dims.empty()) return value.is_numeric() ? "a number" : "a record";
  return fmt::format("an array{} [{}]", value.is_numeric() ? "" : " of records", fmt::join(value.dims, ", "));
}

void Flattener::spend(Place place) {
  if (++spent_ > most_work) fail(place, "the model takes too long to flatten: its loops or functions are too large");
}

Value Flattener::evaluate(const Expression& expression, const Scope& scope) {
  spend(expression.place);
  switch (expression.kind) {
    case Kind::number:
    case Kind::boolean: {
      Value value = Value::scalar(graph_.number(expression.number));
      value.logical = expression.kind == Kind::boolean;
      return value;
    }
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
      if (!logical) check_number(value, expression.operands[0]->place);
      if (logical) check_conditions(value, expression.operands[0]->place);
      value.logical = logical;
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
      return Value::scalar(graph_.number(scope.indexed->has_truths(at) ? 1.0 : scope.indexed->dims[at]));
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
  check_number(base, expression.operands[0]->place);
  check_number(exponent, expression.operands[1]->place);
  check_shapes(expression.words[0], base, exponent, expression.place);
  if (expression.words[0] == "^" && base.dims.size() == 2) {
    if (base.dims[0] != base.dims[1]) {
      fail(expression.place, fmt::format("powers are those of square matrices, and this is {}", shape_text(base)));
    }
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
    const bool known = !left.computed && !right.computed && (word == "==" || word == "<>");
    if (!known) fail(expression.place, "strings that compute are not supported");
    return Value::scalar(graph_.number((left.text == right.text) == (word == "==") ? 1.0 : 0.0));
  }
  if (!left.dims.empty() || !right.dims.empty()) {
    fail(expression.place, fmt::format("'{}' compares numbers, and has {} and {}: compare their elements", word,
                                       shape_text(left), shape_text(right)));
  }
  check_enumerations(*expression.operands[0], *expression.operands[1], scope);
  if (left.is_scalar() && right.is_scalar()) {
    if (left.logical) check_conditions(right, expression.operands[1]->place);
    if (right.logical) check_conditions(left, expression.operands[0]->place);
  }
  Value result = elementwise(left, right, expression.place, [&](Node a, Node b) {
    const bool silent = scope.silent || scope.in_function;
    if (word == "<") return graph_.relation(Op::less, a, b, silent);
    if (word == "<=") return graph_.relation(Op::less_equal, a, b, silent);
    if (word == ">") return graph_.relation(Op::less, b, a, silent);
    if (word == ">=") return graph_.relation(Op::less_equal, b, a, silent);
    const Node same = graph_.relation(Op::equal, a, b, silent);
    if (!silent) equalities_.try_emplace(expression.place, same);
    return word == "==" ? same : graph_.negation(same);
  });
  result.logical = true;
  return result;
}

Node Flattener::scalar(const Expression& expression, const Scope& scope) {
  return single(evaluate(expression, scope), expression.place);
}

/// The same, and no condition.
Node Flattener::number_of(const Expression& expression, const Scope& scope) {
  const Value value = evaluate(expression, scope);
  check_number(value, expression.place);
  return single(value, expression.place);
}

Node Flattener::single(const Value& value, Place place) {
  if (value.items.size() != 1 || value.is_text || value.is_record()) {
    fail(place, fmt::format("expected a number, found {}", shape_text(value)));
  }
  return value.items[0];
}

/// Is it true or false, by its operation or the types of its variables?
bool Flattener::is_boolean(Node node) const {
  constexpr std::size_t most_looked_at = 1000;
  std::vector<Node> open = {node};
  for (std::size_t k = 0; k < open.size() && k < most_looked_at; ++k) {
    const NodeData& data = graph_[open[k]];
    if (graph_.is_condition(open[k])) continue;
    if (data.op == Op::choice) {
      open.insert(open.end(), {data.operand[1], data.operand[2]});
      continue;
    }
    const bool variable = data.op == Op::variable || data.op == Op::pre;
    if (!variable || model_.variables[static_cast<std::size_t>(data.index)].type != Type::boolean) return false;
  }
  return true;
}

void Flattener::check_conditions(const Value& value, Place place) {
  const bool fits = std::all_of(value.items.begin(), value.items.end(), [&](Node item) { return is_boolean(item); });
  if (!fits) fail(place, "expected a condition, found a number");
}

/// What if, while or when asks for.
Node Flattener::condition(const Expression& expression, const Scope& scope) {
  const Node node = scalar(expression, scope);
  if (!is_boolean(node)) fail(expression.place, "expected a condition, found a number");
  return node;
}

/// NaN: not known when the model is compiled. Parameters by which it is known shape the equations.
double Flattener::numeric(Node node) {
  std::vector<std::size_t> used;
  std::function<double(Node)> leaf = [&](Node at) -> double {
    const NodeData data = graph_[at];
    if (data.op != Op::variable || data.order > 0) return std::nan("");
    const auto index = static_cast<std::size_t>(data.index);
    if (!model_.variables[index].is_parameter()) return std::nan("");
    bind(instance_of_[index]);
    const FlatVariable variable = model_.variables[index];
    const Node value = variable.binding != no_node ? variable.binding : variable.start;
    used.push_back(index);
    return value == no_node ? std::nan("") : graph_.evaluate(value, leaf);
  };
  const double value = graph_.evaluate(node, leaf);
  for (const std::size_t index : used) {
    if (!std::isnan(value)) model_.variables[index].evaluated = true;
  }
  return value;
}

double Flattener::constant(const Expression& expression, const Scope& scope, const char* what) {
  const double value = numeric(number_of(expression, scope));
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

/// Without a dot, numbers and arrays have operations of their own.
void Flattener::check_shapes(const std::string& word, const Value& a, const Value& b, Place place) {
  if (!a.is_numeric() || !b.is_numeric() || word[0] == '.') return;
  const char* takes = nullptr;
  if (word == "+" || word == "-") {
    if (a.dims.empty() != b.dims.empty()) takes = "two numbers, or two arrays of one shape";
  } else if (word == "/") {
    if (!b.dims.empty()) takes = "a number as divisor";
  } else if (word == "^") {
    if (a.dims.size() % 2 != 0 || !b.dims.empty()) takes = "numbers, or a square matrix and a number";
  }
  if (takes == nullptr) return;
  fail(place, fmt::format("'{0}' takes {1}, and has {2} and {3}: write '.{0}' for each element", word, takes,
                          shape_text(a), shape_text(b)));
}

Value Flattener::chain(const Expression& expression, const Scope& scope) {
  Value result = evaluate(*expression.operands[0], scope);
  const auto check = [&](const Value& value, bool logical, std::size_t k) {
    const Place place = expression.operands[k]->place;
    logical ? check_conditions(value, place) : check_number(value, place);
  };
  for (std::size_t k = 0; k < expression.words.size(); ++k) {
    const std::string& word = expression.words[k];
    const bool logical = word == "and" || word == "or";
    if (k == 0) check(result, logical, 0);
    // What `and` and `or` need not look at need not have a value: i <= size(x, 1) and x[i] > 0.
    const Node comes = !logical || !result.is_scalar() ? graph_.number(1.0)
                       : word == "and"                 ? result.items[0]
                                                       : graph_.negation(result.items[0]);
    if (graph_.is_number(comes, 0.0)) continue;
    const Value next = within(comes, [&] { return evaluate(*expression.operands[k + 1], scope); });
    check(next, logical, k + 1);
    const Place place = expression.operands[k + 1]->place;
    check_shapes(word, result, next, place);
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
      result.logical = logical;
    }
  }
  return result;
}

Value Flattener::merge(Node condition, const Value& a, const Value& b, Place place) {
  if (a.is_text && b.is_text && !a.computed && !b.computed && a.text == b.text) return a;
  if (a.is_text || b.is_text) {
    Value text = Value::computed_text();
    text.dims = a.dims;
    return text;
  }
  if (a.dims != b.dims || a.items.size() != b.items.size() || a.fields.size() != b.fields.size() ||
      a.elements.size() != b.elements.size()) {
    fail(place, fmt::format("the branches differ: {} and {}", shape_text(a), shape_text(b)));
  }
  if (a.table != b.table || a.function != b.function) fail(place, "the branches are different tables or functions");
  Value result = a;
  result.logical = a.logical && b.logical;
  for (std::size_t k = 0; k < a.items.size(); ++k) result.items[k] = graph_.choice(condition, a.items[k], b.items[k]);
  for (std::size_t k = 0; k < a.fields.size(); ++k) {
    result.fields[k].value = merge(condition, a.fields[k].value, b.fields[k].value, place);
  }
  for (std::size_t k = 0; k < a.elements.size(); ++k) {
    result.elements[k] = merge(condition, a.elements[k], b.elements[k], place);
  }
  return result;
}

Value Flattener::choice(const Expression& expression, const Scope& scope) {
  // Conditions that are known choose before what they exclude is looked at.
  std::vector<std::pair<Node, Value>> open;
  const std::size_t last = expression.operands.size() - 1;
  Node none_before = graph_.number(1.0);
  const auto branch = [&](Node condition, std::size_t k) {
    return within(graph_.conjunction(none_before, condition), [&] { return evaluate(*expression.operands[k], scope); });
  };
  Value result;
  for (std::size_t k = 0;; k += 2) {
    if (k == last) {
      result = branch(graph_.number(1.0), k);
      break;
    }
    const Node condition = this->condition(*expression.operands[k], scope);
    if (graph_.is_number(condition)) {
      if (graph_.value(condition) == 0.0) continue;
      result = branch(condition, k + 1);
      break;
    }
    open.emplace_back(condition, branch(condition, k + 1));
    none_before = graph_.conjunction(none_before, graph_.negation(condition));
  }
  for (std::size_t k = open.size(); k-- > 0;) {
    result = merge(open[k].first, open[k].second, result, expression.place);
  }
  return result;
}

}  // namespace manyfold::modelica
