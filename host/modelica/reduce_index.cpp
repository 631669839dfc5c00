// The index, and which quantities are states. Pantelides, SIAM J. Sci. Stat. Comput. 9 (1988); dummy derivatives:
// Mattsson & Soederlind, SIAM J. Sci. Comput. 14 (1993).
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// The integrator's methods go up to index 3.
constexpr int most_differentiations = 2;

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

void Reducer::find_states() {
  unknowns_.clear();
  for (std::size_t i = 0; i < model_.flat.variables.size(); ++i) {
    if (is_unknown(static_cast<int>(i))) unknowns_.push_back(static_cast<int>(i));
  }
  const Signature signature = signature_of(model_.equations, unknowns_);
  const SystemOffsets offsets = find_system_offsets(signature, static_cast<int>(unknowns_.size()));
  if (!offsets.regular) {
    Incidence incidence(signature.size());
    for (std::size_t i = 0; i < signature.size(); ++i) {
      for (const SignatureEntry& entry : signature[i]) incidence[i].push_back(entry.unknown);
    }
    report_singular(model_.equations, unknowns_, incidence);
    return;
  }
  std::set<Node> dummies;
  const bool reduced = choose_dummies(offsets, signature, dummies);
  const int highest =
      offsets.equation.empty() ? 0 : *std::max_element(offsets.equation.begin(), offsets.equation.end());
  if (!reduced && highest > most_differentiations) {
    diagnostics_.error(0, fmt::format("the index of the model is {}, and no choice of states is good everywhere: "
                                      "supported up to {}; lower it with other coordinates",
                                      highest + 1, most_differentiations + 1));
    return;
  }
  // The equations with all their derivatives: of the initial system in any case.
  std::vector<Equation> all;
  for (std::size_t i = 0; i < model_.equations.size(); ++i) {
    Equation equation = model_.equations[i];
    all.push_back(equation);
    for (int k = 1; k <= offsets.equation[i]; ++k) {
      equation.residual = total_derivative(equation.residual);
      equation.left = equation.right = no_node;
      equation.differentiated = k;
      all.push_back(equation);
    }
  }
  model_.initial_equations = all;
  if (!reduced) {
    model_.index_kept = true;
    keep_index(offsets, signature);
    return;
  }
  model_.equations = std::move(all);
  model_.dummies = static_cast<int>(dummies.size());
  for (std::size_t j = 0; j < unknowns_.size(); ++j) {
    for (int k = 1; k <= offsets.unknown[j]; ++k) {
      if (!dummies.contains(graph_.variable(unknowns_[j], k))) {
        model_.states.push_back(graph_.variable(unknowns_[j], k - 1));
      }
    }
  }
  model_.index_of_state.assign(model_.states.size(), 1);
  for (const Node dummy : dummies) {
    model_.notes.push_back(fmt::format("{} is no state: its derivative follows from the others",
                                       quantity_name(graph_.variable(graph_[dummy].index, graph_[dummy].order - 1))));
  }
}

/// False if a choice may become singular somewhere.
bool Reducer::choose_dummies(const SystemOffsets& offsets, const Signature& signature, std::set<Node>& dummies) {
  if (std::all_of(offsets.equation.begin(), offsets.equation.end(), [](int c) { return c == 0; })) return true;
  Incidence active(signature.size());
  for (std::size_t i = 0; i < signature.size(); ++i) {
    for (const SignatureEntry& entry : signature[i]) {
      if (entry.order + offsets.equation[i] == offsets.unknown[at(entry.unknown)]) active[i].push_back(entry.unknown);
    }
  }
  for (const std::vector<int>& block : blocks(active, offsets.matching)) {
    if (!choose_of_block(block, offsets, dummies)) return false;
  }
  return true;
}

bool Reducer::choose_of_block(const std::vector<int>& block, const SystemOffsets& offsets, std::set<Node>& dummies) {
  std::vector<int> columns;
  for (const int i : block) columns.push_back(offsets.matching.unknown_of[at(i)]);
  for (int level = 1;; ++level) {
    std::vector<int> rows;
    for (const int i : block) {
      if (offsets.equation[at(i)] >= level) rows.push_back(i);
    }
    if (rows.empty()) return true;
    std::erase_if(columns, [&](int j) { return offsets.unknown[at(j)] < level; });
    std::vector<int> chosen;
    if (!independent_columns(rows, columns, offsets, level, chosen)) return false;
    for (const int j : chosen) {
      dummies.insert(graph_.variable(unknowns_[at(j)], offsets.unknown[at(j)] - level + 1));
    }
    columns = chosen;
  }
}

/// As many columns as rows whose matrix of dF_i/dx_j is regular whatever the solution does: its entries are constant.
/// The least welcome states first.
bool Reducer::independent_columns(const std::vector<int>& rows, std::vector<int> columns, const SystemOffsets& offsets,
                                  int level, std::vector<int>& chosen) {
  const auto welcome = [&](int j) {
    const FlatVariable& one = variable(unknowns_[at(j)]);
    // Rather a variable than the derivative of one.
    return (offsets.unknown[at(j)] > level ? -1000 : 0) + 100 * static_cast<int>(one.select) + (one.fixed ? 10 : 0) +
           (one.start != no_node ? 1 : 0);
  };
  std::stable_sort(columns.begin(), columns.end(), [&](int a, int b) { return welcome(a) < welcome(b); });
  std::vector<std::vector<double>> basis;  // reduced columns, each with its pivot row
  std::vector<std::size_t> pivots;
  for (const int j : columns) {
    if (chosen.size() == rows.size()) break;
    std::vector<double> column(rows.size());
    bool constant = true;
    for (std::size_t r = 0; r < rows.size() && constant; ++r) {
      const int order = offsets.unknown[at(j)] - offsets.equation[at(rows[r])];
      if (order < 0) continue;
      const Node entry =
          graph_.partial(model_.equations[at(rows[r])].residual, graph_.variable(unknowns_[at(j)], order));
      constant = known_from_parameters(entry, column[r]);
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
    chosen.push_back(j);
  }
  return chosen.size() == rows.size();
}

/// The equations stay as they are. What no equation gives without differentiation is an unknown of the integrator.
void Reducer::keep_index(const SystemOffsets& offsets, const Signature& signature) {
  std::vector<int> order(unknowns_.size(), 0);
  for (const auto& row : signature) {
    for (const SignatureEntry& entry : row) order[at(entry.unknown)] = std::max(order[at(entry.unknown)], entry.order);
  }
  for (std::size_t j = 0; j < unknowns_.size(); ++j) {
    for (int k = 0; k < order[j]; ++k) model_.states.push_back(graph_.variable(unknowns_[j], k));
  }
  const int highest = *std::max_element(offsets.equation.begin(), offsets.equation.end());
  for (const Node state : model_.states) {
    const auto j = static_cast<std::size_t>(std::find(unknowns_.begin(), unknowns_.end(), graph_[state].index) -
                                            unknowns_.begin());
    model_.index_of_state.push_back(std::max(1, highest - offsets.unknown[j] + graph_[state].order + 1));
  }
  model_.notes.push_back(
      fmt::format("index {}: no choice of states is good everywhere, so that all stay, and the integrator keeps the "
                  "constraints",
                  highest + 1));
}

}  // namespace manyfold::modelica
