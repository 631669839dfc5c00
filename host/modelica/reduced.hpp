#pragma once
// The model as it is integrated: states and torn unknowns, and a sequence of assignments for all else.
#include <set>
#include <string>
#include <vector>

#include "host/modelica/flat_model.hpp"
#include "host/modelica/structure.hpp"

namespace manyfold::modelica {

/// An equation as zero = `residual`, perhaps differentiated.
struct Equation {
  Node residual = no_node;
  Node left = no_node;  ///< of an equation left = right, as it is written; no_node after differentiation
  Node right = no_node;
  Node simplified = no_node;  ///< right side that the search for initial values begins with
  Place place = 0;
  std::string text;
  int differentiated = 0;
  bool is_of_start = false;  ///< an initial equation
};

/// quantity := value, by an equation.
struct Step {
  Node quantity = no_node;
  Node value = no_node;
  int equation = -1;  ///< of the reduced model
};

/// A block of equations that are solved together.
struct Block {
  std::vector<int> equations;
  std::vector<Node> quantities;
  std::vector<Node> torn;
  std::vector<Step> steps;
  std::vector<int> residuals;
  bool simplified = false;  ///< of initial equations: homotopy acts in them
};

/// A relation between continuous quantities, at whose change an event occurs.
struct Relation {
  Op op = Op::less;
  Node left = no_node;
  Node right = no_node;
  bool of_before = false;  ///< it has values before the event
};

/// A discrete variable that is the whole part of what varies.
struct WholePart {
  int variable = -1;
  Node argument = no_node;
};

struct ReducedModel {
  FlatModel flat;
  std::vector<Relation> relations;
  std::vector<WholePart> whole_parts;

  bool loops_are_switched = false;  ///< loops that are iterated, or have several solutions, decide their switches

  // What became of the variables.
  std::vector<int> root;   ///< the variable that stands for it
  std::vector<int> sign;   ///< 1 or -1
  std::vector<Node> fold;  ///< a variable that is a number, or a parameter that follows from others

  // The continuous system, after aliases and index reduction.
  std::vector<Equation> equations;
  std::vector<int> discrete;         ///< variables that change at events alone
  std::vector<Node> states;          ///< quantities, each a variable or its derivative
  std::vector<Block> blocks;         ///< in the order in which they are solved
  std::vector<Node> torn;            ///< of all blocks
  std::vector<int> residuals;        ///< equations, as many as torn
  std::vector<Equation> invariants;  ///< of states: they hold along a solution whose start they hold for

  // The initial system.
  std::vector<Equation> initial_equations;  ///< the reduced model's, then those of the start
  std::vector<Block> initial_blocks;
  std::vector<Node> fixed;      ///< states that have their start values
  bool start_is_found = false;  ///< the others by the integrator, near their start values: invariants alone say them

  /// An implicit stage, Y' = (Y - base) / (gamma h), with this formula among the equations.
  struct Stage {
    std::vector<Equation> equations;
    std::vector<Block> blocks;
    std::vector<Node> torn;  ///< what Newton's method solves for
    std::vector<int> residuals;
    bool found = false;  ///< otherwise the stage is solved for all of y
  } stage;

  // What the structure says.
  int original_variables = 0;
  int original_equations = 0;
  int structural_index = 0;
  int freedoms = 0;
  int aliases = 0;
  std::vector<int> offsets_c;  ///< of the original equations and unknowns
  std::vector<int> offsets_d;
  std::vector<std::string> offset_names;
  int dummies = 0;
  std::vector<std::string> notes;
  std::set<std::string> zero_divisors;  ///< parameters that are zero by default and would be divided by
  std::vector<std::string> cautions;    ///< warnings that concern every run

  Graph& graph() { return flat.graph; }
  const Graph& graph() const { return flat.graph; }
};

}  // namespace manyfold::modelica
