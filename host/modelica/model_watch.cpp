// Where relations matter. A clutch that is free need not compare the torque that would hold it with a limit. Both are
// zero there but for rounding, and events of their relation would follow each other for ever.
#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Conditions of more nodes cost more than the events that they spare.
constexpr std::size_t largest_condition = 60;

}  // namespace

/// Which nodes below `root` stay between events: those of parameters, discrete variables and relations that are
/// `watched` everywhere.
void ModelCode::note_what_stays(Node root, const std::vector<bool>& watched, std::unordered_map<Node, bool>& stays) {
  if (stays.contains(root)) return;
  for (const Node node : graph_.below(root)) {
    if (stays.contains(node)) continue;
    const NodeData data = graph_[node];
    bool result = data.op != Op::time && data.op != Op::whole_step;
    if (data.op == Op::mode) result = watched[at(data.index)];
    if (data.op == Op::variable || data.op == Op::pre) {
      result = place_of_discrete_.contains(data.index) || place_of_parameter_.contains(data.index);
    }
    for (const Node operand : data.operand) result = result && (operand == no_node || stays.at(operand));
    stays[node] = result;
  }
}

/// The condition as it is between events.
Node ModelCode::between_events(Node condition) {
  return graph_.replace(condition, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op == Op::pre) return graph_.variable(data.index);
    const bool at_events = data.op == Op::initial || data.op == Op::edge || data.op == Op::sample;
    return at_events ? graph_.number(0.0) : no_node;
  });
}

/// Where the value of each relation matters, if those that are `watched` matter everywhere.
std::vector<Node> ModelCode::where_relations_matter(const std::vector<bool>& watched) {
  std::vector<Node> result(model_.relations.size(), graph_.number(0.0));
  std::unordered_map<Node, bool> stays;
  for (const Step& step : steps_) {
    note_what_stays(step.value, watched, stays);
    stays[step.quantity] = stays.at(step.value);
  }
  // A node comes after its operands: the last one first.
  std::map<Node, Node, std::greater<>> open;
  const auto matters = [&](Node node, Node where) {
    if (node == no_node || graph_.is_number(where, 0.0)) return;
    Node& known = open.try_emplace(node, graph_.number(0.0)).first->second;
    known = graph_.disjunction(known, where);
  };
  const auto everywhere = [&](Node node) { matters(node, graph_.number(1.0)); };
  for (const Equation& equation : model_.equations) everywhere(equation.residual);
  for (const Step& step : steps_) everywhere(step.value);
  for (const FlatEquation& equation : model_.flat.discrete_equations) everywhere(equation.right);
  for (const Node condition : model_.flat.conditions) everywhere(condition);
  for (const FlatAssertion& assertion : model_.flat.assertions) everywhere(assertion.condition);
  for (const WholePart& part : model_.whole_parts) everywhere(part.argument);
  for (const FlatAction& action : model_.flat.actions) {
    everywhere(action.guard);
    everywhere(action.value);
  }
  for (const Relation& relation : model_.relations) {
    everywhere(relation.left);
    everywhere(relation.right);
  }
  while (!open.empty()) {
    const auto [node, where] = *open.begin();
    open.erase(open.begin());
    const NodeData data = graph_[node];
    const auto matters_if = [&](Node operand, Node condition, bool holds) {
      note_what_stays(condition, watched, stays);
      if (!stays.at(condition)) return matters(operand, where);
      const Node known = between_events(condition);
      matters(operand, graph_.conjunction(where, holds ? known : graph_.negation(known)));
    };
    if (data.op == Op::mode) {
      result[at(data.index)] = graph_.disjunction(result[at(data.index)], where);
    } else if (data.op == Op::conjunction || data.op == Op::disjunction) {
      matters_if(data.operand[0], data.operand[1], data.op == Op::conjunction);
      matters_if(data.operand[1], data.operand[0], data.op == Op::conjunction);
    } else if (data.op == Op::choice) {
      matters(data.operand[0], where);
      matters_if(data.operand[1], data.operand[0], true);
      matters_if(data.operand[2], data.operand[0], false);
    } else {
      for (const Node operand : data.operand) matters(operand, where);
    }
  }
  return result;
}

/// At events all relations are evaluated. Between events what is discrete stays, and so do the relations by which
/// others matter, unless their own events occur.
void ModelCode::find_watched() {
  const Node always = graph_.number(1.0);
  if (model_.relations.empty()) return;
  std::vector<bool> watched(model_.relations.size(), false);
  for (int round = 0; round < 2; ++round) {
    watched_ = where_relations_matter(watched);
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      const Relation& relation = model_.relations[k];
      const bool plain = slot_of_relation_[k] < 0 || graph_.below(watched_[k]).size() > largest_condition ||
                         depends_on_torn(graph_.subtract(relation.right, relation.left));
      if (plain) watched_[k] = always;
      // One without memory says nothing between events.
      watched[k] = watched_[k] == always && slot_of_relation_[k] >= 0;
    }
  }
}

}  // namespace manyfold::modelica
