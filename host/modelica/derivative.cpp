// Exact derivatives of expressions.
#include "host/modelica/graph.hpp"

namespace manyfold::modelica {

Node Graph::derivative(Node root, const std::function<Node(Node)>& seed, std::unordered_map<Node, Node>& done) {
  return from_leaves(
      root, done, [&](Node node) { return operands((*this)[node]) == 0 ? std::optional(seed(node)) : std::nullopt; },
      [&](Node node, const Node(&by)[3]) { return derivative_of(node, by); });
}

Node Graph::partial(Node root, Node leaf) {
  std::unordered_map<Node, Node> done;
  const Node result = derivative(
      root, [&](Node node) { return node == leaf ? number(1.0) : no_node; }, done);
  return result == no_node ? number(0.0) : result;
}

/// The slope of a root of `base`. Where that is kept from below zero, as in sqrt(max(h, 0)), it rests at zero: 0 / 0
/// is 0 then.
Node Graph::resting_at_zero(Node base, Node slope) {
  const NodeData data = (*this)[base];
  const bool is_max = data.op == Op::call && static_cast<Function>(data.index) == Function::max;
  if (slope == no_node || (!is_max && data.op != Op::choice)) return slope;
  return choice(relation(Op::less_equal, base, number(0.0), true), number(0.0), slope);
}

/// `by`: the derivatives of the operands; no_node is zero.
Node Graph::derivative_of(Node node, const Node (&by)[3]) {
  const NodeData data = (*this)[node];
  const Node a = data.operand[0];
  const Node b = data.operand[1];
  const auto sum = [&](Node x, Node y) { return x == no_node ? y : y == no_node ? x : add(x, y); };
  const auto times = [&](Node factor, Node x) { return x == no_node ? no_node : multiply(factor, x); };
  const auto minus = [&](Node x) { return x == no_node ? no_node : negate(x); };
  const auto zero_or = [&](Node x) { return x == no_node ? number(0.0) : x; };
  if (by[0] == no_node && by[1] == no_node && by[2] == no_node) return no_node;
  switch (data.op) {
    case Op::negate:
      return minus(by[0]);
    case Op::add:
      return sum(by[0], by[1]);
    case Op::subtract:
      return sum(by[0], minus(by[1]));
    case Op::multiply:
      return sum(times(b, by[0]), times(a, by[1]));
    case Op::divide: {
      const Node upper = by[0] == no_node ? no_node : divide(by[0], b);
      return sum(upper, minus(times(divide(node, b), by[1])));
    }
    case Op::power: {
      const Node slope = times(multiply(b, power(a, subtract(b, number(1.0)))), by[0]);
      const Node of_base = is_number(b) && value(b) >= 1.0 ? slope : resting_at_zero(a, slope);
      return sum(of_base, times(multiply(node, call(Function::log, a)), by[1]));
    }
    case Op::choice:
      if (by[1] == no_node && by[2] == no_node) return no_node;
      return choice(a, zero_or(by[1]), zero_or(by[2]));
    case Op::call:
      break;
    default:
      return no_node;
  }
  const Node one = number(1.0);
  const auto squared = [&](Node x) { return multiply(x, x); };
  switch (static_cast<Function>(data.index)) {
    case Function::sqrt:
      return resting_at_zero(a, divide(by[0], multiply(number(2.0), node)));
    case Function::exp:
      return times(node, by[0]);
    case Function::log:
      return divide(by[0], a);
    case Function::log10:
      return divide(by[0], multiply(number(2.302585092994045684), a));
    case Function::sin:
      return times(call(Function::cos, a), by[0]);
    case Function::cos:
      return minus(times(call(Function::sin, a), by[0]));
    case Function::tan:
      return times(add(one, squared(node)), by[0]);
    case Function::asin:
      return divide(by[0], call(Function::sqrt, subtract(one, squared(a))));
    case Function::acos:
      return negate(divide(by[0], call(Function::sqrt, subtract(one, squared(a)))));
    case Function::atan:
      return divide(by[0], add(one, squared(a)));
    case Function::sinh:
      return times(call(Function::cosh, a), by[0]);
    case Function::cosh:
      return times(call(Function::sinh, a), by[0]);
    case Function::tanh:
      return times(subtract(one, squared(node)), by[0]);
    case Function::abs:
      return choice(relation(Op::less, a, number(0.0), true), zero_or(minus(by[0])), zero_or(by[0]));
    case Function::floor:
      return no_node;
    case Function::atan2: {
      const Node size = add(squared(a), squared(b));
      return sum(times(divide(b, size), by[0]), minus(times(divide(a, size), by[1])));
    }
    case Function::min:
      return choice(relation(Op::less, b, a, true), zero_or(by[1]), zero_or(by[0]));
    case Function::max:
      return choice(relation(Op::less, a, b, true), zero_or(by[1]), zero_or(by[0]));
  }
  return no_node;
}

}  // namespace manyfold::modelica
