// Calls of built-in functions and operators.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold::modelica {
namespace {

/// Functions of one number, as in the graph.
constexpr std::array<const char*, 14> unary = {"sqrt", "exp",  "log",  "log10", "sin",  "cos",  "tan",
                                               "asin", "acos", "atan", "sinh",  "cosh", "tanh", "abs"};

const std::map<std::string, const char*> refused = {
    {"spatialDistribution",
     "spatialDistribution is not supported, for no instance keeps its past: discretise the "
     "transport in space"},
    {"prioritize", "prioritize stands in initial equations and guesses alone"},
    {"Clock", "clocked models are not supported: use when sample(start, interval)"},
    {"previous", "clocked models are not supported: use pre"},
    {"hold", "clocked models are not supported"},
    {"subSample", "clocked models are not supported"},
    {"superSample", "clocked models are not supported"},
    {"shiftSample", "clocked models are not supported"},
    {"backSample", "clocked models are not supported"},
    {"noClock", "clocked models are not supported"},
    {"interval", "clocked models are not supported"},
    {"inStream", "'inStream' stands in no flat model: export the model as Base Modelica"},
    {"actualStream", "'actualStream' stands in no flat model: export the model as Base Modelica"},
    {"cardinality", "'cardinality' stands in no flat model: export the model as Base Modelica"}};

}  // namespace

/// What a function is called with: a value, another function, or function f(x = 1), a function of the inputs that are
/// left.
Value Flattener::argument(const Expression& expression, const Scope& scope) {
  const bool may_be_function = expression.kind == Kind::reference || expression.kind == Kind::partial_call;
  if (!may_be_function) return evaluate(expression, scope);
  const std::string name = dotted(expression.parts);
  const Value* given = scope.find(name);
  Value result;
  if (given != nullptr && given->function != nullptr) result = *given;
  const Class* own = given == nullptr ? find_class(name) : nullptr;
  if (own != nullptr && own->kind == Class::Kind::function) result.function = own;
  if (expression.kind == Kind::reference) return result.function != nullptr ? result : evaluate(expression, scope);
  if (result.function == nullptr) fail(expression.place, fmt::format("'{}' is no function", name));
  if (!expression.operands.empty()) fail(expression.place, "inputs that are given are named: function f(x = 1)");
  for (const auto& [input, value] : expression.named) result.fields.push_back({input, evaluate(*value, scope)});
  return result;
}

Value Flattener::call(const Expression& expression, const Scope& scope) {
  std::string name = dotted(expression.parts);
  Value result;
  if (const Value* given = scope.find(name); given != nullptr && given->function != nullptr) {
    return call_function(*given->function, expression, scope, false, given->fields);
  }
  if (name.ends_with("Modelica.Math.Nonlinear.solveOneNonlinearEquation")) return zero_of(expression, scope);
  if (const Class* own = find_class(name)) {
    if (own->kind == Class::Kind::record) return construct(*own, expression, scope);
    if (own->kind == Class::Kind::external_object) return construct_table(*own, expression, scope);
    if (own->kind == Class::Kind::function) return call_function(*own, expression, scope, false);
    if (!own->literals.empty()) return literal_of_number(*own, expression, scope);
  }
  if (call_table_by_name(name, expression, scope, result)) return result;
  const bool of_library = name.starts_with("Modelica.Math.");
  if (of_library) name = name.substr(14);
  if (of_library || !expression.parts[0].quoted) {
    if (call_elementary(name, expression, scope, result) || call_array(name, expression, scope, result) ||
        call_event(name, expression, scope, result)) {
      for (const char* const condition : {"edge", "change", "initial", "terminal", "sample"}) {
        result.logical = result.logical || name == condition;
      }
      return result;
    }
    if (name == "String") return Value::computed_text();
  }
  fail_unknown_function(expression);
}

/// E(2), the second literal of E.
Value Flattener::literal_of_number(const Class& type, const Expression& call, const Scope& scope) {
  check_arguments(type.name, call, 1);
  const int number = integer(*call.operands[0], scope, "the number of a literal");
  const auto count = static_cast<int>(type.literals.size());
  if (number < 1 || number > count) {
    fail(call.operands[0]->place,
         fmt::format("'{}' has {} literals: {} is the number of none", type.name, count, number));
  }
  return Value::scalar(graph_.number(number));
}

void Flattener::fail_unknown_function(const Expression& call) {
  const std::string name = dotted(call.parts);
  if (const auto found = refused.find(name); found != refused.end() && !call.parts[0].quoted) {
    fail(call.place, found->second);
  }
  if (call.parts[0].quoted && name.find('.') != std::string::npos) {
    fail(call.place, fmt::format("unknown function '{}': the file calls it and does not declare it; exports with "
                                 "inlineFunctions leave out what is only called from functions",
                                 name));
  }
  std::vector<std::string> names(unary.begin(), unary.end());
  for (const char* known :
       {"atan2",   "min",      "max",        "der",     "pre",       "noEvent",  "smooth",   "homotopy",
        "sum",     "product",  "size",       "fill",    "zeros",     "ones",     "sign",     "floor",
        "ceil",    "mod",      "rem",        "integer", "div",       "edge",     "change",   "sample",
        "initial", "delay",    "semiLinear", "cat",     "transpose", "identity", "diagonal", "cross",
        "skew",    "linspace", "scalar",     "vector",  "matrix",    "ndims"}) {
    names.emplace_back(known);
  }
  for (const auto& [known, type] : classes_) {
    if (type->kind == Class::Kind::function) names.push_back(known);
  }
  fail(call.place, fmt::format("unknown function '{}'{}", name, did_you_mean(name, names)));
}

/// Of (a, , b) = f(...).
const Class& Flattener::function_of_tuple(const Expression& call) {
  const Class* function = find_class(dotted(call.parts));
  if (function == nullptr || function->kind != Class::Kind::function) fail_unknown_function(call);
  return *function;
}

/// The results of the function on the right.
Value Flattener::call_tuple(const Statement& statement, const Scope& scope) {
  const Class& function = function_of_tuple(*statement.right);
  const Value all = call_function(function, *statement.right, scope, true);
  const std::size_t asked = statement.left->operands.size();
  if (asked > all.fields.size()) {
    fail(statement.place, fmt::format("'{}' has {} result{}, and {} are asked for", function.name, all.fields.size(),
                                      all.fields.size() == 1 ? "" : "s", asked));
  }
  return all;
}

void Flattener::check_arguments(const std::string& name, const Expression& call, std::size_t count) {
  if (call.operands.size() == count) return;
  fail(call.place,
       fmt::format("{} takes {} argument{}, not {}", name, count, count == 1 ? "" : "s", call.operands.size()));
}

bool Flattener::call_elementary(const std::string& name, const Expression& expression, const Scope& scope,
                                Value& result) {
  const auto need = [&](std::size_t count) { check_arguments(name, expression, count); };
  const auto map = [&](const std::function<Node(Node)>& function) {
    result = evaluate(*expression.operands[0], scope);
    if (!result.is_numeric())
      fail(expression.place, fmt::format("{} takes numbers, found {}", name, shape_text(result)));
    if (name != "Integer") check_number(result, expression.operands[0]->place);
    for (Node& item : result.items) item = function(item);
    result.logical = false;
    return true;
  };
  for (std::size_t k = 0; k < unary.size(); ++k) {
    if (name != unary[k]) continue;
    need(1);
    return map([&](Node a) { return graph_.call(static_cast<Function>(k), a); });
  }
  const auto whole = [&](Node a) {
    return graph_.call(Function::floor, a, no_node, scope.silent || scope.in_function);
  };
  const auto truncated = [&](Node a) {
    return graph_.choice(graph_.relation(Op::less, a, graph_.number(0.0), true), graph_.negate(whole(graph_.negate(a))),
                         whole(a));
  };
  if (name == "sign") {
    need(1);
    return map([&](Node a) {
      const Node zero = graph_.number(0.0);
      return graph_.choice(graph_.relation(Op::less, zero, a, true), graph_.number(1.0),
                           graph_.choice(graph_.relation(Op::less, a, zero, true), graph_.number(-1.0), zero));
    });
  }
  if (name == "floor" || name == "integer") {
    need(1);
    return map(whole);
  }
  if (name == "ceil") {
    need(1);
    return map([&](Node a) { return graph_.negate(whole(graph_.negate(a))); });
  }
  if (name == "Integer" || name == "Real") {
    need(1);
    return map([](Node a) { return a; });
  }
  const bool two = name == "atan2" || name == "mod" || name == "rem" || name == "div" ||
                   ((name == "min" || name == "max") && expression.operands.size() == 2);
  if (!two) return false;
  need(2);
  const Value a = evaluate(*expression.operands[0], scope);
  const Value b = evaluate(*expression.operands[1], scope);
  check_number(a, expression.operands[0]->place);
  check_number(b, expression.operands[1]->place);
  result = elementwise(a, b, expression.place, [&](Node x, Node y) {
    if (name == "atan2") return graph_.call(Function::atan2, x, y);
    if (name == "min") return graph_.call(Function::min, x, y);
    if (name == "max") return graph_.call(Function::max, x, y);
    if (name == "mod") return graph_.subtract(x, graph_.multiply(whole(graph_.divide(x, y)), y));
    const Node quotient = truncated(graph_.divide(x, y));
    return name == "div" ? quotient : graph_.subtract(x, graph_.multiply(quotient, y));
  });
  return true;
}

Value Flattener::reduction(const std::string& name, const Expression& expression, const Scope& scope) {
  std::vector<Node> items;
  if (!expression.iterators.empty()) {
    for_each(expression.iterators, 0, scope, [&](const Scope& inner) {
      const Value value = evaluate(*expression.operands[0], inner);
      items.insert(items.end(), value.items.begin(), value.items.end());
    });
  } else {
    if (expression.operands.size() != 1) fail(expression.place, fmt::format("{} takes one array", name));
    const Value array = evaluate(*expression.operands[0], scope);
    if (!array.is_numeric()) fail(expression.place, fmt::format("{} takes numbers, found {}", name, shape_text(array)));
    if (array.dims.empty()) fail(expression.place, fmt::format("{} takes an array, found a number", name));
    items = array.items;
  }
  if (items.empty() && (name == "min" || name == "max")) fail(expression.place, fmt::format("{} of nothing", name));
  Node all = items.empty() ? graph_.number(name == "product" ? 1.0 : 0.0) : items[0];
  for (std::size_t k = 1; k < items.size(); ++k) {
    all = name == "sum"       ? graph_.add(all, items[k])
          : name == "product" ? graph_.multiply(all, items[k])
                              : graph_.call(name == "min" ? Function::min : Function::max, all, items[k]);
  }
  return Value::scalar(all);
}

bool Flattener::call_array(const std::string& name, const Expression& expression, const Scope& scope, Value& result) {
  const auto& operands = expression.operands;
  if (name == "sum" || name == "product" || name == "min" || name == "max") {
    result = reduction(name, expression, scope);
    return true;
  }
  if (name == "array") {
    std::vector<Value> elements;
    for (const ExpressionPtr& operand : operands) elements.push_back(evaluate(*operand, scope));
    result = array_of(std::move(elements), expression.place);
    return true;
  }
  static const std::map<std::string, std::size_t> least = {
      {"size", 1},     {"ndims", 1},  {"fill", 2},   {"zeros", 1},        {"ones", 1},      {"identity", 1},
      {"linspace", 3}, {"scalar", 1}, {"vector", 1}, {"matrix", 1},       {"transpose", 1}, {"diagonal", 1},
      {"cross", 2},    {"cat", 2},    {"skew", 1},   {"outerProduct", 2}, {"symmetric", 1}};
  const auto found = least.find(name);
  if (found == least.end()) return false;
  if (operands.size() < found->second) fail(expression.place, fmt::format("{} takes more arguments", name));
  const auto number = [&](double value) { return graph_.number(value); };
  if (name == "fill" || name == "zeros" || name == "ones") {
    const std::size_t first = name == "fill" ? 1 : 0;
    const Value content = name == "fill" ? evaluate(*operands[0], scope) : Value::scalar(number(name == "ones"));
    std::size_t count = 1;
    for (std::size_t k = first; k < operands.size(); ++k) {
      const int size = integer(*operands[k], scope, "a dimension");
      if (size < 0 || (count *= static_cast<std::size_t>(size)) > 1'000'000) fail(operands[k]->place, "out of range");
      result.dims.push_back(size);
    }
    if (content.is_text) {
      result.is_text = true;
      result.computed = content.computed;
      result.text = content.text;
      return true;
    }
    if (content.table != nullptr || content.function != nullptr) {
      fail(expression.place, fmt::format("fill takes numbers or records, found {}", shape_text(content)));
    }
    for (std::size_t k = 0; k < count; ++k) {
      result.items.insert(result.items.end(), content.items.begin(), content.items.end());
      result.elements.insert(result.elements.end(), content.elements.begin(), content.elements.end());
      if (content.is_record()) result.elements.push_back(content);
    }
    result.dims.insert(result.dims.end(), content.dims.begin(), content.dims.end());
    return true;
  }
  if (name == "linspace") return linspace(expression, scope, result);
  if (name == "size" || name == "ndims" || name == "scalar" || name == "vector" || name == "matrix" || name == "cat") {
    return call_shape(name, expression, scope, result);
  }
  return call_matrix(name, expression, scope, result);
}

bool Flattener::linspace(const Expression& expression, const Scope& scope, Value& result) {
  const auto& operands = expression.operands;
  const auto number = [&](double value) { return graph_.number(value); };
  const int count = integer(*operands[2], scope, "the number of points");
  if (count < 2 || count > 1'000'000) fail(expression.place, "linspace takes from 2 to 1000000 points");
  const Node a = number_of(*operands[0], scope);
  const Node b = number_of(*operands[1], scope);
  for (int k = 0; k < count; ++k) {
    const Node share = number(static_cast<double>(k) / (count - 1));
    result.items.push_back(graph_.add(a, graph_.multiply(share, graph_.subtract(b, a))));
  }
  result.dims = {count};
  return true;
}

bool Flattener::call_shape(const std::string& name, const Expression& expression, const Scope& scope, Value& result) {
  const auto& operands = expression.operands;
  const auto number = [&](double value) { return graph_.number(value); };
  const Value a = evaluate(*operands[0], scope);
  if (name == "size") {
    std::vector<Node> sizes;
    for (const int dim : a.dims) sizes.push_back(number(dim));
    if (operands.size() == 1) {
      result = Value::vector(sizes);
    } else {
      const int k = integer(*operands[1], scope, "the number of a dimension");
      if (k < 1 || k > static_cast<int>(sizes.size())) {
        fail(expression.place, fmt::format("{} has no dimension {}", shape_text(a), k));
      }
      result = Value::scalar(sizes[static_cast<std::size_t>(k - 1)]);
    }
  } else if (name == "ndims") {
    result = Value::scalar(number(static_cast<double>(a.dims.size())));
  } else if (name == "scalar" || name == "vector") {
    result = name == "scalar" && a.items.size() == 1 ? Value::scalar(a.items[0]) : Value::vector(a.items);
  } else if (name == "matrix") {
    result = a;
    result.dims.resize(2, 1);
    const std::size_t rows = static_cast<std::size_t>(result.dims[0]);
    if (rows * static_cast<std::size_t>(result.dims[1]) != a.items.size()) {
      fail(expression.place, fmt::format("matrix of {}", shape_text(a)));
    }
  } else {
    result = catenated(expression, scope);
  }
  return true;
}

/// cat(dimension, array, ...): in every block of the dimensions before this one, the arrays one after the other.
Value Flattener::catenated(const Expression& expression, const Scope& scope) {
  const auto along = static_cast<std::size_t>(integer(*expression.operands[0], scope, "the dimension")) - 1;
  std::vector<Value> parts;
  for (std::size_t k = 1; k < expression.operands.size(); ++k) {
    const Place place = expression.operands[k]->place;
    parts.push_back(evaluate(*expression.operands[k], scope));
    std::vector<int> dims = parts.back().dims;
    if (!parts.back().is_numeric())
      fail(place, fmt::format("cat takes arrays of numbers, found {}", shape_text(parts.back())));
    if (along >= dims.size()) fail(place, fmt::format("{} has no dimension {}", shape_text(parts.back()), along + 1));
    dims[along] = parts[0].dims.size() == dims.size() ? parts[0].dims[along] : 0;
    if (dims != parts[0].dims) fail(place, "the arrays of cat differ in their other dimensions");
  }
  Value result;
  result.dims = parts[0].dims;
  std::size_t blocks = 1;
  for (std::size_t k = 0; k < along; ++k) blocks *= static_cast<std::size_t>(result.dims[k]);
  for (std::size_t k = 1; k < parts.size(); ++k) result.dims[along] += parts[k].dims[along];
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const Value& part : parts) {
      const auto size = static_cast<std::ptrdiff_t>(part.items.size() / blocks);
      const auto begin = part.items.begin() + static_cast<std::ptrdiff_t>(block) * size;
      result.items.insert(result.items.end(), begin, begin + size);
    }
  }
  return result;
}

bool Flattener::call_matrix(const std::string& name, const Expression& expression, const Scope& scope, Value& result) {
  const auto& operands = expression.operands;
  const auto number = [&](double value) { return graph_.number(value); };
  const Value a = name == "identity" ? Value() : evaluate(*operands[0], scope);
  const auto at = [&](const Value& value, int i, int j) {
    const auto row = static_cast<std::size_t>(i) * static_cast<std::size_t>(value.dims[1]);
    return value.items[row + static_cast<std::size_t>(j)];
  };
  if (name == "symmetric") {
    if (a.dims.size() != 2 || a.dims[0] != a.dims[1]) fail(expression.place, "symmetric takes a square matrix");
    result = a;
    for (int i = 0; i < a.dims[0]; ++i) {
      for (int j = 0; j < i; ++j) {
        const auto place =
            static_cast<std::size_t>(i) * static_cast<std::size_t>(a.dims[0]) + static_cast<std::size_t>(j);
        result.items[place] = at(a, j, i);
      }
    }
  } else if (name == "identity" || name == "diagonal") {
    const int n = name == "identity" ? integer(*operands[0], scope, "a dimension") : static_cast<int>(a.items.size());
    if (n < 0 || n > 1000) fail(expression.place, "a dimension out of range");
    result.dims = {n, n};
    for (int i = 0; i < n * n; ++i) {
      const Node one = name == "identity" ? number(1.0) : a.items[static_cast<std::size_t>(i / n)];
      result.items.push_back(i / n == i % n ? one : number(0.0));
    }
  } else if (name == "transpose") {
    if (a.dims.size() != 2) fail(expression.place, "transpose takes a matrix");
    result.dims = {a.dims[1], a.dims[0]};
    for (int j = 0; j < a.dims[1]; ++j) {
      for (int i = 0; i < a.dims[0]; ++i) result.items.push_back(at(a, i, j));
    }
  } else if (name == "cross" || name == "skew") {
    const Value b = name == "cross" ? evaluate(*operands[1], scope) : a;
    if (a.items.size() != 3 || b.items.size() != 3) fail(expression.place, fmt::format("{} takes vectors of 3", name));
    const auto minor = [&](std::size_t i, std::size_t j) {
      return graph_.subtract(graph_.multiply(a.items[i], b.items[j]), graph_.multiply(a.items[j], b.items[i]));
    };
    const Node o = number(0.0);
    const auto minus = [&](std::size_t i) { return graph_.negate(a.items[i]); };
    result = name == "cross"
                 ? Value::vector({minor(1, 2), minor(2, 0), minor(0, 1)})
                 : Value::vector({o, minus(2), a.items[1], a.items[2], o, minus(0), minus(1), a.items[0], o});
    if (name == "skew") result.dims = {3, 3};
  } else if (name == "outerProduct") {
    const Value b = evaluate(*operands[1], scope);
    result.dims = {static_cast<int>(a.items.size()), static_cast<int>(b.items.size())};
    for (const Node x : a.items) {
      for (const Node y : b.items) result.items.push_back(graph_.multiply(x, y));
    }
  }
  return true;
}

Value Flattener::derivative(const Expression& expression, const Scope& scope) {
  if (expression.operands.size() != 1) {
    fail(expression.place, fmt::format("der takes 1 argument, not {}", expression.operands.size()));
  }
  Value value = evaluate(*expression.operands[0], scope);
  std::unordered_map<Node, Node> done;
  const auto seed = [&](Node leaf) -> Node {
    const NodeData data = graph_[leaf];
    if (data.op == Op::time) return graph_.number(1.0);
    if (data.op != Op::variable) return no_node;
    const FlatVariable& variable = model_.variables[static_cast<std::size_t>(data.index)];
    return variable.variability == Variability::continuous ? graph_.variable(data.index, data.order + 1) : no_node;
  };
  for (Node& item : value.items) {
    const NodeData data = graph_[item];
    if (data.op == Op::variable && model_.variables[static_cast<std::size_t>(data.index)].type != Type::real) {
      fail(expression.place, fmt::format("'{}' is not Real: it has no derivative",
                                         model_.variables[static_cast<std::size_t>(data.index)].name));
    }
    item = graph_.derivative(item, seed, done);
    if (item == no_node) item = graph_.number(0.0);
  }
  return value;
}

bool Flattener::varies(Node root) const {
  const std::vector<Node> all = graph_.below(root);
  return std::any_of(all.begin(), all.end(), [&](Node node) {
    const NodeData& data = graph_[node];
    const bool variable =
        data.op == Op::variable && !model_.variables[static_cast<std::size_t>(data.index)].is_parameter();
    return variable || data.op == Op::time;
  });
}

/// A variable of its own, whose equation the search for initial values simplifies.
Value Flattener::homotopy(const Expression& expression, const Scope& scope) {
  const Expression* given[] = {nullptr, nullptr};
  for (std::size_t k = 0; k < 2 && k < expression.operands.size(); ++k) given[k] = expression.operands[k].get();
  for (const auto& [argument, value] : expression.named) {
    if (argument == "actual") given[0] = value.get();
    if (argument == "simplified") given[1] = value.get();
  }
  if (given[0] == nullptr || given[1] == nullptr) {
    fail(expression.place, "homotopy takes the arguments 'actual' and 'simplified'");
  }
  const Value actual = evaluate(*given[0], scope);
  if (given[1] == nullptr || !inputs_.empty()) return actual;
  Scope silent;
  silent.outer = &scope;
  silent.in_function = scope.in_function;
  silent.silent = true;
  const Value simplified = under(graph_.number(0.0), [&] { return evaluate(*given[1], silent); });
  return elementwise(actual, simplified, expression.place, [&](Node a, Node b) {
    if (a == b || !varies(a)) return a;
    const auto [known, added] = homotopies_.try_emplace({a, b}, no_node);
    if (!added) return known->second;
    FlatVariable variable;
    variable.name = fmt::format("homotopy {}", homotopies_.size());
    variable.place = expression.place;
    variable.made = true;
    known->second = graph_.variable(static_cast<int>(model_.variables.size()));
    model_.variables.push_back(variable);
    instance_of_.push_back(-1);
    made_equations_.push_back({known->second, a, expression.place, fmt::format("{} = actual", variable.name), b});
    return known->second;
  });
}

/// solveOneNonlinearEquation(f, u_min, u_max): a variable u of its own, with the equation f(u) = 0. A number where the
/// bounds and the other inputs of f are numbers.
Value Flattener::zero_of(const Expression& expression, const Scope& scope) {
  const Expression* given[] = {nullptr, nullptr, nullptr};
  const char* const names[] = {"f", "u_min", "u_max"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (k < expression.operands.size()) given[k] = expression.operands[k].get();
    for (const auto& [name, value] : expression.named) {
      if (name == names[k]) given[k] = value.get();
    }
    if (given[k] == nullptr)
      fail(expression.place, fmt::format("solveOneNonlinearEquation takes the argument '{}'", names[k]));
  }
  const Value function = argument(*given[0], scope);
  if (function.function == nullptr) {
    fail(given[0]->place, "expected a function of one number, as in function f(p = 1)");
  }
  const auto is_given = [&](const Declaration& input) {
    return std::any_of(function.fields.begin(), function.fields.end(),
                       [&](const Member& field) { return field.name == input.name; });
  };
  const auto& declarations = function.function->declarations;
  const auto free = std::find_if(declarations.begin(), declarations.end(),
                                 [&](const Declaration& one) { return one.input && !is_given(one); });
  if (free == declarations.end()) fail(given[0]->place, "all inputs of this function have their value already");
  Expression call;
  call.kind = Kind::call;
  call.place = expression.place;
  const auto residual = [&](Node u) {
    std::vector<Member> inputs = function.fields;
    inputs.push_back({free->name, Value::scalar(u)});
    const Value value = call_function(*function.function, call, scope, false, inputs);
    if (!value.is_scalar())
      fail(given[0]->place, fmt::format("expected a number, but this function gives {}", shape_text(value)));
    return value.items[0];
  };
  if (!inputs_.empty()) {
    fail(expression.place, "solveOneNonlinearEquation stands in a function that is differentiated: not supported");
  }
  const Node low = scalar(*given[1], scope);
  const Node high = scalar(*given[2], scope);
  std::vector<Node> key = {low, high};
  gather(function, key);
  const auto [known, added] = zeros_.try_emplace({function.function, key}, no_node);
  if (!added) return Value::scalar(known->second);
  const bool of_numbers = std::all_of(key.begin(), key.end(), [&](Node node) { return graph_.is_number(node); });
  const ZeroSearch search{function.function->name, residual, low, high, expression.place};
  return Value::scalar(of_numbers ? known->second = bisected(search) : made_zero(search, known->second));
}

/// The zero of a function of numbers.
Node Flattener::bisected(const ZeroSearch& search) {
  constexpr int bisections = 100;
  const auto value_at = [&](Node u) { return graph_.value(search.residual(u)); };
  Node low = search.low;
  Node high = search.high;
  const double at_low = value_at(low);
  if (at_low * value_at(high) > 0.0) {
    fail(search.place, fmt::format("'{}' does not change its sign between {} and {}", search.function,
                                   graph_.value(low), graph_.value(high)));
  }
  for (int k = 0; k < bisections; ++k) {
    const Node middle = graph_.number(0.5 * (graph_.value(low) + graph_.value(high)));
    (value_at(middle) * at_low > 0.0 ? low : high) = middle;
  }
  return low;
}

/// `u` becomes a variable that the function is zero at.
Node Flattener::made_zero(const ZeroSearch& search, Node& u) {
  FlatVariable variable;
  variable.name = fmt::format("zero {}", zeros_.size());
  variable.place = search.place;
  variable.made = true;
  variable.start = graph_.multiply(graph_.number(0.5), graph_.add(search.low, search.high));
  u = graph_.variable(static_cast<int>(model_.variables.size()));
  model_.variables.push_back(variable);
  instance_of_.push_back(-1);
  FlatEquation equation;
  equation.left = graph_.number(0.0);
  equation.right = search.residual(u);
  equation.place = search.place;
  equation.text = fmt::format("'{}' = 0", search.function);
  made_equations_.push_back(equation);
  // Newton's method looks beyond the bounds too. A zero at one of them may be off by rounding.
  const Node slack = graph_.multiply(graph_.number(1e-6), graph_.subtract(search.high, search.low));
  assert_that(graph_.conjunction(graph_.relation(Op::less_equal, graph_.subtract(search.low, slack), u),
                                 graph_.relation(Op::less_equal, u, graph_.add(search.high, slack))),
              fmt::format("the zero of '{}' is not between u_min and u_max", search.function), search.place);
  return u;
}

/// The value before an event of a variable, or of that among the elements of an array that a subscript chooses now.
Node Flattener::before_event(Node item, const std::string& function, Place place) {
  std::set<Node> conditions;
  for (const Node node : graph_.below(item)) {
    if (graph_[node].op == Op::choice) conditions.insert(graph_[node].operand[0]);
  }
  const std::vector<Node> path = graph_.below(path_);
  const bool in_when = std::any_of(path.begin(), path.end(), [&](Node node) { return graph_[node].op == Op::edge; });
  return graph_.replace(item, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (conditions.contains(node)) return node;
    if (data.op == Op::choice) return no_node;
    if (data.op != Op::variable || data.order > 0) fail(place, fmt::format("{} takes a variable", function));
    if (function == "edge" && !is_boolean(node)) fail(place, "edge takes a Boolean variable");
    if (!in_when) before_.try_emplace(data.index, place);
    return graph_.pre(data.index);
  });
}

bool Flattener::call_event(const std::string& name, const Expression& expression, const Scope& scope, Value& result) {
  const auto& operands = expression.operands;
  const auto need = [&](std::size_t count) { check_arguments(name, expression, count); };
  const bool of_models = name == "der" || name == "pre" || name == "edge" || name == "change" || name == "sample";
  if (of_models && scope.in_function) fail(expression.place, fmt::format("{} does not stand in functions", name));
  if (name == "der") {
    result = derivative(expression, scope);
  } else if (name == "guess") {
    need(1);
    result = evaluate(*operands[0], scope);
    for (Node& item : result.items) {
      const NodeData data = graph_[item];
      if (data.op != Op::variable || data.order > 0) fail(expression.place, "guess takes a variable");
      item = start_of_variable(graph_, model_.variables[static_cast<std::size_t>(data.index)]);
    }
  } else if (name == "noEvent" || name == "smooth") {
    need(name == "noEvent" ? 1 : 2);
    Scope inner;
    inner.outer = &scope;
    inner.in_function = scope.in_function;
    const int order = name == "smooth" ? integer(*operands[0], scope, "the order of smooth") : 0;
    if (order < 0) fail(operands[0]->place, fmt::format("the order of smooth is {}: expected 0 or more", order));
    // What is smooth once needs no events; what has kinks does without them where a loop that is iterated needs it.
    const bool smooth = name == "smooth" && (silent_kinks_ || order >= 1);
    inner.silent = scope.silent || name == "noEvent" || smooth;
    result = evaluate(*operands[name == "noEvent" ? 0 : 1], inner);
  } else if (name == "homotopy") {
    result = homotopy(expression, scope);
  } else if (name == "delay") {
    result = delayed(expression, scope);
  } else if (name == "pre" || name == "edge" || name == "change") {
    need(1);
    // In an algorithm the variable may have been assigned to already: it is meant itself.
    Scope declared = scope;
    declared.outer = nullptr;
    for (const Scope* around = scope.outer; around != nullptr; around = around->outer) {
      declared.values.insert(around->values.begin(), around->values.end());
    }
    std::erase_if(declared.values, [&](const auto& entry) { return known_name(entry.first); });
    result = evaluate(*operands[0], declared);
    for (std::size_t k = 0; k < result.items.size(); ++k) {
      Node& item = result.items[k];
      const Node before = before_event(item, name, expression.place);
      if (name == "pre") item = before;
      const Node now = name == "pre" ? item : evaluate(*operands[0], scope).items[k];
      if (name == "edge") item = graph_.conjunction(now, graph_.negation(before));
      if (name == "change") item = graph_.negation(graph_.relation(Op::equal, now, before, true));
    }
  } else if (name == "initial") {
    result = Value::scalar(graph_.event(Op::initial));
  } else if (name == "terminal") {
    diagnostics_.warn(expression.place, "nothing happens at the end of an instance: terminal() is false");
    result = Value::scalar(graph_.number(0.0));
  } else if (name == "sample") {
    need(2);
    // A clock in place of the interval is what is wrong with sample(u, Clock()), whatever u is.
    const Node interval = number_of(*operands[1], scope);
    const Node start = number_of(*operands[0], scope);
    if (graph_.is_number(interval) && !(graph_.value(interval) > 0.0)) {
      fail(operands[1]->place,
           fmt::format("the interval of sample is {}: expected a positive one", graph_.value(interval)));
    }
    model_.clocks.push_back({start, interval, expression.place});
    result = Value::scalar(graph_.event(Op::sample, static_cast<int>(model_.clocks.size()) - 1));
  } else if (name == "semiLinear") {
    need(3);
    const Node x = number_of(*operands[0], scope);
    const Node upwards = graph_.relation(Op::less_equal, graph_.number(0.0), x, scope.silent || scope.in_function);
    result = Value::scalar(
        graph_.multiply(graph_.choice(upwards, number_of(*operands[1], scope), number_of(*operands[2], scope)), x));
  } else {
    return false;
  }
  return true;
}

}  // namespace manyfold::modelica
