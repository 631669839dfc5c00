#include "host/modelica/model_code.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/model.hpp>

#include "host/modelica/reducer.hpp"
#include "host/text/printable.hpp"

namespace manyfold::modelica {
namespace {

std::string derivative_unit(const std::string& unit, int order) {
  std::string result = unit;
  for (int k = 0; k < order; ++k) result = (result.empty() || result == "1" ? "" : result + " ") + std::string("s-1");
  return result;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (byte < 0x20 || letter == '?') {
      result += fmt::format("\\{:03o}", byte);
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

std::string described(const FlatVariable& variable, const std::string& name) {
  std::string text = fmt::format("{{.name = {}", quoted(name));
  if (!variable.unit.empty() && variable.unit != "1") text += fmt::format(", .unit = {}", quoted(variable.unit));
  if (!variable.description.empty()) text += fmt::format(", .description = {}", quoted(variable.description));
  return text;
}

namespace {

/// Does the word stand in the code, comments aside?
bool uses(const std::string& code, const std::string& word) {
  const auto is_letter = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t k = code.find(word); k != std::string::npos; k = code.find(word, k + 1)) {
    const std::size_t end = k + word.size();
    const bool whole = (k == 0 || !is_letter(code[k - 1])) && (end == code.size() || !is_letter(code[end]));
    const std::size_t line = code.rfind('\n', k) + 1;
    if (whole && code.compare(code.find_first_not_of(' ', line), 2, "//") != 0) return true;
  }
  return false;
}

}  // namespace

/// Parameters that the body does not use have no name.
std::string function(const std::string& signature, const std::string& body) {
  const std::string type = "auto& ";
  std::string used;
  std::size_t rest = 0;
  for (std::size_t k = signature.find(type); k != std::string::npos; k = signature.find(type, k + 1)) {
    const std::size_t name = k + type.size();
    const std::size_t end = signature.find_first_of(",)", name);
    used += signature.substr(rest, k - rest);
    used += uses(body, signature.substr(name, end - name)) ? signature.substr(k, end - k) : "auto&";
    rest = end;
  }
  used += signature.substr(rest);
  return fmt::format("\n  static constexpr void {} {{\n{}  }}\n", used, body);
}

ModelCode::ModelCode(ReducedModel& model, std::string file)
    : model_(model), graph_(model.flat.graph), file_(std::move(file)) {
  for (const Block& block : model_.blocks) steps_.insert(steps_.end(), block.steps.begin(), block.steps.end());
  for (std::size_t k = 0; k < steps_.size(); ++k) step_of_[steps_[k].quantity] = k;
  number_quantities();
  find_own_starts();
  const auto known = [&](Node node) { return from_parameters(node); };
  for (Step& step : steps_) step.value = with_reciprocals(step.value, known);
  for (const int i : model_.residuals) {
    Node& residual = model_.equations[at(i)].residual;
    residual = with_reciprocals(residual, known);
  }
  gather_stage_steps();
  find_events();
  hoist();
  hoist_stage();
}

void ModelCode::number_quantities() {
  y_ = model_.states;
  y_.insert(y_.end(), model_.torn.begin(), model_.torn.end());
  for (std::size_t i = 0; i < y_.size(); ++i) place_in_y_[y_[i]] = static_cast<int>(i);
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    const FlatVariable& one = model_.flat.variables[i];
    const bool free = one.is_parameter() && model_.fold[i] == no_node && one.type != Type::string;
    if (!free || (one.fixed_given && !one.fixed && one.binding == no_node)) continue;
    place_of_parameter_[static_cast<int>(i)] = static_cast<int>(parameters_.size());
    parameters_.push_back(static_cast<int>(i));
  }
  for (const int index : model_.discrete) place_of_discrete_[index] = discrete_count_++;
  find_stored_relations();
  for (std::size_t k = 0; k < model_.flat.clocks.size(); ++k) clocks_.push_back(discrete_count_++);
  find_first_edges();
}

bool ModelCode::from_parameters(Node root) {
  if (const auto known = from_parameters_.find(root); known != from_parameters_.end()) return known->second;
  for (const Node node : graph_.below(root)) {
    if (from_parameters_.contains(node)) continue;
    const NodeData& data = graph_[node];
    const int count = Graph::operands(data);
    bool known = data.op == Op::number || (data.op == Op::variable && place_of_parameter_.contains(data.index));
    if (count > 0) {
      known = true;
      for (int k = 0; k < count; ++k) known = known && from_parameters_[data.operand[k]];
    }
    from_parameters_[node] = known;
  }
  return from_parameters_[root];
}

/// A product is cheaper than a quotient: divisors that are known are inverted once.
Node ModelCode::with_reciprocals(Node root, const std::function<bool(Node)>& known) {
  std::unordered_map<Node, Node> made;
  for (const Node node : graph_.below(root)) {
    const NodeData data = graph_[node];
    Node operand[3] = {no_node, no_node, no_node};
    for (int k = 0; k < Graph::operands(data); ++k) operand[k] = made[data.operand[k]];
    if (data.op == Op::divide && known(data.operand[1]) && !known(data.operand[0])) {
      made[node] = graph_.multiply(operand[0], graph_.divide(graph_.number(1.0), operand[1]));
    } else {
      made[node] = Graph::operands(data) == 0 ? node : graph_.rebuild(data, operand[0], operand[1], operand[2]);
    }
  }
  return made[root];
}

void ModelCode::hoist_below(Node root) {
  const auto add = [&](Node node) {
    const NodeData& data = graph_[node];
    const bool simple =
        Graph::operands(data) == 0 || (data.op == Op::negate && Graph::operands(graph_[data.operand[0]]) == 0);
    // Conditions stay where they are: a number is slower.
    if (simple || graph_.is_condition(node) || !from_parameters(node)) return;
    if (place_of_derived_.try_emplace(node, static_cast<int>(parameters_.size() + derived_.size())).second) {
      derived_.push_back(node);
    }
  };
  if (from_parameters(root)) return add(root);
  for (const Node node : graph_.below(root)) {
    if (from_parameters(node)) continue;
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) add(operand);
    }
  }
}

/// What parameters alone determine is computed once per instance.
void ModelCode::hoist() {
  for (const Step& step : steps_) hoist_below(step.value);
  for (const Step& step : stage_steps_) hoist_below(step.value);
  for (const int i : model_.residuals) hoist_below(model_.equations[at(i)].residual);
  for (const Equation& invariant : model_.invariants) hoist_below(invariant.residual);
  for (const Relation& relation : model_.relations) {
    hoist_below(relation.left);
    hoist_below(relation.right);
  }
  for (const Event& event : events_) {
    if (event.root != no_node) hoist_below(event.root);
    if (event.time != no_node) hoist_below(event.time);
  }
}

void ModelCode::prologue(Body& body, const std::vector<Node>& roots, const std::string& discrete,
                         const std::unordered_map<Node, int>& places, const std::string& unknowns,
                         const std::string& time) {
  body.bind(graph_.time(), time);
  const int first = static_cast<int>(parameters_.size() + derived_.size());
  for (const auto& [node, place] : place_of_derived_) body.bind(node, fmt::format("p[{}]", place));
  std::set<Node> leaves;
  std::vector<Node> open = roots;
  std::set<Node> seen;
  // Not below what is known already.
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!seen.insert(node).second || place_of_derived_.contains(node) || body.knows(node)) continue;
    if (Graph::operands(graph_[node]) == 0) leaves.insert(node);
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) open.push_back(operand);
    }
  }
  for (const Node leaf : leaves) {
    const NodeData data = graph_[leaf];
    std::string source;
    if (data.op == Op::mode) {
      const int place = slot_of_relation_[at(data.index)];
      body.bind(leaf, discrete == "p" ? fmt::format("p[{}] > 0.5", first + place) : fmt::format("d[{}] > 0.5", place));
      continue;
    }
    if (data.op != Op::variable) continue;
    if (const auto unknown = places.find(leaf); unknown != places.end()) {
      source = fmt::format("{}[{}]", unknowns, unknown->second);
    } else if (const auto parameter = place_of_parameter_.find(data.index); parameter != place_of_parameter_.end()) {
      source = fmt::format("p[{}]", parameter->second);
    } else if (const auto held = place_of_discrete_.find(data.index); held != place_of_discrete_.end()) {
      source = discrete == "p" ? fmt::format("p[{}]", first + held->second) : fmt::format("d[{}]", held->second);
    } else {
      continue;
    }
    const std::string name = names_.of(name_of_quantity(model_.flat, leaf));
    // What an action changes is read before.
    body.line(fmt::format("const auto{} {} = {};", discrete == "p" ? "&" : "", name, source));
    body.bind(leaf, name);
  }
}

std::vector<const Step*> ModelCode::needed(const Graph& graph, const std::vector<Step>& steps,
                                           const std::vector<Node>& outputs, std::vector<Node>& all) {
  std::set<Node> wanted;
  const auto want = [&](Node root) {
    all.push_back(root);
    for (const Node node : graph.below(root)) {
      if (graph[node].op == Op::variable) wanted.insert(node);
    }
  };
  for (const Node output : outputs) want(output);
  std::vector<const Step*> result;
  for (std::size_t k = steps.size(); k-- > 0;) {
    if (!wanted.contains(steps[k].quantity)) continue;
    result.push_back(&steps[k]);
    want(steps[k].value);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::string ModelCode::comment_of(const Step& step, const std::vector<Equation>& equations) const {
  if (step.equation < 0) return "";
  return text_of(equations[at(step.equation)]);
}

std::string ModelCode::text_of(const Equation& equation) {
  std::string text = equation.text;
  for (int k = 0; k < equation.differentiated; ++k) text = "d/dt (" + text + ")";
  return text;
}

void ModelCode::program(Body& body, const std::vector<Node>& outputs, const std::string& discrete,
                        const std::string& unknowns, const std::string& time) {
  std::vector<Node> all;
  const std::vector<const Step*> sequence = needed(graph_, steps_, outputs, all);
  prologue(body, all, discrete, place_in_y_, unknowns, time);
  for (const Node node : all) body.announce(node);
  assign(body, sequence, model_.equations);
}

void ModelCode::assign(Body& body, const std::vector<const Step*>& sequence, const std::vector<Equation>& equations) {
  for (const Step* step : sequence) {
    if (body.knows(step->value) && !graph_.is_condition(step->value)) {
      body.bind(step->quantity, body.number(step->value));
      continue;
    }
    body.let(step->quantity, name_of_quantity(model_.flat, step->quantity), step->value, comment_of(*step, equations));
  }
}

/// How many operations a program has that vary, about.
int ModelCode::operations(const std::vector<Node>& outputs) {
  std::vector<Node> all;
  needed(graph_, steps_, outputs, all);
  std::set<Node> varying;
  for (const Node root : all) {
    for (const Node node : graph_.below(root)) {
      if (Graph::operands(graph_[node]) > 0 && !from_parameters(node)) varying.insert(node);
    }
  }
  return static_cast<int>(varying.size());
}

std::string ModelCode::rhs() {
  names_ = Names();
  std::vector<Node> outputs;
  for (const Node state : model_.states) {
    const NodeData data = graph_[state];
    const bool constant = model_.flat.variables[at(data.index)].is_parameter();
    outputs.push_back(constant ? graph_.number(0.0) : graph_.variable(data.index, data.order + 1));
  }
  for (const int i : model_.residuals) outputs.push_back(model_.equations[at(i)].residual);
  Body body(graph_, names_, 4);
  program(body, outputs, "p");
  if (outputs.empty()) body.line("f[0] = 0.0;");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i >= model_.states.size()) body.comment(model_.equations[at(model_.residuals[i - model_.states.size()])].text);
    body.line(fmt::format("f[{}] = {};", i, body.number(outputs[i])));
  }
  operations_ = operations(outputs);
  return fmt::format("\n  static constexpr int operations = {};{}", operations_,
                     function("rhs(const auto& t, const auto& y, const auto& p, auto& f)", body.text()));
}

std::string ModelCode::invariants() {
  if (model_.invariants.empty()) return "";
  names_ = Names();
  std::vector<Node> outputs;
  for (const Equation& invariant : model_.invariants) outputs.push_back(invariant.residual);
  Body body(graph_, names_, 4);
  program(body, outputs, "p");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    body.comment(text_of(model_.invariants[i]));
    body.line(fmt::format("g[{}] = {};", i, body.number(outputs[i])));
  }
  return fmt::format("\n  static constexpr int invariants = {};\n  static constexpr bool projection = true;\n{}",
                     outputs.size(),
                     function("invariant(const auto& t, const auto& y, const auto& p, auto& g)", body.text()));
}

std::vector<Node> ModelCode::observed_quantities() {
  std::vector<Node> result;
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    const FlatVariable& one = model_.flat.variables[i];
    if (one.is_parameter() || one.type == Type::string || one.made) continue;
    const int index = static_cast<int>(i);
    if (place_in_y_.contains(graph_.variable(index))) continue;
    result.push_back(graph_.variable(index));
  }
  return result;
}

std::string ModelCode::observables() {
  const std::vector<Node> observed = observed_quantities();
  if (observed.empty()) return "";
  names_ = Names();
  std::string table = "\n  static constexpr manyfold::Observable observables[] = {\n";
  std::vector<Node> outputs;
  for (const Node quantity : observed) {
    const int index = graph_[quantity].index;
    const FlatVariable& one = model_.flat.variables[at(index)];
    table += fmt::format("      {}{}}},\n", described(one, one.name), ranged(one));
    const int root = model_.root[at(index)];
    Node value = !model_.flat.variables[at(root)].is_parameter() && model_.fold[at(root)] != no_node
                     ? model_.fold[at(root)]
                     : graph_.variable(root);
    if (model_.sign[at(index)] < 0) value = graph_.negate(value);
    outputs.push_back(value);
  }
  table += "  };\n";
  Body body(graph_, names_, 4);
  program(body, outputs, "p");
  for (std::size_t i = 0; i < outputs.size(); ++i) body.line(fmt::format("o[{}] = {};", i, body.number(outputs[i])));
  return table + function("observe(const auto& t, const auto& y, const auto&, const auto& p, auto& o)", body.text());
}

std::string ModelCode::ranged(const FlatVariable& variable) const {
  std::string text;
  for (const auto& [name, bound] : {std::pair("min", variable.min), std::pair("max", variable.max)}) {
    if (bound == no_node || !graph_.is_number(bound) || !std::isfinite(graph_.value(bound))) continue;
    text += fmt::format(", .{} = {}", name, literal(graph_.value(bound)));
  }
  return text;
}

std::string ModelCode::variables() {
  const std::set<Node> fixed(model_.fixed.begin(), model_.fixed.end());
  std::string text = "  static constexpr manyfold::Variable variables[] = {\n";
  for (std::size_t i = 0; i < y_.size(); ++i) {
    const NodeData data = graph_[y_[i]];
    FlatVariable one = model_.flat.variables[at(data.index)];
    one.unit = derivative_unit(one.unit, data.order);
    text += "      " + described(one, name_of_quantity(model_.flat, y_[i]));
    const auto own = own_starts_.find(y_[i]);
    const Node start = own != own_starts_.end() ? own->second : start_of(y_[i]);
    const bool algebraic = i >= model_.states.size();
    if (!graph_.is_number(start)) {
      text += ", .initial = manyfold::unset";
    } else if (graph_.value(start) != 0.0) {
      text += ", .initial = " + literal(graph_.value(start));
    }
    if (algebraic) text += ", .algebraic = true";
    const bool stays = fixed.contains(y_[i]) && model_.flat.variables[at(data.index)].fixed && data.order == 0;
    if (!model_.invariants.empty() && !algebraic && !stays) text += ", .given = manyfold::Given::projected";
    if (const std::string from = initial_from(y_[i]); !from.empty()) text += ", .initial_from = " + quoted(from);
    if (data.order == 0) text += ranged(one);
    text += "},\n";
  }
  // The integrator needs something to integrate.
  if (y_.empty()) text += "      {.name = \"no_state\", .description = \"the model has no states\"},\n";
  return text + "  };\n";
}

std::string ModelCode::parameters() {
  if (parameters_.empty()) return "";
  std::string text = "  static constexpr manyfold::Parameter parameters[] = {\n";
  for (const int index : parameters_) {
    const FlatVariable& one = model_.flat.variables[at(index)];
    const Node value = one.binding != no_node ? one.binding : one.start;
    text += fmt::format("      {}, .value = {}{}}},\n", described(one, one.name),
                        literal(value != no_node && graph_.is_number(value) ? graph_.value(value) : 0.0), ranged(one));
  }
  return text + "  };\n";
}

/// Why nobody can set this parameter of the file.
std::string ModelCode::reason_to_be_fixed(int index) const {
  const Node value = model_.fold[at(index)];
  if (value == no_node) return "initial equations determine it";
  if (model_.flat.variables[at(index)].evaluated) return "its value in the file shapes the equations";
  std::vector<std::string> others;
  for (const Node node : graph_.below(value)) {
    if (graph_[node].op == Op::variable) others.push_back(model_.flat.variables[at(graph_[node].index)].name);
  }
  std::ranges::sort(others);
  return others.empty() ? "it follows from parameters that cannot be set"
                        : fmt::format("it follows from {}", fmt::join(others, ", "));
}

std::string ModelCode::fixed_parameters() {
  std::string text;
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    const FlatVariable& one = model_.flat.variables[i];
    const int index = static_cast<int>(i);
    if (one.variability != Variability::parameter || one.made || one.type == Type::string) continue;
    if (place_of_parameter_.contains(index)) continue;
    text += fmt::format("      {{.name = {}, .reason = {}}},\n", quoted(one.name), quoted(reason_to_be_fixed(index)));
  }
  if (text.empty()) return "";
  return "  static constexpr manyfold::FixedParameter fixed_parameters[] = {\n" + text + "  };\n";
}

std::string ModelCode::derive() {
  if (derived_.empty()) return "";
  names_ = Names();
  Body body(graph_, names_, 4);
  const auto places = std::move(place_of_derived_);
  place_of_derived_.clear();
  prologue(body, derived_, "p");
  for (const Node node : derived_) body.announce(node);
  for (const Node node : derived_) {
    body.line(fmt::format("p[{}] = {};", places.at(node), body.number(node)));
    body.bind(node, fmt::format("p[{}]", places.at(node)));
  }
  place_of_derived_ = places;
  return fmt::format("\n  static constexpr int derived = {};{}", derived_.size(),
                     function("derive(auto& p)", body.text()));
}

std::string ModelCode::text() {
  const FlatModel& flat = model_.flat;
  const auto experiment = [&](const char* setting, double otherwise) {
    const auto found = flat.experiment.find(setting);
    return found == flat.experiment.end() ? otherwise : found->second;
  };
  const std::string type = Names().of("Model_" + flat.name);
  const double begin = experiment("StartTime", 0.0);
  std::string result = "#pragma once\n";
  result += fmt::format("// Written by manyfold from {}: {} equations, of which {} are left for the integrator.\n",
                        printable(file_), model_.original_equations, y_.size());
  const std::string equations = rhs();
  if (operations_ > model_check::most_operations) {
    // A program has other models too, and decides for itself.
    result += "#if defined(MANYFOLD_KERNEL_UNIT)\n#define MANYFOLD_LARGE_MODEL\n#endif\n";
  }
  result += "#include <manyfold/block_solver.hpp>\n#include <manyfold/model.hpp>\n\n";
  result += fmt::format("struct {} {{\n  static constexpr const char* name = {};\n", type, quoted(flat.name));
  if (!flat.description.empty()) {
    result += fmt::format("  static constexpr const char* description = {};\n", quoted(flat.description));
  }
  if (!model_.cautions.empty()) {
    result += fmt::format("  static constexpr const char* caution = {};\n",
                          quoted(fmt::format("{}", fmt::join(model_.cautions, "; "))));
  }
  result += fmt::format("  static constexpr double t_span[] = {{{}, {}}};\n", literal(begin),
                        literal(experiment("StopTime", begin + 1.0)));
  result += variables() + parameters() + fixed_parameters() + events() + discrete_numbers() + derive() + initial() +
            initial_discrete() + equations + invariants() + stage() + root() + sides() + event_times() + action() +
            observables();
  result += fmt::format("}};\nMANYFOLD_MODEL({});\n", type);
  return result;
}

}  // namespace manyfold::modelica
