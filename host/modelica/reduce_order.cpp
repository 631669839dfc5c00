// In which order equations are solved, and for what: blocks, tearing, closed forms of small linear blocks.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Larger linear blocks have more operations in closed form than in Newton's method.
constexpr std::size_t largest_closed_form = 4;
/// For which gamma h the pivots of a stage are looked at.
constexpr double stage_steps[] = {1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6};
/// Of conditions in a block: all 2^n cases are looked at.
constexpr std::size_t most_switches = 8;

}  // namespace

std::vector<Node> Reducer::quantities_in(Node root) {
  std::vector<Node> result;
  for (const Node node : graph_.below(root)) {
    const NodeData data = graph_[node];
    if (data.op == Op::variable && is_unknown(data.index)) result.push_back(node);
  }
  return result;
}

bool Reducer::contains(Node root, Node quantity) {
  const std::vector<Node> all = graph_.below(root);
  return std::binary_search(all.begin(), all.end(), quantity);
}

Incidence Reducer::incidence_of(const std::vector<Equation>& equations, const std::vector<Node>& unknowns) {
  std::unordered_map<Node, int> number;
  for (std::size_t k = 0; k < unknowns.size(); ++k) number[unknowns[k]] = static_cast<int>(k);
  Incidence result(equations.size());
  for (std::size_t i = 0; i < equations.size(); ++i) {
    for (const Node node : graph_.below(equations[i].residual)) {
      if (const auto found = number.find(node); found != number.end()) result[i].push_back(found->second);
    }
  }
  return result;
}

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

/// value := what the equation gives for the quantity, if it is linear in it.
bool Reducer::solve_for(const Equation& equation, Node quantity, Node& value) {
  if (equation.left == quantity && !contains(equation.right, quantity)) {
    value = equation.right;
    return true;
  }
  if (equation.right == quantity && !contains(equation.left, quantity)) {
    value = equation.left;
    return true;
  }
  const Node slope = graph_.partial(equation.residual, quantity);
  if (graph_.is_number(slope, 0.0) || contains(slope, quantity)) return false;
  std::unordered_map<Node, Node> done;
  const Node zero = graph_.number(0.0);
  const Node rest = graph_.replace(
      equation.residual, [&](Node node) { return node == quantity ? zero : no_node; }, done);
  const NodeData factor = graph_[slope];
  if (graph_.is_number(slope, -1.0)) {
    value = rest;
  } else if (factor.op == Op::negate) {
    value = graph_.divide(rest, factor.operand[0]);
  } else {
    value = graph_.negate(graph_.divide(rest, slope));
  }
  return true;
}

/// Conditions that stand for what they are.
Node Reducer::with_known_conditions(Node root) {
  std::unordered_map<Node, Node> done;
  return graph_.replace(
      root,
      [&](Node node) {
        const auto found = conditions_.find(node);
        return found == conditions_.end() ? no_node : found->second;
      },
      done);
}

/// Modes and Boolean variables below `root`, beside those that are known already. False if there are too many, or if it
/// depends on anything else but parameters.
bool Reducer::add_switches(Node root, std::vector<Node>& switches) {
  for (const Node node : graph_.below(root)) {
    const NodeData data = graph_[node];
    const bool held =
        data.op == Op::variable && discrete_.contains(data.index) && variable(data.index).type == Type::boolean;
    if (data.op == Op::mode || held) {
      if (std::find(switches.begin(), switches.end(), node) == switches.end()) switches.push_back(node);
    } else if (Graph::operands(data) == 0 && data.op != Op::number && data.op != Op::stage_step &&
               data.op != Op::stage_rate && !(data.op == Op::variable && is_given(data.index))) {
      return false;
    }
  }
  return switches.size() <= most_switches;
}

/// The value with default parameters for every combination of the switches; in a stage that of the step at which it is
/// least, and zero where its sign depends on the step.
std::vector<double> Reducer::in_all_cases(Node root, const std::vector<Node>& switches) {
  const auto value = [&](std::size_t number, double step) {
    return graph_.evaluate(root, [&](Node leaf) {
      if (graph_[leaf].op == Op::stage_step) return step;
      if (graph_[leaf].op == Op::stage_rate) return 1.0 / step;
      const auto at_switch = std::find(switches.begin(), switches.end(), leaf);
      if (at_switch == switches.end()) return default_value(leaf);
      return (number >> static_cast<std::size_t>(at_switch - switches.begin()) & 1U) != 0 ? 1.0 : 0.0;
    });
  };
  std::vector<double> result;
  for (std::size_t number = 0; number < std::size_t{1} << switches.size(); ++number) {
    double least = value(number, 1.0);
    for (std::size_t k = 0; of_stage_ && k < std::size(stage_steps); ++k) {
      const double other = value(number, stage_steps[k]);
      if (!(other * least > 0.0)) least = 0.0;
      if (std::abs(other) < std::abs(least)) least = other;
    }
    result.push_back(least);
  }
  return result;
}

/// Can the equation be solved for the quantity wherever the solution goes?
bool Reducer::safely_solvable(const Equation& equation, Node quantity) {
  const bool explicit_form = (equation.left == quantity && !contains(equation.right, quantity)) ||
                             (equation.right == quantity && !contains(equation.left, quantity));
  if (explicit_form) return true;
  const Node slope = with_known_conditions(graph_.partial(equation.residual, quantity));
  std::vector<Node> switches;
  if (!add_switches(slope, switches)) return false;
  const std::vector<double> values = in_all_cases(slope, switches);
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value) && value != 0.0; });
}

void Reducer::order() {
  std::vector<Node> unknowns;
  const std::set<Node> states(model_.states.begin(), model_.states.end());
  std::set<Node> seen;
  const auto add = [&](Node quantity) {
    if (!states.contains(quantity) && seen.insert(quantity).second) unknowns.push_back(quantity);
  };
  for (const Node state : model_.states) add(graph_.variable(graph_[state].index, graph_[state].order + 1));
  for (const Equation& equation : model_.equations) {
    for (const Node quantity : quantities_in(equation.residual)) add(quantity);
  }
  std::vector<int> preference(unknowns.size());
  std::iota(preference.begin(), preference.end(), 0);
  order_blocks(model_.equations, unknowns, preference, model_.index_kept, model_.blocks, model_.torn, model_.residuals);
  if (!model_.index_kept) {
    model_.index_of_torn.assign(model_.torn.size(), 1);
    return;
  }
  const int highest = model_.structural_index - 1;
  for (const Node quantity : model_.torn) {
    int most = 0;
    for (std::size_t j = 0; j < model_.offset_names.size(); ++j) {
      if (model_.offset_names[j] == variable(graph_[quantity].index).name) most = model_.offsets_d[j];
    }
    model_.index_of_torn.push_back(std::max(1, highest - most + graph_[quantity].order + 1));
  }
}

void Reducer::order_blocks(const std::vector<Equation>& equations, const std::vector<Node>& unknowns,
                           const std::vector<int>& preference, bool may_be_partial, std::vector<Block>& result,
                           std::vector<Node>& torn, std::vector<int>& residuals) {
  conditions_.clear();
  const Incidence incidence = incidence_of(equations, unknowns);
  const Matching matching = match(incidence, static_cast<int>(unknowns.size()), preference);
  for (std::size_t j = 0; j < unknowns.size(); ++j) {
    if (matching.equation_of[j] >= 0) continue;
    if (!may_be_partial) {
      diagnostics_.error(0,
                         fmt::format("no equation is left for {}: the model is singular", quantity_name(unknowns[j])));
      return;
    }
    torn.push_back(unknowns[j]);
  }
  for (std::size_t i = 0; i < equations.size(); ++i) {
    if (matching.unknown_of[i] < 0) residuals.push_back(static_cast<int>(i));
  }
  for (const std::vector<int>& members : blocks(incidence, matching)) {
    std::vector<int> inside;
    for (const int i : members) inside.push_back(matching.unknown_of[at(i)]);
    Block block = tear_block(equations, members, inside, incidence, unknowns);
    for (const Node quantity : block.torn) {
      if (of_stage_ || variable(graph_[quantity].index).type == Type::real) continue;
      diagnostics_.error(equations[at(members[0])].place,
                         fmt::format("'{}' is no real number, and no equation gives it without the others of a loop of "
                                     "{} equations",
                                     quantity_name(quantity), members.size()));
    }
    for (const Step& step : block.steps) {
      const Node value = with_known_conditions(step.value);
      std::vector<Node> switches;
      if (variable(graph_[step.quantity].index).type == Type::boolean && add_switches(value, switches)) {
        conditions_[step.quantity] = value;
      }
    }
    torn.insert(torn.end(), block.torn.begin(), block.torn.end());
    residuals.insert(residuals.end(), block.residuals.begin(), block.residuals.end());
    result.push_back(std::move(block));
  }
}

Block Reducer::tear_block(const std::vector<Equation>& equations, const std::vector<int>& members,
                          const std::vector<int>& inside, const Incidence& incidence,
                          const std::vector<Node>& unknowns) {
  Block block;
  block.equations = members;
  for (const int j : inside) block.quantities.push_back(unknowns[at(j)]);
  if (members.size() == 1) {
    Node value = no_node;
    if (solve_for(equations[at(members[0])], block.quantities[0], value)) {
      block.steps.push_back({block.quantities[0], value, members[0]});
    } else {
      block.torn = block.quantities;
      block.residuals = members;
    }
    return block;
  }
  std::map<std::pair<int, int>, bool> known;
  const auto solvable = [&](int i, int j) {
    const auto [entry, added] = known.try_emplace({i, j}, false);
    if (added) entry->second = safely_solvable(equations[at(i)], unknowns[at(j)]);
    return entry->second;
  };
  // Whole numbers and conditions cannot be guessed; of the others, states' derivatives are better not. What the
  // integrator has is known well before a stage.
  const auto weight = [&](int j) {
    const NodeData data = graph_[unknowns[at(j)]];
    if (variable(data.index).type != Type::real) return 0;
    return known_before_.contains(unknowns[at(j)]) ? 3 : data.order > 0 ? 1 : 2;
  };
  const Tearing tearing = tear(members, inside, incidence, solvable, weight);
  for (const int j : tearing.torn) block.torn.push_back(unknowns[at(j)]);
  for (const Tearing::Step& step : tearing.steps) {
    Step one{unknowns[at(step.unknown)], no_node, step.equation};
    solve_for(equations[at(step.equation)], one.quantity, one.value);
    block.steps.push_back(one);
  }
  block.residuals = tearing.residuals;
  solve_linear(equations, block);
  return block;
}

/// A block that is linear in its torn unknowns, with a matrix of parameters and switches, is solved in closed form.
bool Reducer::solve_linear(const std::vector<Equation>& equations, Block& block) {
  const std::size_t n = block.torn.size();
  if (n == 0 || n > largest_closed_form) return false;
  // The residuals as functions of the torn unknowns alone.
  std::unordered_map<Node, Node> inner = conditions_;
  const auto substituted = [&](Node root) {
    std::unordered_map<Node, Node> done;
    return graph_.replace(
        root,
        [&](Node node) {
          const auto found = inner.find(node);
          return found == inner.end() ? no_node : found->second;
        },
        done);
  };
  for (const Step& step : block.steps) {
    inner[step.quantity] = substituted(step.value);
    // Substitution may double what is shared: not for large blocks.
    if (graph_.below(inner[step.quantity]).size() > 2000) return false;
  }
  std::vector<std::vector<Node>> matrix(n, std::vector<Node>(n + 1));
  std::vector<Node> switches;
  for (std::size_t i = 0; i < n; ++i) {
    const Node residual = substituted(equations[at(block.residuals[i])].residual);
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i][j] = graph_.partial(residual, block.torn[j]);
      if (!add_switches(matrix[i][j], switches)) return false;
    }
    std::unordered_map<Node, Node> at_zero;
    const Node zero = graph_.number(0.0);
    const Node rest = graph_.replace(
        residual,
        [&](Node node) {
          return std::find(block.torn.begin(), block.torn.end(), node) != block.torn.end() ? zero : no_node;
        },
        at_zero);
    matrix[i][n] = graph_.negate(rest);
  }
  if (!eliminate(matrix, switches)) {
    if (switches.empty() && !of_stage_) report_singular_loop(equations, block);
    return false;
  }
  std::vector<Step> closed;
  for (std::size_t k = n; k-- > 0;) {
    Node sum = matrix[k][n];
    for (std::size_t j = k + 1; j < n; ++j) {
      sum = graph_.subtract(sum, graph_.multiply(matrix[k][j], block.torn[j]));
    }
    closed.push_back({block.torn[k], graph_.divide(sum, matrix[k][k]), block.residuals[k]});
  }
  block.steps.insert(block.steps.begin(), closed.begin(), closed.end());
  block.torn.clear();
  block.residuals.clear();
  return true;
}

void Reducer::warn(Place place, const std::string& message) {
  diagnostics_.warn(place, message);
  model_.cautions.push_back(message);
}

/// Are there loops that are solved by iteration and decide their own switches? The integrator looks at such switches
/// after the loop is solved, again and again until they agree: kinks do better without.
bool Reducer::has_switched_loops() {
  std::unordered_map<Node, std::set<int>> relations_of;  // of Boolean quantities, say, that earlier blocks give
  const auto relations_in = [&](Node root) {
    std::set<int> result;
    for (const Node node : graph_.below(root)) {
      if (graph_[node].op == Op::mode) result.insert(graph_[node].index);
      if (const auto found = relations_of.find(node); found != relations_of.end()) {
        result.insert(found->second.begin(), found->second.end());
      }
    }
    return result;
  };
  for (const Block& block : model_.blocks) {
    const std::set<Node> unknowns(block.quantities.begin(), block.quantities.end());
    const auto depends_on_block = [&](Node side) {
      const auto nodes = graph_.below(side);
      return std::any_of(nodes.begin(), nodes.end(), [&](Node node) { return unknowns.contains(node); });
    };
    for (std::size_t k = 0; !block.torn.empty() && k < block.equations.size(); ++k) {
      for (const int index : relations_in(model_.equations[at(block.equations[k])].residual)) {
        const Relation& relation = model_.relations[at(index)];
        if (depends_on_block(relation.left) || depends_on_block(relation.right)) return true;
      }
    }
    for (const Step& step : block.steps) relations_of[step.quantity] = relations_in(step.value);
  }
  return false;
}

void Reducer::report_singular_loop(const std::vector<Equation>& equations, const Block& block) {
  std::string text = "these equations are singular with the default parameters: they do not determine ";
  for (std::size_t k = 0; k < block.quantities.size(); ++k) {
    text += fmt::format("{}{}", k > 0 ? ", " : "", quantity_name(block.quantities[k]));
  }
  for (const int i : block.equations) {
    const Equation& equation = equations[at(i)];
    text += fmt::format("\n    line {}: {}", diagnostics_.position(equation.place).line, equation.text);
  }
  diagnostics_.error(equations[at(block.equations[0])].place, text);
}

/// Gauss, with pivots that are not zero in any case of the switches, with default parameters.
bool Reducer::eliminate(std::vector<std::vector<Node>>& matrix, const std::vector<Node>& switches) {
  const std::size_t n = matrix.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    double best = 0.0;
    for (std::size_t i = k; i < n; ++i) {
      const std::vector<double> values = in_all_cases(matrix[i][k], switches);
      double least = std::abs(values[0]);
      for (const double value : values) least = std::isfinite(value) ? std::min(least, std::abs(value)) : 0.0;
      if (least > best) {
        best = least;
        pivot = i;
      }
    }
    if (best == 0.0) return false;
    std::swap(matrix[k], matrix[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      if (graph_.is_number(matrix[i][k], 0.0)) continue;
      const Node factor = graph_.divide(matrix[i][k], matrix[k][k]);
      for (std::size_t j = k + 1; j <= n; ++j) {
        matrix[i][j] = graph_.subtract(matrix[i][j], graph_.multiply(factor, matrix[k][j]));
      }
    }
  }
  return true;
}

}  // namespace manyfold::modelica
