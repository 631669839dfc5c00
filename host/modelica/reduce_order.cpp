// In which order equations are solved, and for what: blocks and tearing.
#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

std::vector<Node> Reducer::quantities_in(Node root) {
  std::vector<Node> result;
  for (const Node node : graph_.below(root)) {
    const NodeData data = graph_[node];
    if (data.op == Op::variable && is_unknown(data.index)) result.push_back(node);
  }
  return result;
}

/// Does homotopy act in it?
bool Reducer::is_simplified(Node root) {
  return contains(root, graph_.event(Op::lambda));
}

/// What homotopy makes of equations at last.
std::vector<Equation> Reducer::actual(std::vector<Equation> equations) {
  for (Equation& equation : equations) {
    if (equation.simplified != no_node) equation.residual = graph_.actual(equation.residual);
  }
  return equations;
}

bool Reducer::contains(Node root, Node quantity) {
  const std::vector<Node> all = graph_.below(root);
  return std::binary_search(all.begin(), all.end(), quantity);
}

/// Do conditions or whole parts without an event depend on one of the quantities? There an equation is not linear in
/// it, even if its slope is the same on both sides.
bool Reducer::is_decided_by(Node root, const std::vector<Node>& quantities) {
  std::unordered_set<Node> depending(quantities.begin(), quantities.end());
  // Operands come before what is made of them.
  for (const Node node : graph_.below(root)) {
    const NodeData& data = graph_[node];
    const bool depends = std::any_of(std::begin(data.operand), std::end(data.operand),
                                     [&](Node operand) { return operand != no_node && depending.contains(operand); });
    if (!depends) continue;
    if (data.silent) return true;
    depending.insert(node);
  }
  return false;
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
  if (variable(graph_[quantity].index).type == Type::boolean) return false;
  const Node slope = graph_.partial(equation.residual, quantity);
  if (graph_.is_number(slope, 0.0) || contains(slope, quantity) || is_simplified(slope)) return false;
  if (is_decided_by(equation.residual, {quantity})) return false;
  const Node zero = graph_.number(0.0);
  const Node rest = graph_.replace(equation.residual, [&](Node node) { return node == quantity ? zero : no_node; });
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
  order_blocks(model_.equations, unknowns, preference, false, model_.blocks, model_.torn, model_.residuals);
}

void Reducer::order_blocks(const std::vector<Equation>& equations, const std::vector<Node>& unknowns,
                           const std::vector<int>& preference, bool may_be_partial, std::vector<Block>& result,
                           std::vector<Node>& torn, std::vector<int>& residuals) {
  conditions_.clear();
  const Incidence incidence = incidence_of(equations, unknowns);
  const Matching matching = match(of_start_ ? incidence_of(actual(equations), unknowns) : incidence,
                                  static_cast<int>(unknowns.size()), preference);
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
      const std::string name = quantity_name(quantity);
      diagnostics_.error(
          equations[at(members[0])].place,
          members.size() == 1
              ? fmt::format("'{0}' depends on itself at one instant: what it was before is pre({0})", name)
              : fmt::format("'{}' is no real number, and no equation gives it without the others of a loop of {} "
                            "equations",
                            name, members.size()));
    }
    for (const Step& step : block.steps) {
      if (variable(graph_[step.quantity].index).type != Type::boolean) continue;
      const Node value = with_known_conditions(step.value);
      if (!in_all_cases(value).empty()) conditions_[step.quantity] = value;
    }
    torn.insert(torn.end(), block.torn.begin(), block.torn.end());
    residuals.insert(residuals.end(), block.residuals.begin(), block.residuals.end());
    result.push_back(std::move(block));
  }
}

/// Parameters that are zero and alone make the slope of an equation zero: with them the equations have another
/// structure.
void Reducer::note_zero_divisors(const Equation& equation, Node quantity) {
  if (of_start_ || of_stage_) return;
  const Node slope = graph_.partial(equation.residual, quantity);
  double value = 1.0;
  if (!known_from_parameters(slope, value) || value != 0.0) return;
  for (const Node node : graph_.below(slope)) {
    if (graph_[node].op != Op::variable) continue;
    const FlatVariable& one = variable(graph_[node].index);
    if (one.binding != no_node && graph_.is_number(one.binding, 0.0)) model_.zero_divisors.insert(one.name);
  }
}

/// Is it zero in some mode, whatever its quantities are?
bool Reducer::vanishes_in_a_mode(Node root) {
  const NodeData data = graph_[root];
  const auto of = [&](int k) { return vanishes_in_a_mode(data.operand[k]); };
  double known = 0.0;
  switch (data.op) {
    case Op::number:
      return data.number == 0.0;
    case Op::negate:
    case Op::divide:
      return of(0);
    case Op::add:
    case Op::subtract:
      return of(0) && of(1);
    case Op::multiply:
      return of(0) || of(1);
    case Op::choice:
      return (of(1) || of(2)) && !known_from_parameters(data.operand[0], known);
    default:
      return graph_.is_condition(root) && !known_from_parameters(root, known);
  }
}

/// A quantity that its equation alone determines, but does not contain in all modes: in the others the equation is a
/// constraint.
void Reducer::warn_of_modes(const Equation& equation, Node quantity) {
  if (of_stage_ || of_start_ || !vanishes_in_a_mode(graph_.partial(equation.residual, quantity))) return;
  warn(equation.place,
       fmt::format("only this equation can determine '{}', which does not stand in it in all modes: instances end with "
                   "inconsistent_initial_conditions where a mode without it begins. A constraint that comes and goes "
                   "can be stated in C++, with the index of its force",
                   quantity_name(quantity)));
}

/// n = if more then n + 1 else n: a whole number whose equation has it in other terms too.
bool Reducer::counts_on_itself(const Equation& equation, Node quantity) {
  const Type type = variable(graph_[quantity].index).type;
  if (type != Type::integer && type != Type::enumeration) return false;
  const Node slope = graph_.partial(equation.residual, quantity);
  return !graph_.is_number(slope) || graph_.value(slope) == 0.0;
}

Block Reducer::tear_block(const std::vector<Equation>& equations, const std::vector<int>& members,
                          const std::vector<int>& inside, const Incidence& incidence,
                          const std::vector<Node>& unknowns) {
  Block block;
  block.equations = members;
  for (const int j : inside) block.quantities.push_back(unknowns[at(j)]);
  if (members.size() == 1) {
    Node value = no_node;
    if (!counts_on_itself(equations[at(members[0])], block.quantities[0]) &&
        solve_for(equations[at(members[0])], block.quantities[0], value)) {
      note_zero_divisors(equations[at(members[0])], block.quantities[0]);
      warn_of_modes(equations[at(members[0])], block.quantities[0]);
      block.steps.push_back({block.quantities[0], value, members[0]});
    } else {
      block.torn = block.quantities;
      block.residuals = members;
      block.simplified = is_simplified(equations[at(members[0])].residual);
    }
    return block;
  }
  block.simplified =
      std::any_of(members.begin(), members.end(), [&](int i) { return is_simplified(equations[at(i)].residual); });
  keeps_steps_whole_ = !model_.invariants.empty();
  choose_torn(equations, inside, incidence, unknowns, block);
  if (of_stage_ && divides_computed(block)) {
    keeps_steps_whole_ = true;
    choose_torn(equations, inside, incidence, unknowns, block);
  }
  return block;
}

/// Do steps divide by gamma h what other steps compute, or is what the integrator has such a quotient? Of a state that
/// follows from the voltage at a small resistance, rounding errors over a short step are more than the stage; and a
/// velocity that is the difference of two positions over the step has theirs. No Newton iteration gets below them. In
/// a block without unknowns to iterate for, where that costs nothing, nor does anything else follow from a quotient.
bool Reducer::divides_computed(const Block& block) {
  const Node rate = graph_.stage(Op::stage_rate);
  const std::set<Node> torn(block.torn.begin(), block.torn.end());
  std::set<Node> given = torn;
  std::set<Node> computed;
  std::set<Node> quotients;
  for (const Step& step : block.steps) {
    const std::vector<Node> nodes = graph_.below(step.value);
    const auto contains = [&](const std::set<Node>& some) {
      return std::any_of(nodes.begin(), nodes.end(), [&](Node node) { return some.contains(node); });
    };
    const bool of_computed = contains(computed);
    const bool divides = std::binary_search(nodes.begin(), nodes.end(), rate);
    if (of_computed && divides) return true;
    if (of_computed || contains(torn)) computed.insert(step.quantity);
    const bool is_quotient = divides && contains(given);
    const bool of_quotient = is_quotient || (torn.empty() && contains(quotients));
    if (of_quotient && known_before_.contains(step.quantity)) return true;
    if (of_quotient) quotients.insert(step.quantity);
    given.insert(step.quantity);
  }
  return false;
}

/// Has another of the unknowns, of the same kind, a larger coefficient in the equation, of parameters too? As in a row
/// of a mass matrix: what couples two of them may be small or zero in some instances. Coefficients of a quantity and of
/// a derivative have other units.
bool Reducer::is_coupling(const Equation& equation, Node quantity, const std::vector<Node>& unknowns) {
  const auto size_of = [&](Node unknown) {
    const Node slope = graph_.partial(equation.residual, unknown);
    double value = 0.0;
    return !graph_.is_number(slope) && known_from_parameters(slope, value) ? std::abs(value) : 0.0;
  };
  const double own = size_of(quantity);
  const std::vector<Node> all = graph_.below(equation.residual);
  return own > 0.0 && std::any_of(unknowns.begin(), unknowns.end(), [&](Node other) {
           const bool alike = graph_[other].order == graph_[quantity].order;
           return alike && std::binary_search(all.begin(), all.end(), other) && size_of(other) > own;
         });
}

void Reducer::choose_torn(const std::vector<Equation>& equations, const std::vector<int>& inside,
                          const Incidence& incidence, const std::vector<Node>& unknowns, Block& block) {
  block.torn.clear();
  block.steps.clear();
  std::map<std::pair<int, int>, Solvable> known;
  const auto solvable = [&](int i, int j) {
    const auto [entry, added] = known.try_emplace({i, j}, Solvable::no);
    if (!added) return entry->second;
    entry->second = safely_solvable(equations[at(i)], unknowns[at(j)]);
    if (entry->second == Solvable::by_parameters && is_coupling(equations[at(i)], unknowns[at(j)], block.quantities)) {
      entry->second = Solvable::no;
    }
    return entry->second;
  };
  // Whole numbers and conditions cannot be guessed; of the others, states' derivatives are better not. What the
  // integrator has is known well before a stage, and at the start what the user has guessed.
  const auto weight = [&](int j) {
    const NodeData data = graph_[unknowns[at(j)]];
    const FlatVariable& one = variable(data.index);
    if (one.type != Type::real) return 0;
    if (of_start_ && data.order == 0 && one.start != no_node) return 3;
    return known_before_.contains(unknowns[at(j)]) ? 3 : data.order > 0 ? 1 : 2;
  };
  const Tearing tearing = tear(block.equations, inside, incidence, solvable, weight);
  for (const int j : tearing.torn) block.torn.push_back(unknowns[at(j)]);
  bool divides_by_parameters = false;
  for (const Tearing::Step& step : tearing.steps) {
    Step one{unknowns[at(step.unknown)], no_node, step.equation};
    solve_for(equations[at(step.equation)], one.quantity, one.value);
    block.steps.push_back(one);
    const Solvable how = solvable(step.equation, step.unknown);
    divides_by_parameters = divides_by_parameters || how == Solvable::by_parameters;
  }
  block.residuals = tearing.residuals;
  const bool solved = divides_by_parameters && solve_whole(equations, block);
  if (!solved) solve_linear(equations, block);
  if (of_stage_) tear_slopes(equations, block);
}

/// Where a stage has Y' = (Y - base) / (gamma h) of a torn state, its slope is torn in its place, and Y = base + gamma
/// h Y': the difference of two states over a short step would have large rounding errors.
void Reducer::tear_slopes(const std::vector<Equation>& equations, Block& block) {
  for (Node& torn : block.torn) {
    const NodeData data = graph_[torn];
    const Node slope = graph_.variable(data.index, data.order + 1);
    const auto own = std::find_if(block.steps.begin(), block.steps.end(), [&](const Step& step) {
      return step.quantity == slope && equations[at(step.equation)].left == torn;
    });
    if (own == block.steps.end()) continue;
    const Step state{torn, equations[at(own->equation)].right, own->equation};
    block.steps.erase(own);
    block.steps.insert(block.steps.begin(), state);
    torn = slope;
  }
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

}  // namespace manyfold::modelica
