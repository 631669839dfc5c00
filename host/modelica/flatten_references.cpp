// Names, members and subscripts in expressions.
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold::modelica {
Value Flattener::member(const Value& record, const std::string& name, Place place) {
  if (!record.elements.empty()) {
    std::vector<Value> members;
    for (const Value& element : record.elements) members.push_back(member(element, name, place));
    return shaped(std::move(members), record.dims, place);
  }
  std::vector<std::string> names;
  for (const auto& [field, value] : record.fields) {
    if (field == name) return value;
    names.push_back(field);
  }
  const std::string others = names.empty() ? "" : did_you_mean(name, names);
  fail(place, fmt::format("{} has no member '{}'{}", shape_text(record), name, others));
}

/// What the name parts from number `first` on are of a value. Subscripts of a member are those of each record's.
Value Flattener::part_of(const Value& whole, const Expression& expression, std::size_t first, const Scope& scope) {
  if (first == expression.parts.size()) return whole;
  if (!whole.elements.empty()) {
    std::vector<Value> parts;
    for (const Value& element : whole.elements) parts.push_back(part_of(element, expression, first, scope));
    return shaped(std::move(parts), whole.dims, expression.place);
  }
  const NamePart& part = expression.parts[first];
  Value value = member(whole, part.name, expression.place);
  if (!part.subscripts.empty()) {
    value = subscripted(value, part.subscripts, scope, expression.place, dotted(expression.parts));
  }
  return part_of(value, expression, first + 1, scope);
}

/// False unless the name is that of an array of records, declared as such or by its elements.
bool Flattener::record_array(const std::string& name, const Scope& scope, Place place, Value& result) {
  if (record_arrays_.contains(name)) {
    result = value_of_name(name, place);
    return true;
  }
  return !known_name(name) && !parts_of(name).dims.empty() && assembled(name, scope, place, result) &&
         !result.elements.empty();
}

Value Flattener::reference(const Expression& expression, const Scope& scope) {
  const NamePart& first = expression.parts[0];
  if (const Value* local = scope.find(first.name)) {
    if (local->function != nullptr) {
      fail(expression.place, fmt::format("'{}' is a function: it may be called, or be an argument", first.name));
    }
    if (first.subscripts.empty()) return part_of(*local, expression, 1, scope);
    return part_of(subscripted(*local, first.subscripts, scope, expression.place, dotted(expression.parts)), expression,
                   1, scope);
  }
  if (!first.quoted && expression.parts.size() == 1 && first.name == "time") return Value::scalar(graph_.time());
  const std::size_t begin = parts_of_package(expression);
  std::string name = dotted(expression.parts, begin);
  if (const auto literal = literals_.find(name); literal != literals_.end()) {
    return Value::scalar(graph_.number(literal->second));
  }
  if (name == "Modelica.Constants.pi") return Value::scalar(graph_.number(3.141592653589793));
  name.clear();
  for (std::size_t k = begin; k < expression.parts.size(); ++k) {
    const NamePart& part = expression.parts[k];
    const std::string before = name;
    append_part(name, part.name);
    const bool known = known_name(name);
    // A member of all records of an array.
    Value records;
    if (k > begin && !known && expression.parts[k - 1].subscripts.empty() &&
        record_array(before, scope, expression.place, records)) {
      return part_of(records, expression, k, scope);
    }
    if (part.subscripts.empty()) continue;
    // Elements that are declared one by one have their subscripts in the name.
    std::string subscripts;
    const auto array = record_arrays_.find(name);
    bool all_known = !known || (array != record_arrays_.end() && array->second.size() == part.subscripts.size());
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
    return part_of(subscripted(whole, part.subscripts, scope, expression.place, name), expression, k + 1, scope);
  }
  if (const Value* local = scope.find(name)) return *local;
  if (scope.in_function) check_visible(name, expression.place);
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
  fail_unknown_name(expression.place, name);
}

/// Functions see constants of the file, and none of the model's variables.
void Flattener::check_visible(const std::string& name, Place place) {
  const auto found = known_name(name) ? scalar_by_name_.find(name) : scalar_by_name_.end();
  if (found == scalar_by_name_.end()) return;
  if (model_.variables[static_cast<std::size_t>(found->second)].is_parameter()) return;
  fail(place, fmt::format("'{}' is a variable of the model, which functions do not see: expected an input", name));
}

/// The name of one element of an array of variables; empty unless its subscripts are known numbers. It spares making
/// the whole array.
std::string Flattener::element_name(const std::string& name, const std::vector<ExpressionPtr>& subscripts,
                                    const Scope& scope) {
  const auto found = instance_by_name_.find(name);
  if (found == instance_by_name_.end()) return "";
  Value shape;
  const Instance& instance = instances_[static_cast<std::size_t>(found->second)];
  shape.dims = instance.dims;
  shape.truths = instance.truths;
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
    check_kind(shape, k, *subscripts[k], scope);
    const double number = graph_.value(index.items[0]);
    const std::string text = !shape.has_truths(k) ? fmt::format("{}", number) : number == 0.0 ? "false" : "true";
    element += fmt::format("{}{}", k > 0 ? "," : "[", text);
  }
  element += ']';
  return scalar_by_name_.contains(element) ? element : "";
}

/// Is it Boolean as it is written?
bool Flattener::is_truth(const Expression& expression, const Scope& scope) {
  switch (expression.kind) {
    case Kind::boolean:
    case Kind::relation:
      return true;
    case Kind::negation:
    case Kind::chain: {
      const std::string& word = expression.words.empty() ? std::string() : expression.words[0];
      return word == "not" || word == "and" || word == "or";
    }
    case Kind::tuple:
      return expression.operands.size() == 1 && expression.operands[0] && is_truth(*expression.operands[0], scope);
    case Kind::reference: {
      const std::string name = dotted(expression.parts);
      if (scope.find(expression.parts[0].name) != nullptr || !known_name(name)) return false;
      const auto found = instance_by_name_.find(name);
      return found != instance_by_name_.end() &&
             element_of(instances_[static_cast<std::size_t>(found->second)], 0).type == Type::boolean;
    }
    default:
      return false;
  }
}

/// A subscript is Boolean where the dimension is, and there alone.
void Flattener::check_kind(const Value& value, std::size_t dimension, const Expression& subscript, const Scope& scope) {
  if (!value.has_truths(dimension)) {
    if (is_truth(subscript, scope)) fail(subscript.place, "the subscript is Boolean: expected a whole number");
  } else if (subscript.kind == Kind::number) {
    fail(subscript.place, "the subscript is a number: expected false or true");
  }
}

/// Is the subscript this number?
Node Flattener::is_subscript(Node index, int number) {
  const NodeData data = graph_[index];
  const Node wanted = graph_.number(number);
  if (data.op != Op::choice || !graph_.is_number(data.operand[1]) || !graph_.is_number(data.operand[2])) {
    return graph_.relation(Op::equal, index, wanted, true);
  }
  return graph_.choice(data.operand[0], graph_.number(data.operand[1] == wanted),
                       graph_.number(data.operand[2] == wanted));
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
        const Node here = std::isfinite(known) ? no_node : is_subscript(indices[k], i);
        const Node both = condition == no_node ? here
                          : here == no_node    ? condition
                                               : graph_.conjunction(condition, here);
        next.emplace_back(both, offset * static_cast<std::size_t>(size) + static_cast<std::size_t>(i - 1));
      }
    }
    cases = std::move(next);
  }
  result.dims.assign(value.dims.begin() + static_cast<std::ptrdiff_t>(indices.size()), value.dims.end());
  const std::size_t block = result.element_count();
  if (cases.empty()) fail(place, "the array has no elements");
  if (!value.elements.empty()) {
    for (std::size_t j = 0; j < block; ++j) {
      Value chosen = value.elements[cases.back().second * block + j];
      for (std::size_t k = cases.size() - 1; k-- > 0;) {
        chosen = merge(cases[k].first, value.elements[cases[k].second * block + j], chosen, place);
      }
      if (result.dims.empty()) return chosen;
      result.elements.push_back(std::move(chosen));
    }
    return result;
  }
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
                             Place place, const std::string& name) {
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
      check_kind(value, k, *subscripts[k], inner);
      nodes = index.items;
      keeps.push_back(!index.dims.empty());
      for (Node& node : nodes) {
        // Whole parameters shape the equations as soon as they choose elements.
        const double known = graph_.is_number(node) ? graph_.value(node) : numeric(node);
        if (std::isfinite(known)) node = graph_.number(known);
        if (value.has_truths(k)) node = graph_.choice(node, graph_.number(2.0), graph_.number(1.0));
        check_subscript(node, value.dims[k], name, subscripts[k]->place);
      }
    }
    chosen.push_back(std::move(nodes));
  }
  Value result;
  result.logical = value.logical;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (!keeps[k]) continue;
    if (subscripts[k]->kind == Kind::colon && value.has_truths(k)) result.truths |= 1U << result.dims.size();
    result.dims.push_back(static_cast<int>(chosen[k].size()));
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
    result.elements.insert(result.elements.end(), element.elements.begin(), element.elements.end());
    result.items.insert(result.items.end(), element.items.begin(), element.items.end());
    std::size_t k = chosen.size();
    while (k > 0 && ++at[k - 1] == chosen[k - 1].size()) at[--k] = 0;
    if (k == 0) {
      for (std::size_t j = 0; j < element.dims.size(); ++j) {
        if (value.has_truths(chosen.size() + j)) result.truths |= 1U << result.dims.size();
        result.dims.push_back(element.dims[j]);
      }
      return result;
    }
  }
}

}  // namespace manyfold::modelica
