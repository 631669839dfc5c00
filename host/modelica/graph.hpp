#pragma once
// Equations as a graph. A node is made once: equal expressions are one node, and constants are folded as nodes are
// made. Operands have smaller numbers than what is made of them.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace manyfold::modelica {

/// The number of a node.
using Node = std::int32_t;
inline constexpr Node no_node = -1;

enum class Op : std::uint8_t {
  number,
  time,
  variable,  ///< `index`: of the variable; `order`: of its derivative with respect to time
  pre,       ///< value of variable `index` before the event
  mode,      ///< value of relation `index`, which changes at events alone
  negate,
  add,
  subtract,
  multiply,
  divide,
  power,
  call,  ///< `index`: a Function; one or two operands
  choice,
  less,
  less_equal,
  equal,
  conjunction,
  disjunction,
  negation,
  edge,          ///< does condition `index` become true at this event?
  sample,        ///< is this the event of clock `index`?
  initial,       ///< at the start alone
  input,         ///< number `index` of those that a function is differentiated by; none is left in equations
  lambda,        ///< of homotopy: 1 but for where initial values are searched from simplified equations
  stage_step,    ///< gamma h of an implicit stage
  stage_rate,    ///< its inverse
  stage_base,    ///< y_n + h sum_(j<i) a_ij K_j, of state number `index` of the reduced model
  stage_offset,  ///< taken off the residual of the algebraic equation of y[index]; zero but for error estimates
  whole_step,    ///< of a whole part: does it have its event now?
};

enum class Function : std::uint8_t {
  sqrt,
  exp,
  log,
  log10,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  abs,
  floor,
  atan2,
  min,
  max,
};
inline constexpr const char* function_names[] = {"sqrt", "exp",  "log",   "log10", "sin",  "cos",
                                                 "tan",  "asin", "acos",  "atan",  "sinh", "cosh",
                                                 "tanh", "abs",  "floor", "atan2", "min",  "max"};

struct NodeData {
  Op op = Op::number;
  bool silent = false;  ///< of a relation or a floor: within noEvent
  std::int32_t index = 0;
  std::int32_t order = 0;
  Node operand[3] = {no_node, no_node, no_node};
  double number = 0.0;

  bool operator==(const NodeData&) const = default;
};

class Graph {
 public:
  const NodeData& operator[](Node node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::size_t size() const { return nodes_.size(); }

  Node number(double value);
  Node time();
  Node variable(int index, int order = 0);
  Node pre(int index);
  Node mode(int index);
  Node event(Op op, int index = 0);
  /// A quantity of an implicit stage: stage_step, stage_rate, stage_base or stage_offset.
  Node stage(Op op, int index = 0) { return event(op, index); }

  Node negate(Node a);
  Node add(Node a, Node b);
  Node subtract(Node a, Node b);
  Node multiply(Node a, Node b);
  Node divide(Node a, Node b);
  Node power(Node a, Node b);
  Node call(Function function, Node a, Node b = no_node, bool silent = false);
  Node choice(Node condition, Node a, Node b);
  /// less, less_equal, equal.
  Node relation(Op op, Node a, Node b, bool silent = false);
  Node conjunction(Node a, Node b);
  Node disjunction(Node a, Node b);
  Node negation(Node a);

  bool is_number(Node node) const { return (*this)[node].op == Op::number; }
  bool is_number(Node node, double value) const { return is_number(node) && (*this)[node].number == value; }
  double value(Node node) const { return (*this)[node].number; }
  /// Is it true or false, and no number?
  bool is_condition(Node node) const;
  static int operands(const NodeData& data);

  /// All nodes that the roots are made of, operands first.
  std::vector<Node> below(std::span<const Node> roots) const;
  std::vector<Node> below(Node root) const { return below(std::span<const Node>(&root, 1)); }

  /// The same node made again of other operands.
  Node rebuild(const NodeData& data, Node a, Node b, Node c);
  /// `root` with leaves, and whatever else has one, replaced by replacement(node); no_node keeps.
  Node replace(Node root, const std::function<Node(Node)>& replacement);
  /// The same for one of several roots: `done` has the nodes of those before.
  Node replace(Node root, const std::function<Node(Node)>& replacement, std::unordered_map<Node, Node>& done);

  /// `root` where homotopy is over.
  Node actual(Node root);

  /// The derivative of `root` along `seed(leaf)`, the derivatives of its leaves; no_node: zero.
  Node derivative(Node root, const std::function<Node(Node)>& seed, std::unordered_map<Node, Node>& done);
  /// With respect to one leaf.
  Node partial(Node root, Node leaf);

  /// The number that `root` is for these leaves; NaN where that is not known.
  double evaluate(Node root, const std::function<double(Node)>& leaf) const;
  static double compute(const NodeData& data, double a, double b, double c);
  static double compute_known(const NodeData& data, double a, double b, double c);

 private:
  Node make(const NodeData& data);
  Node binary(Op op, Node a, Node b);
  /// done[root], from its leaves upwards: at_once(node) where that has a result, else combine(node, results of its
  /// operands).
  Node from_leaves(Node root, std::unordered_map<Node, Node>& done,
                   const std::function<std::optional<Node>(Node)>& at_once,
                   const std::function<Node(Node, const Node (&)[3])>& combine) const;
  Node derivative_of(Node node, const Node (&by)[3]);
  Node resting_at_zero(Node base, Node slope);

  struct Hash {
    std::size_t operator()(const NodeData& data) const;
  };
  std::vector<NodeData> nodes_;
  std::unordered_map<NodeData, Node, Hash> known_;
};

}  // namespace manyfold::modelica
