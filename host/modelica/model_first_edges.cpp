// Conditions of when clauses that become true right at the start: of h < 0 where h begins with 0 and falls. A relation
// is what it is about to be from the start on. The language evaluates it as it is there, and has its event just
// afterwards.
#include <algorithm>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Of Booleans that follow from each other.
constexpr int most_equations = 20;

}  // namespace

/// What gives a Boolean between events; no_node: nothing, or a when clause.
Node ModelCode::equation_of_boolean(int index) {
  if (model_.flat.variables[at(index)].type != Type::boolean) return no_node;
  const Node variable = graph_.variable(index);
  if (const auto step = step_of_.find(variable); step != step_of_.end()) return steps_[step->second].value;
  for (const FlatEquation& equation : model_.flat.discrete_equations) {
    if (equation.left != variable) continue;
    const std::vector<Node> nodes = graph_.below(equation.right);
    const bool clause = std::ranges::any_of(nodes, [&](Node node) { return graph_[node].op == Op::edge; });
    return clause ? no_node : equation.right;
  }
  return no_node;
}

/// Relation k as it is at the start; no_node: it is not about to become another one, or is scheduled.
Node ModelCode::plain_at_start(int k) {
  const auto [entry, added] = plain_at_start_.try_emplace(k, no_node);
  if (!added) return entry->second;
  const Relation& relation = model_.relations[at(k)];
  const Node plain = graph_.relation(relation.op, relation.left, relation.right, true);
  Node time = no_node;
  bool rises = true;
  if (!scheduled_at(relation, time, rises) && at_start_of(relation) != plain) entry->second = plain;
  return entry->second;
}

/// The condition as it is at the start, by relations as they are there and by what Booleans are with these. `differs`:
/// some relation may be about to become another one.
Node ModelCode::as_it_starts(Node condition, int depth, bool& differs) {
  return graph_.replace(condition, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op == Op::mode) {
      const Node plain = plain_at_start(data.index);
      differs = differs || plain != no_node;
      return plain;
    }
    if ((data.op != Op::variable && data.op != Op::pre) || data.order > 0 || depth == most_equations) return no_node;
    const Node equation = equation_of_boolean(data.index);
    return equation == no_node ? no_node : as_it_starts(equation, depth + 1, differs);
  });
}

void ModelCode::find_first_edges() {
  for (std::size_t k = 0; k < model_.flat.conditions.size(); ++k) {
    const Node condition = model_.flat.conditions[k];
    if (acts_at_start(model_.flat, condition)) continue;
    bool differs = false;
    const Node before = as_it_starts(condition, 0, differs);
    if (!differs) continue;
    // Values before the event are those of the start.
    const Node after = graph_.replace(condition, [&](Node node) -> Node {
      const NodeData data = graph_[node];
      if (data.op != Op::pre || equation_of_boolean(data.index) == no_node) return no_node;
      return as_it_starts(graph_.variable(data.index), 0, differs);
    });
    const Node due = graph_.conjunction(after, graph_.negation(before));
    first_edges_.push_back({static_cast<int>(k), due, discrete_count_++});
  }
}

/// Each of them is due once, by an event that follows the start at once.
void ModelCode::add_first_edges() {
  if (first_edges_.empty()) return;
  Event event;
  event.name = "conditions that become true at the start";
  event.direction = 1;
  event.of_start = true;
  event_of_first_edges_ = static_cast<int>(events_.size());
  add_event(event);
}

void ModelCode::first_edges_now(Body& pass, bool initial) {
  for (const FirstEdge& edge : first_edges_) {
    if (!initial) {
      pass.line(fmt::format("d[{}] = 0.0;", edge.place));
      continue;
    }
    refresh(pass, edge.due);
    pass.line(fmt::format("d[{}] = select({}, 1.0, 0.0);", edge.place, pass.mask(edge.due)));
  }
}

/// The root function of their event.
std::string ModelCode::root_of_first_edges() const {
  const std::size_t first = parameters_.size() + derived_.size();
  std::string any;
  for (const FirstEdge& edge : first_edges_) {
    any += fmt::format("{}(p[{}] > 0.5)", any.empty() ? "" : " | ", first + at(edge.place));
  }
  return fmt::format("g[{}] = select({}, 1.0, -1.0);", event_of_first_edges_, any);
}

}  // namespace manyfold::modelica
