#include "host/modelica/explanation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {

std::vector<std::string> names_of(const ReducedModel& model, const std::vector<Node>& quantities) {
  std::vector<std::string> names;
  for (const Node quantity : quantities) names.push_back(name_of_quantity(model.flat, quantity));
  return names;
}

std::string offsets_text(const ReducedModel& model) {
  const auto& c = model.offsets_c;
  if (std::all_of(c.begin(), c.end(), [](int offset) { return offset == 0; })) return "";
  std::string text = "\nDifferentiated (offsets c, by Pantelides' algorithm):\n";
  // Equations are as they were gathered; those removed as aliases are not differentiated by themselves.
  std::map<int, int> counts;
  for (const int offset : c) ++counts[offset];
  for (const auto& [offset, count] : counts) {
    if (offset > 0)
      text += fmt::format("  {} equation{} {} time{}\n", count, count == 1 ? "" : "s", offset, offset == 1 ? "" : "s");
  }
  text += "Order of the highest derivative (offsets d):\n";
  for (std::size_t j = 0; j < model.offsets_d.size(); ++j) {
    if (model.offsets_d[j] > 0) text += fmt::format("  {}: {}\n", model.offset_names[j], model.offsets_d[j]);
  }
  return text;
}

std::string blocks_text(const ReducedModel& model, const std::vector<Block>& blocks,
                        const std::vector<Equation>& equations) {
  std::string text;
  for (const Block& block : blocks) {
    if (block.equations.size() == 1) {
      const Equation& equation = equations[at(block.equations[0])];
      text += fmt::format("  {} {} {}\n", name_of_quantity(model.flat, block.quantities[0]),
                          block.torn.empty() ? "from" : "by iteration from", equation.text);
      continue;
    }
    text += fmt::format("  together: {}\n", fmt::join(names_of(model, block.quantities), ", "));
    for (const int i : block.equations) text += fmt::format("    {}\n", equations[at(i)].text);
    text += block.torn.empty() ? "    linear: solved in closed form\n"
                               : fmt::format("    tearing: {}\n", fmt::join(names_of(model, block.torn), ", "));
  }
  return text;
}

/// Loops at the start, and where the search for their unknowns begins.
std::string start_text(const ReducedModel& model) {
  if (model.start_is_found) return "";
  std::vector<Block> loops;
  std::vector<std::string> begins;
  for (const Block& block : model.initial_blocks) {
    if (block.torn.empty()) continue;
    loops.push_back(block);
    for (const Node torn : block.torn) {
      const NodeData& data = model.flat.graph[torn];
      const Node start = data.order > 0 ? no_node : model.flat.variables[at(data.index)].start;
      const bool number = start != no_node && model.flat.graph.is_number(start);
      begins.push_back(fmt::format("{} {}", name_of_quantity(model.flat, torn),
                                   number             ? fmt::format("from {:g}", model.flat.graph.value(start))
                                   : start == no_node ? "without a start"
                                                      : "from its start"));
    }
  }
  if (loops.empty()) return "";
  return "\nLoops at the start:\n" + blocks_text(model, loops, model.initial_equations) +
         fmt::format("The search begins with {}.\n", fmt::join(begins, ", "));
}

std::string stage_text(const ReducedModel& model) {
  const ReducedModel::Stage& stage = model.stage;
  if (!stage.found) {
    return "\nInline integration: a stage leaves no fewer unknowns, and is solved for all of them.\n";
  }
  std::string text =
      "\nInline integration: a stage of a diagonally implicit method, with its formula among the equations:\n" +
      blocks_text(model, stage.blocks, stage.equations);
  return text + fmt::format("Of a stage Newton's method has {} unknown{}{}{}.\n", stage.torn.size(),
                            stage.torn.size() == 1 ? "" : "s", stage.torn.empty() ? "" : ": ",
                            fmt::join(names_of(model, stage.torn), ", "));
}

/// One matrix: for every row its columns that are not zero.
std::string matrix_picture(const Incidence& rows, const std::vector<int>& row_order,
                           const std::vector<int>& column_order, double left, double size, const std::string& title) {
  std::map<int, std::size_t> column;
  for (std::size_t k = 0; k < column_order.size(); ++k) column[column_order[k]] = k;
  const double cell = size / static_cast<double>(std::max<std::size_t>(1, row_order.size()));
  std::string text = fmt::format(
      "<text x=\"{:.1f}\" y=\"18\" font-family=\"sans-serif\" font-size=\"14\">{}</text>\n<rect x=\"{:.1f}\" y=\"30\" "
      "width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#888\"/>\n",
      left, title, left, size, size);
  for (std::size_t r = 0; r < row_order.size(); ++r) {
    for (const int j : rows[at(row_order[r])]) {
      const auto found = column.find(j);
      if (found == column.end()) continue;
      text += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                          left + static_cast<double>(found->second) * cell, 30.0 + static_cast<double>(r) * cell, cell,
                          cell, found->second == r ? "#c33" : "#246");
    }
  }
  return text;
}

}  // namespace

std::string explanation(const ReducedModel& model) {
  std::string text = fmt::format("{}: {} equations for {} variables\n", model.flat.name, model.original_equations,
                                 model.original_variables);
  text += fmt::format("structural index {}, {} degree{} of freedom\n", model.structural_index, model.freedoms,
                      model.freedoms == 1 ? "" : "s");
  text += fmt::format("{} aliases removed; {} equations left\n", model.aliases, model.equations.size());
  text += offsets_text(model);
  text += fmt::format("\nStates: {}\n", fmt::join(names_of(model, model.states), ", "));
  if (model.dummies > 0) text += fmt::format("Dummy derivatives: {}\n", model.dummies);
  for (const std::string& note : model.notes) text += "  " + note + "\n";
  text += "\nBlocks, in the order in which they are solved:\n" + blocks_text(model, model.blocks, model.equations);
  if (!model.torn.empty()) {
    text += fmt::format("\nUnknowns of the integrator beside the states: {}\n",
                        fmt::join(names_of(model, model.torn), ", "));
  }
  text += fmt::format("\nNewton's method has {} unknowns in place of {}.\n", model.states.size() + model.torn.size(),
                      model.original_variables);
  text += start_text(model);
  text += stage_text(model);
  return text;
}

std::string incidence_picture(const ReducedModel& model) {
  std::vector<Node> unknowns;
  std::vector<int> solved_rows;
  std::vector<int> solved_columns;
  std::map<Node, int> number;
  const auto add = [&](Node quantity) {
    const auto [entry, added] = number.try_emplace(quantity, static_cast<int>(unknowns.size()));
    if (added) unknowns.push_back(quantity);
    return entry->second;
  };
  for (const Block& block : model.blocks) {
    std::set<int> rows;
    for (const Step& step : block.steps) {
      solved_rows.push_back(step.equation);
      rows.insert(step.equation);
      solved_columns.push_back(add(step.quantity));
    }
    std::size_t k = 0;
    for (const int i : block.equations) {
      if (rows.contains(i)) continue;
      solved_rows.push_back(i);
      if (k < block.torn.size()) solved_columns.push_back(add(block.torn[k++]));
    }
  }
  for (const Node quantity : model.torn) add(quantity);
  Incidence incidence(model.equations.size());
  for (std::size_t i = 0; i < model.equations.size(); ++i) {
    for (const Node node : model.graph().below(model.equations[i].residual)) {
      if (const auto found = number.find(node); found != number.end()) incidence[i].push_back(found->second);
    }
  }
  std::vector<int> rows(model.equations.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i);
  std::vector<int> columns(unknowns.size());
  for (std::size_t j = 0; j < columns.size(); ++j) columns[j] = static_cast<int>(j);
  std::sort(columns.begin(), columns.end(), [&](int a, int b) { return unknowns[at(a)] < unknowns[at(b)]; });
  constexpr double size = 420.0;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"470\" viewBox=\"0 0 900 470\">\n"
             "<rect width=\"900\" height=\"470\" fill=\"white\"/>\n") +
         matrix_picture(incidence, rows, columns, 20.0, size, "as written, without aliases") +
         matrix_picture(incidence, solved_rows, solved_columns, 460.0, size, "as solved") + "</svg>\n";
}

}  // namespace manyfold::modelica
