// Branches of if that are evaluated where their condition has just ceased to hold: steps look beyond an event before it
// is found.
#include <algorithm>
#include <cmath>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Of branches within branches.
constexpr int deepest_branch = 100;

}  // namespace

/// Is it a root or a power that negative numbers do not have?
bool Reducer::needs_positive(Node node) {
  const NodeData data = graph_[node];
  if (data.op == Op::call) return static_cast<Function>(data.index) == Function::sqrt;
  const bool whole = data.op == Op::power && graph_.is_number(data.operand[1]) &&
                     graph_.value(data.operand[1]) == std::floor(graph_.value(data.operand[1]));
  return data.op == Op::power && !whole;
}

/// `root`, which is evaluated where this relation holds, with b - a in roots of it kept from below zero: of if h > 0
/// then sqrt(2 * g * h), h.
Node Reducer::within_relation(Node root, const NodeData& relation) {
  const Node difference = graph_.subtract(relation.operand[1], relation.operand[0]);
  if (graph_.is_number(difference)) return root;
  const Node kept = graph_.call(Function::max, difference, graph_.number(0.0));
  return graph_.replace(root, [&](Node node) -> Node {
    if (!needs_positive(node)) return no_node;
    const NodeData data = graph_[node];
    const Node base = graph_.replace(data.operand[0], [&](Node part) { return part == difference ? kept : no_node; });
    return base == data.operand[0] ? no_node : graph_.rebuild(data, base, data.operand[1], no_node);
  });
}

/// A branch of `if condition`.
Node Reducer::within_condition(Node root, Node condition, int depth) {
  const NodeData data = graph_[condition];
  if (depth == deepest_branch || data.silent) return root;
  if (data.op == Op::less || data.op == Op::less_equal) return within_relation(root, data);
  const auto both = [&](Node a, Node b) {
    return within_condition(within_condition(root, a, depth + 1), b, depth + 1);
  };
  if (data.op == Op::conjunction) return both(data.operand[0], data.operand[1]);
  if (data.op != Op::negation || graph_[data.operand[0]].op != Op::disjunction) return root;
  const NodeData either = graph_[data.operand[0]];
  return both(graph_.negation(either.operand[0]), graph_.negation(either.operand[1]));
}

/// `root` with its branches of relations that are events kept within their domain, as far as the budget goes.
Node Reducer::within_domain(Node root, int depth) {
  if (const auto known = in_domain_.find(root); known != in_domain_.end()) return known->second;
  const std::vector<Node> all = graph_.below(root);
  if (depth == deepest_branch || all.size() > domain_budget_) return root;
  domain_budget_ -= all.size();
  Node result = root;
  if (std::any_of(all.begin(), all.end(), [&](Node node) { return needs_positive(node); })) {
    result = graph_.replace(root, [&](Node node) -> Node {
      const NodeData data = graph_[node];
      if (data.op != Op::choice) return no_node;
      const auto branch = [&](Node one, Node holds) {
        return within_domain(within_condition(one, holds, 0), depth + 1);
      };
      return graph_.choice(data.operand[0], branch(data.operand[1], data.operand[0]),
                           branch(data.operand[2], graph_.negation(data.operand[0])));
    });
  }
  in_domain_[root] = result;
  return result;
}

}  // namespace manyfold::modelica
