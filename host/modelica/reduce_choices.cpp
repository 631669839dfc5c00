// Numbers that the time chooses are discrete variables. These go along a line where they jump, so that the branch of
// the algebraic equations is followed (docs/events.md, "Branches"); what equations choose themselves changes over as a
// whole.
#include <algorithm>
#include <array>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Longer ways from definition to definition are not followed, and what has more nodes is computed once, as a variable.
constexpr int most_definitions = 100;
constexpr std::size_t most_nodes = 64;

}  // namespace

/// Equations x = expression: what chooses may follow from the time by way of other variables.
void Reducer::gather_definitions() {
  for (const FlatEquation& equation : model_.flat.equations) {
    for (const auto& [side, other] : {std::pair(equation.left, equation.right), {equation.right, equation.left}}) {
      const NodeData data = graph_[side];
      if (data.op != Op::variable || data.order > 0 || variable(data.index).is_parameter()) continue;
      definitions_[data.index].push_back(other);
    }
  }
}

/// What a variable is by an equation of its own, if it stays between events of the time and of what is discrete.
Node Reducer::staying_definition(int index) {
  // While it is looked at, the variable does not follow from itself.
  const auto [known, is_new] = staying_.try_emplace(index, no_node);
  if (!is_new || definition_depth_ == most_definitions) return known->second;
  ++definition_depth_;
  Node found = no_node;
  for (const Node definition : definitions_[index]) {
    if (found != no_node || !stays(definition).back().stays) continue;
    const Node complete = with_definitions(definition);
    if (graph_.below(complete).size() <= most_nodes) found = complete;
  }
  --definition_depth_;
  return staying_[index] = found;
}

/// Is it a discrete variable, of Boolean or whole numbers, that the time alone changes?
bool Reducer::is_set_by_time(int index) {
  if (!discrete_.contains(index) || variable(index).type == Type::real) return false;
  // In a circle the others decide.
  const auto [known, is_new] = set_by_time_.try_emplace(index, true);
  if (!is_new) return known->second;
  const Node quantity = graph_.variable(index);
  const auto& equations = model_.flat.discrete_equations;
  const auto own =
      std::find_if(equations.begin(), equations.end(), [&](const auto& one) { return one.left == quantity; });
  return set_by_time_[index] = own != equations.end() && changes_by_time(own->right);
}

/// Does the time alone change it, at events?
bool Reducer::changes_by_time(Node root) {
  const std::vector<Node> nodes = graph_.below(root);
  return std::all_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData data = graph_[node];
    if (data.op == Op::edge) return changes_by_time(model_.flat.conditions[at(data.index)]);
    if (data.op == Op::mode) return of_time(Relation(model_.relations[at(data.index)]));
    if (data.op != Op::variable && data.op != Op::pre) return data.op != Op::time;
    return variable(data.index).is_parameter() || is_set_by_time(data.index);
  });
}

/// Does it switch by a relation, or by a variable that the time alone changes?
bool Reducer::is_switch(Node leaf) {
  const NodeData data = graph_[leaf];
  return data.op == Op::mode || (data.op == Op::variable && is_set_by_time(data.index));
}

/// Does the relation change by the time and by what is discrete alone?
bool Reducer::of_time(const Relation& relation) {
  const Node sides[] = {relation.left, relation.right};
  const std::vector<Node> nodes = graph_.below(sides);
  return std::all_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData data = graph_[node];
    if (data.op == Op::mode) return of_time(Relation(model_.relations[at(data.index)]));
    if (data.op != Op::variable) return data.op != Op::pre;
    return data.order == 0 && (variable(data.index).is_parameter() || discrete_.contains(data.index));
  });
}

/// Of the nodes below the root, and of itself at last.
std::vector<Reducer::Stay> Reducer::stays(Node root) {
  const std::vector<Node> nodes = graph_.below(root);
  std::vector<Stay> result(nodes.size());
  std::unordered_map<Node, std::size_t> place;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    place[nodes[k]] = k;
    const NodeData data = graph_[nodes[k]];
    Stay& one = result[k];
    one.node = nodes[k];
    one.switches = is_switch(nodes[k]);
    if (data.op == Op::time || data.op == Op::pre) one.stays = false;
    if (data.op == Op::mode) one.stays = of_time(Relation(model_.relations[at(data.index)]));
    if (data.op == Op::variable && !variable(data.index).is_parameter() && !discrete_.contains(data.index)) {
      const Node definition = data.order == 0 ? staying_definition(data.index) : no_node;
      one.stays = definition != no_node;
      if (one.stays) {
        const std::vector<Node> parts = graph_.below(definition);
        one.switches = std::any_of(parts.begin(), parts.end(), [&](Node part) { return is_switch(part); });
      }
    }
    for (int i = 0; i < Graph::operands(data); ++i) {
      const Stay& operand = result[place.at(data.operand[i])];
      one.stays = one.stays && operand.stays;
      one.switches = one.switches || operand.switches;
    }
  }
  return result;
}

/// An expression that stays, in terms of parameters, discrete variables and relations.
Node Reducer::with_definitions(Node root) {
  return graph_.replace(root, [&](Node node) {
    const NodeData data = graph_[node];
    if (data.op != Op::variable || variable(data.index).is_parameter() || discrete_.contains(data.index))
      return no_node;
    return staying_definition(data.index);
  });
}

/// Is it one of Boolean or whole numbers?
bool Reducer::is_logical(const FlatEquation& equation) {
  const std::array sides = {equation.left, equation.right};
  return std::any_of(sides.begin(), sides.end(), [&](Node side) {
    const NodeData data = graph_[side];
    const bool condition = data.op == Op::mode || data.op == Op::less || data.op == Op::less_equal ||
                           data.op == Op::equal || data.op == Op::conjunction || data.op == Op::disjunction ||
                           data.op == Op::negation;
    return condition || (data.op == Op::variable && variable(data.index).type != Type::real);
  });
}

/// With its choices by the time as discrete variables. One that is all of the other side of an equation of `owner`, a
/// variable, has its name.
Node Reducer::with_held_choices(Node root, Node owner) {
  std::set<Node> held;
  std::vector<Node> conditions;
  for (const Stay& one : stays(root)) {
    const NodeData data = graph_[one.node];
    if (data.op == Op::choice && one.stays && one.switches) held.insert(one.node);
    if (data.op == Op::choice || data.op == Op::negation) conditions.push_back(data.operand[0]);
    if (data.op != Op::conjunction && data.op != Op::disjunction) continue;
    conditions.insert(conditions.end(), {data.operand[0], data.operand[1]});
  }
  if (held.empty()) return root;
  for (const Node logical : graph_.below(std::span<const Node>(conditions))) held.erase(logical);
  return graph_.replace(root, [&](Node node) -> Node {
    if (!held.contains(node)) return no_node;
    const auto [known, is_new] = held_.try_emplace(node, no_node);
    if (is_new) {
      const NodeData data = graph_[owner];
      const bool owned = node == root && data.op == Op::variable && data.order == 0;
      const std::string name = owned ? variable(data.index).name : std::to_string(held_.size());
      known->second = graph_.variable(made_discrete("choice: " + name, Type::real));
      const Node choice = with_definitions(node);
      choices_[known->second] = choice;
      model_.flat.discrete_equations.push_back({known->second, choice, {}, ""});
    }
    return known->second;
  });
}

/// With what these discrete variables are.
Node Reducer::with_choices(Node root) {
  if (choices_.empty()) return root;
  return graph_.replace(root, [&](Node node) {
    const auto found = choices_.find(node);
    return found == choices_.end() ? no_node : found->second;
  });
}

}  // namespace manyfold::modelica
