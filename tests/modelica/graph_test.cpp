// Expressions as a graph: what is equal is one node, what is known is folded, derivatives are exact.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "host/modelica/graph.hpp"

namespace {

using namespace manyfold::modelica;

TEST(Graph, EqualExpressionsAreOneNode) {
  Graph graph;
  const Node x = graph.variable(0);
  const Node y = graph.variable(1);
  EXPECT_EQ(graph.add(graph.multiply(x, y), graph.number(1.0)), graph.add(graph.multiply(x, y), graph.number(1.0)));
  EXPECT_NE(graph.variable(0, 1), x);
}

TEST(Graph, KnownPartsAreFolded) {
  Graph graph;
  const Node x = graph.variable(0);
  EXPECT_TRUE(graph.is_number(graph.add(graph.number(2.0), graph.number(3.0)), 5.0));
  EXPECT_EQ(graph.multiply(x, graph.number(1.0)), x);
  EXPECT_TRUE(graph.is_number(graph.multiply(graph.number(0.0), x), 0.0));
  EXPECT_EQ(graph.negate(graph.negate(x)), x);
  EXPECT_EQ(graph.subtract(x, graph.number(0.0)), x);
  EXPECT_EQ(graph.choice(graph.number(1.0), x, graph.number(7.0)), x);
  EXPECT_EQ(graph.negation(graph.negation(graph.relation(Op::less, x, graph.number(1.0)))),
            graph.relation(Op::less, x, graph.number(1.0)));
}

/// Central differences.
double slope(const Graph& graph, Node f, double x) {
  const auto at = [&](double value) { return graph.evaluate(f, [&](Node) { return value; }); };
  const double h = 1e-5;
  return (at(x - 2 * h) - 8 * at(x - h) + 8 * at(x + h) - at(x + 2 * h)) / (12 * h);
}

TEST(Graph, DerivativesAgreeWithDifferences) {
  Graph graph;
  const Node x = graph.variable(0);
  std::vector<Node> functions;
  for (const Function one : {Function::sqrt, Function::exp, Function::log, Function::log10, Function::sin,
                             Function::cos, Function::tan, Function::asin, Function::acos, Function::atan,
                             Function::sinh, Function::cosh, Function::tanh, Function::abs}) {
    functions.push_back(graph.call(one, x));
  }
  const Node half = graph.number(0.5);
  functions.push_back(graph.call(Function::atan2, x, half));
  functions.push_back(graph.call(Function::atan2, half, x));
  functions.push_back(graph.call(Function::min, x, graph.number(0.2)));
  functions.push_back(graph.call(Function::max, x, graph.multiply(x, x)));
  functions.push_back(graph.power(x, graph.number(1.7)));
  functions.push_back(graph.power(graph.number(1.7), x));
  functions.push_back(graph.power(x, graph.number(-3.0)));
  functions.push_back(graph.divide(graph.call(Function::sin, x), graph.add(x, graph.number(2.0))));
  functions.push_back(graph.choice(graph.relation(Op::less, x, half), graph.multiply(x, x), half));
  for (const Node function : functions) {
    for (const double at : {0.31, 0.72}) {
      const double exact = graph.evaluate(graph.partial(function, x), [&](Node) { return at; });
      EXPECT_NEAR(exact, slope(graph, function, at), 1e-8 * (1.0 + std::abs(exact))) << function << " at " << at;
    }
  }
}

TEST(Graph, DerivativesAlongTimeFollowTheChainRule) {
  Graph graph;
  const Node x = graph.variable(0);
  const Node f = graph.multiply(graph.time(), graph.multiply(x, x));
  std::unordered_map<Node, Node> done;
  const Node along = graph.derivative(
      f, [&](Node leaf) { return graph[leaf].op == Op::time ? graph.number(1.0) : graph.variable(0, 1); }, done);
  // d/dt (t x^2) = x^2 + 2 t x x'
  const double value = graph.evaluate(along, [&](Node leaf) {
    return graph[leaf].op == Op::time ? 3.0 : graph[leaf].order == 0 ? 2.0 : 5.0;
  });
  EXPECT_DOUBLE_EQ(value, 4.0 + 2.0 * 3.0 * 2.0 * 5.0);
}

}  // namespace
