// What an expression of parameters and switches is in every case of the switches, with default parameters: decides what
// equations can be solved for, wherever the solution goes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// For which gamma h the pivots of a stage are looked at.
constexpr double stage_steps[] = {1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6};
/// More are not looked at.
constexpr std::size_t most_cases = 4096;
/// A switch may change the slope of a quantity that is solved for by this factor at most: the ideal diode's parameter
/// is a voltage or a current, and divided by the resistance of a closed one the rounding of voltages would be its sign.
constexpr double most_varying_slope = 100.0;

/// The place of a leaf among the nodes, and the values that it may have.
struct Switch {
  std::size_t place;
  std::vector<double> values;
};

/// What the leaf is compared with, and one number more.
std::vector<double> compared_values(const Graph& graph, const std::vector<Node>& nodes, Node leaf) {
  std::vector<double> result;
  for (const Node node : nodes) {
    const NodeData& data = graph[node];
    if (data.op != Op::equal && data.op != Op::less && data.op != Op::less_equal) continue;
    for (const auto& [one, other] : {std::pair(data.operand[0], data.operand[1]), {data.operand[1], data.operand[0]}}) {
      if (one == leaf && graph.is_number(other)) result.push_back(graph.value(other));
    }
  }
  result.push_back(result.empty() ? 0.0 : *std::max_element(result.begin(), result.end()) + 1.0);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

/// Does it follow from parameters alone, and what is it with their defaults?
bool Reducer::known_from_parameters(Node root, double& value) {
  bool known = true;
  value = graph_.evaluate(root, [&](Node leaf) {
    const NodeData data = graph_[leaf];
    if (data.op != Op::variable || !is_given(data.index)) {
      known = false;
      return 0.0;
    }
    return default_value(leaf);
  });
  return known;
}

/// Of a parameter that is free.
double Reducer::default_value(Node leaf) {
  const FlatVariable& one = variable(graph_[leaf].index);
  if (one.binding != no_node && graph_.is_number(one.binding)) return graph_.value(one.binding);
  if (one.start != no_node && graph_.is_number(one.start)) return graph_.value(one.start);
  return 0.0;
}

/// What a switch may be: a mode, or a Boolean or whole-numbered variable. Empty for other leaves.
std::vector<double> Reducer::values_of_switch(const std::vector<Node>& nodes, Node leaf) {
  const NodeData data = graph_[leaf];
  if (data.op == Op::mode) return {0.0, 1.0};
  if ((data.op != Op::variable || data.order > 0) && data.op != Op::pre) return {};
  const Type type = variable(data.index).type;
  if (type == Type::boolean) return {0.0, 1.0};
  if (type == Type::integer || type == Type::enumeration) return compared_values(graph_, nodes, leaf);
  return {};
}

/// The value in every case of the switches below `root`; in a stage that of the step at which it is least, and zero
/// where its sign depends on the step. Empty if the cases are too many, or if it depends on anything else but
/// parameters.
std::vector<double> Reducer::in_all_cases(Node root) {
  const std::vector<Node> nodes = graph_.below(root);
  std::unordered_map<Node, std::size_t> place;
  for (const Node node : nodes) place.emplace(node, place.size());
  std::vector<double> value(nodes.size());
  std::vector<Switch> switches;
  std::size_t cases = 1;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const NodeData data = graph_[nodes[k]];
    if (Graph::operands(data) > 0 || data.op == Op::stage_step || data.op == Op::stage_rate) continue;
    if (data.op == Op::number) {
      value[k] = data.number;
    } else if (data.op == Op::variable && is_given(data.index)) {
      value[k] = default_value(nodes[k]);
    } else {
      switches.push_back({k, values_of_switch(nodes, nodes[k])});
      cases *= switches.back().values.size();
      if (cases == 0 || cases > most_cases) return {};
    }
  }
  const auto with_step = [&](double step) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const NodeData data = graph_[nodes[k]];
      double operand[3] = {0.0, 0.0, 0.0};
      for (int i = 0; i < Graph::operands(data); ++i) operand[i] = value[place.at(data.operand[i])];
      if (data.op == Op::stage_step) value[k] = step;
      if (data.op == Op::stage_rate) value[k] = 1.0 / step;
      if (Graph::operands(data) > 0) value[k] = Graph::compute(data, operand[0], operand[1], operand[2]);
    }
    return value[place.at(root)];
  };
  std::vector<double> result;
  for (std::size_t number = 0; number < cases; ++number) {
    std::size_t rest = number;
    for (const Switch& one : switches) {
      value[one.place] = one.values[rest % one.values.size()];
      rest /= one.values.size();
    }
    double least = with_step(1.0);
    for (std::size_t k = 0; of_stage_ && k < std::size(stage_steps); ++k) {
      const double other = with_step(stage_steps[k]);
      if (!(other * least > 0.0)) least = 0.0;
      if (std::abs(other) < std::abs(least)) least = other;
    }
    result.push_back(least);
  }
  return result;
}

/// Conditions that stand for what they are.
Node Reducer::with_known_conditions(Node root) {
  return graph_.replace(root, [&](Node node) {
    const auto found = conditions_.find(node);
    return found == conditions_.end() ? no_node : found->second;
  });
}

/// Is it finite and not zero in any case, and nowhere so many times larger than elsewhere? Where Boolean variables
/// exclude each other, what they follow from tells.
bool Reducer::never_zero(Node root, double largest_ratio) {
  root = with_choices(root);
  for (const Node expression : {root, with_known_conditions(root)}) {
    double least = std::numeric_limits<double>::infinity();
    double largest = 0.0;
    for (const double value : in_all_cases(expression)) {
      least = std::isfinite(value) ? std::min(least, std::abs(value)) : 0.0;
      largest = std::max(largest, std::abs(value));
    }
    if (least > 0.0 && largest > 0.0 && largest <= largest_ratio * least) return true;
  }
  return false;
}

/// Can the equation be solved for the quantity wherever the solution goes?
Solvable Reducer::safely_solvable(const Equation& equation, Node quantity) {
  const bool explicit_form = (equation.left == quantity && !contains(equation.right, quantity)) ||
                             (equation.right == quantity && !contains(equation.left, quantity));
  if (explicit_form) return Solvable::always;
  if (is_decided_by(equation.residual, {quantity})) return Solvable::no;
  const Node slope = graph_.partial(equation.residual, quantity);
  // y' of a stage as (y - base) / (gamma h) has the rounding errors of y, divided by h. Velocities and accelerations
  // that follow from positions would have them twice.
  const bool divides_by_step = of_stage_ && contains(slope, graph_.stage(Op::stage_step));
  if (divides_by_step && keeps_steps_whole_) return Solvable::no;
  if (!never_zero(slope, most_varying_slope)) return Solvable::no;
  const std::vector<Node> nodes = graph_.below(slope);
  const bool of_parameters =
      std::any_of(nodes.begin(), nodes.end(), [&](Node node) { return graph_[node].op == Op::variable; });
  return of_parameters || divides_by_step ? Solvable::by_parameters : Solvable::always;
}

}  // namespace manyfold::modelica
