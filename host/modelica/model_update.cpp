// What happens at an event: relations, conditions of when clauses and discrete variables are evaluated in turn, until
// nothing changes any more (Modelica's event iteration). A lane that has settled repeats itself until all have.
//
// Switches that depend on each other, as those of diodes and clutches, are a complementarity problem: first all that
// contradict their relations change together, and where that goes in a circle, one at a time, the first of them
// (Murty's least index; block pivoting as in J. J. Judice, F. M. Pires, Comput. Oper. Res. 21 (1994) 587). Two diodes
// in series switch together, and what is left of their voltage is rounding error: where its sign leads in a circle, a
// state will do that holds for values within rounding of these.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Passes in which all change together.
constexpr int most_passes = 8;
/// Passes in which one switch changes, for each switch and at most.
constexpr int single_passes = 3;
constexpr int most_single_passes = 60;
/// Where rounding alone decides, time and values are moved by parts of themselves: so many passes for each switch that
/// depends on others, with each of these parts, and at most.
constexpr int nudged_passes = 2;
constexpr int most_nudged_passes = 20;
constexpr double nudges[] = {1e-15, -1e-15, 3e-14, -3e-14};
/// Before a model is told that its discrete state finds no rest.
constexpr int least_passes = 16;

}  // namespace

/// What is evaluated in a pass of the update.
std::vector<Node> ModelCode::roots_of_update(bool initial) {
  std::vector<Node> roots;
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    const Relation& relation = model_.relations[k];
    roots.push_back(relation.left);
    roots.push_back(relation.right);
    if (initial) roots.push_back(at_start_of(relation));
    if (!initial && jumps_[k]) roots.push_back(of_equal_sides(relation));
  }
  roots.insert(roots.end(), model_.flat.conditions.begin(), model_.flat.conditions.end());
  for (const WholePart& part : model_.whole_parts) {
    roots.push_back(part.argument);
    if (initial) {
      roots.push_back(at_start_of({Op::less_equal, graph_.call(Function::floor, part.argument), part.argument}));
    }
    roots.push_back(graph_.variable(part.variable));
  }
  for (const FlatEquation& equation : model_.flat.discrete_equations) {
    roots.push_back(equation.left);
    roots.push_back(equation.right);
  }
  for (const FlatAction& action : model_.flat.actions) {
    const bool ends = action.kind != FlatAction::Kind::reinit;
    if (initial && !ends && action.due < 0) continue;
    for (const int flag : {action.due, action.held}) {
      if (flag >= 0) roots.push_back(graph_.variable(flag));
    }
    roots.push_back(action.guard);
    if (!ends) roots.push_back(action.value);
    roots.push_back(graph_.variable(action.variable));
  }
  if (initial) {
    for (const FirstEdge& edge : first_edges_) roots.push_back(edge.due);
  }
  for (const int index : initial ? model_.discrete : std::vector<int>()) {
    if (starts_from_computed(index)) roots.push_back(start_of(graph_.variable(index)));
  }
  // What is asked for as it was before needs what it is now.
  const std::vector<Node> direct = roots;
  for (const Node node : graph_.below(std::span<const Node>(direct))) {
    if (graph_[node].op == Op::pre) roots.push_back(graph_.variable(graph_[node].index));
  }
  return roots;
}

/// Which conditions held before the event.
void ModelCode::conditions_before(Body& body) {
  const std::vector<Node>& conditions = model_.flat.conditions;
  if (conditions.empty()) return;
  std::vector<Node> outputs;
  for (const Relation& relation : model_.relations) {
    outputs.push_back(relation.left);
    outputs.push_back(relation.right);
  }
  outputs.insert(outputs.end(), conditions.begin(), conditions.end());
  for (const Node node : graph_.below(std::span<const Node>(conditions))) {
    if (graph_[node].op == Op::pre) outputs.push_back(graph_.variable(graph_[node].index));
  }
  Body before = body.inner(2);
  program(before, outputs, "d");
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    if (slot_of_relation_[k] >= 0) continue;
    const Relation& relation = model_.relations[k];
    const std::string held = before.let_mask("held", graph_.relation(relation.op, relation.left, relation.right, true));
    before.bind(graph_.mode(static_cast<int>(k)), fmt::format("{} & !(fires[{}] > 0.5)", held, event_of_relation_[k]));
  }
  for (std::size_t k = 0; k < model_.flat.clocks.size(); ++k) {
    before.bind(graph_.event(Op::sample, static_cast<int>(k)), "never > 0.5");
  }
  before.bind(graph_.event(Op::initial), "never > 0.5");
  for (const Node node : graph_.below(std::span<const Node>(conditions))) {
    const NodeData data = graph_[node];
    if (data.op == Op::pre) before.bind(node, before.number(graph_.variable(data.index)));
    // A condition of an algorithm may use what clauses before it have set.
    if (data.op == Op::edge) before.bind(node, "never > 0.5");
  }
  for (std::size_t k = 0; k < conditions.size(); ++k) {
    before.line(fmt::format("was[{}] = select({}, 1.0, 0.0);", k, before.mask(conditions[k])));
  }
  body.line("{");
  body.take(before);
  body.line("}");
}

/// Which whole part has its event: 1 upwards, -1 downwards.
void ModelCode::count_steps(Body& body) {
  if (model_.whole_parts.empty()) return;
  body.line(fmt::format("Number steps[{0}], looked[{0}];", model_.whole_parts.size()));
  for (std::size_t k = 0; k < model_.whole_parts.size(); ++k) {
    const auto [up, down] = events_of_whole_part_[k];
    std::string change;
    if (up >= 0) change = fmt::format("fires[{}]", up);
    if (down >= 0) change += fmt::format("{}fires[{}]", change.empty() ? "-" : " - ", down);
    body.line(fmt::format("steps[{}] = {};", k, change));
  }
}

/// Does it depend on what changes at events?
bool ModelCode::has_discrete(Node root) {
  const std::vector<Node> nodes = graph_.below(root);
  return std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData& data = graph_[node];
    return data.op == Op::mode || (data.op == Op::variable && place_of_discrete_.contains(data.index));
  });
}

/// What arguments that change at events were before this one.
void ModelCode::look_at_arguments(Body& pass) {
  for (std::size_t k = 0; k < model_.whole_parts.size(); ++k) {
    const Node argument = model_.whole_parts[k].argument;
    if (!has_discrete(argument)) continue;
    pass.line(fmt::format("looked[{0}] = select(first > 0.5, {1}, looked[{0}]);", k, pass.number(argument)));
  }
}

/// Were the sides of relations that may jump equal before this event?
void ModelCode::look_at_relations(Body& pass) {
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    if (!jumps_[k]) continue;
    const Relation& relation = model_.relations[k];
    const Node equal = graph_.relation(Op::equal, relation.left, relation.right, true);
    pass.line(fmt::format("apart[{0}] = select(first > 0.5, select({1}, 0.0, 1.0), apart[{0}]);", k, pass.mask(equal)));
  }
}

/// At its event a whole part changes by one, whatever rounding says of its argument, unless the action of another event
/// at that time has seen it before. Otherwise the argument is looked at, for it may have jumped.
Node ModelCode::whole_part_at_event(Body& pass, int k) {
  const WholePart& part = model_.whole_parts[at(k)];
  const Node held = graph_.variable(part.variable);
  const Node x = part.argument;
  const auto number = [&](double value) { return graph_.number(value); };
  const Node next = graph_.add(held, number(1.0));
  const Node middle = graph_.add(held, number(0.5));
  const Node moved = graph_.event(Op::whole_step, 3 * k);
  const Node up = graph_.event(Op::whole_step, 3 * k + 1);
  const Node down = graph_.event(Op::whole_step, 3 * k + 2);
  const std::string now = pass.number(x);
  if (!has_discrete(x)) pass.line(fmt::format("looked[{0}] = select(first > 0.5, {1}, looked[{0}]);", k, now));
  pass.bind(moved, fmt::format("!({} == looked[{}])", now, k));
  pass.bind(up, fmt::format("first * steps[{}] > 0.5", k));
  pass.bind(down, fmt::format("first * steps[{}] < -0.5", k));
  const Node far = graph_.disjunction(graph_.relation(Op::less, x, graph_.subtract(held, number(1e-6)), true),
                                      graph_.relation(Op::less, graph_.add(next, number(1e-6)), x, true));
  const Node reached = graph_.conjunction(moved, graph_.relation(Op::less_equal, next, x, true));
  const Node seen = graph_.choice(graph_.disjunction(far, reached), graph_.call(Function::floor, x), held);
  const Node falls = graph_.conjunction(down, graph_.relation(Op::less, x, middle, true));
  const Node rises = graph_.conjunction(up, graph_.relation(Op::less, middle, x, true));
  return graph_.choice(rises, next, graph_.choice(falls, graph_.subtract(held, number(1.0)), seen));
}

void ModelCode::whole_parts_now(Body& pass, bool initial) {
  for (std::size_t k = 0; k < model_.whole_parts.size(); ++k) {
    const WholePart& part = model_.whole_parts[k];
    const Node held = graph_.variable(part.variable);
    Node value = no_node;
    if (initial) {
      // At a whole number that it is about to leave downwards it counts as below.
      const Node below = graph_.call(Function::floor, part.argument);
      const Node leaves = graph_.negation(at_start_of({Op::less_equal, below, part.argument}));
      value = graph_.subtract(below, graph_.choice(leaves, graph_.number(1.0), graph_.number(0.0)));
    } else {
      value = whole_part_at_event(pass, static_cast<int>(k));
    }
    pass.let(held, "whole", value, "");
    renew(pass, held);
    pass.line(fmt::format("d[{}] = {};", place_of_discrete_.at(part.variable), pass.number(held)));
  }
}

void ModelCode::condition_now(Body& pass, int k, bool initial) {
  const Node condition = model_.flat.conditions[at(k)];
  const Node edge = graph_.event(Op::edge, k);
  if (initial && !acts_at_start(model_.flat, condition)) return pass.bind(edge, "never > 0.5");
  refresh(pass, condition);
  const std::string name = pass.let_mask("condition", condition);
  const std::string becomes = names_.of("becomes");
  const auto due = std::ranges::find(first_edges_, k, &FirstEdge::condition);
  pass.line(fmt::format("const auto {} = (({}) & !(was[{}] > 0.5)){};", becomes, name, k,
                        due == first_edges_.end() ? "" : fmt::format(" | (first * d[{}] > 0.5)", due->place)));
  // Once at an event: rounding may take a relation back to where it was.
  pass.line(fmt::format("was[{0}] = select({1}, 1.0, was[{0}]);", k, name));
  pass.line(fmt::format("changed = select({}, 1.0, changed);", becomes));
  pass.bind(edge, becomes);
  renew(pass, edge);
}

/// Does the start of this discrete variable follow from quantities that are computed?
bool ModelCode::starts_from_computed(int index) {
  const std::vector<Node> nodes = graph_.below(start_of(graph_.variable(index)));
  return std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData& data = graph_[node];
    return data.op == Op::variable && !place_of_parameter_.contains(data.index) &&
           !place_of_discrete_.contains(data.index) && !place_in_y_.contains(node);
  });
}

void ModelCode::discrete_now(Body& pass, int i, bool initial) {
  const FlatEquation& equation = model_.flat.discrete_equations[at(i)];
  const int index = graph_[equation.left].index;
  const std::string& name = model_.flat.variables[at(index)].name;
  refresh(pass, equation.right);
  for (const Node node : initial ? graph_.below(equation.right) : std::vector<Node>()) {
    if (graph_[node].op != Op::pre || !starts_from_computed(graph_[node].index)) continue;
    const Node start = start_of(graph_.variable(graph_[node].index));
    refresh(pass, start);
    pass.bind(node, pass.number(start));
  }
  pass.let(equation.left, fmt::format("new_{}", name), equation.right, equation.text);
  renew(pass, equation.left);
  pass.line(fmt::format("d[{}] = {};", place_of_discrete_.at(index), pass.number(equation.left)));
}

/// Relations, conditions and discrete variables, each after those that it uses.
void ModelCode::all_now(Body& pass, bool initial) {
  const auto relations = static_cast<int>(model_.relations.size());
  const auto first_equation = relations + static_cast<int>(model_.flat.conditions.size());
  for (const int item : order_at_events_) {
    if (item < relations) {
      relation_now(pass, item, initial);
    } else if (item < first_equation) {
      condition_now(pass, item - relations, initial);
    } else {
      discrete_now(pass, item - first_equation, initial);
    }
  }
}

/// What a reinit has to do at the start is done by an event.
void ModelCode::first_reinit(Body& pass) {
  for (const FlatAction& action : model_.flat.actions) {
    if (action.due < 0) continue;
    refresh(pass, action.guard);
    refresh(pass, action.value);
    const std::string guard = names_.of("due");
    pass.line(fmt::format("const auto {} = {};", guard, pass.mask(action.guard)));
    pass.line(fmt::format("d[{0}] = select({1}, 1.0, d[{0}]);", place_of_discrete_.at(action.due), guard));
    pass.line(fmt::format("d[{0}] = select({1}, {2}, d[{0}]);", place_of_discrete_.at(action.held), guard,
                          pass.number(action.value)));
  }
}

void ModelCode::end(Body& pass) {
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind == FlatAction::Kind::reinit) continue;
    refresh(pass, action.guard);
    pass.line(fmt::format("d[{0}] = select({1}, 1.0, d[{0}]);", place_of_discrete_.at(action.variable),
                          pass.mask(action.guard)));
  }
}

void ModelCode::reinitialise(Body& pass) {
  std::vector<std::string> changes;
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind != FlatAction::Kind::reinit) continue;
    const auto place = place_in_y_.find(graph_.variable(action.variable));
    if (place == place_in_y_.end()) continue;
    refresh(pass, action.guard);
    refresh(pass, action.value);
    const std::string guard = pass.mask(action.guard);
    const std::string value = pass.number(action.value);
    changes.push_back(fmt::format("y[{0}] = select({1}, {2}, y[{0}]);", place->second, guard, value));
    if (action.due < 0) continue;
    const int due = place_of_discrete_.at(action.due);
    changes.push_back(fmt::format("y[{0}] = select(d[{1}] > 0.5, d[{2}], y[{0}]);", place->second, due,
                                  place_of_discrete_.at(action.held)));
    changes.push_back(fmt::format("d[{}] = 0.0;", due));
  }
  for (const std::string& change : changes) pass.line(change);
}

/// Values before the event are, in all equations of a pass, what the pass before has left.
void ModelCode::values_before(Body& pass) {
  for (const FlatEquation& equation : model_.flat.discrete_equations) {
    const NodeData right = graph_[equation.right];
    const int left = graph_[equation.left].index;
    if (right.op != Op::pre || !model_.flat.variables[at(left)].made) continue;
    pass.line(fmt::format("d[{}] = d[{}];", place_of_discrete_.at(left), place_of_discrete_.at(right.index)));
  }
}

/// The loop of passes, and what a pass begins with.
Body ModelCode::begin_pass(Body& body) {
  const std::size_t conditions = model_.flat.conditions.size();
  const int together = std::clamp(1 + discrete_count_ + static_cast<int>(conditions), 2, most_passes);
  const int single = switch_count() > 1 ? std::min(single_passes * switch_count(), most_single_passes) : 0;
  const int exact = std::max(together + single, least_passes);
  const int nudged = single > 0 ? std::min(nudged_passes * switch_count(), most_nudged_passes) : 0;
  const int passes = exact + nudged * static_cast<int>(std::size(nudges));
  if (nudged > 0) body.line("Number nudge = 1.0;");
  body.line(fmt::format("for (int pass = 0; pass < {}; ++pass) {{", passes));
  Body pass = body.inner(2);
  if (nudged > 0) {
    // A lane that has settled keeps the values for which it has.
    for (std::size_t k = 0; k < std::size(nudges); ++k) {
      pass.line(fmt::format("if (pass == {}) nudge = select(unsettled > 0.5, 1.0 + {}, nudge);",
                            exact + static_cast<int>(k) * nudged, literal(nudges[k])));
    }
    pass.line("const Number moment = nudge * t;");
    if (const std::size_t n = place_in_y_.size(); n > 0) {
      pass.line(fmt::format("Number near[{}];", n));
      pass.line(fmt::format("for (int k = 0; k < {}; ++k) near[k] = nudge * y[k];", n));
    }
  }
  pass.line("const Number first = pass == 0 ? 1.0 : 0.0;");
  if (single > 0) {
    pass.line(fmt::format("const Number single = pass < {} ? 0.0 : 1.0;", together));
    pass.line("Number moves = 0.0;");
  }
  values_before(pass);
  if (discrete_count_ > 0) {
    pass.line(fmt::format("Number old[{}];", discrete_count_));
    pass.line(fmt::format("for (int k = 0; k < {}; ++k) old[k] = d[k];", discrete_count_));
  }
  if (conditions > 0) pass.line("Number changed = 0.0;");
  return pass;
}

/// What has changed in the pass; nothing: it was the last one.
void ModelCode::end_pass(Body& pass) {
  pass.line(fmt::format("unsettled = {};", model_.flat.conditions.empty() ? "0.0" : "changed"));
  if (discrete_count_ > 0) {
    pass.line(fmt::format("for (int k = 0; k < {}; ++k) unsettled = select(d[k] == old[k], unsettled, 1.0);",
                          discrete_count_));
  }
  pass.line("if (pass > 0 && !in_some_lane(unsettled > 0.5)) break;");
}

void ModelCode::update(Body& body, bool initial) {
  order_at_events_ = order_at_events();
  const std::size_t conditions = model_.flat.conditions.size();
  if (conditions > 0) body.line(fmt::format("Number was[{}];", conditions));
  body.line("const Number never = 0.0;");
  if (!initial) {
    body.line(fmt::format("Number fires[{}];", events_.size()));
    body.line(fmt::format("for (int k = 0; k < {}; ++k) fires[k] = occurring[k];", events_.size()));
    conditions_before(body);
    count_steps(body);
    find_jumps();
    if (std::find(jumps_.begin(), jumps_.end(), true) != jumps_.end()) {
      body.line(fmt::format("Number apart[{}];", jumps_.size()));
    }
  } else {
    for (std::size_t k = 0; k < conditions; ++k) body.line(fmt::format("was[{}] = 0.0;", k));
    body.line("Number unsettled = 0.0;");
  }
  Body pass = begin_pass(body);
  if (initial) {
    pass.bind(graph_.event(Op::initial), "first > 0.5");
  } else {
    pass.bind(graph_.event(Op::initial), "never > 0.5");
  }
  const bool nudged = switch_count() > 1;
  program(pass, roots_of_update(initial), "d", nudged ? "near" : "y", nudged ? "moment" : "t");
  if (!initial) {
    look_at_arguments(pass);
    look_at_relations(pass);
  }
  // From here on relations and discrete variables have their new values.
  Body now = pass.afresh();
  renewed_.clear();
  for (const Node node : graph_.below(std::span<const Node>(roots_of_update(initial)))) {
    const NodeData data = graph_[node];
    if (data.op == Op::pre) now.bind(node, pass.number(graph_.variable(data.index)));
  }
  for (std::size_t k = 0; k < model_.flat.clocks.size(); ++k) {
    std::string ticks = fmt::format("first * fires[{}] > 0.5", event_of_clock_[k]);
    if (initial) ticks = fmt::format("first * (1.0 - d[{}]) < -0.5", clocks_[k]);
    now.bind(graph_.event(Op::sample, static_cast<int>(k)), ticks);
  }
  whole_parts_now(now, initial);
  all_now(now, initial);
  end(now);
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    if (slot_of_relation_[k] < 0) continue;
    now.line(
        fmt::format("d[{}] = select({}, 1.0, 0.0);", slot_of_relation_[k], now.mask(graph_.mode(static_cast<int>(k)))));
  }
  first_edges_now(now, initial);
  if (initial) {
    first_reinit(now);
  } else {
    for (std::size_t k = 0; k < clocks_.size(); ++k) {
      now.line(fmt::format("d[{0}] = d[{0}] + first * fires[{1}];", clocks_[k], event_of_clock_[k]));
    }
    reinitialise(now);
    if (conditions > 0) forget_events(now);
  }
  end_pass(now);
  body.take(pass);
  body.take(now);
  body.line("}");
}

std::string ModelCode::action() {
  const bool changes = discrete_count_ > 0 || !model_.flat.actions.empty();
  if (events_.empty() || !changes) return "";
  names_ = Names();
  Body body(graph_, names_, 4);
  body.line("using Number = manyfold::NumberOf<decltype(y)>;");
  update(body, false);
  return function(
      "actions(const auto& occurring, const auto& t, auto& y, const auto&, const auto& p, auto& d, auto& unsettled)",
      body.text());
}

std::string ModelCode::initial_discrete() {
  if (discrete_count_ == 0) return "";
  names_ = Names();
  Body body(graph_, names_, 4);
  body.line("using Number = manyfold::NumberOf<decltype(d)>;");
  const auto start_time = model_.flat.experiment.find("StartTime");
  body.line(fmt::format("const Number t = {};",
                        literal(start_time == model_.flat.experiment.end() ? 0.0 : start_time->second)));
  std::vector<Node> starts;
  const auto early_start = [&](int index) {
    return starts_from_computed(index) ? graph_.number(0.0) : start_of(graph_.variable(index));
  };
  for (const int index : model_.discrete) starts.push_back(early_start(index));
  for (const FlatClock& clock : model_.flat.clocks) starts.push_back(clock.start);
  Body begin = body.inner(2);
  prologue(begin, starts, "d");
  for (const int index : model_.discrete) {
    begin.line(fmt::format("d[{}] = {};", place_of_discrete_.at(index), begin.number(early_start(index))));
  }
  for (std::size_t k = 0; k < clocks_.size(); ++k) {
    // 2: it strikes at the start, which counts as 1 from then on.
    begin.line(fmt::format("d[{}] = select({} < t, 1.0, select({} == t, 2.0, 0.0));", clocks_[k],
                           begin.number(model_.flat.clocks[k].start), begin.number(model_.flat.clocks[k].start)));
  }
  body.line("{");
  body.take(begin);
  body.line("}");
  update(body, true);
  body.line(fmt::format("for (int k = 0; k < {}; ++k) d[k] = select(unsettled > 0.5, never / never, d[k]);",
                        discrete_count_));
  for (const int place : clocks_) body.line(fmt::format("d[{0}] = select(d[{0}] > 0.5, 1.0, 0.0);", place));
  return function("initial_discrete(const auto& y, const auto& p, auto& d)", body.text());
}

}  // namespace manyfold::modelica
