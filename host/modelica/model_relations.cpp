// What relations are at an event, and in which order they and what changes at events are evaluated.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

/// Conditions of when clauses (number k as -1 - k) and equations of discrete variables, each after those that it uses.
std::vector<int> ModelCode::discrete_order() {
  const std::vector<FlatEquation>& equations = model_.flat.discrete_equations;
  std::map<int, int> equation_of;
  for (std::size_t i = 0; i < equations.size(); ++i) equation_of[graph_[equations[i].left].index] = static_cast<int>(i);
  std::vector<int> result;
  std::set<int> seen;
  const std::function<void(int)> visit = [&](int item) {
    if (!seen.insert(item).second) return;
    const Node root = item < 0 ? model_.flat.conditions[at(-1 - item)] : equations[at(item)].right;
    for (const Node node : graph_.below(root)) {
      const NodeData data = graph_[node];
      if (data.op == Op::edge) visit(-1 - data.index);
      if (data.op != Op::variable) continue;
      if (const auto found = equation_of.find(data.index); found != equation_of.end()) visit(found->second);
    }
    result.push_back(item);
  };
  for (std::size_t i = 0; i < equations.size(); ++i) visit(static_cast<int>(i));
  for (std::size_t k = 0; k < model_.flat.conditions.size(); ++k) visit(-1 - static_cast<int>(k));
  return result;
}

/// Does it depend on unknowns that equations do not give by assignments?
bool ModelCode::depends_on_torn(Node root) {
  std::vector<Node> all;
  needed(graph_, steps_, {root}, all);
  const std::vector<Node> nodes = graph_.below(std::span<const Node>(all));
  return std::any_of(model_.torn.begin(), model_.torn.end(),
                     [&](Node torn) { return std::binary_search(nodes.begin(), nodes.end(), torn); });
}

/// The derivative with respect to time, of the quantities that the model has; no_node: one that it has not is needed.
Node ModelCode::rate_of(Node root) {
  std::unordered_map<Node, const Step*> step_of;
  for (const Step& step : steps_) step_of[step.quantity] = &step;
  std::unordered_map<Node, Node> done;
  bool known = true;
  const std::function<Node(Node)> seed = [&](Node leaf) -> Node {
    const NodeData data = graph_[leaf];
    if (data.op == Op::time) return graph_.number(1.0);
    if (data.op != Op::variable) return no_node;
    if (const auto found = step_of.find(leaf); found != step_of.end()) {
      return graph_.derivative(found->second->value, seed, done);
    }
    const auto place = place_in_y_.find(leaf);
    if (place == place_in_y_.end()) return no_node;
    const Node rate = graph_.variable(data.index, data.order + 1);
    const bool has = step_of.contains(rate) || place_in_y_.contains(rate);
    known = known && (has || model_.flat.variables[at(data.index)].is_parameter());
    return has ? rate : no_node;
  };
  const Node rate = graph_.derivative(root, seed, done);
  // Beyond, an event at once does the same (ModelCode::sides).
  constexpr std::size_t largest = 100;
  if (!known || (rate != no_node && graph_.below(rate).size() > largest)) return no_node;
  return rate == no_node ? graph_.number(0.0) : rate;
}

/// Where both sides are equal at the start, the relation is what it is about to be.
Node ModelCode::at_start_of(const Relation& relation) {
  const Node plain = graph_.relation(relation.op, relation.left, relation.right, true);
  const Node rate = rate_of(graph_.subtract(relation.right, relation.left));
  if (rate == no_node || graph_.is_number(rate, 0.0)) return plain;
  const Node zero = graph_.number(0.0);
  const Node second = rate_of(rate);
  const auto ahead = [&](bool rises) {
    const auto positive = [&](Node node) {
      return rises ? graph_.relation(Op::less, zero, node, true) : graph_.relation(Op::less, node, zero, true);
    };
    if (second == no_node) return positive(rate);
    return graph_.disjunction(positive(rate),
                              graph_.conjunction(graph_.relation(Op::equal, rate, zero, true), positive(second)));
  };
  const Node same = graph_.relation(Op::equal, relation.left, relation.right, true);
  if (relation.op == Op::less) return graph_.disjunction(plain, graph_.conjunction(same, ahead(true)));
  return graph_.conjunction(plain, graph_.negation(graph_.conjunction(same, ahead(false))));
}

/// Relations as they are now; the one whose event this is has just changed.
void ModelCode::relations_now(Body& pass, bool initial) {
  for (std::size_t k = 0; k < model_.relations.size(); ++k) {
    const Relation& relation = model_.relations[k];
    Node time = no_node;
    bool rises = true;
    Node value = graph_.relation(relation.op, relation.left, relation.right, true);
    const bool scheduled = scheduled_at(relation, time, rises);
    if (initial && !scheduled) value = at_start_of(relation);
    // At its time a scheduled relation has changed, be it strict or not, for actions of other events at that time too:
    // what differs by rounding is one time.
    if (scheduled) {
      const Node size = graph_.add(graph_.call(Function::abs, graph_.time()), graph_.call(Function::abs, time));
      time = graph_.subtract(time, graph_.multiply(graph_.number(1e-14), size));
      value = rises ? graph_.relation(Op::less_equal, time, graph_.time(), true)
                    : graph_.relation(Op::less, graph_.time(), time, true);
    }
    // What the integrator iterates for is not known before the event is over: a relation of it is as before, and has an
    // event of its own if that is wrong then.
    const bool kept = !initial && slot_of_relation_[k] >= 0 && end_of_relation_[k] >= 0 && depends_on_torn(value);
    std::string text;
    if (kept) {
      text = fmt::format("(d[{}] > 0.5)", slot_of_relation_[k]);
    } else {
      text = pass.let_mask("holds", value);
    }
    if (!initial && !kept && slot_of_relation_[k] >= 0 && end_of_relation_[k] >= 0) {
      // Where both sides are equal, it is as it was: a loop may rest there while others of its switches change.
      const std::string equal = pass.let_mask("equal", graph_.relation(Op::equal, relation.left, relation.right, true));
      text = fmt::format("(({} & !{}) | ({} & (d[{}] > 0.5)))", text, equal, equal, slot_of_relation_[k]);
    }
    if (!initial) {
      // The relation whose event this is has changed, whatever rounding says where both sides are equal; until a when
      // clause changes the values that it compares.
      const std::string begins = fmt::format("(fires[{}] > 0.5)", event_of_relation_[k]);
      const std::string ends = fmt::format("(fires[{}] > 0.5)", end_of_relation_[k]);
      if (scheduled && !rises) {
        text = fmt::format("{} & !{}", text, begins);
      } else {
        text = fmt::format("{} | {}", text, begins);
        if (end_of_relation_[k] >= 0) text = fmt::format("({}) & !{}", text, ends);
      }
      const std::string name = names_.of("now");
      pass.line(fmt::format("const auto {} = {};", name, text));
      text = name;
    }
    if (slot_of_relation_[k] >= 0 && !scheduled && !kept && switch_count() > 1) text = one_at_a_time(pass, k, text);
    pass.bind(graph_.mode(static_cast<int>(k)), text);
  }
}

/// Relations that the discrete state remembers.
int ModelCode::switch_count() const {
  return static_cast<int>(
      std::count_if(slot_of_relation_.begin(), slot_of_relation_.end(), [](int slot) { return slot >= 0; }));
}

/// The relation that `now` says, but in a single pass as it was if another one has changed in this pass.
std::string ModelCode::one_at_a_time(Body& pass, std::size_t relation, const std::string& now) {
  const std::string value = names_.of("value");
  const std::string stays = names_.of("stays");
  const std::string held = fmt::format("(d[{}] > 0.5)", slot_of_relation_[relation]);
  pass.line(fmt::format("const Number {} = select({}, 1.0, 0.0);", value, now));
  pass.line(fmt::format("const auto {} = single * moves > 0.5;", stays));
  pass.line(fmt::format("moves = select({} == d[{}], moves, 1.0);", value, slot_of_relation_[relation]));
  return fmt::format("(({0} & {1}) | (!{0} & ({2} > 0.5)))", stays, held, value);
}

}  // namespace manyfold::modelica
