// Initial values that follow from equations and start values.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

Node ModelCode::start_of(Node quantity) {
  const NodeData data = graph_[quantity];
  return data.order > 0 ? graph_.number(0.0) : start_of_variable(graph_, model_.flat.variables[at(data.index)]);
}

Node ModelCode::known_start_of(const Body& body, Node quantity) {
  const Node start = start_of(quantity);
  const std::vector<Node> parts = graph_.below(start);
  const bool known = std::all_of(parts.begin(), parts.end(), [&](Node part) {
    const NodeData& data = graph_[part];
    if (data.op == Op::variable) return model_.flat.variables[at(data.index)].is_parameter() || body.knows(part);
    return data.op != Op::pre;
  });
  return known ? start : graph_.number(0.0);
}

/// Otherwise numbers beside the variables say it all.
bool ModelCode::needs_initial() {
  const std::set<Node> fixed(model_.fixed.begin(), model_.fixed.end());
  for (const Node state : model_.states) {
    if (!fixed.contains(state) && !model_.start_is_found) return true;
  }
  return (!model_.torn.empty() && !model_.start_is_found) ||
         std::any_of(y_.begin(), y_.end(), [&](Node quantity) { return !graph_.is_number(start_of(quantity)); });
}

/// Starts of states that a number takes the place of if it is set: those that are kept, and those of initial equations
/// state = (what follows from parameters alone).
void ModelCode::find_own_starts() {
  for (const Node state : model_.fixed) own_starts_[state] = start_of(state);
  if (model_.start_is_found) return;
  const std::set<Node> states(model_.states.begin(), model_.states.end());
  const auto varies = [&](Node part) {
    const NodeData& data = graph_[part];
    return data.op == Op::pre || (data.op == Op::variable && !place_of_parameter_.contains(data.index));
  };
  for (const Block& block : model_.initial_blocks) {
    if (!block.torn.empty() || block.steps.size() != 1) continue;
    const Step& step = block.steps.front();
    if (step.equation < 0 || !model_.initial_equations[at(step.equation)].is_of_start) continue;
    const std::vector<Node> parts = graph_.below(step.value);
    if (!states.contains(step.quantity) || std::any_of(parts.begin(), parts.end(), varies)) continue;
    own_starts_[step.quantity] = graph_.actual(step.value);
  }
}

/// The equations that an initial value follows from, and where Newton's method begins if it solves them; empty where a
/// number that is set may take its place.
std::string ModelCode::initial_from(Node quantity) {
  if (model_.start_is_found) return "";
  constexpr std::size_t most_equations = 3;
  for (const Block& block : model_.initial_blocks) {
    const auto place = std::find(block.quantities.begin(), block.quantities.end(), quantity);
    if (place == block.quantities.end()) continue;
    const bool state = std::find(model_.states.begin(), model_.states.end(), quantity) != model_.states.end();
    if (block.torn.empty() && (!state || own_starts_.contains(quantity))) continue;
    std::vector<std::string> texts;
    for (const int i : block.equations) texts.push_back(text_of(model_.initial_equations[at(i)]));
    const std::size_t more = texts.size() - std::min(texts.size(), most_equations);
    texts.resize(texts.size() - more);
    std::string text = fmt::format("{}{}", fmt::join(texts, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    const char* before = ", from ";
    for (const Node torn : block.torn) {
      const Node start = start_of(torn);
      if (!graph_.is_number(start)) continue;
      text += fmt::format("{}{} = {:g}", before, name_of_quantity(model_.flat, torn), graph_.value(start));
      before = ", ";
    }
    return text;
  }
  return "";
}

/// What the search for the unknowns of a block calls: assignments for those that follow from others, and residuals.
Body ModelCode::initial_residuals(const Body& body, const Block& block, const std::vector<Node>& unknowns) {
  const std::vector<Equation>& equations = model_.initial_equations;
  Body inner = body.inner(2);
  if (block.simplified) inner.bind(graph_.event(Op::lambda), "lambda");
  for (std::size_t k = 0; k < unknowns.size(); ++k) inner.bind(unknowns[k], fmt::format("z[{}]", k));
  std::vector<int> residuals = block.residuals;
  for (const Step& step : block.steps) {
    if (inner.knows(step.quantity)) {
      residuals.push_back(step.equation);
    } else {
      inner.let(step.quantity, name_of_quantity(model_.flat, step.quantity), step.value, comment_of(step, equations));
    }
  }
  for (std::size_t k = 0; k < residuals.size(); ++k) {
    const Equation& equation = equations[at(residuals[k])];
    inner.comment(text_of(equation));
    inner.line(fmt::format("r[{}] = {};", k, inner.number(equation.residual)));
  }
  return inner;
}

/// Newton's method for the torn unknowns of a block, from their start values, or else for all of them.
void ModelCode::solve_initially(Body& body, const Block& block) {
  // A thread of a GPU has their matrix in its own memory.
  constexpr std::size_t most_untorn = 32;
  std::vector<Node> all = block.torn;
  for (const Step& step : block.steps) {
    if (model_.flat.variables[at(graph_[step.quantity].index)].type == Type::real) all.push_back(step.quantity);
  }
  const auto declare = [&](const std::string& wish, const std::vector<Node>& unknowns) {
    const std::string name = names_.of(wish);
    std::vector<std::string> starts;
    for (const Node quantity : unknowns) starts.push_back(body.number(known_start_of(body, quantity)));
    body.line(fmt::format("double {}[] = {{{}}};", name, fmt::join(starts, ", ")));
    return name;
  };
  const std::string head =
      block.simplified ? "[&](const auto& z, const auto& lambda, auto& r) {" : "[&](const auto& z, auto& r) {";
  const std::string guess = declare("guess", block.torn);
  if (all.size() == block.torn.size() || all.size() > most_untorn) {
    body.line(fmt::format("manyfold::solve_block({}, {}", guess, head));
  } else {
    body.line(fmt::format("manyfold::solve_block({}, {}, {}", declare("untorn", all), guess, head));
    body.take(initial_residuals(body, block, all));
    body.line("}, " + head);
  }
  body.take(initial_residuals(body, block, block.torn));
  body.line("});");
  for (std::size_t k = 0; k < block.torn.size(); ++k) {
    const std::string name = names_.of(name_of_quantity(model_.flat, block.torn[k]));
    body.line(fmt::format("const auto& {} = {}[{}];", name, guess, k));
    body.bind(block.torn[k], name);
  }
}

/// What is set stands in y, as does a start that is a number.
void ModelCode::start_as_set(Body& body, Node state) {
  const Node start = own_starts_.at(state);
  const auto place = place_in_y_.find(state);
  if (place == place_in_y_.end()) {
    body.let(state, name_of_quantity(model_.flat, state), start, "");
  } else if (graph_.is_number(start)) {
    body.bind(state, fmt::format("y[{}]", place->second));
  } else {
    const std::string name = names_.of(name_of_quantity(model_.flat, state));
    body.line(fmt::format("const auto {} = manyfold::set_or(y[{}], {});", name, place->second, body.number(start)));
    body.bind(state, name);
  }
}

void ModelCode::initial_block(Body& body, const Block& block) {
  if (!block.torn.empty()) solve_initially(body, block);
  for (const Step& step : block.steps) {
    if (own_starts_.contains(step.quantity)) {
      start_as_set(body, step.quantity);
    } else {
      body.let(step.quantity, name_of_quantity(model_.flat, step.quantity), graph_.actual(step.value),
               comment_of(step, model_.initial_equations));
    }
  }
}

std::string ModelCode::initial() {
  if (!needs_initial()) return "";
  names_ = Names();
  // What the values of y need.
  std::set<Node> wanted(y_.begin(), y_.end());
  std::vector<const Block*> sequence;
  std::vector<Node> all;
  const auto want = [&](Node root) {
    all.push_back(root);
    for (const Node node : graph_.below(root)) {
      if (graph_[node].op == Op::variable) wanted.insert(node);
    }
  };
  for (std::size_t b = model_.start_is_found ? 0 : model_.initial_blocks.size(); b-- > 0;) {
    const Block& block = model_.initial_blocks[b];
    if (std::none_of(block.quantities.begin(), block.quantities.end(), [&](Node q) { return wanted.contains(q); })) {
      continue;
    }
    sequence.push_back(&block);
    for (const Step& step : block.steps) want(step.value);
    for (const int i : block.equations) want(model_.initial_equations[at(i)].residual);
    for (const Node quantity : block.quantities) want(start_of(quantity));
  }
  for (const Node state : model_.fixed) want(start_of(state));
  if (!model_.torn.empty() || !model_.invariants.empty()) {
    for (const Node quantity : y_) want(start_of(quantity));
  }
  std::vector<Node> of_parameters;
  for (const Node root : all) {
    for (const Node node : graph_.below(root)) {
      const NodeData& data = graph_[node];
      if (data.op == Op::variable && place_of_parameter_.contains(data.index)) of_parameters.push_back(node);
    }
  }
  Body body(graph_, names_, 4);
  const auto places = std::move(place_of_derived_);
  place_of_derived_.clear();
  prologue(body, of_parameters, "p");
  place_of_derived_ = places;
  body.bind(graph_.time(),
            literal(model_.flat.experiment.contains("StartTime") ? model_.flat.experiment.at("StartTime") : 0.0));
  for (const Node node : all) body.announce(node);
  for (const Node state : model_.fixed) {
    start_as_set(body, state);
  }
  const bool constraints_alone =
      !model_.invariants.empty() && std::none_of(model_.initial_equations.begin(), model_.initial_equations.end(),
                                                 [](const Equation& equation) { return equation.is_of_start; });
  std::reverse(sequence.begin(), sequence.end());
  for (const Block* block : sequence) initial_block(body, *block);
  for (std::size_t i = 0; i < y_.size(); ++i) {
    const std::string start = body.number(known_start_of(body, y_[i]));
    std::string value = body.knows(y_[i]) ? body.number(y_[i]) : start;
    if (value == fmt::format("y[{}]", i)) continue;
    // Without a solution: what the integrator searches itself, near the start values.
    const bool found_anyway = i >= model_.states.size() || constraints_alone;
    if (found_anyway && value != start) value = fmt::format("manyfold::finite_or({}, {})", value, start);
    body.line(fmt::format("y[{}] = {};", i, value));
  }
  return body.text().empty() ? "" : function("initial(const auto& p, auto& y)", body.text());
}

}  // namespace manyfold::modelica
