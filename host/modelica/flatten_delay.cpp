// delay(u, T): no instance keeps its past, but what follows from the time alone is known at any time.
#include <algorithm>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"

namespace manyfold::modelica {
namespace {

/// Equations that a delayed quantity is followed through.
constexpr int deepest_chain = 100;

}  // namespace

/// A variable of its own, whose equation is made when all others are known.
Value Flattener::delayed(const Expression& expression, const Scope& scope) {
  if (expression.operands.size() < 2) fail(expression.place, "delay takes an expression and a time");
  Value value = evaluate(*expression.operands[0], scope);
  if (!value.is_numeric()) fail(expression.place, fmt::format("delay takes numbers, found {}", shape_text(value)));
  const Node by = number_of(*expression.operands[1], scope);
  assert_that(graph_.relation(Op::less_equal, graph_.number(0.0), by, true), "the time of a delay is negative",
              expression.place);
  const auto is_constant = [&](Node leaf) {
    const NodeData& data = graph_[leaf];
    if (data.op == Op::variable) return model_.variables[static_cast<std::size_t>(data.index)].is_parameter();
    return data.op == Op::number || Graph::operands(data) > 0;
  };
  for (Node& item : value.items) {
    const std::vector<Node> parts = graph_.below(item);
    if (std::all_of(parts.begin(), parts.end(), is_constant)) continue;
    FlatVariable variable;
    variable.name = fmt::format("delay {}", delays_.size() + 1);
    variable.place = expression.place;
    variable.made = true;
    const auto index = static_cast<int>(model_.variables.size());
    delays_.push_back({index, item, by, expression.place});
    item = graph_.variable(index);
    model_.variables.push_back(variable);
    instance_of_.push_back(-1);
  }
  return value;
}

/// `root` with variables replaced by what equations x = ... say of them.
Node Flattener::followed(Node root, int depth) {
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op != Op::variable || data.order > 0 || depth == deepest_chain) return no_node;
    const auto found = definitions_.find(data.index);
    if (found == definitions_.end()) return no_node;
    // A variable does not follow from itself.
    const Node definition = found->second;
    definitions_.erase(data.index);
    const Node value = followed(definition, depth + 1);
    definitions_[data.index] = value;
    return value;
  });
}

/// Before the start plus T, the value of the start; later that of the time T ago.
void Flattener::finish_delays() {
  if (delays_.empty()) return;
  for (const FlatEquation& equation : model_.equations) {
    const NodeData left = graph_[equation.left];
    if (left.op == Op::variable && left.order == 0) definitions_.try_emplace(left.index, equation.right);
  }
  for (std::size_t k = 0; k < model_.variables.size(); ++k) {
    const FlatVariable& variable = model_.variables[k];
    const bool defined = variable.binding != no_node && !variable.is_parameter();
    if (defined) definitions_.try_emplace(static_cast<int>(k), variable.binding);
  }
  const auto found = model_.experiment.find("StartTime");
  const Node begin = graph_.number(found == model_.experiment.end() ? 0.0 : found->second);
  for (const Delay& delay : delays_) {
    guarded([&] {
      const Node value = followed(delay.value, 0);
      check_delayed(value, delay.place);
      const auto at = [&](Node time) {
        return graph_.replace(value, [&](Node node) { return graph_[node].op == Op::time ? time : no_node; });
      };
      const Node early = graph_.relation(Op::less_equal, graph_.time(), graph_.add(begin, delay.by));
      const Node result = graph_.choice(early, at(begin), at(graph_.subtract(graph_.time(), delay.by)));
      definitions_[delay.variable] = result;
      const Node variable = graph_.variable(delay.variable);
      model_.equations.push_back(
          {variable, result, delay.place, model_.variables[static_cast<std::size_t>(delay.variable)].name});
    });
  }
}

/// Refuses what does not follow from the time alone.
void Flattener::check_delayed(Node value, Place place) {
  for (const Node node : graph_.below(value)) {
    const NodeData data = graph_[node];
    const bool event = data.op == Op::pre || data.op == Op::sample || data.op == Op::edge || data.op == Op::initial;
    const bool variable = data.op == Op::variable || data.op == Op::pre;
    if (variable && model_.variables[static_cast<std::size_t>(data.index)].is_parameter()) continue;
    if (!variable && !event) continue;
    const bool made = variable && model_.variables[static_cast<std::size_t>(data.index)].made;
    const std::string what = made ? "a delay itself"
                             : variable
                                 ? fmt::format("'{}'", model_.variables[static_cast<std::size_t>(data.index)].name)
                                 : "an event";
    fail(place,
         fmt::format("what is delayed depends on {}, and not on the time alone: such delays are not supported, "
                     "for no instance keeps its past; a chain of n first-order lags, T / n * der(z[k]) = z[k - 1] "
                     "- z[k], may take their place",
                     what));
  }
}

}  // namespace manyfold::modelica
