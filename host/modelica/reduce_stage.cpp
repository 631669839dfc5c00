// The equations of an implicit stage, with the formula of the method among them: inline integration, Elmqvist, Otter &
// Cellier, "Inline integration: a new mixed symbolic/numeric approach", ESM 1995.
#include <algorithm>
#include <numeric>
#include <set>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

/// F = 0 of the reduced model, and Y = base + gamma h Y' for every state.
void Reducer::gather_stage_equations() {
  std::vector<Equation>& equations = model_.stage.equations;
  equations = model_.equations;
  // The integrator has F = -residual in the rows of algebraic equations, and asks for F = offset.
  for (std::size_t k = 0; k < model_.residuals.size(); ++k) {
    Equation& equation = equations[at(model_.residuals[k])];
    const Node offset = graph_.stage(Op::stage_offset, static_cast<int>(model_.states.size() + k));
    equation.residual = graph_.add(equation.residual, offset);
    if (equation.left != no_node) equation.right = graph_.subtract(equation.right, offset);
  }
  for (std::size_t i = 0; i < model_.states.size(); ++i) {
    const Node state = model_.states[i];
    const NodeData data = graph_[state];
    const bool constant = variable(data.index).is_parameter();
    const Node base = graph_.stage(Op::stage_base, static_cast<int>(i));
    const Node slope = constant ? graph_.number(0.0) : graph_.variable(data.index, data.order + 1);
    Equation formula;
    formula.left = state;
    formula.right = graph_.add(base, graph_.multiply(graph_.stage(Op::stage_step), slope));
    formula.residual = graph_.subtract(formula.left, formula.right);
    formula.text = "the method: " + quantity_name(state);
    equations.push_back(formula);
  }
}

/// Where that is not possible, or solves for no fewer unknowns, the stage is solved for all of y.
void Reducer::order_stage() {
  if (model_.states.empty()) return;
  gather_stage_equations();
  std::vector<Node> unknowns;
  std::set<Node> seen;
  const auto add = [&](Node quantity) {
    if (seen.insert(quantity).second) unknowns.push_back(quantity);
  };
  for (const Node state : model_.states) {
    add(state);
    if (!variable(graph_[state].index).is_parameter()) {
      add(graph_.variable(graph_[state].index, graph_[state].order + 1));
    }
  }
  for (const Equation& equation : model_.equations) {
    for (const Node quantity : quantities_in(equation.residual)) add(quantity);
  }
  std::vector<int> preference(unknowns.size());
  std::iota(preference.begin(), preference.end(), 0);
  ReducedModel::Stage& stage = model_.stage;
  std::vector<Node> torn;
  std::vector<int> residuals;
  known_before_.insert(model_.states.begin(), model_.states.end());
  known_before_.insert(model_.torn.begin(), model_.torn.end());
  of_stage_ = true;
  order_blocks(stage.equations, unknowns, preference, true, stage.blocks, torn, residuals);
  of_stage_ = false;
  known_before_.clear();
  std::set<Node> given;
  for (const Block& block : stage.blocks) given.insert(block.quantities.begin(), block.quantities.end());
  const bool all = std::all_of(unknowns.begin(), unknowns.end(), [&](Node one) { return given.contains(one); });
  const bool numbers =
      std::all_of(torn.begin(), torn.end(), [&](Node one) { return variable(graph_[one].index).type == Type::real; });
  stage.torn = torn;
  stage.residuals = residuals;
  stage.found = all && numbers && torn.size() < model_.states.size() + model_.torn.size();
}

}  // namespace manyfold::modelica
