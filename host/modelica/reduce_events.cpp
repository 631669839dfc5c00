// What changes at events alone: discrete variables, relations, whole parts of what varies.
#include <algorithm>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

/// Texts become names of events and of discrete variables, which result files hold.
std::string name_of_text(const std::string& text) {
  constexpr std::size_t longest = 80;
  std::string name;
  for (const char letter : text) name += static_cast<unsigned char>(letter) < 0x20 || letter == '/' ? '|' : letter;
  if (name.size() > longest) {
    const auto goes_on = [&](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) == 0x80; };
    std::size_t end = longest;
    while (goes_on(name[end])) --end;
    name = name.substr(0, end) + " ...";
  }
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

/// Does it say something at an event alone?
bool Reducer::momentary(Node root) {
  const std::vector<Node> nodes = graph_.below(root);
  return std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    const Op op = graph_[node].op;
    return op == Op::initial || op == Op::sample || op == Op::edge;
  });
}

/// Those that give what changes at events alone: first x = expression, then x = y, at last expression = x.
std::set<int> Reducer::take_discrete_equations() {
  FlatModel& flat = model_.flat;
  std::set<int> defined;
  for (const FlatEquation& equation : flat.discrete_equations) defined.insert(graph_[equation.left].index);
  const auto open = [&](Node side) {
    const NodeData data = graph_[side];
    return data.op == Op::variable && data.order == 0 && discrete_.contains(data.index) &&
           !defined.contains(data.index);
  };
  for (int round = 0; round < 3; ++round) {
    std::vector<FlatEquation> kept;
    for (const FlatEquation& equation : flat.equations) {
      const bool both = graph_[equation.left].op == Op::variable && graph_[equation.right].op == Op::variable;
      const bool by_left = open(equation.left) && (round > 0 || !both);
      const bool by_right = !by_left && open(equation.right) && (round > 1 || (round == 1 && both));
      if (by_left) {
        flat.discrete_equations.push_back(equation);
      } else if (by_right) {
        flat.discrete_equations.push_back({equation.right, equation.left, equation.place, equation.text});
      } else {
        kept.push_back(equation);
        continue;
      }
      defined.insert(graph_[flat.discrete_equations.back().left].index);
    }
    flat.equations = std::move(kept);
  }
  return defined;
}

/// Modelica takes equations of discrete Real variables in when clauses alone (3.6, 4.5.2).
void Reducer::warn_of_held_that_vary() {
  for (const FlatEquation& equation : model_.flat.equations) {
    for (const auto& [side, other] : {std::pair(equation.left, equation.right), {equation.right, equation.left}}) {
      const NodeData data = graph_[side];
      if (data.op != Op::variable || data.order > 0 || discrete_.contains(data.index)) continue;
      const FlatVariable& one = variable(data.index);
      if (one.variability != Variability::discrete || one.type != Type::real || !varies(other)) continue;
      diagnostics_.warn(equation.place, fmt::format("'{}' is declared discrete, and this equation outside of a when "
                                                    "clause changes it between events: it is taken as continuous",
                                                    one.name));
      break;
    }
  }
}

/// Variables that when clauses set, and others than real ones whose value before an event is used or that are true at
/// an event alone, are known between events. Their equations hold at events.
void Reducer::classify_discrete() {
  FlatModel& flat = model_.flat;
  for (const FlatEquation& equation : flat.discrete_equations) {
    const int index = graph_[equation.left].index;
    if (!discrete_.insert(index).second) {
      diagnostics_.error(equation.place,
                         fmt::format("'{}' is set by two when clauses: use elsewhen", variable(index).name));
    }
  }
  for (Node node = 0; node < static_cast<Node>(graph_.size()); ++node) {
    const NodeData data = graph_[node];
    if (data.op != Op::pre || variable(data.index).variability == Variability::continuous) continue;
    if (!variable(data.index).is_parameter()) discrete_.insert(data.index);
  }
  for (const FlatEquation& equation : flat.equations) {
    for (const auto& [side, other] : {std::pair(equation.left, equation.right), {equation.right, equation.left}}) {
      const NodeData data = graph_[side];
      const bool held = data.op == Op::variable && variable(data.index).variability == Variability::discrete;
      if (held && momentary(other)) discrete_.insert(data.index);
    }
  }
  warn_of_held_that_vary();
  const std::set<int> defined = take_discrete_equations();
  for (const int index : discrete_) {
    model_.discrete.push_back(index);
    if (!defined.contains(index)) {
      diagnostics_.error(variable(index).place, fmt::format("'{}' has no equation of the form {} = ...",
                                                            variable(index).name, variable(index).name));
    }
  }
}

/// Does it change between events?
bool Reducer::varies(Node root) {
  for (const Node node : graph_.below(root)) {
    const NodeData data = graph_[node];
    if (data.op == Op::time) return true;
    if (data.op != Op::variable) continue;
    const FlatVariable& one = variable(data.index);
    if (data.order > 0) return true;
    if (!one.is_parameter() && one.type == Type::real && !discrete_.contains(data.index)) return true;
  }
  return false;
}

/// As it is between events: values before the last event are those since then.
Node Reducer::between_events(Node root) {
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op == Op::pre && discrete_.contains(data.index)) return graph_.variable(data.index);
    const bool event = data.op == Op::initial || data.op == Op::sample || data.op == Op::edge;
    return event ? graph_.number(0.0) : no_node;
  });
}

/// With values before the event as discrete variables of their own, which follow theirs. So what an event takes over
/// from a continuous quantity is made of the values before it where the model says so.
Node Reducer::with_values_before(Node root) {
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.op != Op::pre || !discrete_.contains(data.index)) return no_node;
    const auto [known, is_new] = before_.try_emplace(data.index, -1);
    if (is_new) {
      const FlatVariable one = variable(data.index);
      known->second = made_discrete(fmt::format("pre({})", one.name), one.type);
      variable(known->second).start = one.start;
      model_.flat.discrete_equations.push_back({graph_.variable(known->second), node, one.place, ""});
    }
    return graph_.variable(known->second);
  });
}

Node Reducer::mode_of(const NodeData& relation) {
  const Node left = between_events(relation.operand[0]);
  const Node right = between_events(relation.operand[1]);
  const bool of_before = left != relation.operand[0] || right != relation.operand[1];
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    Relation& known = model_.relations[k];
    const bool same = known.op == relation.op && known.left == left && known.right == right;
    // Of a < b and its opposite one is enough.
    const bool opposite = known.op != relation.op && known.left == right && known.right == left;
    if (!same && !opposite) continue;
    known.of_before = known.of_before || of_before;
    const Node mode = graph_.mode(static_cast<int>(k));
    return same ? mode : graph_.negation(mode);
  }
  model_.relations.push_back({relation.op, left, right, of_before});
  return graph_.mode(static_cast<int>(model_.relations.size()) - 1);
}

/// What the side of a relation is compared with in place of min(limit, x) or max(limit, x); no_node: of that itself.
Node Reducer::behind_limit(Node side, Node other, bool strict, bool is_left) {
  const NodeData& data = graph_[side];
  const bool is_min = data.index == static_cast<int>(Function::min);
  if (data.op != Op::call || (!is_min && data.index != static_cast<int>(Function::max))) return no_node;
  for (const auto& [limit, x] : {std::pair(data.operand[0], data.operand[1]), {data.operand[1], data.operand[0]}}) {
    // p <= min(p, x) is p <= x, and min(p, x) < p is x < p; p < min(p, x) is never true.
    if (limit == other && (is_min == is_left) == strict) return x;
    if (!graph_.is_number(limit) || !graph_.is_number(other)) continue;
    const double beyond = graph_.value(limit) - graph_.value(other);
    if (is_min ? beyond > 0.0 : beyond < 0.0) return x;
  }
  return no_node;
}

/// What comes to its limit and stays there never crosses it: in `full = level >= 1` with `level = min(1, x)`, x does.
void Reducer::look_behind_limits() {
  std::map<Node, Node> value_of;
  for (const Block& block : model_.blocks) {
    for (const Step& step : block.steps) value_of[step.quantity] = step.value;
  }
  for (Relation& relation : model_.relations) {
    const bool strict = relation.op == Op::less;
    const auto look = [&](Node& side, Node other, bool is_left) {
      Node seen = side;
      for (auto step = value_of.find(seen); step != value_of.end(); step = value_of.find(seen)) {
        seen = step->second;
        const Node behind = behind_limit(seen, other, strict, is_left);
        if (behind == no_node) continue;
        side = seen = behind;
      }
      for (Node behind = side; behind != no_node; behind = behind_limit(side, other, strict, is_left)) side = behind;
    };
    look(relation.left, relation.right, true);
    look(relation.right, relation.left, false);
  }
}

/// A variable that stands not in the file.
int Reducer::made_variable(const std::string& name, Type type) {
  FlatVariable made;
  made.name = name;
  made.type = type;
  made.made = true;
  const int index = static_cast<int>(model_.flat.variables.size());
  model_.flat.variables.push_back(made);
  model_.root.resize(model_.flat.variables.size(), index);
  model_.sign.resize(model_.flat.variables.size(), 1);
  model_.fold.resize(model_.flat.variables.size(), no_node);
  return index;
}

int Reducer::made_discrete(const std::string& wanted, Type type) {
  // Assertions may have one text.
  const int before = made_names_[wanted]++;
  const std::string name = before == 0 ? wanted : fmt::format("{} ({})", wanted, before + 1);
  const int index = made_variable(name, type);
  variable(index).variability = Variability::discrete;
  discrete_.insert(index);
  model_.discrete.push_back(index);
  return index;
}

/// A number of its own that changes at events: where the argument leaves the interval of one between two whole numbers.
Node Reducer::whole_part(Node argument) {
  argument = between_events(argument);
  for (const WholePart& known : model_.whole_parts) {
    if (known.argument == argument) return graph_.variable(known.variable);
  }
  const int index = made_discrete(fmt::format("whole part {}", model_.whole_parts.size() + 1), Type::integer);
  model_.whole_parts.push_back({index, argument});
  return graph_.variable(index);
}

Node Reducer::with_modes(Node root) {
  if (root == no_node) return root;
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    if (data.silent) return no_node;
    if (data.op == Op::call && data.index == static_cast<int>(Function::floor) && varies(data.operand[0])) {
      return whole_part(with_modes(data.operand[0]));
    }
    if (data.op != Op::less && data.op != Op::less_equal) return no_node;
    if (!varies(data.operand[0]) && !varies(data.operand[1])) return no_node;
    NodeData relation = data;
    for (int k = 0; k < 2; ++k) relation.operand[k] = with_modes(data.operand[k]);
    return mode_of(relation);
  });
}

/// Whole parts as events have left them: beside a whole number, the one of the moment may be another.
Node Reducer::with_whole_parts(Node root) {
  return graph_.replace(root, [&](Node node) -> Node {
    const NodeData data = graph_[node];
    const bool floor = data.op == Op::call && data.index == static_cast<int>(Function::floor);
    return floor && !data.silent && varies(data.operand[0]) ? whole_part(with_modes(data.operand[0])) : no_node;
  });
}

void Reducer::find_relations() {
  FlatModel& flat = model_.flat;
  for (FlatEquation& equation : flat.equations) {
    equation.left = with_modes(within_domain(between_events(with_values_before(equation.left))));
    equation.right = with_modes(within_domain(between_events(with_values_before(equation.right))));
  }
  for (FlatEquation& equation : flat.discrete_equations) equation.right = with_modes(equation.right);
  for (Node& condition : flat.conditions) condition = with_modes(condition);
  for (FlatAction& action : flat.actions) {
    action.guard = with_modes(action.guard);
    if (action.kind != FlatAction::Kind::reinit) {
      action.variable = made_discrete(name_of_text("ends: " + action.message), Type::boolean);
    }
  }
  for (FlatAssertion& assertion : flat.assertions) {
    assertion.condition = with_whole_parts(between_events(assertion.condition));
  }
  gather_definitions();
  for (FlatEquation& equation : flat.equations) {
    if (is_logical(equation)) continue;
    const Node left = with_held_choices(equation.left, equation.right);
    equation.right = with_held_choices(equation.right, equation.left);
    equation.left = left;
  }
  for (const FlatEquation& equation : flat.equations) {
    Equation one;
    one.left = equation.left;
    one.right = equation.right;
    one.simplified = equation.simplified;
    one.residual = graph_.subtract(equation.left, equation.right);
    one.place = equation.place;
    one.text = equation.text;
    model_.equations.push_back(one);
  }
}

}  // namespace manyfold::modelica
