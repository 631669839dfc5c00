// Functions and algorithms: carried out with nodes in place of numbers, so that what they compute becomes expressions.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

constexpr int most_turns = 10'000;
/// Of loops that depend on variables: turns of those that search no arrays and of all, and what they may cost.
constexpr int usual_open_turns = 64;
constexpr int most_open_turns = 1'000;
constexpr std::size_t most_open_nodes = 20'000;
constexpr std::size_t most_open_copies = 5'000'000;

/// Is a dimension of the name, or of a member of this name, left to what is assigned?
bool may_grow(const Class& function, const std::string& name) {
  const auto declared = std::find_if(function.declarations.begin(), function.declarations.end(),
                                     [&](const Declaration& one) { return one.name == name; });
  return declared == function.declarations.end() ||
         std::any_of(declared->dimensions.begin(), declared->dimensions.end(),
                     [](const ExpressionPtr& dimension) { return dimension->kind == Kind::colon; });
}

void gather_names(const Expression* expression, std::set<std::string>& names) {
  if (expression == nullptr) return;
  for (const NamePart& part : expression->parts) {
    for (const ExpressionPtr& subscript : part.subscripts) gather_names(subscript.get(), names);
  }
  if (!expression->parts.empty()) {
    names.insert(expression->parts[0].name);
    names.insert(dotted(expression->parts));
  }
  for (const ExpressionPtr& operand : expression->operands) gather_names(operand.get(), names);
  for (const auto& [name, value] : expression->named) gather_names(value.get(), names);
  for (const Iterator& iterator : expression->iterators) gather_names(iterator.range.get(), names);
}

/// The names that stand in the statement.
void gather_names(const Statement& statement, std::set<std::string>& names) {
  gather_names(statement.left.get(), names);
  gather_names(statement.right.get(), names);
  for (const Iterator& iterator : statement.iterators) gather_names(iterator.range.get(), names);
  for (const Branch& branch : statement.branches) {
    gather_names(branch.condition.get(), names);
    for (const Statement& one : branch.body) gather_names(one, names);
  }
}

}  // namespace

void Flattener::execute(std::span<const Statement> statements, Frame& frame) {
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const Node gone = graph_.disjunction(frame.left, frame.returned);
    if (graph_.is_number(gone)) {
      if (graph_.value(gone) != 0.0) return;
      execute(statements[k], frame);
      continue;
    }
    // Some of the cases have left: the rest is for the others, of which some may leave there.
    Frame rest = frame;
    rest.left = rest.returned = graph_.number(0.0);
    within(graph_.negation(gone), [&] { execute(statements.subspan(k), rest); });
    const Node left = graph_.disjunction(frame.left, graph_.conjunction(graph_.negation(gone), rest.left));
    const Node returned = graph_.disjunction(frame.returned, graph_.conjunction(graph_.negation(gone), rest.returned));
    Frame before = frame;
    merge_frames(gone, before, rest, frame, statements.back().place);
    frame.left = left;
    frame.returned = returned;
    return;
  }
}

void Flattener::execute(const Statement& statement, Frame& frame) {
  spend(statement.place);
  switch (statement.kind) {
    case Statement::Kind::assignment:
      if (statement.left->kind == Kind::tuple && statement.right->kind == Kind::call) {
        const Value all = call_tuple(statement, frame.scope);
        for (std::size_t k = 0; k < statement.left->operands.size(); ++k) {
          if (statement.left->operands[k]) assign(*statement.left->operands[k], all.fields[k].value, frame);
        }
        return;
      }
      return assign(*statement.left, evaluate(*statement.right, frame.scope), frame);
    case Statement::Kind::choice:
      return execute_choice(statement, 0, frame);
    case Statement::Kind::loop:
    case Statement::Kind::while_loop:
      return execute_loop(statement, frame);
    case Statement::Kind::when:
      return execute_when(statement, frame);
    case Statement::Kind::leave:
      frame.left = graph_.number(1.0);
      return;
    case Statement::Kind::back:
      frame.returned = graph_.number(1.0);
      return;
    case Statement::Kind::call:
      if (!call_statement(*statement.left, frame.scope, graph_.number(frame.model ? 1.0 : 0.0))) {
        fail(statement.place, "a call whose results nobody takes");
      }
      return;
    default:
      fail(statement.place, "equations do not stand in algorithms: use :=");
  }
}

void Flattener::execute_choice(const Statement& statement, std::size_t branch, Frame& frame) {
  if (branch == statement.branches.size()) return;
  const Branch& chosen = statement.branches[branch];
  const Node condition = chosen.condition ? this->condition(*chosen.condition, frame.scope) : graph_.number(1.0);
  if (graph_.is_number(condition)) {
    return graph_.value(condition) != 0.0 ? execute(chosen.body, frame) : execute_choice(statement, branch + 1, frame);
  }
  Frame taken = frame;
  Frame other = frame;
  within(condition, [&] { execute(chosen.body, taken); });
  within(graph_.negation(condition), [&] { execute_choice(statement, branch + 1, other); });
  const Node left = graph_.choice(condition, taken.left, other.left);
  const Node returned = graph_.choice(condition, taken.returned, other.returned);
  merge_frames(condition, taken, other, frame, statement.place);
  frame.left = left;
  frame.returned = returned;
}

void Flattener::merge_frames(Node condition, Frame& taken, const Frame& other, Frame& into, Place place) {
  into.assigned.insert(taken.assigned.begin(), taken.assigned.end());
  into.assigned.insert(other.assigned.begin(), other.assigned.end());
  std::set<std::string> names;
  for (const auto& [name, value] : taken.scope.values) names.insert(name);
  for (const auto& [name, value] : other.scope.values) names.insert(name);
  for (const std::string& name : names) {
    const Value a = current(name, taken, place);
    const Value b = current(name, other, place);
    std::vector<Node> items_a;
    std::vector<Node> items_b;
    gather(a, items_a);
    gather(b, items_b);
    into.scope.values[name] = items_a == items_b && !a.is_text ? a : merge(condition, a, b, place);
  }
}

void Flattener::execute_loop(const Statement& statement, Frame& frame) {
  // Parameters that say how often the loop turns shape the equations.
  const auto holds = [&](Node condition) { return numeric(condition) == 1.0; };
  const auto turn = [&](Frame& inner) {
    execute(statement.branches[0].body, inner);
    return holds(inner.left) || holds(inner.returned);
  };
  if (statement.kind == Statement::Kind::while_loop) {
    for (int turns = 0;; ++turns) {
      const double condition = numeric(scalar(*statement.branches[0].condition, frame.scope));
      if (std::isnan(condition)) {
        execute_open_loop(statement, frame, 0, graph_.size());
        break;
      }
      if (condition == 0.0) break;
      if (turns == most_turns) fail(statement.place, fmt::format("this loop turns more than {} times", most_turns));
      if (turn(frame)) break;
    }
  } else {
    bool ended = false;
    for_each(statement.iterators, 0, frame.scope, [&](const Scope& iteration) {
      if (ended) return;
      // The iterators are names of the frame for as long as the turn lasts.
      std::map<std::string, Value> hidden;
      const std::set<std::string> around = frame.iterators;
      for (const Iterator& iterator : statement.iterators) {
        frame.iterators.insert(iterator.name);
        if (const auto found = frame.scope.values.find(iterator.name); found != frame.scope.values.end()) {
          hidden[iterator.name] = found->second;
        }
        const Value value = *iteration.find(iterator.name);
        frame.scope.values[iterator.name] = value;
      }
      ended = turn(frame);
      frame.iterators = around;
      for (const Iterator& iterator : statement.iterators) {
        frame.scope.values.erase(iterator.name);
        if (hidden.contains(iterator.name)) frame.scope.values[iterator.name] = hidden[iterator.name];
      }
    });
  }
  frame.left = graph_.number(0.0);
}

/// A loop whose condition depends on variables, after `turns` turns: each further one is carried out for those that are
/// still in it. Loops that search arrays, which stand in them, turn as often as these have rows at most. `begin`: nodes
/// before the first turn.
void Flattener::execute_open_loop(const Statement& statement, Frame& frame, int turns, std::size_t begin) {
  const Node condition = scalar(*statement.branches[0].condition, frame.scope);
  if (graph_.is_number(condition, 0.0)) return;
  std::set<std::string> names;
  gather_names(statement, names);
  int rows = 0;
  std::size_t items = 0;
  for (const auto& [name, value] : frame.scope.values) {
    items += value.element_count();
    if (!names.contains(name)) continue;
    for (const int size : value.dims) rows = std::max(rows, size);
  }
  const int most = rows == 0 ? usual_open_turns : std::min(rows, most_open_turns);
  if (turns == most) {
    assert_that(graph_.negation(condition), fmt::format("a loop turns more than {} times", most), statement.place);
    return;
  }
  if (graph_.size() - begin > most_open_nodes || static_cast<std::size_t>(turns) * items > most_open_copies) {
    fail(statement.place, "how often this loop turns depends on variables, and it is too long to be written out");
  }
  Frame inside = frame;
  const Frame outside = frame;
  within(condition, [&] {
    execute(statement.branches[0].body, inside);
    const Node ended = graph_.disjunction(inside.left, inside.returned);
    if (graph_.is_number(ended, 1.0)) return;
    Frame rest = inside;
    rest.left = rest.returned = graph_.number(0.0);
    within(graph_.negation(ended), [&] { execute_open_loop(statement, rest, turns + 1, begin); });
    const Node returned = graph_.choice(ended, inside.returned, rest.returned);
    Frame stays = inside;
    merge_frames(ended, stays, rest, inside, statement.place);
    inside.returned = returned;
  });
  inside.left = graph_.number(0.0);
  const Node returned = graph_.choice(condition, inside.returned, outside.returned);
  merge_frames(condition, inside, outside, frame, statement.place);
  frame.returned = returned;
}

Value Flattener::current(const std::string& name, const Frame& frame, Place place) {
  if (const auto found = frame.scope.values.find(name); found != frame.scope.values.end()) return found->second;
  // A variable of the model that the algorithm has not set yet: its value before the event, or at the start.
  Value value = value_of_name(name, place);
  change_nodes(value, [&](Node item) {
    const NodeData data = graph_[item];
    if (data.op != Op::variable) return item;
    const FlatVariable& variable = model_.variables[static_cast<std::size_t>(data.index)];
    if (variable.variability == Variability::discrete) return graph_.pre(data.index);
    return start_of_variable(graph_, variable);
  });
  return value;
}

/// What may be set is. The kind of number and, of a whole array of a function, its shape are those of the declaration.
void Flattener::check_assigned(const Expression& target, const Value& value, const Frame& frame) {
  if (frame.iterators.contains(target.parts[0].name)) {
    fail(target.place,
         fmt::format("'{}' is the iterator of a loop, which alone sets it: expected a variable", target.parts[0].name));
  }
  if (frame.function == nullptr) {
    const std::string name = dotted(target.parts);
    const auto found = instance_by_name_.find(name);
    if (found == instance_by_name_.end()) return;
    const Instance& instance = instances_[static_cast<std::size_t>(found->second)];
    const auto first = static_cast<std::size_t>(instance.first);
    if (first >= model_.variables.size()) return;
    if (model_.variables[first].is_parameter() && !frame.initial) {
      fail(target.place, fmt::format("'{}' is a parameter: an initial algorithm alone can set it", name));
    }
    check_type(model_.variables[first].type, name, value, target.place);
    return;
  }
  const Declaration* declaration = declaration_in(*frame.function, target.parts);
  if (declaration == nullptr) return;
  if (declaration->input) {
    fail(target.place, fmt::format("'{}' is an input of '{}', which keeps its value: expected a variable of its own",
                                   declaration->name, frame.function->name));
  }
  check_type(basic_type(declaration->type), dotted(target.parts), value, target.place);
}

void Flattener::assign(const Expression& target, const Value& value, Frame& frame) {
  if (target.kind != Kind::reference) fail(target.place, "only variables can be assigned to");
  check_assigned(target, value, frame);
  std::string name = target.parts[0].name;
  std::size_t members = 1;
  if (!frame.scope.values.contains(name)) {
    if (!frame.model) fail(target.place, fmt::format("unknown name '{}'", name));
    name = dotted(target.parts);
    members = target.parts.size();
    if (!known_name(name)) {
      // An element that is declared by itself.
      std::string subscripts;
      for (const ExpressionPtr& subscript : target.parts.back().subscripts) {
        const double number = numeric(scalar(*subscript, frame.scope));
        if (!std::isfinite(number)) return assign_parts(name, target, value, frame);
        subscripts += fmt::format("{}{}", subscripts.empty() ? "" : ",", number);
      }
      const std::string element = fmt::format("{}[{}]", name, subscripts);
      if (subscripts.empty() || !known_name(element)) return assign_parts(name, target, value, frame);
      frame.scope.values[element] = value;
      frame.assigned.insert(element);
      return;
    }
    frame.scope.values[name] = current(name, frame, target.place);
  }
  frame.assigned.insert(name);
  assign_member(frame.scope.values[name], target, members - 1, value, frame);
}

/// `whole` is what the part of this number names, without its subscripts.
void Flattener::assign_member(Value& whole, const Expression& target, std::size_t part, const Value& value,
                              Frame& frame) {
  const NamePart& named = target.parts[part];
  if (part + 1 == target.parts.size()) {
    return assign_elements(whole, named.name, named.subscripts, value, frame, target.place);
  }
  const auto assign_in = [&](Value& record) {
    for (auto& [field, content] : record.fields) {
      if (field == target.parts[part + 1].name) return assign_member(content, target, part + 1, value, frame);
    }
    fail(target.place, fmt::format("there is no member '{}'", target.parts[part + 1].name));
  };
  if (named.subscripts.empty()) return assign_in(whole);
  if (whole.elements.empty()) fail(target.place, fmt::format("'{}' is {}", named.name, shape_text(whole)));
  at_positions(whole, named.name, named.subscripts, frame, target.place, [&](std::size_t, std::size_t at, Node here) {
    Value changed = whole.elements[at];
    assign_in(changed);
    whole.elements[at] = merge(here, changed, whole.elements[at], target.place);
  });
}

/// Calls `assign(k, at, here)` for the elements that are meant: the one of number k stands at `at`, under the condition
/// `here`. The number of elements.
std::size_t Flattener::at_positions(const Value& whole, const std::string& name,
                                    const std::vector<ExpressionPtr>& subscripts, const Frame& frame, Place place,
                                    const std::function<void(std::size_t, std::size_t, Node)>& assign) {
  // The array of their positions, subscripted alike, tells where they stand.
  Value positions;
  positions.dims = whole.dims;
  positions.truths = whole.truths;
  const std::size_t count = whole.element_count();
  for (std::size_t at = 0; at < count; ++at) positions.items.push_back(graph_.number(static_cast<double>(at)));
  const std::vector<Node> meant = subscripted(positions, subscripts, frame.scope, place, name).items;
  for (std::size_t k = 0; k < meant.size(); ++k) {
    if (graph_.is_number(meant[k])) {
      assign(k, static_cast<std::size_t>(graph_.value(meant[k])), graph_.number(1.0));
      continue;
    }
    for (std::size_t at = 0; at < count; ++at) {
      assign(k, at, graph_.relation(Op::equal, meant[k], positions.items[at], true));
    }
  }
  return meant.size();
}

void Flattener::assign_elements(Value& whole, const std::string& name, const std::vector<ExpressionPtr>& subscripts,
                                const Value& value, Frame& frame, Place at) {
  if (subscripts.empty()) {
    const bool spread = value.is_scalar() && !whole.dims.empty();
    const bool empty = whole.items.empty() && whole.elements.empty();
    const bool open = frame.function != nullptr && may_grow(*frame.function, name);
    const bool fits = open ? value.dims.size() == whole.dims.size() : value.dims == whole.dims;
    if (!spread && !fits && !empty) {
      fail(at, fmt::format("'{}' is {}, and is assigned {}", name, shape_text(whole), shape_text(value)));
    }
    if (spread) {
      whole.items.assign(whole.items.size(), value.items[0]);
    } else {
      const unsigned truths = whole.truths;
      whole = value;
      whole.truths = truths;
    }
    return;
  }
  const std::size_t sources = value.dims.empty() ? 1 : value.element_count();
  const bool records = !whole.elements.empty();
  const bool fits = whole.is_text ? value.is_text
                    : records     ? value.is_record() || (!value.dims.empty() && value.elements.size() == sources)
                                  : value.is_numeric();
  if (!fits) fail(at, fmt::format("elements of '{}' are assigned {}", name, shape_text(value)));
  const std::size_t count =
      at_positions(whole, name, subscripts, frame, at, [&](std::size_t k, std::size_t place, Node here) {
        const std::size_t source = sources == 1 ? 0 : k;
        if (source >= sources || whole.is_text) return;
        if (records) {
          const Value& record = value.is_record() ? value : value.elements[source];
          whole.elements[place] = merge(here, record, whole.elements[place], at);
        } else {
          whole.items[place] = graph_.choice(here, value.items[source], whole.items[place]);
        }
      });
  whole.computed = whole.is_text;
  if (sources != 1 && sources != count) {
    fail(at, fmt::format("{} elements are assigned {}", count, shape_text(value)));
  }
}

}  // namespace manyfold::modelica
