// The initial system: the equations with their derivatives, initial equations, and start values where these leave a
// choice.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// By which the sides of an initial equation may differ that follows from the others, relative to 1 and to them.
constexpr double start_tolerance = 1e-6;

}  // namespace

bool acts_at_start(const FlatModel& model, Node condition) {
  const Graph& graph = model.graph;
  const std::vector<Node> direct = graph.below(condition);
  if (std::any_of(direct.begin(), direct.end(), [&](Node node) { return graph[node].op == Op::initial; })) return true;
  std::vector<Node> open = {condition};
  std::set<Node> seen;
  while (!open.empty()) {
    const Node root = open.back();
    open.pop_back();
    if (!seen.insert(root).second) continue;
    for (const Node node : graph.below(root)) {
      if (graph[node].op == Op::sample) return true;
      for (const FlatEquation& equation : model.discrete_equations) {
        if (equation.left == node) open.push_back(equation.right);
      }
    }
  }
  return false;
}

/// A discrete variable at the start: by its equation, from start values before it.
Node Reducer::discrete_at_start(int index) {
  for (const WholePart& part : model_.whole_parts) {
    if (part.variable == index) return graph_.call(Function::floor, at_start(part.argument));
  }
  const Node before = start_of_variable(graph_, variable(index));
  const Node quantity = graph_.variable(index);
  const auto& equations = model_.flat.discrete_equations;
  const auto own =
      std::find_if(equations.begin(), equations.end(), [&](const auto& one) { return one.left == quantity; });
  // In a circle the start value begins.
  if (own == equations.end() || !on_the_way_.insert(index).second) return before;
  const Node value = at_start(own->right);
  on_the_way_.erase(index);
  return value;
}

/// As it is at the start: relations as they stand there, what changes at events by its equations.
Node Reducer::at_start(Node root) {
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op == Op::mode) {
      const Relation relation = model_.relations[at(data.index)];
      return graph_.relation(relation.op, at_start(relation.left), at_start(relation.right), true);
    }
    if (data.op == Op::initial) return graph_.number(1.0);
    if (data.op == Op::sample) {
      return graph_.relation(Op::equal, at_start(model_.flat.clocks[at(data.index)].start), graph_.time(), true);
    }
    if (data.op == Op::edge) {
      const Node condition = model_.flat.conditions[at(data.index)];
      return acts_at_start(model_.flat, condition) ? at_start(condition) : graph_.number(0.0);
    }
    if (data.op == Op::variable) return discrete_.contains(data.index) ? discrete_at_start(data.index) : no_node;
    if (data.op != Op::pre) return no_node;
    if (!discrete_.contains(data.index)) return graph_.variable(data.index);
    return start_of_variable(graph_, variable(data.index));
  });
}

/// The right side goes from the simplified one to what it is.
void Reducer::simplify(Equation& equation) {
  const Node lambda = graph_.event(Op::lambda);
  const Node one = graph_.number(1.0);
  const Node simplified = at_start(equation.simplified);
  const Node between =
      graph_.add(graph_.multiply(lambda, equation.right), graph_.multiply(graph_.subtract(one, lambda), simplified));
  // At either end the other side need not be a number.
  const auto is = [&](double end) { return graph_.relation(Op::equal, lambda, graph_.number(end), true); };
  equation.right = graph_.choice(is(1.0), equation.right, graph_.choice(is(0.0), simplified, between));
  equation.residual = graph_.subtract(equation.left, equation.right);
}

/// The variable whose value before an event is what this discrete one is, by an equation x = pre(y); -1: there is none.
int Reducer::value_before(int index) {
  const Node quantity = graph_.variable(index);
  const auto find = [&](const auto& equations) {
    for (const auto& equation : equations) {
      if (equation.left == quantity && graph_[equation.right].op == Op::pre) return graph_[equation.right].index;
      if (equation.left == quantity && graph_[equation.right].op == Op::variable) {
        const auto made = std::find_if(before_.begin(), before_.end(),
                                       [&](const auto& one) { return equation.right == graph_.variable(one.second); });
        if (made != before_.end()) return made->first;
      }
    }
    return -1;
  };
  const int found = find(model_.flat.discrete_equations);
  return found >= 0 ? found : find(model_.equations);
}

/// The discrete variables whose value before the start is the value that this one has at the start: it is one, equals
/// one, or is the value of one before an event.
std::set<int> Reducer::starts_of(int index) {
  std::set<int> equal = {index};
  std::vector<int> open = {index};
  const auto whole = [&](Node node, int& found) {
    const NodeData data = graph_[node];
    found = data.index;
    return data.op == Op::variable && data.order == 0 && !variable(found).is_parameter() && !variable(found).made &&
           variable(found).type != Type::real;
  };
  const auto follow = [&](const auto& equations, int one) {
    for (const auto& equation : equations) {
      int left = -1;
      int right = -1;
      if (!whole(equation.left, left) || !whole(equation.right, right) || (left != one && right != one)) continue;
      const int other = left == one ? right : left;
      if (equal.insert(other).second) open.push_back(other);
    }
  };
  std::set<int> result;
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    if (discrete_.contains(one)) result.insert(one);
    if (const int before = value_before(one); before >= 0) result.insert(before);
    follow(model_.equations, one);
    follow(model_.flat.discrete_equations, one);
  }
  return result;
}

/// An initial equation of what changes at events is its start value.
bool Reducer::take_discrete_start(const FlatEquation& equation) {
  bool taken = false;
  const auto start_from = [&](Node left, Node right) {
    const NodeData data = graph_[left];
    if ((data.op != Op::variable && data.op != Op::pre) || data.order > 0) return;
    if (variable(data.index).is_parameter() || variable(data.index).type == Type::real) {
      if (!discrete_.contains(data.index)) return;
    }
    std::set<int> those;
    if (data.op == Op::variable) those = starts_of(data.index);
    if (discrete_.contains(data.index)) those.insert(data.index);
    for (const int index : those) {
      taken = true;
      variable(index).start = at_start(right);
      if (const auto made = before_.find(index); made != before_.end()) {
        variable(made->second).start = variable(index).start;
      }
    }
  };
  start_from(equation.left, equation.right);
  if (!taken) start_from(equation.right, equation.left);
  return taken;
}

/// With initial(), reinit(x, value) is the initial equation x = value. Where a clock or another condition has it at the
/// start, it is an event that follows at once.
void Reducer::take_first_reinit() {
  const auto at_begin = [&](Node node) { return graph_[node].op == Op::time ? graph_.number(start_time()) : no_node; };
  for (FlatAction& action : model_.flat.actions) {
    if (action.kind != FlatAction::Kind::reinit) continue;
    const Node guard = at_start(action.guard);
    const std::string name = fmt::format("reinit({}) at the start", variable(action.variable).name);
    if (graph_.is_number(guard, 1.0)) {
      model_.flat.initial_equations.push_back({graph_.variable(action.variable), action.value, action.place, name});
      set_at_start_.insert(graph_.variable(action.variable));
    } else if (!graph_.is_number(graph_.replace(guard, at_begin), 0.0)) {
      action.due = made_discrete("due: " + name, Type::boolean);
      action.held = made_discrete("value: " + name, Type::real);
    }
  }
}

void Reducer::gather_initial_equations() {
  const std::size_t of_the_model = model_.initial_equations.size();
  take_first_reinit();
  std::erase_if(model_.flat.initial_equations, [&](const FlatEquation& one) { return take_discrete_start(one); });
  for (Equation& equation : model_.initial_equations) {
    equation.residual = at_start(equation.residual);
    if (equation.left != no_node) equation.left = at_start(equation.left);
    if (equation.right != no_node) equation.right = at_start(equation.right);
    if (equation.simplified != no_node) simplify(equation);
  }
  std::set<Node> states(model_.states.begin(), model_.states.end());
  for (const FlatEquation& equation : model_.flat.initial_equations) {
    Equation one;
    one.left = at_start(equation.left);
    one.right = at_start(equation.right);
    one.residual = graph_.subtract(one.left, one.right);
    one.place = equation.place;
    one.text = "initial: " + equation.text;
    one.is_of_start = true;
    if (graph_.is_number(one.residual, 0.0)) continue;
    model_.initial_equations.push_back(one);
  }
  for (const int index : unknowns_) {
    const FlatVariable& one = variable(index);
    const Node quantity = graph_.variable(index);
    if (!one.fixed || states.contains(quantity) || one.type != Type::real) continue;
    Equation start;
    start.left = quantity;
    start.right = one.start != no_node ? one.start : graph_.number(0.0);
    start.residual = graph_.subtract(start.left, start.right);
    start.place = one.place;
    start.text = fmt::format("start of {}", one.name);
    start.is_of_start = true;
    model_.initial_equations.push_back(start);
  }
  model_.start_is_found = !model_.invariants.empty() && model_.initial_equations.size() == of_the_model;
}

/// An initial equation beyond those that determine the start: it is to follow from them. What the equations of the
/// model do not have cannot be looked at.
void Reducer::assert_at_start(const Equation& equation) {
  std::set<Node> known(model_.states.begin(), model_.states.end());
  for (const Equation& one : model_.equations) {
    const std::vector<Node> nodes = graph_.below(one.residual);
    known.insert(nodes.begin(), nodes.end());
  }
  for (const Node node : graph_.below(equation.residual)) {
    const NodeData data = graph_[node];
    if (data.op != Op::variable || known.contains(node) || discrete_.contains(data.index)) continue;
    if (variable(data.index).is_parameter()) continue;
    diagnostics_.error(equation.place, fmt::format("one initial equation too many: {}", equation.text));
    return;
  }
  warn(equation.place,
       fmt::format("one initial equation too many: {}; it needs to follow from the others", equation.text));
  redundant_.push_back(equation);
  const auto size = [&](Node side) {
    return side == no_node ? graph_.number(0.0) : graph_.call(Function::abs, graph_.actual(side));
  };
  const Node scale = graph_.add(graph_.number(1.0), graph_.add(size(equation.left), size(equation.right)));
  const Node agrees = graph_.relation(Op::less_equal, size(equation.residual),
                                      graph_.multiply(graph_.number(start_tolerance), scale), true);
  FlatAction action;
  action.kind = FlatAction::Kind::fail;
  action.guard = graph_.conjunction(graph_.event(Op::initial), graph_.negation(agrees));
  action.message = equation.text;
  action.place = equation.place;
  action.variable = made_discrete(name_of_text("ends: " + equation.text), Type::boolean);
  model_.flat.actions.push_back(action);
}

Reducer::StartUnknowns Reducer::start_unknowns() {
  const std::set<Node> states(model_.states.begin(), model_.states.end());
  StartUnknowns unknowns;
  std::set<Node> seen;
  for (const Equation& equation : model_.initial_equations) {
    for (const Node node : graph_.below(equation.residual)) {
      const NodeData data = graph_[node];
      if (data.op != Op::variable || states.contains(node)) continue;
      const FlatVariable& one = variable(data.index);
      const bool free_parameter = one.is_parameter() && !is_given(data.index);
      if ((is_unknown(data.index) || free_parameter) && seen.insert(node).second) unknowns.all.push_back(node);
    }
  }
  // What has a start value to keep stands behind.
  const auto is_parameter = [&](Node quantity) { return variable(graph_[quantity].index).is_parameter(); };
  const auto parameters =
      std::stable_partition(unknowns.all.begin(), unknowns.all.end(), [&](Node one) { return !is_parameter(one); });
  unknowns.kept = static_cast<std::size_t>(parameters - unknowns.all.begin());
  unknowns.all.insert(unknowns.all.end(), model_.states.begin(), model_.states.end());
  // The last to be determined are those whose start is fixed, then those that have one.
  const auto weight = [&](Node state) {
    const FlatVariable& one = variable(graph_[state].index);
    if (is_parameter(state)) return -1;
    if (graph_[state].order > 0) return 0;
    return (one.fixed ? 100 : 0) + (one.keeps_start ? 50 : 0) + (one.start != no_node ? 10 : 0) +
           static_cast<int>(one.select);
  };
  std::stable_sort(unknowns.all.begin() + static_cast<std::ptrdiff_t>(unknowns.kept), unknowns.all.end(),
                   [&](Node a, Node b) { return weight(a) < weight(b); });
  return unknowns;
}

/// Which initial equation is for which unknown; reports unknowns without a start value that lack one. Equations that
/// are too many are to follow from the others.
Matching Reducer::match_start(const StartUnknowns& unknowns) {
  const Incidence incidence = incidence_of(actual(model_.initial_equations), unknowns.all);
  const Matching matching = match(incidence, static_cast<int>(unknowns.all.size()));
  for (std::size_t k = 0; k < unknowns.kept; ++k) {
    if (matching.equation_of[k] >= 0) continue;
    diagnostics_.error(variable(graph_[unknowns.all[k]].index).place,
                       fmt::format("the initial system does not determine {}", quantity_name(unknowns.all[k])));
  }
  if (diagnostics_.failed()) return matching;
  for (std::size_t i = 0; i < model_.initial_equations.size(); ++i) {
    if (matching.unknown_of[i] < 0) assert_at_start(model_.initial_equations[i]);
  }
  return matching;
}

void Reducer::warn_of_fixed(Node state) {
  const FlatVariable& one = variable(graph_[state].index);
  if ((!one.fixed && !one.keeps_start) || graph_[state].order > 0) return;
  if (one.fixed && !set_at_start_.contains(state)) overruled_.push_back(state);
  warn(one.place,
       fmt::format("the start of '{}' is {}, but follows from other equations: it is where the search begins",
                   quantity_name(state), one.fixed ? "fixed" : "prioritized"));
}

/// Reports a start value that depends on unknowns.
void Reducer::check_start(Node state, const std::vector<Node>& unknowns) {
  const FlatVariable& one = variable(graph_[state].index);
  if (one.start == no_node) return;
  for (const Node node : graph_.below(one.start)) {
    if (std::find(unknowns.begin(), unknowns.end(), node) == unknowns.end() && graph_[node].op != Op::pre) continue;
    diagnostics_.error(one.place, fmt::format("the start of '{}' depends on '{}', which varies: write that as an "
                                              "initial equation",
                                              one.name, variable(graph_[node].index).name));
  }
}

/// States and parameters that no equation is for keep their start values. Returns the unknowns that have one.
std::vector<Node> Reducer::fix_undetermined(const StartUnknowns& unknowns, const Matching& matching) {
  std::vector<Node> determined;
  std::vector<std::string> assumed;
  for (std::size_t k = 0; k < unknowns.all.size(); ++k) {
    const Node unknown = unknowns.all[k];
    if (matching.equation_of[k] >= 0) {
      determined.push_back(unknown);
      if (k >= unknowns.kept) warn_of_fixed(unknown);
    } else {
      model_.fixed.push_back(unknown);
      check_start(unknown, unknowns.all);
      const FlatVariable& one = variable(graph_[unknown].index);
      if (one.is_parameter()) {
        warn(one.place,
             fmt::format("no initial equation determines the parameter '{}': it keeps its start value", one.name));
      } else if (!one.fixed) {
        assumed.push_back(quantity_name(unknown));
      }
    }
  }
  model_.start_is_found = model_.start_is_found && !assumed.empty();
  if (!assumed.empty()) {
    const char* what = model_.start_is_found ? "the start is the consistent one nearest to the start values of"
                                             : "start values taken as fixed";
    model_.notes.push_back(fmt::format("{}: {}", what, fmt::join(assumed, ", ")));
  }
  return determined;
}

/// What initial equations contradict, where constants alone determine it.
void Reducer::check_constant_start() {
  if (redundant_.empty() && overruled_.empty()) return;
  std::unordered_map<Node, double> known;
  const auto value_of = [&](Node root) {
    return graph_.evaluate(graph_.actual(root), [&](Node leaf) {
      const auto found = known.find(leaf);
      return graph_[leaf].op == Op::time ? start_time() : found != known.end() ? found->second : std::nan("");
    });
  };
  const auto start_of = [&](Node state) {
    const Node start = variable(graph_[state].index).start;
    return graph_[state].order > 0 || start == no_node ? 0.0 : value_of(start);
  };
  for (const Node state : model_.fixed) {
    if (!variable(graph_[state].index).is_parameter()) known[state] = start_of(state);
  }
  for (const Block& block : model_.initial_blocks) {
    for (const Step& step : block.steps) known[step.quantity] = value_of(step.value);
  }
  const auto differ = [](double a, double b) {
    return std::abs(a - b) > start_tolerance * (1.0 + std::abs(a) + std::abs(b));
  };
  for (const Equation& equation : redundant_) {
    const double left = equation.left == no_node ? value_of(equation.residual) : value_of(equation.left);
    const double right = equation.right == no_node ? 0.0 : value_of(equation.right);
    if (!differ(left, right)) continue;
    diagnostics_.error(equation.place, fmt::format("{} contradicts the others: by them its left side is {:g}, and its "
                                                   "right side {:g}",
                                                   equation.text, left, right));
  }
  for (const Node state : overruled_) {
    const auto found = known.find(state);
    if (found == known.end() || !differ(start_of(state), found->second)) continue;
    diagnostics_.error(variable(graph_[state].index).place,
                       fmt::format("the fixed start of '{}' is {:g}, but it is {:g} by other equations of the start",
                                   quantity_name(state), start_of(state), found->second));
  }
}

void Reducer::order_start() {
  gather_initial_equations();
  const StartUnknowns unknowns = start_unknowns();
  const Matching matching = match_start(unknowns);
  if (diagnostics_.failed()) return;
  const std::vector<Node> determined = fix_undetermined(unknowns, matching);
  std::vector<int> preference(determined.size());
  std::iota(preference.begin(), preference.end(), 0);
  std::vector<Node> torn;
  std::vector<int> residuals;
  of_start_ = true;
  order_blocks(model_.initial_equations, determined, preference, false, model_.initial_blocks, torn, residuals);
  of_start_ = false;
  check_constant_start();
  // Parameters that the initial system determines are constants of the solution.
  std::copy_if(unknowns.all.begin(), unknowns.all.end(), std::back_inserter(model_.states),
               [&](Node one) { return variable(graph_[one].index).is_parameter(); });
}

}  // namespace manyfold::modelica
