// What relations are at an event, and in which order they and what changes at events are evaluated.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

/// What the root is made of, through assignments.
std::vector<Node> ModelCode::reached(Node root) {
  std::vector<Node> result;
  std::vector<Node> open = {root};
  std::set<Node> seen;
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    result.push_back(node);
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) open.push_back(operand);
    }
    if (const auto step = step_of_.find(node); step != step_of_.end()) open.push_back(steps_[step->second].value);
  }
  return result;
}

/// Does it depend on unknowns that equations do not give by assignments?
bool ModelCode::depends_on_torn(Node root) {
  const std::vector<Node> nodes = reached(root);
  return std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    return std::find(model_.torn.begin(), model_.torn.end(), node) != model_.torn.end();
  });
}

/// What is evaluated at an event: relations, then conditions of when clauses, then equations of discrete variables.
/// Each with those that it uses.
Incidence ModelCode::uses_at_events() {
  const FlatModel& flat = model_.flat;
  const auto relations = static_cast<int>(model_.relations.size());
  const auto first_equation = relations + static_cast<int>(flat.conditions.size());
  std::map<int, int> equation_of;
  for (std::size_t i = 0; i < flat.discrete_equations.size(); ++i) {
    equation_of[graph_[flat.discrete_equations[i].left].index] = first_equation + static_cast<int>(i);
  }
  const auto uses = [&](Node root) {
    std::vector<int> result;
    for (const Node node : reached(root)) {
      const NodeData& data = graph_[node];
      if (data.op == Op::mode) result.push_back(data.index);
      if (data.op == Op::edge) result.push_back(relations + data.index);
      const auto equation = data.op == Op::variable ? equation_of.find(data.index) : equation_of.end();
      if (equation != equation_of.end()) result.push_back(equation->second);
    }
    return result;
  };
  Incidence result;
  for (const Relation& relation : model_.relations)
    result.push_back(uses(graph_.subtract(relation.right, relation.left)));
  for (const Node condition : flat.conditions) result.push_back(uses(condition));
  for (const FlatEquation& equation : flat.discrete_equations) result.push_back(uses(equation.right));
  return result;
}

/// The order in which these are evaluated. Relations that use none of them, or values before the event, or in the end
/// themselves, come first; all others after those that they use.
std::vector<int> ModelCode::order_at_events() {
  const Incidence uses = uses_at_events();
  const std::size_t relations = model_.relations.size();
  Incidence closed = uses;
  Matching each;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    closed[i].push_back(static_cast<int>(i));
    each.unknown_of.push_back(static_cast<int>(i));
  }
  each.equation_of = each.unknown_of;
  std::vector<bool> first(uses.size(), false);
  rests_.assign(relations, false);
  for (const std::vector<int>& circle : blocks(closed, each)) {
    for (const int item : circle) {
      if (at(item) >= relations) continue;
      const std::vector<int>& own = uses[at(item)];
      const bool uses_itself = circle.size() > 1 || std::find(own.begin(), own.end(), item) != own.end();
      rests_[at(item)] = uses_itself;
      first[at(item)] = own.empty() || uses_itself || model_.relations[at(item)].of_before;
    }
  }
  std::vector<int> result;
  for (std::size_t k = 0; k < relations; ++k) {
    if (first[k]) result.push_back(static_cast<int>(k));
  }
  follows_.assign(relations, false);
  std::set<int> seen(result.begin(), result.end());
  const std::function<void(int)> visit = [&](int item) {
    if (!seen.insert(item).second) return;
    for (const int other : uses[at(item)]) visit(other);
    if (at(item) < relations) follows_[at(item)] = true;
    result.push_back(item);
  };
  const auto all = static_cast<int>(uses.size());
  for (int item = all - static_cast<int>(model_.flat.discrete_equations.size()); item < all; ++item) visit(item);
  for (int item = 0; item < all; ++item) visit(item);
  return result;
}

/// The leaf has a new value from here on in this pass.
void ModelCode::renew(Body& pass, Node leaf) {
  renewed_[leaf] = ++renewals_;
  pass.forget(leaf);
}

/// Assignments below the root that use what has a new value are made again; but not of what the integrator iterates
/// for, which is known after the event.
void ModelCode::refresh(Body& pass, Node root) {
  const auto when = [&](Node node) {
    const auto found = renewed_.find(node);
    return found == renewed_.end() ? 0 : found->second;
  };
  std::set<std::size_t> places;
  for (const Node node : reached(root)) {
    if (const auto step = step_of_.find(node); step != step_of_.end()) places.insert(step->second);
  }
  for (const std::size_t place : places) {
    const Step& step = steps_[place];
    int newest = 0;
    for (const Node node : graph_.below(step.value)) newest = std::max(newest, when(node));
    if (newest <= when(step.quantity) || depends_on_torn(step.value)) continue;
    pass.let(step.quantity, name_of_quantity(model_.flat, step.quantity), step.value, "");
    renew(pass, step.quantity);
  }
}

/// The derivative with respect to time, of the quantities that the model has; no_node: one that it has not is needed.
Node ModelCode::rate_of(Node root) {
  std::unordered_map<Node, Node> done;
  bool known = true;
  const std::function<Node(Node)> seed = [&](Node leaf) -> Node {
    const NodeData data = graph_[leaf];
    if (data.op == Op::time) return graph_.number(1.0);
    if (data.op != Op::variable) return no_node;
    if (const auto found = step_of_.find(leaf); found != step_of_.end()) {
      return graph_.derivative(steps_[found->second].value, seed, done);
    }
    const auto place = place_in_y_.find(leaf);
    if (place == place_in_y_.end()) return no_node;
    const Node rate = graph_.variable(data.index, data.order + 1);
    const bool has = step_of_.contains(rate) || place_in_y_.contains(rate);
    known = known && (has || model_.flat.variables[at(data.index)].is_parameter());
    return has ? rate : no_node;
  };
  const Node rate = graph_.derivative(root, seed, done);
  // Beyond, an event at once does the same (ModelCode::sides).
  constexpr std::size_t largest = 100;
  if (!known || (rate != no_node && graph_.below(rate).size() > largest)) return no_node;
  return rate == no_node ? graph_.number(0.0) : rate;
}

/// Where both sides are equal, the relation is what it is about to be, or what it says of sides that stay equal;
/// no_node: that cannot be told.
Node ModelCode::of_equal_sides(const Relation& relation) {
  const bool strict = relation.op == Op::less;
  const Node rate = rate_of(graph_.subtract(relation.right, relation.left));
  if (rate == no_node) return no_node;
  const Node zero = graph_.number(0.0);
  const Node second = rate_of(rate);
  const auto leaves = [&](Node node) {
    return strict ? graph_.relation(Op::less, zero, node, true) : graph_.relation(Op::less, node, zero, true);
  };
  Node ahead = leaves(rate);
  if (second != no_node) {
    ahead = graph_.disjunction(ahead, graph_.conjunction(graph_.relation(Op::equal, rate, zero, true), leaves(second)));
  }
  return strict ? ahead : graph_.negation(ahead);
}

Node ModelCode::at_start_of(const Relation& relation) {
  const Node plain = graph_.relation(relation.op, relation.left, relation.right, true);
  const Node of_equal = of_equal_sides(relation);
  if (of_equal == no_node || graph_.is_number(of_equal, relation.op == Op::less ? 0.0 : 1.0)) return plain;
  const Node same = graph_.relation(Op::equal, relation.left, relation.right, true);
  if (relation.op == Op::less) return graph_.disjunction(plain, graph_.conjunction(same, of_equal));
  return graph_.conjunction(plain, graph_.negation(graph_.conjunction(same, graph_.negation(of_equal))));
}

/// Whether the event of number `event` tells what has become of relation k: not if that has seen new values since.
std::string ModelCode::tells(int event, int k) {
  std::string text = fmt::format("(fires[{}] > 0.5)", event);
  if (!follows_[at(k)]) return text;
  const Relation& relation = model_.relations[at(k)];
  std::set<int> places;
  for (const Node node : reached(graph_.subtract(relation.right, relation.left))) {
    const auto place = place_of_discrete_.find(graph_[node].op == Op::variable ? graph_[node].index : -1);
    if (place != place_of_discrete_.end()) places.insert(place->second);
  }
  for (const int place : places) text += fmt::format(" & (d[{0}] == old[{0}])", place);
  return "(" + text + ")";
}

/// Does it depend on what clauses set: discrete variables, and states with a reinit? `looked_at`: equations of discrete
/// variables that need no second look.
bool ModelCode::changes_by_clauses(Node root, std::set<const FlatEquation*>& looked_at) {
  const FlatModel& flat = model_.flat;
  const std::vector<Node> nodes = reached(root);
  const auto reaches = [&](Node node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); };
  const auto is_clause = [&](Node node) { return graph_[node].op == Op::edge || graph_[node].op == Op::pre; };
  if (std::any_of(nodes.begin(), nodes.end(), is_clause)) return true;
  for (const FlatAction& action : flat.actions) {
    if (action.kind == FlatAction::Kind::reinit && reaches(graph_.variable(action.variable))) return true;
  }
  for (const FlatEquation& equation : flat.discrete_equations) {
    if (!reaches(equation.left) || !looked_at.insert(&equation).second) continue;
    if (changes_by_clauses(equation.right, looked_at)) return true;
  }
  return std::any_of(model_.whole_parts.begin(), model_.whole_parts.end(), [&](const WholePart& part) {
    return reaches(graph_.variable(part.variable)) && changes_by_clauses(part.argument, looked_at);
  });
}

/// A relation is what its event says, until a clause changes the values that it compares. Others are not asked again:
/// behind a switch its value may be of the size of rounding, with either sign.
void ModelCode::forget_events(Body& pass) {
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    std::set<const FlatEquation*> looked_at;
    const Relation& relation = model_.relations[k];
    if (!changes_by_clauses(graph_.subtract(relation.right, relation.left), looked_at)) continue;
    for (const int event : {event_of_relation_[k], end_of_relation_[k]}) {
      if (event >= 0) pass.line(fmt::format("fires[{0}] = select(changed > 0.5, 0.0, fires[{0}]);", event));
    }
  }
}

/// Relations whose sides an action may make equal: they use what changes at events, and not in the end themselves.
void ModelCode::find_jumps() {
  std::set<Node> set;
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind == FlatAction::Kind::reinit) set.insert(graph_.variable(action.variable));
  }
  jumps_.assign(model_.relations.size(), false);
  for (std::size_t k = 0; k < jumps_.size(); ++k) {
    const Node difference = graph_.subtract(model_.relations[k].right, model_.relations[k].left);
    if (slot_of_relation_[k] < 0 || end_of_relation_[k] < 0 || rests_[k] || depends_on_torn(difference)) continue;
    const Node of_equal = of_equal_sides(model_.relations[k]);
    if (of_equal == no_node || depends_on_torn(of_equal)) continue;
    const std::vector<Node> nodes = reached(difference);
    jumps_[k] = std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
      const NodeData& data = graph_[node];
      return data.op == Op::mode || set.contains(node) ||
             (data.op == Op::variable && place_of_discrete_.contains(data.index));
    });
  }
}

/// A relation as it is now; the one whose event this is has just changed.
void ModelCode::relation_now(Body& pass, int k, bool initial) {
  const Relation& relation = model_.relations[at(k)];
  const int slot = slot_of_relation_[at(k)];
  const bool has_end = end_of_relation_[at(k)] >= 0;
  Node time = no_node;
  bool rises = true;
  Node value = graph_.relation(relation.op, relation.left, relation.right, true);
  const bool scheduled = scheduled_at(relation, time, rises);
  if (initial && !scheduled) value = at_start_of(relation);
  // At its time a scheduled relation has changed, be it strict or not, for actions of other events at that time too.
  // Times within 8 eps |t| are one for the integrator; an event before them, which is further off, must not see it
  // changed.
  if (scheduled) {
    const Node size = graph_.add(graph_.call(Function::abs, graph_.time()), graph_.call(Function::abs, time));
    time = graph_.subtract(time, graph_.multiply(graph_.number(8.5e-16), size));
    value = rises ? graph_.relation(Op::less_equal, time, graph_.time(), true)
                  : graph_.relation(Op::less, graph_.time(), time, true);
  }
  if (follows_[at(k)]) refresh(pass, value);
  // What the integrator iterates for is not known before the event is over: a relation of it is as before, and has an
  // event of its own if that is wrong then.
  const bool kept = !initial && slot >= 0 && has_end && depends_on_torn(value);
  std::string text = kept ? fmt::format("(d[{}] > 0.5)", slot) : pass.let_mask("holds", value);
  if (!initial && !kept && slot >= 0 && has_end) {
    // Where both sides are equal, it is as it was: a loop may rest there while others of its switches change. But
    // where an action made them equal, it is what it is about to be, as at the start.
    const std::string equal = pass.let_mask("equal", graph_.relation(Op::equal, relation.left, relation.right, true));
    std::string there = fmt::format("(d[{}] > 0.5)", slot);
    if (jumps_[at(k)]) {
      const Node of_equal = of_equal_sides(relation);
      refresh(pass, of_equal);
      there = fmt::format("(((apart[{0}] > 0.5) & ({1})) | (!(apart[{0}] > 0.5) & {2}))", k,
                          pass.let_mask("becomes", of_equal), there);
    }
    text = fmt::format("(({} & !{}) | ({} & {}))", text, equal, equal, there);
  }
  if (!initial) {
    // The relation whose event this is has changed, whatever rounding says where both sides are equal; until a when
    // clause changes the values that it compares.
    const std::string begins = tells(event_of_relation_[at(k)], k);
    if (scheduled && !rises) {
      text = fmt::format("{} & !{}", text, begins);
    } else {
      text = fmt::format("{} | {}", text, begins);
      if (has_end) text = fmt::format("({}) & !{}", text, tells(end_of_relation_[at(k)], k));
    }
    const std::string name = names_.of("now");
    pass.line(fmt::format("const auto {} = {};", name, text));
    text = name;
  }
  if (slot >= 0 && !scheduled && !kept && switch_count() > 1) text = one_at_a_time(pass, at(k), text);
  pass.bind(graph_.mode(k), text);
  renew(pass, graph_.mode(k));
}

/// Relations that the discrete state remembers.
int ModelCode::switch_count() const {
  return static_cast<int>(
      std::count_if(slot_of_relation_.begin(), slot_of_relation_.end(), [](int slot) { return slot >= 0; }));
}

/// The relation that `now` says, but in a single pass as it was if another one has changed in this pass.
std::string ModelCode::one_at_a_time(Body& pass, std::size_t relation, const std::string& now) {
  const std::string value = names_.of("value");
  const std::string stays = names_.of("stays");
  const std::string held = fmt::format("(d[{}] > 0.5)", slot_of_relation_[relation]);
  pass.line(fmt::format("const Number {} = select({}, 1.0, 0.0);", value, now));
  pass.line(fmt::format("const auto {} = single * moves > 0.5;", stays));
  pass.line(fmt::format("moves = select({} == d[{}], moves, 1.0);", value, slot_of_relation_[relation]));
  return fmt::format("(({0} & {1}) | (!{0} & ({2} > 0.5)))", stays, held, value);
}

}  // namespace manyfold::modelica
