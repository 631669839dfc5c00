// Calls of functions and constructors of records: their inputs, one call for each element of arrays, derivatives of
// functions.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/flattener.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold::modelica {
namespace {

constexpr int deepest_calls = 40;

/// Do the statements assign to the variable in any case?
bool assigns_to(const std::vector<Statement>& statements, const std::string& name) {
  const auto is_target = [&](const ExpressionPtr& left) {
    return left && !left->parts.empty() && left->parts[0].name == name;
  };
  return std::any_of(statements.begin(), statements.end(), [&](const Statement& statement) {
    if (statement.kind == Statement::Kind::assignment) {
      const auto& targets = statement.left->operands;
      return is_target(statement.left) || std::any_of(targets.begin(), targets.end(), is_target);
    }
    return std::any_of(statement.branches.begin(), statement.branches.end(),
                       [&](const Branch& branch) { return assigns_to(branch.body, name); });
  });
}

bool assigns_to(const Class& function, const std::string& name) {
  return std::any_of(function.sections.begin(), function.sections.end(),
                     [&](const Section& section) { return assigns_to(section.statements, name); });
}

}  // namespace

Value Flattener::construct(const Class& record, const Expression& expression, const Scope& scope) {
  Callee callee{record.name, {}, expression.place};
  for (const Declaration& member : record.declarations) callee.inputs.push_back(&member);
  Value result;
  result.fields = given_inputs(callee, expression, scope, {});
  const std::vector<int> extra = extra_dimensions(callee, result.fields);
  if (extra.empty()) return result;
  std::vector<Value> elements;
  for_each_element(callee, result.fields, extra,
                   [&](std::vector<Member> fields) { elements.emplace_back().fields = std::move(fields); });
  return shaped(std::move(elements), extra, expression.place);
}

/// The values of all inputs of a call, or members of a record that is made: those that are given, and defaults.
std::vector<Member> Flattener::given_inputs(const Callee& callee, const Expression& expression, const Scope& scope,
                                            const std::vector<Member>& given_before) {
  Scope own;
  own.in_function = true;
  for (const auto& [name, value] : given_before) own.values[name] = value;
  std::vector<std::string> names;
  std::vector<Member> inputs;
  for (const Declaration* input : callee.inputs) {
    if (own.values.contains(input->name)) {
      inputs.push_back({input->name, own.values[input->name]});
      continue;
    }
    const Expression* given =
        names.size() < expression.operands.size() ? expression.operands[names.size()].get() : nullptr;
    names.push_back(input->name);
    for (const auto& [name, value] : expression.named) {
      if (name != input->name) continue;
      if (given != nullptr) fail(value->place, fmt::format("'{}' has two values for '{}'", callee.name, name));
      given = value.get();
    }
    if (given == nullptr && !input->binding) {
      fail(expression.place, fmt::format("'{}' needs a value for '{}'", callee.name, input->name));
    }
    Value value = given != nullptr ? argument(*given, scope) : argument(*input->binding, own);
    check_type(basic_type(input->type), input->name, value, given != nullptr ? given->place : input->binding->place);
    value.truths = truths_of(input->dimensions);
    own.values[input->name] = value;
    inputs.push_back({input->name, std::move(value)});
  }
  if (expression.operands.size() > names.size()) {
    fail(expression.place, fmt::format("'{}' takes {} argument{}, not {}", callee.name, names.size(),
                                       names.size() == 1 ? "" : "s", expression.operands.size()));
  }
  for (const auto& [name, value] : expression.named) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      fail(value->place, fmt::format("'{}' has no input '{}'{}", callee.name, name, did_you_mean(name, names)));
    }
  }
  return inputs;
}

/// The number of dimensions that a declaration and its type have.
std::size_t Flattener::rank_of(const Declaration& declaration) const {
  std::size_t rank = declaration.dimensions.size();
  const Class* type = find_class(declaration.type);
  for (int k = 0; k < deepest_calls && type != nullptr && type->kind == Class::Kind::type; ++k) {
    rank += type->base_dimensions.size();
    type = find_class(type->base);
  }
  return rank;
}

/// The dimensions that arguments have before those that are declared: the call is one for each element.
std::vector<int> Flattener::extra_dimensions(const Callee& callee, const std::vector<Member>& inputs) {
  std::vector<int> extra;
  const Member* first = nullptr;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Value& value = inputs[k].value;
    const std::size_t rank = rank_of(*callee.inputs[k]);
    if (value.is_text || value.function != nullptr || value.table != nullptr || value.dims.size() == rank) continue;
    if (value.dims.size() < rank) {
      fail(callee.place, fmt::format("'{}' of '{}' is {}: expected an array of {} dimension{}", inputs[k].name,
                                     callee.name, shape_text(value), rank, rank == 1 ? "" : "s"));
    }
    const std::vector<int> own(value.dims.begin(), value.dims.end() - static_cast<std::ptrdiff_t>(rank));
    if (first != nullptr && own != extra) {
      fail(callee.place, fmt::format("'{}' is called for each element of '{}', {}, and of '{}', {}", callee.name,
                                     first->name, shape_text(first->value), inputs[k].name, shape_text(value)));
    }
    if (first == nullptr) first = &inputs[k];
    extra = own;
  }
  return extra;
}

/// `call` for each element of the arguments with the dimensions `extra`; the others are the same for all.
void Flattener::for_each_element(const Callee& callee, const std::vector<Member>& inputs, const std::vector<int>& extra,
                                 const std::function<void(std::vector<Member>)>& call) {
  Value whole;
  whole.dims = extra;
  for (std::size_t at = 0; at < whole.element_count(); ++at) {
    spend(callee.place);
    std::vector<Member> one = inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Value& value = inputs[k].value;
      if (value.is_text || value.dims.size() == rank_of(*callee.inputs[k])) continue;
      one[k].value = slice(value, extra.size(), at);
    }
    call(std::move(one));
  }
}

/// The element number `at` of the first dimensions.
Value Flattener::slice(const Value& value, std::size_t dimensions, std::size_t at) {
  Value result;
  result.dims.assign(value.dims.begin() + static_cast<std::ptrdiff_t>(dimensions), value.dims.end());
  const auto block = static_cast<std::ptrdiff_t>(result.element_count());
  if (!value.elements.empty()) {
    if (result.dims.empty()) return value.elements[at];
    const auto first = value.elements.begin() + static_cast<std::ptrdiff_t>(at) * block;
    result.elements.assign(first, first + block);
    return result;
  }
  const auto begin = value.items.begin() + static_cast<std::ptrdiff_t>(at) * block;
  result.items.assign(begin, begin + block);
  return result;
}

/// Elements, in the order of rows, as an array of these dimensions.
Value Flattener::shaped(std::vector<Value> elements, const std::vector<int>& dims, Place place) {
  Value result;
  result.dims = dims;
  if (elements.empty()) return result;
  result = array_of(std::move(elements), place);
  result.dims.erase(result.dims.begin());
  result.dims.insert(result.dims.begin(), dims.begin(), dims.end());
  return result;
}

/// Of a local of a function without value: zeros of its shape.
Value Flattener::default_of(const Declaration& declaration, const Scope& scope) {
  Value result;
  if (declaration.binding) result = evaluate(*declaration.binding, scope);
  result.truths = truths_of(declaration.dimensions);
  if (declaration.binding) return result;
  std::size_t count = 1;
  for (const ExpressionPtr& dimension : declaration.dimensions) {
    // What [:] is, the first assignment says.
    const int of_type = size_of_type(*dimension);
    const int size = dimension->kind == Kind::colon ? 0
                     : of_type > 0                  ? of_type
                                                    : integer(*dimension, scope, "a dimension");
    if (size < 0 || (count *= static_cast<std::size_t>(size)) > 100'000) fail(dimension->place, "out of range");
    result.dims.push_back(size);
  }
  if (declaration.type == "String") {
    result.is_text = result.computed = true;
    return result;
  }
  if (const Class* record = find_class(declaration.type); record != nullptr && record->kind == Class::Kind::record) {
    if (++depth_ > deepest_calls) fail(declaration.place, "a record contains itself");
    Value one;
    for (const Declaration& member : record->declarations) {
      const Expression* given = nullptr;
      for (const Modifier& modifier : declaration.modifiers) {
        if (modifier.name == member.name) given = modifier.value.get();
      }
      one.fields.push_back({member.name, given != nullptr ? evaluate(*given, scope) : default_of(member, scope)});
    }
    --depth_;
    if (result.dims.empty()) return one;
    result.elements.assign(count, one);
    return result;
  }
  result.items.assign(count, graph_.number(0.0));
  return result;
}

/// What is carried out: a function itself, or what function df = der(f, x) is the derivative of.
const Class& Flattener::written_function(const Class& function) {
  const Class* written = &function;
  for (int k = 0; !written->seeds.empty(); ++k) {
    const Class* base = find_class(written->base);
    if (base == nullptr || base->kind != Class::Kind::function) {
      std::vector<std::string> names;
      for (const auto& [name, type] : classes_) {
        if (type->kind == Class::Kind::function) names.push_back(name);
      }
      fail(written->place, fmt::format("unknown function '{}'{}", written->base, did_you_mean(written->base, names)));
    }
    if (k == deepest_calls) fail(written->place, fmt::format("'{}' is a derivative of itself", function.name));
    written = base;
  }
  return *written;
}

/// `all`: an array of all results, for tuples; otherwise the first. `given_before`: inputs that have their value
/// already.
Value Flattener::call_function(const Class& function, const Expression& expression, const Scope& scope, bool all,
                               const std::vector<Member>& given_before) {
  const Class& written = written_function(function);
  if (written.partial) fail(expression.place, fmt::format("'{}' is a partial function", written.name));
  if (++depth_ > deepest_calls)
    fail(expression.place, fmt::format("calls of '{}' are nested too deeply", function.name));
  Callee callee{function.name, {}, expression.place};
  for (const Declaration& declaration : written.declarations) {
    if (declaration.input) callee.inputs.push_back(&declaration);
  }
  const std::vector<Member> inputs = given_inputs(callee, expression, scope, given_before);
  const bool silent = scope.silent || scope.in_function;
  const auto results_of = [&](const std::vector<Member>& of) {
    return function.seeds.empty() ? carry_out(function, of, silent, expression.place)
                                  : partial_derivatives(function, of, silent, expression.place);
  };
  const std::vector<int> extra = extra_dimensions(callee, inputs);
  Value results;
  if (extra.empty()) {
    results = results_of(inputs);
  } else {
    std::vector<Value> each;
    for_each_element(callee, inputs, extra, [&](const std::vector<Member>& one) { each.push_back(results_of(one)); });
    results = results_of_all(written, each, extra, expression.place);
  }
  --depth_;
  if (all) return results;
  if (results.fields.empty()) fail(expression.place, fmt::format("'{}' has no output", function.name));
  return results.fields[0].value;
}

/// Each output an array of what the calls have given.
Value Flattener::results_of_all(const Class& function, const std::vector<Value>& each, const std::vector<int>& extra,
                                Place place) {
  Value results;
  for (const Declaration& declaration : function.declarations) {
    if (!declaration.output) continue;
    std::vector<Value> values;
    for (const Value& one : each) values.push_back(one.fields[results.fields.size()].value);
    results.fields.push_back({declaration.name, shaped(std::move(values), extra, place)});
  }
  return results;
}

/// Reports arguments whose size is not that of the declaration.
void Flattener::check_dimensions(const Class& function, const Scope& scope, Place place) {
  for (const Declaration& declaration : function.declarations) {
    const Value* value = declaration.input ? scope.find(declaration.name) : nullptr;
    if (value == nullptr || value->is_text || value->table != nullptr || value->function != nullptr) continue;
    for (std::size_t k = 0; k < declaration.dimensions.size() && k < value->dims.size(); ++k) {
      const Expression& dimension = *declaration.dimensions[k];
      if (dimension.kind == Kind::colon) continue;
      const int of_type = size_of_type(dimension);
      const double size = of_type > 0 ? of_type : numeric(scalar(dimension, scope));
      if (!std::isfinite(size) || size == value->dims[k]) continue;
      std::vector<double> declared(value->dims.begin(), value->dims.end());
      declared[k] = size;
      fail(place, fmt::format("'{}' of '{}' is an array [{}], and is given {}", declaration.name, function.name,
                              fmt::join(declared, ", "), shape_text(*value)));
    }
  }
}

/// The outputs for these inputs.
Value Flattener::carry_out(const Class& function, const std::vector<Member>& inputs, bool silent, Place place) {
  Value results;
  if (function.external) {
    std::vector<Value> arguments;
    for (const Member& input : inputs) arguments.push_back(input.value);
    Value result;
    if (!call_table(function.external_name, arguments, silent, place, result)) {
      fail(place, fmt::format("'{}' is an external function: not supported", function.name));
    }
    results.fields.push_back({"", std::move(result)});
    return results;
  }
  Frame frame;
  frame.scope.in_function = true;
  frame.function = &function;
  frame.left = frame.returned = graph_.number(0.0);
  for (const auto& [name, value] : inputs) frame.scope.values[name] = value;
  check_dimensions(function, frame.scope, place);
  for (const Declaration& declaration : function.declarations) {
    if (!declaration.input) frame.scope.values[declaration.name] = default_of(declaration, frame.scope);
  }
  for (const Section& section : function.sections) execute(section.statements, frame);
  for (const Declaration& declaration : function.declarations) {
    if (!declaration.output) continue;
    Value& value = frame.scope.values[declaration.name];
    if (!frame.assigned.contains(declaration.name)) complete_output(function, declaration, frame, value);
    results.fields.push_back({declaration.name, value});
  }
  return results;
}

/// The outputs of function df = der(f, x, ...): those of f, differentiated by one input after the other.
Value Flattener::partial_derivatives(const Class& function, const std::vector<Member>& inputs, bool silent,
                                     Place place) {
  const Class& written = written_function(function);
  const std::size_t before = inputs_.size();
  const struct Back {
    std::vector<Node>& inputs;
    std::size_t before;
    ~Back() { inputs.resize(before); }
  } back{inputs_, before};
  std::vector<Member> seeded = inputs;
  std::vector<std::string> names;
  for (const Member& input : inputs) names.push_back(input.name);
  std::vector<Node> leaves;
  std::map<std::string, Node> known;
  for (const std::string& name : function.seeds) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      fail(function.place, fmt::format("'{}' has no input '{}'{}", written.name, name, did_you_mean(name, names)));
    }
    const auto [entry, added] = known.try_emplace(name, no_node);
    if (added) {
      Value& value = seeded[static_cast<std::size_t>(at - names.begin())].value;
      const bool number = value.is_scalar() && !value.is_text;
      if (!number)
        fail(function.place,
             fmt::format("'{}' is {}: functions are differentiated by numbers", name, shape_text(value)));
      entry->second = graph_.event(Op::input, static_cast<int>(inputs_.size()));
      inputs_.push_back(value.items[0]);
      value = Value::scalar(entry->second);
    }
    leaves.push_back(entry->second);
  }
  Expression call;
  call.kind = Kind::call;
  call.place = place;
  Scope scope;
  scope.silent = silent;
  Value results = call_function(*find_class(function.base), call, scope, true, seeded);
  for (const Node leaf : leaves) {
    change_nodes(results, [&](Node node) { return graph_.partial(node, leaf); });
  }
  change_nodes(results, [&](Node node) { return at_inputs(node, before); });
  return results;
}

/// With the values of the inputs, from number `first` on, that functions are differentiated by.
Node Flattener::at_inputs(Node node, std::size_t first) {
  return graph_.replace(node, [&](Node one) -> Node {
    const NodeData data = graph_[one];
    const bool given = data.op == Op::input && static_cast<std::size_t>(data.index) >= first;
    return given ? inputs_[static_cast<std::size_t>(data.index)] : no_node;
  });
}

/// An output that its function did not assign to. Exports of constructors of records have lost `result(re = re, im =
/// im)`: members have the values of the inputs of their names.
void Flattener::complete_output(const Class& function, const Declaration& output, const Frame& frame, Value& value) {
  const auto is_given = [&](const std::string& name) {
    return std::any_of(output.modifiers.begin(), output.modifiers.end(),
                       [&](const Modifier& modifier) { return modifier.name == name && modifier.value != nullptr; });
  };
  const auto is_input = [&](const std::string& name) {
    return std::any_of(function.declarations.begin(), function.declarations.end(),
                       [&](const Declaration& one) { return one.input && one.name == name; });
  };
  if (output.binding || assigns_to(function, output.name)) return;
  bool known = value.is_text || (!value.dims.empty() && value.items.empty() && value.elements.empty());
  if (value.is_record()) {
    known = true;
    for (auto& [name, member] : value.fields) {
      if (is_given(name)) continue;
      if (is_input(name)) {
        member = *frame.scope.find(name);
      } else {
        known = false;
      }
    }
  }
  if (!known) {
    fail(output.place, fmt::format("the output '{}' of '{}' is never assigned: expected '{} := ...' in its algorithm",
                                   output.name, function.name, output.name));
  }
}

}  // namespace manyfold::modelica
