// What equations there are, for which unknowns; parameters folded, aliases removed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

// Constants that follow from constants take a pass each.
constexpr int most_passes = 100;

/// Every expression of the start, of what events do, and of assertions.
void for_each_beside_equations(FlatModel& flat, const auto& change) {
  for (FlatEquation& equation : flat.initial_equations) {
    change(equation.left);
    change(equation.right);
  }
  for (FlatEquation& equation : flat.discrete_equations) change(equation.right);
  for (Node& condition : flat.conditions) change(condition);
  for (FlatAction& action : flat.actions) {
    change(action.guard);
    change(action.value);
  }
  for (FlatAssertion& assertion : flat.assertions) change(assertion.condition);
}

}  // namespace

std::string name_of_quantity(const FlatModel& model, Node quantity) {
  const NodeData data = model.graph[quantity];
  std::string name = model.variables[at(data.index)].name;
  for (int k = 0; k < data.order; ++k) name = fmt::format("der({})", name);
  return name;
}

std::string Reducer::quantity_name(Node quantity) const {
  return name_of_quantity(model_.flat, quantity);
}

bool Reducer::is_unknown(int index) const {
  return !model_.flat.variables[at(index)].is_parameter() && !discrete_.contains(index) &&
         model_.fold[at(index)] == no_node && model_.root[at(index)] == index;
}

bool Reducer::is_given(int index) const {
  const FlatVariable& one = model_.flat.variables[at(index)];
  return one.is_parameter() && !(one.fixed_given && !one.fixed && one.binding == no_node);
}

double Reducer::start_time() const {
  const auto found = model_.flat.experiment.find("StartTime");
  return found == model_.flat.experiment.end() ? 0.0 : found->second;
}

ReducedModel Reducer::reduce() {
  const std::size_t count = model_.flat.variables.size();
  model_.root.resize(count);
  model_.sign.assign(count, 1);
  model_.fold.assign(count, no_node);
  folding_.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) model_.root[i] = static_cast<int>(i);
  bind_inputs();
  bind_start_times();
  fold_parameters();
  check_clocks();
  if (diagnostics_.failed()) return std::move(model_);
  gather_equations();
  classify_discrete();
  find_relations();
  check_assertions();
  find_original_structure();
  if (diagnostics_.failed()) return std::move(model_);
  prefer_reinitialised();
  remove_aliases();
  join_semi_linear();
  guess_from_others();
  reduce_index();
  if (!diagnostics_.failed()) check_reinitialised();
  if (!diagnostics_.failed()) {
    model_.loops_are_switched = model_.loops_are_switched || has_switched_loops();
    fill_empty_residuals();
    look_behind_limits();
  }
  if (!diagnostics_.failed()) order_start();
  if (!diagnostics_.failed()) order_stage();
  return std::move(model_);
}

/// Those of parameters alone are looked at once, with the default values.
void Reducer::check_assertions() {
  for (const FlatAssertion& assertion : model_.flat.assertions) {
    double holds = 1.0;
    if (!known_from_parameters(assertion.condition, holds) || holds != 0.0) continue;
    diagnostics_.error(assertion.place, fmt::format("the assertion does not hold: {}", assertion.message));
  }
}

/// Clocks tick by parameters.
void Reducer::check_clocks() {
  for (const FlatClock& clock : model_.flat.clocks) {
    const Node both[] = {clock.start, clock.interval};
    for (const Node node : graph_.below(both)) {
      const NodeData data = graph_[node];
      if (data.op != Op::time && (data.op != Op::variable || variable(data.index).is_parameter())) continue;
      diagnostics_.error(clock.place, fmt::format("sample takes times that parameters tell, and '{}' varies",
                                                  data.op == Op::time ? "time" : variable(data.index).name));
      break;
    }
  }
}

/// Inputs that nothing feeds are parameters.
void Reducer::bind_inputs() {
  for (FlatVariable& one : model_.flat.variables) {
    if (one.input && one.binding == no_node && !one.is_parameter()) one.variability = Variability::parameter;
  }
}

/// Parameters that an initial equation makes the time of the start, or what follows from it: clocks go by them.
void Reducer::bind_start_times() {
  const Node begin = graph_.number(start_time());
  const auto bind = [&](Node left, Node right) {
    const NodeData data = graph_[left];
    if (data.op != Op::variable || !variable(data.index).is_parameter() || is_given(data.index)) return false;
    bool of_time = false;
    for (const Node node : graph_.below(right)) {
      const NodeData leaf = graph_[node];
      of_time = of_time || leaf.op == Op::time;
      if (leaf.op == Op::pre || (leaf.op == Op::variable && !is_given(leaf.index))) return false;
    }
    if (!of_time) return false;
    FlatVariable& one = variable(data.index);
    one.binding = graph_.replace(right, [&](Node node) { return graph_[node].op == Op::time ? begin : no_node; });
    one.evaluated = true;
    return true;
  };
  std::erase_if(model_.flat.initial_equations, [&](const FlatEquation& equation) {
    return bind(equation.left, equation.right) || bind(equation.right, equation.left);
  });
}

void Reducer::fold_parameters() {
  std::set<Place> told;
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    if (!model_.flat.variables[i].is_parameter()) continue;
    const FlatVariable one = model_.flat.variables[i];
    const bool given = one.binding != no_node || one.start != no_node || one.input || !is_given(static_cast<int>(i));
    if (!given && one.type != Type::string && told.insert(one.place).second) {
      const bool constant = one.variability == Variability::constant;
      warn(one.place,
           constant ? fmt::format("the constant '{}' has no value: it is 0", one.name)
                    : fmt::format("the parameter '{}' has no value: it is 0 where a run gives it none", one.name));
    }
    folded_parameter(static_cast<int>(i));
  }
}

/// What a parameter follows from; no_node: it is free.
Node Reducer::folded_parameter(int index) {
  if (folding_[at(index)] == 2) return model_.fold[at(index)];
  if (folding_[at(index)] == 1) {
    diagnostics_.error(variable(index).place,
                       fmt::format("the parameter '{}' depends on itself", variable(index).name));
    return no_node;
  }
  folding_[at(index)] = 1;
  const FlatVariable one = variable(index);
  const char* const kind = one.variability == Variability::constant ? "constant" : "parameter";
  Node value = one.binding != no_node ? one.binding : one.fixed_given && !one.fixed ? no_node : one.start;
  if (value != no_node) {
    value = graph_.replace(value, [&](Node node) -> Node {
      const NodeData data = graph_[node];
      if (data.op == Op::time) {
        diagnostics_.error(one.place, fmt::format("the {} '{}' depends on time, which varies", kind, one.name));
      }
      if (data.op != Op::variable && data.op != Op::pre) return no_node;
      if (!variable(data.index).is_parameter()) {
        diagnostics_.error(one.place, fmt::format("the {} '{}' depends on '{}', which varies", kind, one.name,
                                                  variable(data.index).name));
        return graph_.number(0.0);
      }
      return folded_parameter(data.index);
    });
  }
  folding_[at(index)] = 2;
  Node& fold = model_.fold[at(index)];
  const bool number = value != no_node && graph_.is_number(value);
  if (value == no_node) {
    if (one.variability == Variability::constant || one.evaluated) fold = graph_.number(0.0);
  } else if (!number || one.variability == Variability::constant || one.evaluated) {
    fold = value;
  }
  if (number) variable(index).binding = value;
  return fold;
}

void Reducer::gather_equations() {
  FlatModel& flat = model_.flat;
  std::unordered_map<Node, Node> done;
  const Replacement fold = [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op != Op::variable) return no_node;
    return model_.fold[at(data.index)];
  };
  const auto folded = [&](Node& node) {
    if (node != no_node) node = graph_.replace(node, fold, done);
  };
  for (std::size_t i = 0; i < flat.variables.size(); ++i) {
    FlatVariable& one = flat.variables[i];
    folded(one.start);
    folded(one.nominal);
    folded(one.min);
    folded(one.max);
    if (one.is_parameter() || one.binding == no_node) continue;
    flat.equations.push_back({graph_.variable(static_cast<int>(i)), one.binding, one.place,
                              fmt::format("{} = ... (declaration)", one.name)});
  }
  for (FlatEquation& equation : flat.equations) {
    folded(equation.left);
    folded(equation.right);
    folded(equation.simplified);
  }
  for_each_beside_equations(flat, folded);
  for (FlatClock& clock : flat.clocks) {
    folded(clock.start);
    folded(clock.interval);
  }
}

Signature Reducer::signature_of(const std::vector<Equation>& equations, const std::vector<int>& unknowns) {
  std::vector<int> number(model_.flat.variables.size(), -1);
  for (std::size_t k = 0; k < unknowns.size(); ++k) number[at(unknowns[k])] = static_cast<int>(k);
  Signature signature(equations.size());
  for (std::size_t i = 0; i < equations.size(); ++i) {
    std::map<int, int> highest;
    for (const Node node : graph_.below(equations[i].residual)) {
      const NodeData data = graph_[node];
      if (data.op != Op::variable || number[at(data.index)] < 0) continue;
      const auto entry = highest.try_emplace(number[at(data.index)], data.order).first;
      entry->second = std::max(entry->second, data.order);
    }
    for (const auto& [unknown, order] : highest) signature[i].push_back({unknown, order});
  }
  return signature;
}

void Reducer::find_original_structure() {
  unknowns_.clear();
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    if (is_unknown(static_cast<int>(i))) unknowns_.push_back(static_cast<int>(i));
  }
  const Signature signature = signature_of(model_.equations, unknowns_);
  const auto homotopies =
      static_cast<int>(std::count_if(model_.equations.begin(), model_.equations.end(),
                                     [](const Equation& equation) { return equation.simplified != no_node; }));
  model_.original_variables = static_cast<int>(unknowns_.size()) - homotopies;
  model_.original_equations = static_cast<int>(model_.equations.size()) - homotopies;
  const SystemOffsets offsets = find_system_offsets(signature, static_cast<int>(unknowns_.size()));
  if (!offsets.regular) {
    report_singular(signature);
    return;
  }
  model_.structural_index = offsets.index();
  model_.freedoms = offsets.freedoms();
  model_.offsets_c = offsets.equation;
  model_.offsets_d = offsets.unknown;
  for (const int index : unknowns_) model_.offset_names.push_back(variable(index).name);
}

void Reducer::report_singular(const Signature& signature) {
  const std::vector<Equation>& equations = model_.equations;
  const std::vector<int>& unknowns = unknowns_;
  Incidence incidence(signature.size());
  for (std::size_t i = 0; i < signature.size(); ++i) {
    for (const SignatureEntry& entry : signature[i]) incidence[i].push_back(entry.unknown);
  }
  const Matching matching = match(incidence, static_cast<int>(unknowns.size()));
  const Excess found = excess(incidence, static_cast<int>(unknowns.size()), matching);
  constexpr std::size_t most_listed = 12;
  const auto list = [&](const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t k = 0; k < numbers.size() && k < most_listed; ++k) {
      text += fmt::format("{}{}", k > 0 ? ", " : "", variable(unknowns[at(numbers[k])]).name);
    }
    return text + (numbers.size() > most_listed ? ", ..." : "");
  };
  // Those of one array stand in one line.
  const auto list_equations = [&](const std::vector<int>& numbers) {
    std::string text;
    std::size_t lines = 0;
    for (std::size_t k = 0, next = 0; k < numbers.size(); k = next) {
      const Equation& equation = equations[at(numbers[k])];
      const auto same = [&](int number) {
        return equations[at(number)].place == equation.place && equations[at(number)].text == equation.text;
      };
      while (next < numbers.size() && same(numbers[next])) ++next;
      if (++lines > most_listed) return text + "\n    ...";
      text += fmt::format("\n    line {}: {}", diagnostics_.position(equation.place).line, equation.text);
      if (next > k + 1) text += fmt::format(" ({} equations)", next - k);
    }
    return text;
  };
  std::string message = fmt::format("the model has {} equation{} for {} variable{}", equations.size(),
                                    equations.size() == 1 ? "" : "s", unknowns.size(), unknowns.size() == 1 ? "" : "s");
  if (equations.size() == unknowns.size()) message += ", but they do not determine them";
  if (!found.unknowns.empty()) {
    message += fmt::format(
        "\n  too many variables: {} variables stand in {} equations alone; {} more needed\n    variables: {}",
        found.unknowns.size(), found.their_equations.size(), found.unknowns.size() - found.their_equations.size(),
        list(found.unknowns));
    if (!found.their_equations.empty()) message += "\n    their equations:" + list_equations(found.their_equations);
  }
  if (!found.equations.empty()) {
    message += fmt::format("\n  too many equations: {} equations for {} variables; {} must go:{}",
                           found.equations.size(), found.their_unknowns.size(),
                           found.equations.size() - found.their_unknowns.size(), list_equations(found.equations));
    if (!found.their_unknowns.empty()) message += "\n    their variables: " + list(found.their_unknowns);
  }
  const Place place = !found.equations.empty()  ? equations[at(found.equations[0])].place
                      : !found.unknowns.empty() ? variable(unknowns[at(found.unknowns[0])]).place
                                                : 0;
  diagnostics_.error(place, message);
}

/// x = y, x = -y, x + y = 0 and x = 5: is it one of these? `b` is -1 for x = `value`.
bool Reducer::alias_of(const Equation& equation, int& a, int& b, int& sign, double& value) {
  if (equation.simplified != no_node) return false;
  const NodeData data = graph_[equation.residual];
  const auto plain = [&](Node node, int& index, int& own_sign) {
    NodeData inner = graph_[node];
    own_sign = 1;
    if (inner.op == Op::negate) {
      own_sign = -1;
      inner = graph_[inner.operand[0]];
    }
    index = inner.index;
    return inner.op == Op::variable && inner.order == 0 && is_unknown(inner.index);
  };
  int sign_a = 1;
  int sign_b = 1;
  b = -1;
  if (data.op == Op::negate || data.op == Op::variable) {
    value = 0.0;
    return plain(equation.residual, a, sign_a) && variable(a).type == Type::real;
  }
  if (data.op != Op::subtract && data.op != Op::add) return false;
  for (int k = 0; k < 2; ++k) {
    const Node known = data.operand[1 - k];
    if (!graph_.is_number(known)) continue;
    if (!plain(data.operand[k], a, sign_a) || variable(a).type != Type::real) return false;
    value = (data.op == Op::subtract ? sign_a : -sign_a) * graph_.value(known);
    return std::isfinite(value);
  }
  const bool first = plain(data.operand[0], a, sign_a);
  const bool second = plain(data.operand[1], b, sign_b);
  if (!first || !second || a == b) return false;
  if (variable(a).type != variable(b).type) return false;
  sign = sign_a * sign_b * (data.op == Op::subtract ? 1 : -1);
  return variable(a).type == Type::real || sign == 1;
}

/// What reinit sets is a state, as the language has it.
void Reducer::prefer_reinitialised() {
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind != FlatAction::Kind::reinit) continue;
    FlatVariable& one = variable(action.variable);
    if (one.is_parameter() || discrete_.contains(action.variable)) {
      diagnostics_.error(action.place, fmt::format("'{0}' is {1}: reinit sets states; expected {0} = ... here",
                                                   one.name, one.is_parameter() ? "a parameter" : "discrete"));
    }
    one.select = StateSelect::always;
  }
}

int Reducer::find_root(int index, int& sign) {
  sign = 1;
  while (model_.root[at(index)] != index) {
    sign *= model_.sign[at(index)];
    index = model_.root[at(index)];
  }
  return index;
}

void Reducer::remove_aliases() {
  std::vector<bool> differentiated(model_.flat.variables.size());
  for (Node node = 0; node < static_cast<Node>(graph_.size()); ++node) {
    const NodeData data = graph_[node];
    if (data.op == Op::variable && data.order > 0) differentiated[at(data.index)] = true;
  }
  // Which of two stands for both: the one that is, or may be, a state, and whose start is given.
  const auto rank = [&](int index) {
    const FlatVariable& one = variable(index);
    return (one.fixed ? 100 : 0) + 10 * static_cast<int>(one.select) + (differentiated[at(index)] ? 5 : 0) +
           (one.start != no_node ? 2 : 0);
  };
  bool changed = true;
  for (int pass = 0; changed && pass < most_passes; ++pass) {
    changed = false;
    std::vector<Equation> kept;
    for (const Equation& equation : model_.equations) {
      int a = -1;
      int b = -1;
      int sign = 1;
      double value = 0.0;
      if (!alias_of(equation, a, b, sign, value)) {
        kept.push_back(equation);
        continue;
      }
      int sign_a = 1;
      int sign_b = 1;
      a = find_root(a, sign_a);
      if (b < 0) {
        const Node constant = graph_.number(sign_a * value);
        const bool contradicts = variable(a).fixed && variable(a).start != constant;
        if (contradicts || model_.fold[at(a)] != no_node) {
          kept.push_back(equation);
          continue;
        }
        model_.fold[at(a)] = constant;
      } else {
        b = find_root(b, sign_b);
        sign *= sign_a * sign_b;
        if (a == b || model_.fold[at(a)] != no_node || model_.fold[at(b)] != no_node ||
            (variable(a).fixed && variable(b).fixed)) {
          kept.push_back(equation);
          continue;
        }
        if (rank(a) > rank(b)) std::swap(a, b);
        model_.root[at(a)] = b;
        model_.sign[at(a)] = sign;
        differentiated[at(b)] = differentiated[at(b)] || differentiated[at(a)];
        FlatVariable& keeps = variable(b);
        const FlatVariable& goes = variable(a);
        if (keeps.start == no_node && goes.start != no_node) {
          keeps.start = sign > 0 ? goes.start : graph_.negate(goes.start);
        }
        if (goes.fixed) {
          keeps.fixed = true;
          keeps.start = goes.start == no_node ? goes.start : sign > 0 ? goes.start : graph_.negate(goes.start);
        }
        keeps.select = std::max(keeps.select, goes.select);
      }
      ++model_.aliases;
      changed = true;
    }
    model_.equations = std::move(kept);
    if (changed) substitute_aliases();
  }
  for (std::size_t i = 0; i < model_.root.size(); ++i) {
    int sign = 1;
    const int root = find_root(static_cast<int>(i), sign);
    model_.root[i] = root;
    model_.sign[i] = sign;
  }
}

void Reducer::substitute_aliases() {
  FlatModel& flat = model_.flat;
  std::unordered_map<Node, Node> done;
  const Replacement other = [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op != Op::variable && data.op != Op::pre) return no_node;
    int sign = 1;
    const int root = find_root(data.index, sign);
    const Node constant = variable(root).is_parameter() ? no_node : model_.fold[at(root)];
    if (constant != no_node && data.order > 0) return graph_.number(0.0);
    if (constant != no_node) return sign > 0 ? constant : graph_.negate(constant);
    if (root == data.index) return no_node;
    const Node stands = data.op == Op::pre ? graph_.pre(root) : graph_.variable(root, data.order);
    return sign > 0 ? stands : graph_.negate(stands);
  };
  const auto substitute = [&](Node& node) {
    if (node != no_node) node = graph_.replace(node, other, done);
  };
  for (Equation& equation : model_.equations) {
    substitute(equation.left);
    substitute(equation.right);
    substitute(equation.residual);
    substitute(equation.simplified);
  }
  for_each_beside_equations(flat, substitute);
  for (FlatAction& action : flat.actions) {
    if (action.kind != FlatAction::Kind::reinit) continue;
    int sign = 1;
    action.variable = find_root(action.variable, sign);
    if (sign < 0) action.value = graph_.negate(action.value);
  }
  for (Relation& relation : model_.relations) {
    substitute(relation.left);
    substitute(relation.right);
  }
  for (WholePart& part : model_.whole_parts) substitute(part.argument);
  for (FlatVariable& one : flat.variables) substitute(one.start);
}

/// y = x (x >= 0 ? upwards : downwards), as of semiLinear, of two variables; false: it is something else.
bool Reducer::semi_linear_of(const Equation& equation, SemiLinear& found) {
  if (equation.simplified != no_node || equation.left == no_node) return false;
  double sign = 1.0;
  const auto positive = [&](Node node) {
    if (graph_[node].op != Op::negate) return node;
    sign = -sign;
    return graph_[node].operand[0];
  };
  found.y = positive(equation.left);
  const NodeData product = graph_[positive(equation.right)];
  if (product.op != Op::multiply) return false;
  const bool chosen_first = graph_[product.operand[0]].op == Op::choice;
  const NodeData chosen = graph_[product.operand[chosen_first ? 0 : 1]];
  found.x = positive(product.operand[chosen_first ? 1 : 0]);
  if (chosen.op != Op::choice || graph_[found.x].op != Op::variable || graph_[found.y].op != Op::variable) return false;
  const bool negated = graph_[chosen.operand[0]].op == Op::negation;
  const NodeData mode = graph_[negated ? graph_[chosen.operand[0]].operand[0] : chosen.operand[0]];
  if (mode.op != Op::mode) return false;
  const Relation& relation = model_.relations[at(mode.index)];
  const bool from_zero = graph_.is_number(relation.left, 0.0);
  const Node other = from_zero ? relation.right : relation.left;
  const bool of_negative = graph_[other].op == Op::negate;
  if ((!from_zero && !graph_.is_number(relation.right, 0.0)) ||
      (of_negative ? graph_[other].operand[0] : other) != found.x) {
    return false;
  }
  const bool rises = (from_zero != of_negative) != negated;
  found.is_up = rises ? chosen.operand[0] : graph_.negation(chosen.operand[0]);
  found.upwards = chosen.operand[rises ? 1 : 2];
  found.downwards = chosen.operand[rises ? 2 : 1];
  found.sign = sign;
  return true;
}

/// Of y = semiLinear(x, a, s), y = semiLinear(x, s, r), y = semiLinear(x, r, b), all are 0 = 0 where nothing flows. As
/// the language has it (3.7.4.5), s and r are a or b, and then are known there too.
void Reducer::join_semi_linear() {
  std::vector<std::size_t> places;
  std::vector<SemiLinear> all;
  for (std::size_t i = 0; i < model_.equations.size(); ++i) {
    SemiLinear one;
    if (!semi_linear_of(model_.equations[i], one)) continue;
    places.push_back(i);
    all.push_back(one);
  }
  const auto follower = [&](std::size_t k) {
    std::size_t next = 0;
    while (next < all.size() && !(next != k && all[next].x == all[k].x && all[next].y == all[k].y &&
                                  all[next].sign == all[k].sign && all[next].upwards == all[k].downwards)) {
      ++next;
    }
    const NodeData data = graph_[all[k].downwards];
    return data.op == Op::variable && data.order == 0 && is_unknown(data.index) ? next : all.size();
  };
  std::vector<std::size_t> next(all.size());
  std::vector<bool> is_first(all.size(), true);
  for (std::size_t k = 0; k < all.size(); ++k) {
    next[k] = follower(k);
    if (next[k] == all.size()) continue;
    if (is_first[next[k]]) {
      is_first[next[k]] = false;
    } else {
      next[k] = all.size();
    }
  }
  // Of a circle none is the first.
  for (std::size_t first = 0; first < all.size(); ++first) {
    if (!is_first[first] || next[first] == all.size()) continue;
    std::size_t last = first;
    while (next[last] < all.size()) last = next[last];
    const Node carried = graph_.choice(all[first].is_up, all[first].upwards, all[last].downwards);
    const auto write = [&](Equation& equation, Node left, Node right) {
      equation.left = left;
      equation.right = right;
      equation.residual = graph_.subtract(left, right);
    };
    Equation& flow = model_.equations[places[first]];
    write(flow, all[first].y, graph_.multiply(graph_.number(all[first].sign), graph_.multiply(carried, all[first].x)));
    for (std::size_t k = first; k != last; k = next[k]) {
      write(model_.equations[places[next[k]]], all[k].downwards, carried);
    }
  }
}

}  // namespace manyfold::modelica
