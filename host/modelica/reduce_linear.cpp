// Closed forms of small linear blocks.
#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Larger linear blocks have more operations in closed form than in Newton's method. Those with switches are worth it:
/// what decides a switch is then exact.
constexpr std::size_t largest_closed_form = 4;
constexpr std::size_t largest_switched_form = 8;

}  // namespace

/// A block that is linear in its torn unknowns, with a matrix of parameters and switches, or one of states without
/// switches, is solved in closed form.
bool Reducer::solve_linear(const std::vector<Equation>& equations, Block& block) {
  const std::size_t n = block.torn.size();
  if (n == 0 || n > largest_switched_form || block.simplified) return false;
  const bool real = std::all_of(block.torn.begin(), block.torn.end(),
                                [&](Node quantity) { return variable(graph_[quantity].index).type == Type::real; });
  if (!real) return false;
  // The residuals as functions of the torn unknowns alone.
  std::unordered_map<Node, Node> inner;
  const auto substituted = [&](Node root) {
    return graph_.replace(root, [&](Node node) {
      const auto found = inner.find(node);
      return found == inner.end() ? no_node : found->second;
    });
  };
  for (const Step& step : block.steps) {
    inner[step.quantity] = substituted(step.value);
    // Substitution may double what is shared: not for large blocks.
    if (graph_.below(inner[step.quantity]).size() > 2000) return false;
  }
  std::vector<std::vector<Node>> matrix(n, std::vector<Node>(n + 1));
  bool is_switched = false;
  bool follows_states = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Node residual = substituted(equations[at(block.residuals[i])].residual);
    if (is_decided_by(residual, block.torn)) return false;
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i][j] = graph_.partial(residual, block.torn[j]);
      const std::vector<double> cases = in_all_cases(matrix[i][j]);
      if (cases.empty() && !is_smooth_in_states(matrix[i][j], block)) return false;
      is_switched = is_switched || cases.size() > 1;
      follows_states = follows_states || cases.empty();
    }
    const Node zero = graph_.number(0.0);
    const Node rest = graph_.replace(residual, [&](Node node) {
      return std::find(block.torn.begin(), block.torn.end(), node) != block.torn.end() ? zero : no_node;
    });
    matrix[i][n] = graph_.negate(rest);
  }
  if (!is_switched && n > largest_closed_form) return false;
  if (is_switched && follows_states) return false;
  if (!eliminate(matrix, follows_states)) {
    if (!is_switched && !of_stage_) report_singular_loop(equations, block);
    return false;
  }
  std::vector<Step> closed;
  for (std::size_t k = n; k-- > 0;) {
    Node sum = matrix[k][n];
    for (std::size_t j = k + 1; j < n; ++j) {
      sum = graph_.subtract(sum, graph_.multiply(matrix[k][j], block.torn[j]));
    }
    closed.push_back({block.torn[k], graph_.divide(sum, matrix[k][k]), block.residuals[k]});
  }
  block.steps.insert(block.steps.begin(), closed.begin(), closed.end());
  block.torn.clear();
  block.residuals.clear();
  return true;
}

/// Solves a small block as a whole, whatever was torn. Steps that divide by a parameter are none where it is zero, as a
/// coupling may be in some instances: Gauss finds another pivot there. Not in a stage, where it might divide by the
/// step.
bool Reducer::solve_whole(const std::vector<Equation>& equations, Block& block) {
  if (of_stage_ || block.quantities.size() > largest_closed_form) return false;
  Block whole = block;
  whole.torn = block.quantities;
  whole.residuals = block.equations;
  whole.steps.clear();
  const bool solved = solve_linear(equations, whole);
  if (solved) block = whole;
  return solved;
}

void Reducer::report_singular_loop(const std::vector<Equation>& equations, const Block& block) {
  std::string text = "these equations are singular with the default parameters: they do not determine ";
  for (std::size_t k = 0; k < block.quantities.size(); ++k) {
    text += fmt::format("{}{}", k > 0 ? ", " : "", quantity_name(block.quantities[k]));
  }
  for (const int i : block.equations) {
    const Equation& equation = equations[at(i)];
    text += fmt::format("\n    line {}: {}", diagnostics_.position(equation.place).line, equation.text);
  }
  diagnostics_.error(equations[at(block.equations[0])].place, text);
}

/// Where it is zero because of its switches alone, whatever its quantities are: a condition, or a number. `steps`: what
/// quantities are made of.
Node Reducer::vanishes_where(Node root, const std::map<Node, Node>& steps, std::map<Node, Node>& known) {
  if (const auto found = known.find(root); found != known.end()) return found->second;
  const NodeData data = graph_[root];
  const auto of = [&](int k) { return vanishes_where(data.operand[k], steps, known); };
  Node where = graph_.number(0.0);
  switch (data.op) {
    case Op::number:
      where = graph_.number(data.number == 0.0 ? 1.0 : 0.0);
      break;
    case Op::negate:
    case Op::divide:
      where = of(0);
      break;
    case Op::add:
    case Op::subtract:
      where = graph_.conjunction(of(0), of(1));
      break;
    case Op::multiply:
      where = graph_.disjunction(of(0), of(1));
      break;
    case Op::choice:
      where = graph_.disjunction(graph_.conjunction(data.operand[0], of(1)),
                                 graph_.conjunction(graph_.negation(data.operand[0]), of(2)));
      break;
    default:
      if (const auto step = steps.find(root); step != steps.end()) where = vanishes_where(step->second, steps, known);
  }
  constexpr std::size_t largest = 200;
  const std::vector<Node> nodes = graph_.below(where);
  const bool of_switches = std::all_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData& one = graph_[node];
    return one.op != Op::time && (one.op != Op::variable || is_given(one.index) ||
                                  (one.order == 0 && variable(one.index).type != Type::real));
  });
  return known[root] = of_switches && nodes.size() < largest ? where : graph_.number(0.0);
}

/// Where switches leave 0 = 0 of an equation that is iterated, as two brakes do that hold one shaft, the others are met
/// whatever its unknown is: it is zero there.
void Reducer::fill_empty_residuals() {
  for (const Block& block : model_.blocks) {
    if (block.simplified) continue;
    std::map<Node, Node> steps;
    for (const Step& step : block.steps) steps[step.quantity] = step.value;
    std::map<Node, Node> known;
    for (std::size_t k = 0; k < block.residuals.size(); ++k) {
      Equation& equation = model_.equations[at(block.residuals[k])];
      const Node where = vanishes_where(equation.residual, steps, known);
      if (graph_.is_number(where)) continue;
      equation.residual = graph_.choice(where, block.torn[k], equation.residual);
      equation.left = equation.right = no_node;
    }
  }
}

/// Does it depend on states and time, but on no switch and no unknown of the block? The matrix of forces of constraints
/// does. Where it becomes singular, the model has no solution, and the instance finds that out. At the start and in a
/// stage it is not used: there Newton's method finds its way from a guess that makes it singular.
bool Reducer::is_smooth_in_states(Node root, const Block& block) {
  if (of_stage_ || of_start_) return false;
  const std::vector<Node> nodes = graph_.below(root);
  return std::none_of(nodes.begin(), nodes.end(), [&](Node node) {
    const NodeData& data = graph_[node];
    const bool inside = std::find(block.quantities.begin(), block.quantities.end(), node) != block.quantities.end();
    const bool switched = data.op == Op::mode || data.op == Op::pre || data.op == Op::choice ||
                          (data.op == Op::variable && variable(data.index).type != Type::real) ||
                          choices_.contains(node);
    return inside || switched;
  });
}

/// Gauss with the largest pivot of each column, which is chosen where the instance is: the entries depend on its
/// parameters and switches. False if some combination of the switches makes the matrix singular with default
/// parameters, which cannot be told of one that follows the states.
bool Reducer::eliminate(std::vector<std::vector<Node>>& matrix, bool follows_states) {
  const std::size_t n = matrix.size();
  Node determinant = graph_.number(1.0);
  for (std::size_t k = 0; k < n; ++k) {
    determinant = graph_.multiply(determinant, choose_pivot(matrix, k));
    determinant = graph_.multiply(determinant, matrix[k][k]);
    if (graph_.is_number(matrix[k][k], 0.0)) return false;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (graph_.is_number(matrix[i][k], 0.0)) continue;
      const Node factor = graph_.divide(matrix[i][k], matrix[k][k]);
      for (std::size_t j = k + 1; j <= n; ++j) {
        matrix[i][j] = graph_.subtract(matrix[i][j], graph_.multiply(factor, matrix[k][j]));
      }
    }
  }
  if (follows_states) return true;
  if (!never_zero(determinant, std::numeric_limits<double>::infinity())) return false;
  // Feedback that is positive in some cases alone, as that of a trigger between its limits: the loop has three
  // solutions there, or one that ends, and no event finds the way from one to the other.
  const std::vector<double> cases = in_all_cases(with_known_conditions(with_choices(determinant)));
  const bool falls = std::any_of(cases.begin(), cases.end(), [](double value) { return value < 0.0; });
  const bool rises = std::any_of(cases.begin(), cases.end(), [](double value) { return value > 0.0; });
  if (falls && rises && !of_stage_ && !of_start_) model_.loops_are_switched = true;
  return true;
}

/// Moves the largest entry of column k, of the rows from k, to row k. The sign that this gives the determinant.
Node Reducer::choose_pivot(std::vector<std::vector<Node>>& matrix, std::size_t k) {
  Node sign = graph_.number(1.0);
  for (std::size_t i = k + 1; i < matrix.size(); ++i) {
    if (graph_.is_number(matrix[i][k], 0.0)) continue;
    const Node larger = graph_.is_number(matrix[k][k], 0.0)
                            ? graph_.number(1.0)
                            : graph_.relation(Op::less, graph_.call(Function::abs, matrix[k][k]),
                                              graph_.call(Function::abs, matrix[i][k]), true);
    for (std::size_t j = k; j <= matrix.size(); ++j) {
      const Node other = matrix[k][j];
      matrix[k][j] = graph_.choice(larger, matrix[i][j], other);
      matrix[i][j] = graph_.choice(larger, other, matrix[i][j]);
    }
    sign = graph_.multiply(sign, graph_.choice(larger, graph_.number(-1.0), graph_.number(1.0)));
  }
  return sign;
}

}  // namespace manyfold::modelica
