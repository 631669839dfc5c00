// Inline integration: an implicit stage as a sequence of assignments and the unknowns that they leave.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

ModelCode::Since ModelCode::known_since(Node root) {
  if (const auto known = since_.find(root); known != since_.end()) return known->second;
  for (const Node node : graph_.below(root)) {
    if (since_.contains(node)) continue;
    const NodeData& data = graph_[node];
    const int count = Graph::operands(data);
    Since since = Since::step;
    for (int k = 0; k < count; ++k) since = std::max(since, since_[data.operand[k]]);
    if (data.op == Op::time || data.op == Op::stage_base) since = Since::stage;
    const bool given =
        data.op != Op::variable || place_of_parameter_.contains(data.index) || place_of_discrete_.contains(data.index);
    if (!given || data.op == Op::stage_offset) since = Since::iteration;
    since_[node] = since;
  }
  return since_[root];
}

/// Takes over the assignments of the blocks of a stage.
void ModelCode::gather_stage_steps() {
  if (!model_.stage.found) return;
  for (const Block& block : model_.stage.blocks) {
    for (Step step : block.steps) {
      step.value = with_reciprocals(step.value, [&](Node node) { return known_since(node) == Since::step; });
      const Since since = graph_.is_condition(step.value) ? Since::iteration : known_since(step.value);
      since_[step.quantity] = std::max(since, Since::stage);
      stage_steps_.push_back(step);
    }
  }
}

/// What is known since the step is computed once for all its stages, what is known since the stage once for all its
/// iterations.
void ModelCode::hoist_stage() {
  if (!model_.stage.found) return;
  std::set<Node> chosen;
  const auto add = [&](Node node, Since user) {
    const Since since = known_since(node);
    const bool assigned = graph_[node].op == Op::variable && since == Since::stage;
    const bool simple = Graph::operands(graph_[node]) == 0 || place_of_derived_.contains(node);
    if ((simple && !assigned) || graph_.is_condition(node)) return;
    if (since >= user || !chosen.insert(node).second) return;
    (since == Since::step ? stage_constants_ : stage_terms_).push_back(node);
  };
  const auto below = [&](Node root, Since user) {
    add(root, user);
    for (const Node node : graph_.below(root)) {
      const NodeData data = graph_[node];
      // Conditions are evaluated where they are used.
      const Since since = graph_.is_condition(node) ? user : known_since(node);
      for (const Node operand : data.operand) {
        if (operand != no_node) add(operand, since);
      }
    }
  };
  for (const Step& step : stage_steps_) below(step.value, since_[step.quantity]);
  for (const int i : model_.stage.residuals) below(model_.stage.equations[at(i)].residual, Since::iteration);
  for (const Node quantity : y_) add(quantity, Since::iteration);
}

/// The assignments of a stage that are made once for all iterations, or in each.
std::vector<Step> ModelCode::stage_steps(Since since) {
  std::vector<Step> result;
  std::copy_if(stage_steps_.begin(), stage_steps_.end(), std::back_inserter(result),
               [&](const Step& step) { return since_[step.quantity] == since; });
  return result;
}

void ModelCode::bind_stage(Body& body) {
  body.bind(graph_.stage(Op::stage_step), "gamma_h");
  body.bind(graph_.stage(Op::stage_rate), "over_gamma_h");
  for (std::size_t i = 0; i < y_.size(); ++i) {
    body.bind(graph_.stage(Op::stage_base, static_cast<int>(i)), fmt::format("base[{}]", i));
    body.bind(graph_.stage(Op::stage_offset, static_cast<int>(i)), fmt::format("offset[{}]", i));
  }
}

std::string ModelCode::stage_constants() {
  names_ = Names();
  Body body(graph_, names_, 4);
  bind_stage(body);
  prologue(body, stage_constants_, "p");
  for (const Node node : stage_constants_) body.announce(node);
  for (std::size_t k = 0; k < stage_constants_.size(); ++k) {
    body.line(fmt::format("constants[{}] = {};", k, body.number(stage_constants_[k])));
    body.bind(stage_constants_[k], fmt::format("constants[{}]", k));
  }
  return function("stage_constants(const auto& gamma_h, const auto& over_gamma_h, const auto& p, auto& constants)",
                  body.text());
}

std::string ModelCode::stage_terms() {
  names_ = Names();
  Body body(graph_, names_, 4);
  bind_stage(body);
  for (std::size_t k = 0; k < stage_constants_.size(); ++k) {
    body.bind(stage_constants_[k], fmt::format("constants[{}]", k));
  }
  const std::vector<Step> steps = stage_steps(Since::stage);
  std::vector<Node> all;
  const std::vector<const Step*> sequence = needed(graph_, steps, stage_terms_, all);
  prologue(body, all, "p", {}, "");
  for (const Node node : all) body.announce(node);
  assign(body, sequence, model_.stage.equations);
  for (std::size_t k = 0; k < stage_terms_.size(); ++k) {
    body.line(fmt::format("terms[{}] = {};", k, body.number(stage_terms_[k])));
    body.bind(stage_terms_[k], fmt::format("terms[{}]", k));
  }
  return function(
      "stage_terms(const auto& t, const auto& gamma_h, const auto& over_gamma_h, const auto& constants, const auto& "
      "base, const auto& p, auto& terms)",
      body.text());
}

/// The unknown of the stage for given y. A derivative is what the formula of the method makes of it.
Node ModelCode::stage_guess_of(Node torn) {
  const NodeData data = graph_[torn];
  if (data.order == 0 || place_in_y_.contains(torn)) return torn;
  const Node state = graph_.variable(data.index, data.order - 1);
  const auto place = place_in_y_.find(state);
  if (place == place_in_y_.end()) return torn;
  const Node increment = graph_.subtract(state, graph_.stage(Op::stage_base, place->second));
  return graph_.multiply(increment, graph_.stage(Op::stage_rate));
}

std::string ModelCode::stage_guess() {
  names_ = Names();
  Body body(graph_, names_, 4);
  bind_stage(body);
  std::vector<Node> guesses;
  for (const Node torn : model_.stage.torn) guesses.push_back(stage_guess_of(torn));
  program(body, guesses, "p");
  for (std::size_t k = 0; k < guesses.size(); ++k) body.line(fmt::format("z[{}] = {};", k, body.number(guesses[k])));
  return function(
      "stage_guess(const auto& t, const auto& over_gamma_h, const auto& base, const auto& y, const auto& p, auto& z)",
      body.text());
}

std::string ModelCode::stage_equations() {
  names_ = Names();
  Body body(graph_, names_, 4);
  bind_stage(body);
  for (std::size_t k = 0; k < stage_constants_.size(); ++k) {
    body.bind(stage_constants_[k], fmt::format("constants[{}]", k));
  }
  for (std::size_t k = 0; k < stage_terms_.size(); ++k) body.bind(stage_terms_[k], fmt::format("terms[{}]", k));
  std::vector<Node> outputs = y_;
  for (const int i : model_.stage.residuals) outputs.push_back(model_.stage.equations[at(i)].residual);
  std::vector<Node> all;
  const std::vector<Step> steps = stage_steps(Since::iteration);
  const std::vector<const Step*> sequence = needed(graph_, steps, outputs, all);
  std::unordered_map<Node, int> places;
  for (std::size_t k = 0; k < model_.stage.torn.size(); ++k) places[model_.stage.torn[k]] = static_cast<int>(k);
  prologue(body, all, "p", places, "z");
  for (const Node node : all) body.announce(node);
  assign(body, sequence, model_.stage.equations);
  for (std::size_t i = 0; i < y_.size(); ++i) body.line(fmt::format("y[{}] = {};", i, body.number(y_[i])));
  for (std::size_t k = 0; k < model_.stage.residuals.size(); ++k) {
    const Equation& equation = model_.stage.equations[at(model_.stage.residuals[k])];
    body.comment(equation.text);
    body.line(fmt::format("r[{}] = {};", k, body.number(equation.residual)));
  }
  return function(
      "stage(const auto& t, const auto& gamma_h, const auto& over_gamma_h, const auto& constants, const auto& terms, "
      "const auto& base, const auto& offset, const auto& z, const auto& p, auto& y, auto& r)",
      body.text());
}

std::string ModelCode::stage() {
  if (!model_.stage.found) return "";
  return fmt::format(
             "\n  // Inline integration: y of a stage, y = base + gamma h y', from {} unknowns z, and their residuals "
             "r.\n  static constexpr int stage_unknowns = {};\n  static constexpr int stage_constant_count = {};\n  "
             "static "
             "constexpr int stage_term_count = {};\n",
             model_.stage.torn.size(), model_.stage.torn.size(), stage_constants_.size(), stage_terms_.size()) +
         stage_constants() + stage_terms() + stage_guess() + stage_equations();
}

}  // namespace manyfold::modelica
