// Events of the model: where relations change, and at the times of clocks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

/// A relation that only makes conditions of when clauses true needs no memory: its event tells. All others are kept
/// between events.
void ModelCode::find_stored_relations() {
  const FlatModel& flat = model_.flat;
  std::set<int> stored;
  const auto store_below = [&](Node root) {
    if (root == no_node) return;
    for (const Node node : graph_.below(root)) {
      if (graph_[node].op == Op::mode) stored.insert(graph_[node].index);
    }
  };
  for (const Equation& equation : model_.equations) store_below(equation.residual);
  for (const Step& step : steps_) store_below(step.value);
  for (const FlatEquation& equation : flat.discrete_equations) store_below(equation.right);
  for (const FlatAction& action : flat.actions) {
    store_below(action.guard);
    store_below(action.value);
  }
  const auto walk = [&](const auto& self, Node condition) -> void {
    const NodeData& data = graph_[condition];
    if (data.op == Op::conjunction || data.op == Op::disjunction) {
      self(self, data.operand[0]);
      self(self, data.operand[1]);
    } else if (data.op != Op::mode) {
      store_below(condition);
    }
  };
  for (const Node condition : flat.conditions) walk(walk, condition);
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    slot_of_relation_.push_back(stored.contains(static_cast<int>(k)) ? discrete_count_++ : -1);
  }
}

/// Is it a comparison of time with what is constant between events? `rises`: it becomes true then.
bool ModelCode::scheduled_at(const Relation& relation, Node& time, bool& rises) {
  const Node difference = graph_.subtract(relation.right, relation.left);
  for (const Node node : graph_.below(difference)) {
    const NodeData& data = graph_[node];
    if (data.op == Op::mode || data.op == Op::pre) return false;
    const bool held = place_of_parameter_.contains(data.index) || place_of_discrete_.contains(data.index);
    if (data.op == Op::variable && !held) return false;
  }
  const Node slope = graph_.partial(difference, graph_.time());
  if (!graph_.is_number(slope) || graph_.value(slope) == 0.0) return false;
  const Node rest =
      graph_.replace(difference, [&](Node node) { return node == graph_.time() ? graph_.number(0.0) : no_node; });
  time = graph_.negate(graph_.divide(rest, slope));
  rises = graph_.value(slope) > 0.0;
  return true;
}

/// Positive where the condition holds.
Node ModelCode::distance(Node condition) {
  const NodeData data = graph_[condition];
  switch (data.op) {
    case Op::conjunction:
      return graph_.call(Function::min, distance(data.operand[0]), distance(data.operand[1]));
    case Op::disjunction:
      return graph_.call(Function::max, distance(data.operand[0]), distance(data.operand[1]));
    case Op::negation:
      return graph_.negate(distance(data.operand[0]));
    case Op::mode: {
      const Relation& relation = model_.relations[at(data.index)];
      return graph_.subtract(relation.right, relation.left);
    }
    case Op::less:
    case Op::less_equal:
      return graph_.subtract(data.operand[1], data.operand[0]);
    default:
      return graph_.choice(condition, graph_.number(1.0), graph_.number(-1.0));
  }
}

std::string ModelCode::text_of(Node node) {
  Names names;
  Body body(graph_, names, 0);
  for (const Node leaf : graph_.below(node)) {
    const NodeData& data = graph_[leaf];
    if (data.op == Op::variable) body.bind(leaf, name_of_quantity(model_.flat, leaf));
    if (data.op == Op::time) body.bind(leaf, "time");
    if (data.op == Op::pre) body.bind(leaf, fmt::format("pre({})", model_.flat.variables[at(data.index)].name));
    if (data.op == Op::mode) body.bind(leaf, fmt::format("relation {}", data.index + 1));
  }
  return body.number(node);
}

void ModelCode::add_event(Event event) {
  const std::string name = name_of_text(event.name);
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(events_.begin(), events_.end(), [&](const Event& other) { return other.name == candidate; });
  };
  event.name = name;
  for (int k = 2; taken(event.name); ++k) event.name = fmt::format("{} ({})", name, k);
  events_.push_back(event);
}

/// Positive where the relation holds; where its value does not matter, as it was at the last event.
Node ModelCode::root_of(std::size_t k) {
  const Node held = graph_.choice(graph_.mode(static_cast<int>(k)), graph_.number(1.0), graph_.number(-1.0));
  return graph_.choice(watched_[k], plain_root_of(k), held);
}

/// Positive where the relation holds. Of quantities that come to a limit and stay there, both sides may stay equal.
/// Zero is no side of a root function: it is put on the side that the relation says, beyond rounding, by a number that
/// is small beside other values of the function.
Node ModelCode::plain_root_of(std::size_t k) {
  constexpr double beside_zero = 1e-6;
  const Relation& relation = model_.relations[k];
  const Node difference = graph_.subtract(relation.right, relation.left);
  const std::vector<Node> nodes = reached(difference);
  const bool is_limited = std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData& data = graph_[node];
    const auto is = [&](Function function) { return data.op == Op::call && data.index == static_cast<int>(function); };
    return data.op == Op::choice || is(Function::min) || is(Function::max) || is(Function::abs);
  });
  if (!is_limited || rests_[k] || depends_on_torn(difference)) return difference;
  const Node rate = rate_of(difference);
  if (rate == no_node || depends_on_torn(rate)) return difference;
  const Node second = rate_of(rate);
  if (second != no_node && depends_on_torn(second)) return difference;
  const Node zero = graph_.number(0.0);
  Node stays = graph_.conjunction(graph_.relation(Op::equal, relation.left, relation.right, true),
                                  graph_.relation(Op::equal, rate, zero, true));
  if (second != no_node) stays = graph_.conjunction(stays, graph_.relation(Op::equal, second, zero, true));
  return graph_.choice(stays, graph_.number(relation.op == Op::less ? -beside_zero : beside_zero), difference);
}

void ModelCode::find_events() {
  const FlatModel& flat = model_.flat;
  order_at_events_ = order_at_events();
  find_watched();
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    const Relation& relation = model_.relations[k];
    const std::string left = text_of(relation.left);
    const std::string right = text_of(relation.right);
    const bool strict = relation.op == Op::less;
    Event event;
    event.name = fmt::format("{} {} {}", left, strict ? "<" : "<=", right);
    bool rises = true;
    if (!scheduled_at(relation, event.time, rises)) {
      event.root = root_of(k);
      event.direction = 1;
    }
    event_of_relation_.push_back(static_cast<int>(events_.size()));
    end_of_relation_.push_back(-1);
    add_event(event);
    if (event.root == no_node || slot_of_relation_[k] < 0) continue;
    // Its opposite is an event of its own, so that an action knows what has become of the relation.
    event.name = fmt::format("{} {} {}", right, strict ? "<=" : "<", left);
    event.direction = -1;
    end_of_relation_.back() = static_cast<int>(events_.size());
    add_event(event);
  }
  for (std::size_t k = 0; k < flat.clocks.size(); ++k) {
    Event event;
    event.name = fmt::format("sample({}, {})", text_of(flat.clocks[k].start), text_of(flat.clocks[k].interval));
    event_of_clock_.push_back(static_cast<int>(events_.size()));
    event.time = flat.clocks[k].start;  // and so on, by the count of the clock
    add_event(event);
  }
  add_whole_parts();
  add_first_edges();
  add_terminals();
  // Discrete numbers whose clauses never become active, as `when terminal()`, are discrete all the same.
  if (events_.empty() && discrete_count_ > 0) {
    Event never;
    never.name = "never";
    never.time = graph_.number(std::numeric_limits<double>::max());
    add_event(never);
  }
}

/// A whole part changes where its argument comes to the next whole number, or falls below its own.
void ModelCode::add_whole_parts() {
  for (const WholePart& part : model_.whole_parts) {
    const Node held = graph_.variable(part.variable);
    const Node next = graph_.add(held, graph_.number(1.0));
    const std::string argument = text_of(part.argument);
    std::pair<int, int> numbers(-1, -1);
    bool rises = true;
    Event up;
    up.name = fmt::format("{} to the next whole number", argument);
    const bool scheduled = scheduled_at({Op::less_equal, next, part.argument}, up.time, rises);
    if (!scheduled) {
      up.root = graph_.subtract(part.argument, next);
      up.direction = 1;
    }
    if (!scheduled || rises) {
      numbers.first = static_cast<int>(events_.size());
      add_event(up);
    }
    if (!scheduled || !rises) {
      Event down;
      down.name = fmt::format("{} below a whole number", argument);
      if (scheduled) {
        scheduled_at({Op::less, part.argument, held}, down.time, rises);
      } else {
        down.root = graph_.subtract(part.argument, held);
        down.direction = -1;
      }
      numbers.second = static_cast<int>(events_.size());
      add_event(down);
    }
    events_of_whole_part_.push_back(numbers);
  }
}

/// A reinit that is due at the start.
void ModelCode::add_first(const FlatAction& action, Node root) {
  Event event;
  event.name = fmt::format("reinit({}) at the start", model_.flat.variables[at(action.variable)].name);
  event.root = root;
  event.direction = 1;
  event.of_start = true;
  add_event(event);
}

/// Ends: terminate, and assertions.
void ModelCode::add_terminals() {
  const FlatModel& flat = model_.flat;
  const auto is_set = [&](int flag) {
    return graph_.choice(graph_.relation(Op::less, graph_.number(0.5), graph_.variable(flag), true), graph_.number(1.0),
                         graph_.number(-1.0));
  };
  for (const FlatAction& action : flat.actions) {
    if (action.kind == FlatAction::Kind::reinit) {
      if (action.due >= 0) add_first(action, is_set(action.due));
      continue;
    }
    // An action remembers that it is due; that ends the instance at once.
    Event event;
    event.failure = action.kind == FlatAction::Kind::fail;
    event.name = event.failure ? fmt::format("assert: {}", action.message) : action.message;
    event.root = is_set(action.variable);
    event.direction = 1;
    event.terminal = true;
    add_event(event);
  }
  for (const FlatAssertion& assertion : flat.assertions) {
    if (graph_.is_number(assertion.condition)) continue;
    Event event;
    event.name = fmt::format("assert: {}", assertion.message);
    event.root = distance(assertion.condition);
    event.direction = -1;
    event.terminal = event.failure = true;
    add_event(event);
  }
}

std::string ModelCode::events() {
  if (events_.empty()) return "";
  std::string text = "  static constexpr manyfold::Event events[] = {\n";
  for (const Event& event : events_) {
    text += fmt::format("      {{.name = {}", quoted(event.name));
    if (event.direction != 0) text += fmt::format(", .direction = {}", event.direction);
    if (event.terminal) text += ", .terminal = true";
    if (event.failure) text += ", .failure = true";
    if (event.time != no_node) text += ", .scheduled = 1";
    text += "},\n";
  }
  return text + "  };\n";
}

std::string ModelCode::root() {
  std::vector<Node> outputs;
  for (const Event& event : events_) {
    if (event.root != no_node) outputs.push_back(event.root);
  }
  if (outputs.empty() && first_edges_.empty()) return "";
  names_ = Names();
  Body body(graph_, names_, 4);
  program(body, outputs, "p");
  for (std::size_t k = 0; k < events_.size(); ++k) {
    if (events_[k].root != no_node) body.line(fmt::format("g[{}] = {};", k, body.number(events_[k].root)));
  }
  if (!first_edges_.empty()) body.line(root_of_first_edges());
  return function("root(const auto& t, const auto& y, const auto&, const auto& p, auto& g)", body.text());
}

/// A relation that is kept has its instance on the side where it holds, or on the other one. What is asserted holds,
/// and the instance has not been ended yet. What is due at the start is not done yet.
std::string ModelCode::sides() {
  std::string body;
  const std::size_t first = parameters_.size() + derived_.size();
  std::vector<std::string> side(events_.size(), "0.0");
  bool some = false;
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    if (slot_of_relation_[k] < 0 || end_of_relation_[k] < 0) continue;
    some = true;
    const std::string held = fmt::format("select(p[{}] > 0.5, 1.0, -1.0)", first + at(slot_of_relation_[k]));
    side[at(event_of_relation_[k])] = held;
    side[at(end_of_relation_[k])] = held;
  }
  for (std::size_t k = 0; k < events_.size(); ++k) {
    if (!events_[k].terminal && !events_[k].of_start) continue;
    some = true;
    side[k] = events_[k].direction < 0 ? "1.0" : "-1.0";
  }
  if (!some) return "";
  for (std::size_t k = 0; k < side.size(); ++k) body += fmt::format("    side[{}] = {};\n", k, side[k]);
  return function("sides(const auto& p, auto& side)", body);
}

std::string ModelCode::event_times() {
  names_ = Names();
  Body body(graph_, names_, 4);
  std::vector<Node> outputs;
  for (const Event& event : events_) {
    if (event.time != no_node) outputs.push_back(event.time);
  }
  if (outputs.empty()) return "";
  for (const FlatClock& clock : model_.flat.clocks) outputs.push_back(clock.interval);
  prologue(body, outputs, "p");
  int slot = 0;
  for (std::size_t k = 0; k < events_.size(); ++k) {
    if (events_[k].time == no_node) continue;
    const auto clock = std::find(event_of_clock_.begin(), event_of_clock_.end(), static_cast<int>(k));
    std::string time = body.number(events_[k].time);
    if (clock != event_of_clock_.end()) {
      const auto number = static_cast<std::size_t>(clock - event_of_clock_.begin());
      const std::size_t place = parameters_.size() + derived_.size() + at(clocks_[number]);
      time = fmt::format("({}) + p[{}] * ({})", time, place, body.number(model_.flat.clocks[number].interval));
    }
    body.line(fmt::format("times[{}] = {};", slot++, time));
  }
  return function("event_times(const auto& p, auto& times)", body.text());
}

std::string ModelCode::discrete_numbers() {
  if (discrete_count_ == 0) return "";
  std::string text = "  static constexpr manyfold::Discrete discrete[] = {\n";
  for (const int index : model_.discrete) {
    const FlatVariable& one = model_.flat.variables[at(index)];
    text += fmt::format("      {}}},\n", described(one, one.name));
  }
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    if (slot_of_relation_[k] < 0) continue;
    const std::string& name = events_[at(event_of_relation_[k])].name;
    text += fmt::format("      {{.name = {}, .internal = true}},\n", quoted("holds: " + name));
  }
  for (const int event : event_of_clock_) {
    text += fmt::format("      {{.name = {}, .internal = true}},\n", quoted("count of " + events_[at(event)].name));
  }
  for (const FirstEdge& edge : first_edges_) {
    const std::string name = fmt::format("condition {} becomes true at the start", edge.condition + 1);
    text += fmt::format("      {{.name = {}, .internal = true}},\n", quoted(name));
  }
  return text + "  };\n";
}

}  // namespace manyfold::modelica
