#include "host/modelica/graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace manyfold::modelica {

std::size_t Graph::Hash::operator()(const NodeData& data) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32U;
  };
  mix(static_cast<std::uint64_t>(data.op) * 2 + (data.silent ? 1 : 0));
  mix(static_cast<std::uint64_t>(static_cast<std::uint32_t>(data.index)) << 32U |
      static_cast<std::uint32_t>(data.order));
  for (const Node operand : data.operand) mix(static_cast<std::uint32_t>(operand));
  mix(std::bit_cast<std::uint64_t>(data.number));
  return hash;
}

Node Graph::make(const NodeData& data) {
  const auto [entry, added] = known_.try_emplace(data, static_cast<Node>(nodes_.size()));
  if (added) nodes_.push_back(data);
  return entry->second;
}

Node Graph::number(double value) {
  NodeData data;
  data.number = value + 0.0;  // zero has one sign
  return make(data);
}

Node Graph::time() {
  NodeData data;
  data.op = Op::time;
  return make(data);
}

Node Graph::variable(int index, int order) {
  NodeData data;
  data.op = Op::variable;
  data.index = index;
  data.order = order;
  return make(data);
}

Node Graph::event(Op op, int index) {
  NodeData data;
  data.op = op;
  data.index = index;
  return make(data);
}
Node Graph::pre(int index) {
  return event(Op::pre, index);
}
Node Graph::mode(int index) {
  return event(Op::mode, index);
}

Node Graph::binary(Op op, Node a, Node b) {
  NodeData data;
  data.op = op;
  data.operand[0] = a;
  data.operand[1] = b;
  if (is_number(a) && (b == no_node || is_number(b))) {
    return number(compute(data, value(a), b == no_node ? 0.0 : value(b), 0.0));
  }
  return make(data);
}

Node Graph::negate(Node a) {
  if ((*this)[a].op == Op::negate) return (*this)[a].operand[0];
  if ((*this)[a].op == Op::subtract) return subtract((*this)[a].operand[1], (*this)[a].operand[0]);
  return binary(Op::negate, a, no_node);
}

Node Graph::add(Node a, Node b) {
  if (is_number(a, 0.0)) return b;
  if (is_number(b, 0.0)) return a;
  if ((*this)[b].op == Op::negate) return subtract(a, (*this)[b].operand[0]);
  if ((*this)[a].op == Op::negate) return subtract(b, (*this)[a].operand[0]);
  return binary(Op::add, a, b);
}

Node Graph::subtract(Node a, Node b) {
  if (a == b && !is_number(a)) return number(0.0);
  if (is_number(b, 0.0)) return a;
  if (is_number(a, 0.0)) return negate(b);
  if ((*this)[b].op == Op::negate) return add(a, (*this)[b].operand[0]);
  return binary(Op::subtract, a, b);
}

Node Graph::multiply(Node a, Node b) {
  if (is_number(a, 0.0) || is_number(b, 0.0)) return number(0.0);
  if (is_number(a, 1.0)) return b;
  if (is_number(b, 1.0)) return a;
  if (is_number(a, -1.0)) return negate(b);
  if (is_number(b, -1.0)) return negate(a);
  const bool minus_a = (*this)[a].op == Op::negate;
  const bool minus_b = (*this)[b].op == Op::negate;
  if (minus_a || minus_b) {
    const Node product = multiply(minus_a ? (*this)[a].operand[0] : a, minus_b ? (*this)[b].operand[0] : b);
    return minus_a != minus_b ? negate(product) : product;
  }
  return binary(Op::multiply, a, b);
}

Node Graph::divide(Node a, Node b) {
  if ((*this)[b].op == Op::stage_step) return multiply(a, stage(Op::stage_rate));
  if (is_number(b, 1.0)) return a;
  if (is_number(b, -1.0)) return negate(a);
  if (is_number(a, 0.0) && !is_number(b)) return a;
  if ((*this)[a].op == Op::negate) return negate(divide((*this)[a].operand[0], b));
  return binary(Op::divide, a, b);
}

Node Graph::power(Node a, Node b) {
  if (is_number(b, 1.0)) return a;
  if (is_number(b, 0.0)) return number(1.0);
  if (is_number(b, 0.5)) return call(Function::sqrt, a);
  if (is_number(b) && !is_number(a)) {
    const double times = std::abs(value(b));
    if (times == std::floor(times) && times <= 4.0) {
      Node product = a;
      for (int k = 1; k < static_cast<int>(times); ++k) product = multiply(product, a);
      return value(b) > 0.0 ? product : divide(number(1.0), product);
    }
  }
  return binary(Op::power, a, b);
}

Node Graph::call(Function function, Node a, Node b, bool silent) {
  NodeData data;
  data.op = Op::call;
  data.silent = silent;
  data.index = static_cast<std::int32_t>(function);
  data.operand[0] = a;
  data.operand[1] = b;
  if (is_number(a) && (b == no_node || is_number(b))) {
    return number(compute(data, value(a), b == no_node ? 0.0 : value(b), 0.0));
  }
  return make(data);
}

Node Graph::choice(Node condition, Node a, Node b) {
  if (is_number(condition)) return value(condition) != 0.0 ? a : b;
  if (a == b) return a;
  if ((*this)[condition].op == Op::negation) return choice((*this)[condition].operand[0], b, a);
  if (is_condition(a) && is_condition(b)) {
    return disjunction(conjunction(condition, a), conjunction(negation(condition), b));
  }
  NodeData data;
  data.op = Op::choice;
  data.operand[0] = condition;
  data.operand[1] = a;
  data.operand[2] = b;
  return make(data);
}

Node Graph::relation(Op op, Node a, Node b, bool silent) {
  NodeData data;
  data.op = op;
  data.silent = silent;
  data.operand[0] = a;
  data.operand[1] = b;
  if (is_number(a) && is_number(b)) return number(compute(data, value(a), value(b), 0.0));
  if (a == b) return number(op == Op::less ? 0.0 : 1.0);
  return make(data);
}

Node Graph::conjunction(Node a, Node b) {
  if (is_number(a)) return value(a) != 0.0 ? b : a;
  if (is_number(b)) return value(b) != 0.0 ? a : b;
  return a == b ? a : binary(Op::conjunction, a, b);
}

Node Graph::disjunction(Node a, Node b) {
  if (is_number(a)) return value(a) != 0.0 ? a : b;
  if (is_number(b)) return value(b) != 0.0 ? b : a;
  return a == b ? a : binary(Op::disjunction, a, b);
}

Node Graph::negation(Node a) {
  const NodeData data = (*this)[a];
  if (data.op == Op::negation) return data.operand[0];
  if (data.op == Op::less) return relation(Op::less_equal, data.operand[1], data.operand[0], data.silent);
  if (data.op == Op::less_equal) return relation(Op::less, data.operand[1], data.operand[0], data.silent);
  return binary(Op::negation, a, no_node);
}

bool Graph::is_condition(Node node) const {
  switch ((*this)[node].op) {
    case Op::mode:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::conjunction:
    case Op::disjunction:
    case Op::negation:
    case Op::edge:
    case Op::sample:
    case Op::initial:
    case Op::whole_step:
      return true;
    case Op::number:
      return value(node) == 0.0 || value(node) == 1.0;
    default:
      return false;
  }
}

int Graph::operands(const NodeData& data) {
  int count = 0;
  while (count < 3 && data.operand[count] != no_node) ++count;
  return count;
}

std::vector<Node> Graph::below(std::span<const Node> roots) const {
  std::vector<Node> found;
  std::vector<Node> open(roots.begin(), roots.end());
  std::unordered_map<Node, bool> seen;
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!seen.try_emplace(node, true).second) continue;
    found.push_back(node);
    for (const Node operand : (*this)[node].operand) {
      if (operand != no_node) open.push_back(operand);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Node Graph::rebuild(const NodeData& data, Node a, Node b, Node c) {
  switch (data.op) {
    case Op::negate:
      return negate(a);
    case Op::add:
      return add(a, b);
    case Op::subtract:
      return subtract(a, b);
    case Op::multiply:
      return multiply(a, b);
    case Op::divide:
      return divide(a, b);
    case Op::power:
      return power(a, b);
    case Op::call:
      return call(static_cast<Function>(data.index), a, b, data.silent);
    case Op::choice:
      return choice(a, b, c);
    case Op::less:
    case Op::less_equal:
    case Op::equal:
      return relation(data.op, a, b, data.silent);
    case Op::conjunction:
      return conjunction(a, b);
    case Op::disjunction:
      return disjunction(a, b);
    case Op::negation:
      return negation(a);
    default:
      return make(data);
  }
}

Node Graph::from_leaves(Node root, std::unordered_map<Node, Node>& done,
                        const std::function<std::optional<Node>(Node)>& at_once,
                        const std::function<Node(Node, const Node (&)[3])>& combine) const {
  std::vector<Node> open = {root};
  while (!open.empty()) {
    const Node node = open.back();
    if (done.contains(node)) {
      open.pop_back();
      continue;
    }
    if (const std::optional<Node> result = at_once(node)) {
      done[node] = *result;
      continue;
    }
    const NodeData data = (*this)[node];
    bool ready = true;
    Node results[3] = {no_node, no_node, no_node};
    for (int k = 0; k < operands(data); ++k) {
      const auto found = done.find(data.operand[k]);
      if (found == done.end()) {
        open.push_back(data.operand[k]);
        ready = false;
      } else {
        results[k] = found->second;
      }
    }
    if (ready) done[node] = combine(node, results);
  }
  return done[root];
}

Node Graph::replace(Node root, const std::function<Node(Node)>& replacement, std::unordered_map<Node, Node>& done) {
  const auto replaced = [&](Node node) {
    const Node other = replacement(node);
    return other != no_node ? std::optional(other) : std::nullopt;
  };
  const auto remade = [&](Node node, const Node(&made)[3]) {
    const NodeData data = (*this)[node];
    const bool same = made[0] == data.operand[0] && made[1] == data.operand[1] && made[2] == data.operand[2];
    return same ? node : rebuild(data, made[0], made[1], made[2]);
  };
  return from_leaves(root, done, replaced, remade);
}

Node Graph::replace(Node root, const std::function<Node(Node)>& replacement) {
  std::unordered_map<Node, Node> done;
  return replace(root, replacement, done);
}

Node Graph::actual(Node root) {
  return replace(root, [&](Node node) { return (*this)[node].op == Op::lambda ? number(1.0) : no_node; });
}

double Graph::evaluate(Node root, const std::function<double(Node)>& leaf) const {
  std::unordered_map<Node, double> known;
  for (const Node node : below(root)) {
    const NodeData& data = (*this)[node];
    double operand[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < operands(data); ++k) operand[k] = known[data.operand[k]];
    const bool is_leaf = operands(data) == 0 && data.op != Op::number;
    known[node] = is_leaf ? leaf(node) : compute_known(data, operand[0], operand[1], operand[2]);
  }
  return known[root];
}

/// The same where NaN stands for what is not known: what depends on it is not known either.
double Graph::compute_known(const NodeData& data, double a, double b, double c) {
  const auto unknown = [](double value) { return std::isnan(value); };
  const auto holds = [&](double value) { return value != 0.0 && !unknown(value); };
  if (data.op == Op::choice && unknown(a)) return b == c ? b : a;
  if (data.op == Op::conjunction && (a == 0.0 || b == 0.0)) return 0.0;
  if (data.op == Op::disjunction && (holds(a) || holds(b))) return 1.0;
  const bool condition = data.op == Op::less || data.op == Op::less_equal || data.op == Op::equal ||
                         data.op == Op::negation || data.op == Op::conjunction || data.op == Op::disjunction;
  const bool fails = (condition || data.op == Op::call) && (unknown(a) || unknown(b));
  return fails ? std::numeric_limits<double>::quiet_NaN() : compute(data, a, b, c);
}

double Graph::compute(const NodeData& data, double a, double b, double c) {
  switch (data.op) {
    case Op::number:
      return data.number;
    case Op::negate:
      return -a;
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::power:
      return std::pow(a, b);
    case Op::choice:
      return a != 0.0 ? b : c;
    case Op::less:
      return a < b ? 1.0 : 0.0;
    case Op::less_equal:
      return a <= b ? 1.0 : 0.0;
    case Op::equal:
      return a == b ? 1.0 : 0.0;
    case Op::conjunction:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case Op::disjunction:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case Op::negation:
      return a != 0.0 ? 0.0 : 1.0;
    case Op::call:
      break;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
  switch (static_cast<Function>(data.index)) {
    case Function::sqrt:
      return std::sqrt(a);
    case Function::exp:
      return std::exp(a);
    case Function::log:
      return std::log(a);
    case Function::log10:
      return std::log10(a);
    case Function::sin:
      return std::sin(a);
    case Function::cos:
      return std::cos(a);
    case Function::tan:
      return std::tan(a);
    case Function::asin:
      return std::asin(a);
    case Function::acos:
      return std::acos(a);
    case Function::atan:
      return std::atan(a);
    case Function::sinh:
      return std::sinh(a);
    case Function::cosh:
      return std::cosh(a);
    case Function::tanh:
      return std::tanh(a);
    case Function::abs:
      return std::abs(a);
    case Function::floor:
      return std::floor(a);
    case Function::atan2:
      return std::atan2(a, b);
    case Function::min:
      return b < a ? b : a;
    case Function::max:
      return a < b ? b : a;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace manyfold::modelica
