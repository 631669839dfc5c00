// Where searches for initial values begin.
#include <cmath>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {

/// The value that starts of others, and parameters by default, give an expression; NaN where one has none.
double Reducer::guessed_value(Node root, const std::vector<double>& guesses) {
  bool known = true;
  const double value = graph_.evaluate(root, [&](Node leaf) {
    const NodeData& data = graph_[leaf];
    if (data.op == Op::time) return start_time();
    const bool is_value = data.op == Op::variable && data.order == 0;
    if (is_value && is_given(data.index)) return default_value(leaf);
    const double guess = is_value ? guesses[at(data.index)] : std::nan("");
    known = known && !std::isnan(guess);
    return guess;
  });
  return known && std::isfinite(value) ? value : std::nan("");
}

/// An algebraic variable without a start, which an equation gives in terms of variables that have one, begins where
/// these say: a search may be for it, and the user has guessed the others. `h = 10^(-pH)` with `pH(start = 7)`.
void Reducer::guess_from_others() {
  const std::size_t count = model_.flat.variables.size();
  std::vector<bool> open(count, false);
  std::vector<double> guesses(count, std::nan(""));
  for (std::size_t i = 0; i < count; ++i) {
    const FlatVariable& one = variable(static_cast<int>(i));
    if (!is_unknown(static_cast<int>(i)) || one.type != Type::real) continue;
    open[i] = one.start == no_node;
    if (one.start != no_node) guesses[i] = guessed_value(one.start, guesses);
  }
  std::vector<Node> roots;
  for (const Equation& equation : model_.equations) roots.push_back(equation.residual);
  for (const Node node : graph_.below(roots)) {
    const NodeData& data = graph_[node];
    if (data.op == Op::variable && data.order > 0) open[at(data.index)] = false;
  }
  const auto guess = [&](Node side, Node other) {
    const NodeData& data = graph_[side];
    if (data.op != Op::variable || data.order > 0 || !open[at(data.index)]) return false;
    const double value = guessed_value(other, guesses);
    if (std::isnan(value)) return false;
    guesses[at(data.index)] = value;
    open[at(data.index)] = false;
    variable(data.index).guess = graph_.number(value);
    return true;
  };
  constexpr int longest_chain = 10;
  bool found = true;
  for (int pass = 0; pass < longest_chain && found; ++pass) {
    found = false;
    for (const Equation& equation : model_.equations) {
      if (equation.left == no_node) continue;
      found = guess(equation.left, equation.right) || guess(equation.right, equation.left) || found;
    }
  }
}

}  // namespace manyfold::modelica
