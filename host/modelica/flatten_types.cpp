// Kinds of numbers: what is Real becomes no Integer and no Boolean by itself, and subscripts stay within their array.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

constexpr std::size_t most_looked_at = 1000;
constexpr int deepest_types = 30;

}  // namespace

/// Is it a whole number, by its operation or the types of its variables? Of what is too large to tell: yes.
bool Flattener::is_whole(Node node) const {
  std::vector<Node> open = {node};
  std::set<Node> seen = {node};
  for (std::size_t k = 0; k < open.size() && k < most_looked_at; ++k) {
    const NodeData& data = graph_[open[k]];
    const auto is = [&](Function function) { return data.index == static_cast<int>(function); };
    std::size_t first = 0;
    switch (data.op) {
      case Op::number:
        if (data.number != std::floor(data.number)) return false;
        continue;
      case Op::variable:
      case Op::pre: {
        const Type type = model_.variables[static_cast<std::size_t>(data.index)].type;
        if (type == Type::real || data.order > 0) return false;
        continue;
      }
      case Op::choice:
        first = 1;
        break;
      case Op::negate:
      case Op::add:
      case Op::subtract:
      case Op::multiply:
        break;
      case Op::call:
        if (is(Function::floor)) continue;
        if (!is(Function::abs) && !is(Function::min) && !is(Function::max)) return false;
        break;
      default:
        if (!graph_.is_condition(open[k])) return false;
        continue;
    }
    for (; first < static_cast<std::size_t>(Graph::operands(data)); ++first) {
      if (seen.insert(data.operand[first]).second) open.push_back(data.operand[first]);
    }
  }
  return true;
}

void Flattener::check_enumeration(const Instance& instance, const Expression& binding) {
  const std::string of_value = enumeration_of(binding, {});
  const std::string& declared = instance.declaration->type;
  if (element_of(instance, 0).type != Type::enumeration) {
    if (of_value.empty()) return;
    fail(binding.place, fmt::format("'{}' is {}, and its value is of the enumeration '{}': expected Integer(...)",
                                    instance.name, declared, of_value));
  }
  const Class* type = find_class(declared);
  const bool other = type != nullptr && !type->literals.empty() && !of_value.empty() && of_value != type->name;
  if (binding.kind != Kind::number && !other) return;
  const std::string found = of_value.empty() ? "a number" : fmt::format("of '{}'", of_value);
  fail(binding.place, fmt::format("'{}' is of the enumeration '{}', and its value is {}: expected one of its literals",
                                  instance.name, declared, found));
}

void Flattener::check_number(const Value& value, Place place) {
  if (value.logical) fail(place, "expected a number, found a condition: write if ... then 1 else 0");
}

/// The enumeration that a literal or a variable as such is of; empty: of none, or that is not known.
std::string Flattener::enumeration_of(const Expression& expression, const Scope& scope) {
  if (expression.kind == Kind::tuple && expression.operands.size() == 1 && expression.operands[0]) {
    return enumeration_of(*expression.operands[0], scope);
  }
  if (expression.kind == Kind::call) {
    const Class* type = find_class(dotted(expression.parts));
    return type != nullptr && !type->literals.empty() ? type->name : "";
  }
  if (expression.kind != Kind::reference || scope.find(expression.parts[0].name) != nullptr) return "";
  const std::string name = dotted(expression.parts, parts_of_package(expression));
  if (literals_.contains(name)) return name.substr(0, name.rfind('.'));
  const auto found = instance_by_name_.find(name);
  if (found == instance_by_name_.end()) return "";
  const Instance& instance = instances_[static_cast<std::size_t>(found->second)];
  const Class* type = find_class(instance.declaration->type);
  for (int k = 0; k < deepest_types && type != nullptr && type->literals.empty(); ++k) type = find_class(type->base);
  return type != nullptr ? type->name : "";
}

/// The type of what surely is a number or a condition; otherwise an enumeration.
Type Flattener::plain_type(const Expression& expression, const Scope& scope) const {
  if (expression.kind == Kind::number) return Type::real;
  if (expression.kind == Kind::boolean) return Type::boolean;
  if (expression.kind != Kind::reference || scope.find(expression.parts[0].name) != nullptr) return Type::enumeration;
  const auto found = scalar_by_name_.find(dotted(expression.parts));
  return found == scalar_by_name_.end() ? Type::enumeration
                                        : model_.variables[static_cast<std::size_t>(found->second)].type;
}

/// Literals of one enumeration are no numbers, and none of another one.
void Flattener::check_enumerations(const Expression& a, const Expression& b, const Scope& scope) {
  const std::string of_a = enumeration_of(a, scope);
  const std::string of_b = enumeration_of(b, scope);
  if (of_a == of_b) return;
  const Type other = plain_type(of_a.empty() ? a : b, scope);
  if (other != Type::enumeration) {
    fail(b.place, fmt::format("one side is of the enumeration '{}', and the other is a {}: expected a literal, or "
                              "Integer(...) of the one",
                              of_a + of_b, other == Type::boolean ? "condition" : "number"));
  }
  if (!of_a.empty() && !of_b.empty()) {
    fail(b.place, fmt::format("one side is of the enumeration '{}', and the other of '{}'", of_a, of_b));
  }
}

/// Reports a value that is of another kind than what it is for.
void Flattener::check_type(Type type, const std::string& name, const Value& value, Place place) {
  if (type == Type::string || value.is_record()) return;
  if (value.is_text) fail(place, fmt::format("'{}' is a number, and its value is a string", name));
  if (type != Type::boolean && value.logical) {
    fail(place, fmt::format("'{}' is a number, and its value is a condition: write if ... then 1 else 0", name));
  }
  for (const Node item : value.items) {
    if (type == Type::integer && !is_whole(item)) {
      const std::string found = graph_.is_number(item) ? fmt::format("{}", graph_.value(item)) : "a Real number";
      fail(place, fmt::format("'{}' is Integer, and its value is {}: expected a whole number, as integer(...) gives",
                              name, found));
    }
    if (type == Type::boolean && !is_boolean(item)) {
      fail(place, fmt::format("'{}' is Boolean, and its value is a number: expected a condition, as ... > 0", name));
    }
  }
}

/// What a type of numbers is made of; string: it is another one.
Type Flattener::basic_type(const std::string& name) const {
  const Class* type = find_class(name);
  std::string basic = name;
  for (int k = 0; k < deepest_types && type != nullptr && type->kind == Class::Kind::type; ++k) {
    basic = type->base;
    type = find_class(basic);
  }
  return basic == "Integer"   ? Type::integer
         : basic == "Boolean" ? Type::boolean
         : basic == "Real"    ? Type::real
                              : Type::string;
}

/// The declaration of a name in a function, or of a member of a record there; null: there is none.
const Declaration* Flattener::declaration_in(const Class& function, const std::vector<NamePart>& parts) const {
  const Class* whole = &function;
  const Declaration* found = nullptr;
  for (std::size_t k = 0; k < parts.size() && whole != nullptr; ++k) {
    const auto at = std::find_if(whole->declarations.begin(), whole->declarations.end(),
                                 [&](const Declaration& one) { return one.name == parts[k].name; });
    if (at == whole->declarations.end()) return nullptr;
    found = &*at;
    whole = find_class(found->type);
  }
  return found;
}

/// Equations such as n = x, with a Real x, give x. Reports where nothing else gives n.
void Flattener::check_whole_unknowns() {
  std::set<int> given;
  std::map<int, const FlatEquation*> asked;
  const auto look = [&](const FlatEquation& equation, Node side, Node other) {
    const NodeData data = graph_[side];
    if (data.op != Op::variable || data.order > 0) return;
    const FlatVariable& variable = model_.variables[static_cast<std::size_t>(data.index)];
    if (variable.type != Type::integer || variable.is_parameter()) return;
    if (is_whole(other)) {
      given.insert(data.index);
    } else {
      asked.try_emplace(data.index, &equation);
    }
  };
  for (const FlatEquation& equation : model_.equations) {
    look(equation, equation.left, equation.right);
    look(equation, equation.right, equation.left);
  }
  for (const FlatEquation& equation : model_.discrete_equations) given.insert(graph_[equation.left].index);
  for (const auto& [index, equation] : asked) {
    const FlatVariable& variable = model_.variables[static_cast<std::size_t>(index)];
    if (given.contains(index) || variable.binding != no_node || variable.input) continue;
    diagnostics_.error(equation->place,
                       fmt::format("'{0}' is Integer, and this equation would give it a Real number: expected "
                                   "{0} = integer(...), or the nearest: integer(... + 0.5)",
                                   variable.name));
  }
}

/// Outside of when clauses, what varies between events has no value before one.
void Flattener::check_values_before() {
  for (const auto& [index, place] : before_) {
    const FlatVariable& variable = model_.variables[static_cast<std::size_t>(index)];
    if (variable.variability != Variability::continuous || variable.input) continue;
    diagnostics_.error(
        place,
        fmt::format("'{}' is continuous: its value before an event is known in when clauses alone", variable.name));
  }
}

/// What varies between events is equal to a number at an instant, where no step ends.
void Flattener::warn_of_equalities() {
  for (const auto& [place, same] : equalities_) {
    const std::vector<Node> parts = graph_.below(same);
    const bool varies_between_events = std::any_of(parts.begin(), parts.end(), [&](Node part) {
      const NodeData& data = graph_[part];
      if (data.op != Op::variable) return data.op == Op::time;
      const FlatVariable& variable = model_.variables[static_cast<std::size_t>(data.index)];
      return variable.type == Type::real && variable.variability == Variability::continuous;
    });
    if (!varies_between_events) continue;
    diagnostics_.warn(place,
                      "'==' and '<>' of Real numbers that vary make no event, and steps pass where they are equal: "
                      "compare with '<=' or '>='");
  }
}

/// The least and the largest number that it can be, as far as its operations tell.
std::pair<double, double> Flattener::bounds_of(Node node, int depth) {
  constexpr std::pair unbounded(-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
  constexpr int deepest = 1000;
  const NodeData data = graph_[node];
  if (data.op == Op::number) return {data.number, data.number};
  if (graph_.is_condition(node)) return {0.0, 1.0};
  if (depth > deepest) return unbounded;
  if (const auto known = bounds_.find(node); known != bounds_.end()) return known->second;
  const auto of = [&](int k) { return bounds_of(data.operand[k], depth + 1); };
  const auto is = [&](Function function) { return data.op == Op::call && data.index == static_cast<int>(function); };
  std::pair<double, double> bounds = unbounded;
  if (is(Function::floor)) {
    const auto a = of(0);
    bounds = {std::floor(a.first), std::floor(a.second)};
  } else if (data.op == Op::choice || data.op == Op::add || data.op == Op::subtract || is(Function::min) ||
             is(Function::max)) {
    const auto a = of(data.op == Op::choice ? 1 : 0);
    const auto b = of(data.op == Op::choice ? 2 : 1);
    bounds = data.op == Op::add        ? std::pair(a.first + b.first, a.second + b.second)
             : data.op == Op::subtract ? std::pair(a.first - b.second, a.second - b.first)
             : data.op == Op::choice   ? std::pair(std::min(a.first, b.first), std::max(a.second, b.second))
             : is(Function::min)       ? std::pair(std::min(a.first, b.first), std::min(a.second, b.second))
                                       : std::pair(std::max(a.first, b.first), std::max(a.second, b.second));
  }
  return bounds_[node] = bounds;
}

/// A subscript that varies is whole, and within its dimension wherever control comes to it.
void Flattener::check_subscript(Node index, int size, const std::string& name, Place place) {
  if (!is_whole(index)) {
    const std::string found = graph_.is_number(index) ? fmt::format("{}", graph_.value(index)) : "Real";
    fail(place, fmt::format("the subscript is {}: expected a whole number, as integer(...) gives", found));
  }
  if (graph_.is_number(index)) return;
  const auto [least, largest] = bounds_of(index, 0);
  if (least >= 1.0 && largest <= size) return;
  const auto within_bounds = [&](double low, double high) {
    return graph_.conjunction(graph_.relation(Op::less, graph_.number(low), index, true),
                              graph_.relation(Op::less, index, graph_.number(high), true));
  };
  assert_that(within_bounds(0.5, size + 0.5),
              fmt::format("a subscript of {} is out of range: from 1 to {}", name.empty() ? "an array" : name, size),
              place);
}

}  // namespace manyfold::modelica
