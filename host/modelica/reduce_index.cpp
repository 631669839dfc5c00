// The index, and which quantities are states. Pantelides, SIAM J. Sci. Stat. Comput. 9 (1988); dummy derivatives:
// Mattsson & Soederlind, SIAM J. Sci. Comput. 14 (1993).
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

/// Rows that give a column each, of others.
struct Assignments {
  std::map<int, std::vector<int>> columns_of;  ///< all that stand in a row
  std::map<int, int> row_of;                   ///< of a column
  std::set<int> taken;                         ///< rows

  /// False: column `j` would follow from itself.
  bool may_assign(int row, int j) const {
    if (taken.contains(row)) return false;
    std::vector<int> open = {row};
    std::set<int> seen = {row};
    while (!open.empty()) {
      const int from = open.back();
      open.pop_back();
      for (const int other : columns_of.at(from)) {
        if (from != row && other == j) return false;
        const auto next = row_of.find(other);
        if (next != row_of.end() && seen.insert(next->second).second) open.push_back(next->second);
      }
    }
    return true;
  }
};

}  // namespace

Node Reducer::total_derivative(Node root) {
  std::unordered_map<Node, Node> done;
  const Node result = graph_.derivative(
      root,
      [&](Node leaf) -> Node {
        const NodeData data = graph_[leaf];
        if (data.op == Op::time) return graph_.number(1.0);
        if (data.op != Op::variable || !is_unknown(data.index)) return no_node;
        return graph_.variable(data.index, data.order + 1);
      },
      done);
  return result == no_node ? graph_.number(0.0) : result;
}

/// Lowers the index to 1, and orders what is left.
void Reducer::reduce_index() {
  std::vector<Equation> written = model_.equations;
  const std::vector<std::string> notes = model_.notes;
  const auto again = [&] {
    model_.equations = written;
    model_.notes = notes;
    model_.states.clear();
    model_.invariants.clear();
    model_.blocks.clear();
    model_.torn.clear();
    model_.residuals.clear();
  };
  find_states(true);
  if (!diagnostics_.failed() && unwelcome_states() > 0) {
    const int unwelcome = unwelcome_states();
    const std::size_t invariants = model_.invariants.size();
    const std::size_t variables = model_.flat.variables.size();
    const std::vector<Equation> plain = written;
    if (differentiate_preferred(written)) {
      again();
      find_states(true);
      if (unwelcome_states() >= unwelcome || model_.invariants.size() > invariants) {
        model_.flat.variables.resize(variables);
        written = plain;
        again();
        find_states(true);
      }
    }
  }
  order();
  if (diagnostics_.failed() || !invariants_need_torn()) return;
  // Projection moves states alone: where it would have to move what is torn too, all stay states.
  again();
  find_states(false);
  order();
}

/// Variables that reinit sets.
std::set<int> Reducer::reinitialised() {
  std::set<int> result;
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind == FlatAction::Kind::reinit) result.insert(action.variable);
  }
  return result;
}

/// States that the model asks not to have, and those that reinit would set and that are none.
int Reducer::unwelcome_states() {
  std::set<int> missing = reinitialised();
  int count = 0;
  for (const Node state : model_.states) {
    if (graph_[state].order == 0) missing.erase(graph_[state].index);
    if (variable(graph_[state].index).select <= StateSelect::avoid) ++count;
  }
  return count + static_cast<int>(missing.size());
}

/// Reports what reinit sets and constraints determine.
void Reducer::check_reinitialised() {
  constexpr std::size_t most_listed = 8;
  std::vector<std::string> states;
  for (const Node state : model_.states) states.push_back(quantity_name(state));
  if (states.size() > most_listed) {
    states.resize(most_listed);
    states.emplace_back("...");
  }
  for (const FlatAction& action : model_.flat.actions) {
    if (action.kind != FlatAction::Kind::reinit) continue;
    const Node quantity = graph_.variable(action.variable);
    if (std::find(model_.states.begin(), model_.states.end(), quantity) != model_.states.end()) continue;
    const char* why = model_.fold[at(action.variable)] != no_node ? "constant" : "no state, for it follows from others";
    diagnostics_.error(action.place, fmt::format("reinit sets '{}', which is {}: expected one of the states {}",
                                                 quantity_name(quantity), why, fmt::join(states, ", ")));
  }
}

/// Variables that the model prefers as states may be states though no derivative of theirs stands in it: an equation
/// for it is added. False: there are none.
bool Reducer::differentiate_preferred(std::vector<Equation>& equations) {
  std::vector<bool> differentiated(model_.flat.variables.size());
  for (const Equation& equation : equations) {
    for (const Node node : graph_.below(equation.residual)) {
      const NodeData data = graph_[node];
      if (data.op == Op::variable && data.order > 0) differentiated[at(data.index)] = true;
    }
  }
  bool found = false;
  for (const int index : unknowns_) {
    const FlatVariable one = variable(index);
    if (one.select < StateSelect::prefer || one.type != Type::real || differentiated[at(index)]) continue;
    Equation equation;
    equation.left = graph_.variable(made_variable(fmt::format("der({})", one.name), Type::real));
    equation.right = graph_.variable(index, 1);
    equation.residual = graph_.subtract(equation.left, equation.right);
    equation.place = one.place;
    equation.text = fmt::format("der('{}'), which is preferred as a state", one.name);
    equations.push_back(equation);
    found = true;
  }
  return found;
}

void Reducer::find_states(bool with_dummies) {
  unknowns_.clear();
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    if (is_unknown(static_cast<int>(i))) unknowns_.push_back(static_cast<int>(i));
  }
  const Signature signature = signature_of(model_.equations, unknowns_);
  const SystemOffsets offsets = find_system_offsets(signature, static_cast<int>(unknowns_.size()));
  if (!offsets.regular) {
    report_singular(signature);
    return;
  }
  std::set<Node> dummies;
  std::vector<int> solved(model_.equations.size(), 0);
  if (with_dummies) choose_dummies(offsets, signature, dummies, solved);
  differentiate_equations(offsets, solved);
  model_.dummies = static_cast<int>(dummies.size());
  for (std::size_t j = 0; j < unknowns_.size(); ++j) {
    for (int k = 1; k <= offsets.unknown[j]; ++k) {
      if (!dummies.contains(graph_.variable(unknowns_[j], k))) {
        model_.states.push_back(graph_.variable(unknowns_[j], k - 1));
      }
    }
  }
  for (const Node dummy : dummies) {
    model_.notes.push_back(fmt::format("{} is no state: its derivative follows from the others",
                                       quantity_name(graph_.variable(graph_[dummy].index, graph_[dummy].order - 1))));
  }
  if (!model_.invariants.empty()) {
    model_.notes.push_back(
        fmt::format("no choice of states is good everywhere: every step is projected on {} constraint{}, "
                    "those on positions and their derivatives, say",
                    model_.invariants.size(), model_.invariants.size() == 1 ? "" : "s"));
  }
}

/// The equations with their derivatives. Of those below the highest, `solved`[i] give dummy derivatives; the others
/// hold along every solution that they hold for at one time, for the highest one is their derivative.
void Reducer::differentiate_equations(const SystemOffsets& offsets, const std::vector<int>& solved) {
  std::vector<Equation> all;
  std::vector<Equation> integrated;
  for (std::size_t i = 0; i < model_.equations.size(); ++i) {
    Equation equation = model_.equations[i];
    for (int k = 0; k <= offsets.equation[i]; ++k) {
      if (k > 0) {
        equation.residual = total_derivative(equation.residual);
        equation.left = equation.right = equation.simplified = no_node;
        equation.differentiated = k;
      }
      all.push_back(equation);
      const bool holds_by_itself = k < offsets.equation[i] - solved[i];
      (holds_by_itself ? model_.invariants : integrated).push_back(equation);
    }
  }
  model_.initial_equations = std::move(all);
  model_.equations = std::move(integrated);
}

bool Reducer::invariants_need_torn() {
  std::set<Node> needed;
  const auto need = [&](Node root) {
    const std::vector<Node> quantities = quantities_in(root);
    needed.insert(quantities.begin(), quantities.end());
  };
  for (const Equation& invariant : model_.invariants) need(invariant.residual);
  for (std::size_t b = model_.blocks.size(); b-- > 0;) {
    const std::vector<Step>& steps = model_.blocks[b].steps;
    for (std::size_t k = steps.size(); k-- > 0;) {
      if (needed.contains(steps[k].quantity)) need(steps[k].value);
    }
  }
  return std::any_of(model_.torn.begin(), model_.torn.end(), [&](Node torn) { return needed.contains(torn); });
}

/// `solved`: how many derivatives of every equation, from the second highest down, give a dummy derivative.
void Reducer::choose_dummies(const SystemOffsets& offsets, const Signature& signature, std::set<Node>& dummies,
                             std::vector<int>& solved) {
  if (std::all_of(offsets.equation.begin(), offsets.equation.end(), [](int c) { return c == 0; })) return;
  Incidence active(signature.size());
  for (std::size_t i = 0; i < signature.size(); ++i) {
    for (const SignatureEntry& entry : signature[i]) {
      if (entry.order + offsets.equation[i] == offsets.unknown[at(entry.unknown)]) active[i].push_back(entry.unknown);
    }
  }
  for (const std::vector<int>& block : blocks(active, offsets.matching)) {
    choose_of_block(block, offsets, dummies, solved);
  }
  // A block has no choice among variables of others. Where that leaves states that the model asks not to have, or takes
  // those that are to be, all equations are one.
  const auto unwelcome = [&](const std::set<Node>& chosen) {
    int count = 0;
    for (std::size_t j = 0; j < unknowns_.size(); ++j) {
      const StateSelect select = variable(unknowns_[j]).select;
      const bool asked_not = select <= StateSelect::avoid;
      if (select == StateSelect::always && chosen.contains(graph_.variable(unknowns_[j], 1))) ++count;
      for (int k = 1; asked_not && k <= offsets.unknown[j]; ++k) {
        count += chosen.contains(graph_.variable(unknowns_[j], k)) ? 0 : 1;
      }
    }
    return count;
  };
  if (unwelcome(dummies) == 0) return;
  std::vector<int> every(signature.size());
  std::iota(every.begin(), every.end(), 0);
  std::set<Node> others;
  std::vector<int> solved_by_others(signature.size(), 0);
  choose_of_block(every, offsets, others, solved_by_others);
  if (others.size() < dummies.size() || unwelcome(others) >= unwelcome(dummies)) return;
  dummies = std::move(others);
  solved = std::move(solved_by_others);
}

void Reducer::choose_of_block(const std::vector<int>& block, const SystemOffsets& offsets, std::set<Node>& dummies,
                              std::vector<int>& solved) {
  std::vector<int> columns;
  for (const int i : block) columns.push_back(offsets.matching.unknown_of[at(i)]);
  for (int level = 1;; ++level) {
    std::vector<int> rows;
    for (const int i : block) {
      if (offsets.equation[at(i)] >= level && solved[at(i)] == level - 1) rows.push_back(i);
    }
    if (rows.empty()) return;
    std::erase_if(columns, [&](int j) { return offsets.unknown[at(j)] < level; });
    RegularPart part = regular_part(rows, columns, offsets, level);
    if (part.rows.size() < rows.size()) {
      const RegularPart triangular = triangular_part(rows, columns, offsets, level);
      // Without the other rows more columns are constant, and the least welcome states among them.
      part = triangular.rows.size() > part.rows.size() ? triangular : regular_part(part.rows, columns, offsets, level);
    } else if (const int lost = wanted_among(part.columns, offsets, level); lost > 0) {
      // Constant columns may be few: of phi'' = w' and of what a sine of phi assigns, w alone has one.
      RegularPart triangular = triangular_part(rows, columns, offsets, level);
      const bool better = wanted_among(triangular.columns, offsets, level) < lost;
      if (better && triangular.rows.size() == rows.size()) part = std::move(triangular);
    }
    for (const int i : part.rows) solved[at(i)] = level;
    for (const int j : part.columns) {
      dummies.insert(graph_.variable(unknowns_[at(j)], offsets.unknown[at(j)] - level + 1));
    }
    columns = part.columns;
  }
}

/// How many of the columns are derivatives of variables that are to be states.
int Reducer::wanted_among(const std::vector<int>& columns, const SystemOffsets& offsets, int level) {
  return static_cast<int>(std::count_if(columns.begin(), columns.end(), [&](int j) {
    return offsets.unknown[at(j)] == level && variable(unknowns_[at(j)]).select == StateSelect::always;
  }));
}

/// The least welcome states first.
void Reducer::sort_by_welcome(std::vector<int>& columns, const SystemOffsets& offsets, int level) {
  const auto welcome = [&](int j) {
    const FlatVariable& one = variable(unknowns_[at(j)]);
    // Rather a variable than the derivative of one.
    return (offsets.unknown[at(j)] > level ? -1000 : 0) + 100 * static_cast<int>(one.select) + (one.fixed ? 10 : 0) +
           (one.start != no_node ? 1 : 0);
  };
  std::stable_sort(columns.begin(), columns.end(), [&](int a, int b) { return welcome(a) < welcome(b); });
}

/// dF_i/dx_j of the highest derivatives.
Node Reducer::highest_partial(int i, int j, const SystemOffsets& offsets) {
  const int order = offsets.unknown[at(j)] - offsets.equation[at(i)];
  if (order < 0) return graph_.number(0.0);
  return graph_.partial(model_.equations[at(i)].residual, graph_.variable(unknowns_[at(j)], order));
}

/// Columns and rows for them, as below, whose matrix is regular because it is triangular: its diagonal is constant, and
/// no column follows from itself by way of others. So are equations that assign one after the other. What is left of
/// the rows, and has none of these columns, follows the rule below.
Reducer::RegularPart Reducer::triangular_part(const std::vector<int>& rows, std::vector<int> columns,
                                              const SystemOffsets& offsets, int level) {
  sort_by_welcome(columns, offsets, level);
  Assignments assignments;
  std::map<int, std::vector<int>> rows_of;  // those that can be solved for a column whatever the solution does
  for (const int i : rows) {
    for (const int j : columns) {
      const Node partial = highest_partial(i, j, offsets);
      if (graph_.is_number(partial, 0.0)) continue;
      assignments.columns_of[i].push_back(j);
      double value = 0.0;
      if (known_from_parameters(partial, value) && value != 0.0) rows_of[j].push_back(i);
    }
  }
  RegularPart result;
  for (const int j : columns) {
    std::vector<int>& candidates = rows_of[j];
    // Rather the equation that is written as an assignment of it.
    std::stable_partition(candidates.begin(), candidates.end(), [&](int i) {
      const NodeData left = model_.equations[at(i)].left == no_node ? NodeData() : graph_[model_.equations[at(i)].left];
      return left.op == Op::variable && left.index == unknowns_[at(j)];
    });
    const auto row =
        std::find_if(candidates.begin(), candidates.end(), [&](int i) { return assignments.may_assign(i, j); });
    if (row == candidates.end()) continue;
    assignments.row_of[j] = *row;
    assignments.taken.insert(*row);
    result.rows.push_back(*row);
    result.columns.push_back(j);
  }
  std::vector<int> left;
  for (const int i : rows) {
    const std::vector<int>& all = assignments.columns_of[i];
    const bool apart = std::none_of(all.begin(), all.end(), [&](int j) { return assignments.row_of.contains(j); });
    if (apart && !assignments.taken.contains(i)) left.push_back(i);
  }
  std::erase_if(columns, [&](int j) { return assignments.row_of.contains(j); });
  const RegularPart rest = regular_part(left, columns, offsets, level);
  result.rows.insert(result.rows.end(), rest.rows.begin(), rest.rows.end());
  result.columns.insert(result.columns.end(), rest.columns.begin(), rest.columns.end());
  return result;
}

/// As many columns as there can be, and rows for them, whose matrix of dF_i/dx_j is regular whatever the solution does:
/// its entries are constant. The least welcome states first.
Reducer::RegularPart Reducer::regular_part(const std::vector<int>& rows, std::vector<int> columns,
                                           const SystemOffsets& offsets, int level) {
  sort_by_welcome(columns, offsets, level);
  RegularPart result;
  std::vector<std::vector<double>> basis;  // reduced columns, each with its pivot row
  std::vector<std::size_t> pivots;
  for (const int j : columns) {
    if (result.columns.size() == rows.size()) break;
    std::vector<double> column(rows.size());
    bool constant = true;
    for (std::size_t r = 0; r < rows.size() && constant; ++r) {
      constant = known_from_parameters(highest_partial(rows[r], j, offsets), column[r]);
    }
    if (!constant) continue;
    double size = 0.0;
    for (const double value : column) size = std::max(size, std::abs(value));
    for (std::size_t k = 0; k < basis.size(); ++k) {
      const double factor = column[pivots[k]] / basis[k][pivots[k]];
      for (std::size_t r = 0; r < column.size(); ++r) column[r] -= factor * basis[k][r];
    }
    const auto largest =
        std::max_element(column.begin(), column.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (!(std::abs(*largest) > 1e-10 * size)) continue;
    pivots.push_back(static_cast<std::size_t>(largest - column.begin()));
    basis.push_back(column);
    result.rows.push_back(rows[pivots.back()]);
    result.columns.push_back(j);
  }
  return result;
}

}  // namespace manyfold::modelica
