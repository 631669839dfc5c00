// Equations, when clauses and algorithms of the model.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// Does a when clause stand in the statement?
bool has_when(const Statement& statement) {
  return statement.kind == Statement::Kind::when ||
         std::any_of(statement.branches.begin(), statement.branches.end(), [](const Branch& branch) {
           return std::any_of(branch.body.begin(), branch.body.end(), has_when);
         });
}

}  // namespace

std::string Flattener::text_of(Place begin, Place end) const {
  constexpr std::size_t longest = 100;
  std::string text;
  for (Place i = begin; i < end && i < text_.size(); ++i) {
    const bool blank = std::isspace(static_cast<unsigned char>(text_[i])) != 0;
    if (blank && (text.empty() || text.back() == ' ')) continue;
    text += blank ? ' ' : text_[i];
    if (text.size() > longest) return text + " ...";
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

FlatModel Flattener::flatten(const Class& file) {
  guarded([&] {
    collect_literals();
    collect(file);
    if (main_ == nullptr) fail(0, "the file has no model: expected model NAME ... end NAME;");
    if (main_->external) fail(main_->place, "the model is external");
  });
  if (diagnostics_.failed()) return std::move(model_);
  model_.name = main_->name;
  model_.description = main_->description;
  model_.experiment = main_->experiment;
  declare_model();
  sections(*main_);
  model_.equations.insert(model_.equations.end(), made_equations_.begin(), made_equations_.end());
  if (!diagnostics_.failed()) finish_delays();
  finish_discrete();
  if (!diagnostics_.failed()) check_whole_unknowns();
  if (!diagnostics_.failed()) check_values_before();
  if (!diagnostics_.failed()) warn_of_equalities();
  return std::move(model_);
}

void Flattener::sections(const Class& model) {
  for (const Section& section : model.sections) {
    if (section.algorithm) {
      guarded([&] { algorithm(section); });
      continue;
    }
    for (const Statement& statement : section.statements) {
      guarded([&] { equation(statement, {}, section.initial, no_node); });
    }
  }
}

void Flattener::equation(const Statement& statement, const Scope& scope, bool initial, Node guard) {
  spend(statement.place);
  switch (statement.kind) {
    case Statement::Kind::equation: {
      const EquationText of{statement.place, text_of(statement.place, statement.end)};
      if (statement.left->kind == Kind::tuple && statement.left->operands.size() > 1 &&
          statement.right->kind == Kind::call) {
        const Value all = call_tuple(statement, scope);
        for (std::size_t k = 0; k < statement.left->operands.size(); ++k) {
          if (!statement.left->operands[k]) continue;
          equate(evaluate(*statement.left->operands[k], scope), all.fields[k].value, of, initial);
        }
        return;
      }
      check_enumerations(*statement.left, *statement.right, scope);
      return equate(evaluate(*statement.left, scope), evaluate(*statement.right, scope), of, initial);
    }
    case Statement::Kind::loop:
      return for_each(statement.iterators, 0, scope, [&](const Scope& inner) {
        for (const Statement& one : statement.branches[0].body) equation(one, inner, initial, guard);
      });
    case Statement::Kind::choice:
      return equation_choice(statement, scope, initial);
    case Statement::Kind::when:
      if (initial) fail(statement.place, "when does not stand in initial equations");
      return equation_when(statement, scope);
    case Statement::Kind::call:
      if (initial && prioritize(*statement.left, scope)) return;
      return within(initial ? graph_.event(Op::initial) : graph_.number(1.0), [&] {
        // What the start is asked for makes no events.
        Scope inner;
        inner.outer = &scope;
        inner.silent = initial || scope.silent;
        if (!call_statement(*statement.left, inner, guard)) fail(statement.place, "a call is no equation");
      });
    default:
      fail(statement.place, "this statement does not stand in equations");
  }
}

/// prioritize(x, 1): where the initial equations leave a choice, x keeps its start value. False for other calls.
bool Flattener::prioritize(const Expression& call, const Scope& scope) {
  if (call.kind != Kind::call || call.parts[0].quoted || dotted(call.parts) != "prioritize") return false;
  if (call.operands.size() != 2) fail(call.place, "prioritize takes a variable and a priority");
  for (const Node item : evaluate(*call.operands[0], scope).items) {
    const NodeData data = graph_[item];
    if (data.op != Op::variable || data.order > 0) fail(call.place, "prioritize takes a variable and a priority");
    model_.variables[static_cast<std::size_t>(data.index)].keeps_start = true;
  }
  return true;
}

/// A member of records that is a constant on both sides is no equation.
bool Flattener::same_constant(const Member& left, const Member& right, Place place) {
  std::vector<Node> both;
  gather(left.value, both);
  const std::size_t count = both.size();
  gather(right.value, both);
  if (count == 0 || both.size() != 2 * count) return false;
  if (!std::all_of(both.begin(), both.end(), [&](Node node) { return graph_.is_number(node); })) return false;
  if (!std::equal(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(count),
                  both.begin() + static_cast<std::ptrdiff_t>(count))) {
    fail(place, fmt::format("the constant '{}' differs on the two sides: {} and {}", left.name, graph_.value(both[0]),
                            graph_.value(both[count])));
  }
  return true;
}

void Flattener::equate(const Value& left, const Value& right, const EquationText& of, bool initial) {
  if (left.is_text || right.is_text) fail(of.place, "strings that compute are not supported");
  if (left.fields.size() != right.fields.size() || left.elements.size() != right.elements.size() ||
      (!left.elements.empty() && left.dims != right.dims)) {
    fail(of.place, fmt::format("the sides differ: {} and {}", shape_text(left), shape_text(right)));
  }
  for (std::size_t k = 0; k < left.fields.size(); ++k) {
    if (left.fields[k].name != right.fields[k].name) {
      fail(of.place, fmt::format("the sides are records of different members: '{}' and '{}'", left.fields[k].name,
                                 right.fields[k].name));
    }
    if (same_constant(left.fields[k], right.fields[k], of.place)) continue;
    equate(left.fields[k].value, right.fields[k].value, of, initial);
  }
  for (std::size_t k = 0; k < left.elements.size(); ++k) equate(left.elements[k], right.elements[k], of, initial);
  const bool nothing = left.items.empty() && right.items.empty();
  if (left.items.size() != right.items.size() || (left.dims != right.dims && !nothing)) {
    const bool number = left.dims.empty() || right.dims.empty();
    fail(of.place,
         fmt::format("the sides differ: {} and {}{}", shape_text(left), shape_text(right),
                     number && left.is_numeric() && right.is_numeric() ? "; for each element: fill(..., n)" : ""));
  }
  const auto is_number = [&](const Value& side) {
    return std::any_of(side.items.begin(), side.items.end(), [&](Node item) { return !is_boolean(item); });
  };
  if ((left.logical && is_number(right)) || (right.logical && is_number(left))) {
    fail(of.place, "one side is a condition, and the other a number: write ... > 0, or if ... then 1 else 0");
  }
  for (std::size_t k = 0; k < left.items.size(); ++k) {
    const FlatEquation equation{left.items[k], right.items[k], of.place, of.text};
    (initial ? model_.initial_equations : model_.equations).push_back(equation);
  }
}

/// Equations of the branches are paired in order. A condition that is known leaves one branch. Where the branches are
/// no pairs, or have when clauses, conditions on parameters decide when the model is compiled.
void Flattener::equation_choice(const Statement& statement, const Scope& scope, bool initial) {
  std::vector<Node> conditions;
  std::vector<std::vector<FlatEquation>> bodies;
  std::vector<FlatEquation>& all = initial ? model_.initial_equations : model_.equations;
  const std::size_t before = all.size();
  Node none_before = graph_.number(1.0);
  const bool decides = has_when(statement);
  for (const Branch& branch : statement.branches) {
    Node condition = branch.condition ? this->condition(*branch.condition, scope) : graph_.number(1.0);
    if (decides && branch.condition) {
      const double holds = numeric(condition);
      if (std::isnan(holds)) {
        fail(branch.condition->place,
             "a when clause stands under this condition, which varies: needs one of parameters");
      }
      condition = graph_.number(holds);
    }
    if (graph_.is_number(condition, 0.0)) continue;
    const Node guard = graph_.conjunction(none_before, condition);
    within(guard, [&] {
      for (const Statement& one : branch.body) equation(one, scope, initial, graph_.is_number(guard) ? no_node : guard);
    });
    none_before = graph_.conjunction(none_before, graph_.negation(condition));
    conditions.push_back(condition);
    bodies.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    all.resize(before);
    if (graph_.is_number(condition)) break;
  }
  if (bodies.empty()) return;
  if (!graph_.is_number(conditions.back())) {
    conditions.push_back(graph_.number(1.0));
    bodies.emplace_back();
  }
  const auto other =
      std::find_if(bodies.begin(), bodies.end(), [&](const auto& body) { return body.size() != bodies[0].size(); });
  if (other != bodies.end()) {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const double holds = numeric(conditions[b]);
      if (std::isnan(holds)) break;
      if (holds == 0.0) continue;
      all.insert(all.end(), bodies[b].begin(), bodies[b].end());
      return;
    }
    fail(statement.place,
         fmt::format("the branches of this if equation have {} and {} equations: if its condition varies, each needs "
                     "as many as the others, and else too",
                     bodies[0].size(), other->size()));
  }
  for (std::size_t k = 0; k < bodies[0].size(); ++k) {
    FlatEquation merged = bodies.back()[k];
    bool same_left = true;
    for (const auto& body : bodies) same_left = same_left && body[k].left == merged.left;
    Node right = same_left ? merged.right : graph_.subtract(merged.left, merged.right);
    for (std::size_t b = bodies.size() - 1; b-- > 0;) {
      const FlatEquation& one = bodies[b][k];
      right = graph_.choice(conditions[b], same_left ? one.right : graph_.subtract(one.left, one.right), right);
    }
    merged.left = same_left ? merged.left : graph_.number(0.0);
    merged.right = right;
    merged.place = bodies[0][k].place;
    merged.text = bodies[0][k].text + (bodies.size() > 1 ? " (or as the conditions say)" : "");
    all.push_back(merged);
  }
}

Node Flattener::edge_of(const Expression& condition, const Scope& scope) {
  const Value value = evaluate(condition, scope);
  Node any = graph_.number(0.0);
  for (const Node item : value.items) {
    if (!is_boolean(item)) fail(condition.place, "expected a condition, found a number");
    model_.conditions.push_back(item);
    any = graph_.disjunction(any, graph_.event(Op::edge, static_cast<int>(model_.conditions.size()) - 1));
  }
  return any;
}

/// Modelica asks for the same variables in all branches (3.6, 8.3.5).
void Flattener::warn_of_other_sets(const Statement& statement,
                                   const std::vector<std::pair<Node, std::map<std::string, Value>>>& branches) {
  std::set<std::string> all;
  for (const auto& [guard, values] : branches) {
    for (const auto& [name, value] : values) all.insert(name);
  }
  for (std::size_t b = 0; b < branches.size(); ++b) {
    if (branches[b].second.empty()) continue;  // of calls alone
    for (const std::string& name : all) {
      if (branches[b].second.contains(name)) continue;
      diagnostics_.warn(statement.branches[b].condition->place,
                        fmt::format("this branch does not set '{}' as the others do: it keeps its value there", name));
    }
  }
}

void Flattener::equation_when(const Statement& statement, const Scope& scope) {
  // What each branch sets.
  Node none_before = graph_.number(1.0);
  std::vector<std::pair<Node, std::map<std::string, Value>>> branches;
  for (const Branch& branch : statement.branches) {
    const Node edge = edge_of(*branch.condition, scope);
    const Node guard = graph_.conjunction(none_before, edge);
    std::map<std::string, Value> assigned;
    // What is evaluated at the event alone makes no events.
    Scope inner;
    inner.outer = &scope;
    inner.silent = true;
    within(guard, [&] { when_body(branch.body, inner, guard, assigned); });
    branches.emplace_back(guard, std::move(assigned));
    none_before = graph_.conjunction(none_before, graph_.negation(edge));
  }
  warn_of_other_sets(statement, branches);
  std::map<int, Node> result;
  for (std::size_t b = branches.size(); b-- > 0;) {
    for (const auto& [name, value] : branches[b].second) {
      const int index = scalar_by_name_.at(name);
      const auto entry = result.try_emplace(index, graph_.pre(index)).first;
      entry->second = graph_.choice(branches[b].first, value.items[0], entry->second);
    }
  }
  for (const auto& [index, node] : result) {
    model_.discrete_equations.push_back(
        {graph_.variable(index), node, statement.place, text_of(statement.place, statement.end)});
  }
}

void Flattener::when_body(const std::vector<Statement>& body, const Scope& scope, Node guard,
                          std::map<std::string, Value>& assigned) {
  const auto give = [&](const std::string& name, const Value& value, Place place) {
    if (!assigned.try_emplace(name, value).second) {
      fail(place, fmt::format("'{}' is set twice in this when clause", name));
    }
  };
  const std::function<void(const Value&, const Value&, Place)> set = [&](const Value& left, const Value& right,
                                                                         Place place) {
    if (left.items.size() != right.items.size() || left.dims != right.dims ||
        left.fields.size() != right.fields.size() || left.elements.size() != right.elements.size()) {
      fail(place, fmt::format("the sides differ: {} and {}", shape_text(left), shape_text(right)));
    }
    for (std::size_t k = 0; k < left.fields.size(); ++k) {
      if (same_constant(left.fields[k], right.fields[k], place)) continue;
      set(left.fields[k].value, right.fields[k].value, place);
    }
    for (std::size_t k = 0; k < left.elements.size(); ++k) set(left.elements[k], right.elements[k], place);
    for (std::size_t k = 0; k < left.items.size(); ++k) {
      const NodeData data = graph_[left.items[k]];
      if (data.op != Op::variable || data.order > 0) fail(place, "in a when clause a variable stands on the left");
      const FlatVariable& variable = model_.variables[static_cast<std::size_t>(data.index)];
      if (k == 0) check_type(variable.type, variable.name, right, place);
      give(variable.name, Value::scalar(right.items[k]), place);
    }
  };
  for (const Statement& statement : body) {
    if (statement.kind == Statement::Kind::call) {
      if (!call_statement(*statement.left, scope, guard)) fail(statement.place, "a call is no equation");
    } else if (statement.kind == Statement::Kind::equation) {
      if (statement.left->kind == Kind::tuple && statement.right->kind == Kind::call) {
        const Value all = call_tuple(statement, scope);
        for (std::size_t k = 0; k < statement.left->operands.size(); ++k) {
          if (statement.left->operands[k]) {
            set(evaluate(*statement.left->operands[k], scope), all.fields[k].value, statement.place);
          }
        }
        continue;
      }
      check_enumerations(*statement.left, *statement.right, scope);
      set(evaluate(*statement.left, scope), evaluate(*statement.right, scope), statement.place);
    } else if (statement.kind == Statement::Kind::choice) {
      Node none_before = graph_.number(1.0);
      std::vector<std::pair<Node, std::map<std::string, Value>>> branches;
      for (const Branch& branch : statement.branches) {
        const Node condition = branch.condition ? this->condition(*branch.condition, scope) : graph_.number(1.0);
        const Node inner = graph_.conjunction(none_before, condition);
        std::map<std::string, Value> values;
        within(inner, [&] { when_body(branch.body, scope, graph_.conjunction(guard, inner), values); });
        branches.emplace_back(inner, std::move(values));
        none_before = graph_.conjunction(none_before, graph_.negation(condition));
      }
      std::map<std::string, Value> merged;
      for (std::size_t b = branches.size(); b-- > 0;) {
        for (const auto& [name, value] : branches[b].second) {
          const Value otherwise =
              merged.contains(name) ? merged[name] : Value::scalar(graph_.pre(scalar_by_name_.at(name)));
          merged[name] = Value::scalar(graph_.choice(branches[b].first, value.items[0], otherwise.items[0]));
        }
      }
      for (const auto& [name, value] : merged) give(name, value, statement.place);
    } else if (statement.kind == Statement::Kind::loop) {
      for_each(statement.iterators, 0, scope,
               [&](const Scope& inner) { when_body(statement.branches[0].body, inner, guard, assigned); });
    } else {
      fail(statement.place, "this statement does not stand in a when clause");
    }
  }
}

/// assert, terminate, reinit, and what tells messages. False for other calls.
bool Flattener::call_statement(const Expression& call, const Scope& scope, Node guard) {
  const std::string& name = call.parts[0].name;
  if (call.kind != Kind::call) return false;
  const std::string whole = dotted(call.parts);
  if (whole.ends_with("Modelica.Utilities.Streams.error")) {
    const std::string message = call.operands.empty() ? "" : evaluate(*call.operands[0], scope).text;
    assert_that(graph_.number(0.0), message.empty() ? "error" : message, call.place);
    return true;
  }
  if (whole.ends_with("Modelica.Utilities.Streams.print")) {
    diagnostics_.warn(call.place, "this message is not printed");
    return true;
  }
  if (const Class* function = find_class(dotted(call.parts)); function != nullptr) {
    // It can do no more than check what it is given.
    if (function->kind != Class::Kind::function) return false;
    if (checking_.insert(function).second) {
      call_function(*function, call, scope, true);
      checking_.erase(function);
    } else {
      diagnostics_.warn(call.place, fmt::format("assertions of '{}' within itself are not looked at", function->name));
    }
    return true;
  }
  if (call.parts[0].quoted) return false;
  if (name == "assert") {
    assertion(call, scope);
    return true;
  }
  if (name == "terminate" || name == "reinit") {
    const std::vector<Node> conditions = graph_.below(path_);
    const bool at_events = std::any_of(conditions.begin(), conditions.end(), [&](Node node) {
      return graph_[node].op == Op::edge || graph_[node].op == Op::initial;
    });
    if (guard == no_node || (name == "reinit" && !at_events)) {
      fail(call.place, fmt::format("{} stands in when clauses alone", name));
    }
    FlatAction action;
    action.place = call.place;
    action.guard = path_;
    if (name == "terminate") {
      action.kind = FlatAction::Kind::terminate;
      if (call.operands.size() + call.named.size() != 1) fail(call.place, "terminate takes a message");
      const Expression& told = call.operands.empty() ? *call.named.begin()->second : *call.operands[0];
      const Value message = evaluate(told, scope);
      if (!message.is_text) fail(told.place, fmt::format("expected a string, found {}", shape_text(message)));
      action.message = message.text.empty() ? "terminate" : message.text;
      model_.actions.push_back(action);
      return true;
    }
    if (call.operands.size() != 2) fail(call.place, "reinit takes a variable and its new value");
    const Value variable = evaluate(*call.operands[0], scope);
    const Value value = evaluate(*call.operands[1], scope);
    if (!value.is_numeric() || (!value.dims.empty() && value.dims != variable.dims)) {
      fail(call.place, fmt::format("{} is set to {}", shape_text(variable), shape_text(value)));
    }
    for (std::size_t k = 0; k < variable.items.size(); ++k) {
      const NodeData data = graph_[variable.items[k]];
      if (data.op != Op::variable || data.order > 0) fail(call.place, "reinit takes a variable and its new value");
      action.variable = data.index;
      const bool again = std::any_of(model_.actions.begin(), model_.actions.end(), [&](const FlatAction& other) {
        return other.kind == FlatAction::Kind::reinit && other.guard == path_ && other.variable == data.index;
      });
      if (again) {
        fail(call.place, fmt::format("'{}' is set to two values at once",
                                     model_.variables[static_cast<std::size_t>(data.index)].name));
      }
      action.value = value.items[value.dims.empty() ? 0 : k];
      model_.actions.push_back(action);
    }
    return true;
  }
  return false;
}

void Flattener::assertion(const Expression& call, const Scope& scope) {
  const bool told =
      std::any_of(call.named.begin(), call.named.end(), [](const auto& one) { return one.first == "message"; });
  if (call.operands.empty() || (call.operands.size() < 2 && !told)) {
    fail(call.place, "assert takes a condition and a message");
  }
  const auto is_warning = [](const Expression& level) {
    return level.kind == Kind::reference && level.parts.back().name == "warning";
  };
  bool warning = call.operands.size() > 2 && is_warning(*call.operands[2]);
  for (const auto& [argument, value] : call.named) warning = warning || (argument == "level" && is_warning(*value));
  if (warning) {
    if (asserted_.emplace(call.place, no_node).second) {
      diagnostics_.warn(call.place, "an assertion whose level is warning is not looked at");
    }
    return;
  }
  // Without what the message tells of values.
  std::string message;
  if (call.operands.size() > 1) {
    const Value text = evaluate(*call.operands[1], scope);
    if (!text.is_text) fail(call.operands[1]->place, fmt::format("expected a string, found {}", shape_text(text)));
    message = text.text;
  }
  if (call.operands.size() > 2) evaluate(*call.operands[2], scope);
  assert_that(condition(*call.operands[0], scope), message.empty() ? "assertion" : message, call.place);
}

/// All that one assert in the file is asked for, in functions and loops, is one assertion.
void Flattener::assert_that(Node condition, const std::string& message, Place place) {
  Node comes = path_;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    condition = at_inputs(condition, 0);
    comes = at_inputs(comes, 0);
  }
  const Node path =
      graph_.replace(comes, [&](Node node) { return graph_[node].op == Op::initial ? graph_.number(1.0) : no_node; });
  const Node holds = graph_.disjunction(graph_.negation(path), condition);
  if (graph_.is_number(holds, 1.0) || !asserted_.emplace(place, holds).second) return;
  const std::vector<Node> all = graph_.below(path);
  const bool at_events = std::any_of(all.begin(), all.end(), [&](Node node) { return graph_[node].op == Op::edge; });
  if (at_events || (path != comes && varies(holds))) {
    FlatAction action;
    action.kind = FlatAction::Kind::fail;
    action.guard = graph_.conjunction(comes, graph_.negation(condition));
    action.message = message;
    action.place = place;
    model_.actions.push_back(action);
    return;
  }
  const auto [known, added] = assertion_at_.try_emplace(place, model_.assertions.size());
  if (added) model_.assertions.push_back({graph_.number(1.0), message, place});
  Node& whole = model_.assertions[known->second].condition;
  whole = graph_.conjunction(whole, holds);
}

/// What an algorithm sets has at its beginning the value before the event, or that of the start.
void Flattener::begin_algorithm(const std::vector<Statement>& statements, bool at_events, Frame& frame) {
  const auto begin = [&](const std::string& name, Place place) {
    std::vector<Node> items;
    gather(value_of_name(name, place), items);
    for (const Node item : items) {
      if (at_events) model_.variables[static_cast<std::size_t>(graph_[item].index)].variability = Variability::discrete;
    }
    frame.scope.values[name] = current(name, frame, place);
  };
  const auto sets = [&](const ExpressionPtr& target) {
    if (!target || target->kind != Kind::reference) return;
    const std::string name = dotted(target->parts);
    if (known_name(name)) return begin(name, target->place);
    for (const std::string& element : parts_of(name).names) {
      if (known_name(element)) begin(element, target->place);
    }
  };
  for (const Statement& statement : statements) {
    if (statement.kind == Statement::Kind::assignment) {
      sets(statement.left);
      if (statement.left->kind == Kind::tuple) {
        for (const ExpressionPtr& target : statement.left->operands) sets(target);
      }
    }
    const bool when = at_events || statement.kind == Statement::Kind::when;
    for (const Branch& branch : statement.branches) begin_algorithm(branch.body, when, frame);
  }
}

void Flattener::algorithm(const Section& section) {
  Frame frame;
  frame.model = true;
  frame.initial = section.initial;
  frame.left = frame.returned = graph_.number(0.0);
  begin_algorithm(section.statements, false, frame);
  within(section.initial ? graph_.event(Op::initial) : graph_.number(1.0), [&] { execute(section.statements, frame); });
  const Place place = section.statements.empty() ? 0 : section.statements[0].place;
  for (const std::string& name : frame.assigned) {
    equate(value_of_name(name, place), frame.scope.values[name], {place, fmt::format("algorithm: {}", name)},
           section.initial);
  }
}

void Flattener::execute_when(const Statement& statement, Frame& frame) {
  if (frame.function != nullptr) fail(statement.place, "when does not stand in functions");
  // What a branch sets is not known to the conditions after it: at one time, only one of the branches is taken.
  const Frame start = frame;
  Node none_before = graph_.number(1.0);
  for (const Branch& branch : statement.branches) {
    const Node edge = graph_.conjunction(none_before, edge_of(*branch.condition, start.scope));
    none_before = graph_.conjunction(none_before, graph_.negation(edge));
    Frame taken = start;
    taken.scope.silent = true;
    within(edge, [&] {
      for (const Statement& one : branch.body) {
        if (one.kind == Statement::Kind::call) {
          if (!call_statement(*one.left, taken.scope, edge)) fail(one.place, "a call whose results nobody takes");
        } else {
          execute(one, taken);
        }
      }
    });
    const Frame before = frame;
    merge_frames(edge, taken, before, frame, statement.place);
  }
}

/// Variables that when clauses set, and those whose value before an event is asked for, change at events alone.
void Flattener::finish_discrete() {
  for (const FlatEquation& equation : model_.discrete_equations) {
    FlatVariable& variable = model_.variables[static_cast<std::size_t>(graph_[equation.left].index)];
    if (variable.is_parameter()) {
      diagnostics_.error(equation.place,
                         fmt::format("'{}' is a parameter: a when clause cannot set it", variable.name));
    }
    variable.variability = Variability::discrete;
  }
  check_differentiated();
}

/// Reports what has a derivative and is set by a when clause.
void Flattener::check_differentiated() {
  std::map<int, Place> set;
  for (const FlatEquation& equation : model_.discrete_equations) set[graph_[equation.left].index] = equation.place;
  for (Node node = 0; node < static_cast<Node>(graph_.size()); ++node) {
    const NodeData data = graph_[node];
    if (data.op != Op::variable || data.order == 0 || !set.contains(data.index)) continue;
    const std::string& name = model_.variables[static_cast<std::size_t>(data.index)].name;
    diagnostics_.error(
        set[data.index],
        fmt::format("'{0}' has a derivative, and is set by a when clause: expected reinit({0}, ...)", name));
    set.erase(data.index);
  }
}

}  // namespace manyfold::modelica
