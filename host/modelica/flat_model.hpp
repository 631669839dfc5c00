#pragma once
// A model without classes, records and arrays: scalar variables and equations between them.
#include <map>
#include <string>
#include <vector>

#include "host/modelica/diagnostics.hpp"
#include "host/modelica/graph.hpp"

namespace manyfold::modelica {

enum class Type { real, integer, boolean, enumeration, string };
enum class Variability { constant, parameter, discrete, continuous };

/// How gladly a variable is taken as a state.
enum class StateSelect { never, avoid, normal, prefer, always };

struct FlatVariable {
  std::string name;
  Type type = Type::real;
  Variability variability = Variability::continuous;
  std::string unit;
  std::string description;
  Place place = 0;
  Node start = no_node;
  Node guess = no_node;  ///< in place of a start, by those of others
  Node nominal = no_node;
  Node min = no_node;
  Node max = no_node;
  bool fixed = false;
  bool fixed_given = false;
  bool keeps_start = false;  ///< rather than others
  bool input = false;
  bool evaluated = false;  ///< a parameter whose value shapes the equations
  bool made = false;       ///< by the compiler: it stands not in the file
  StateSelect select = StateSelect::normal;
  Node binding = no_node;

  bool is_parameter() const { return variability <= Variability::parameter; }
};

/// The start value; where none is given, a guess, zero, or the first literal of an enumeration.
inline Node start_of_variable(Graph& graph, const FlatVariable& variable) {
  if (variable.start != no_node) return variable.start;
  if (variable.guess != no_node) return variable.guess;
  return graph.number(variable.type == Type::enumeration ? 1.0 : 0.0);
}

struct FlatEquation {
  Node left = no_node;
  Node right = no_node;
  Place place = 0;
  std::string text;           ///< as it is written
  Node simplified = no_node;  ///< of homotopy: the right side that the search for initial values begins with
};

/// What happens to the instance where `guard` becomes true at an event.
struct FlatAction {
  enum class Kind { reinit, terminate, fail } kind = Kind::reinit;  ///< fail: an assertion
  Node guard = no_node;
  int variable = -1;  ///< of reinit; of the others what remembers it
  Node value = no_node;
  std::string message;
  Place place = 0;
  int due = -1;   ///< of a reinit that may be for the start: is it to be done, and
  int held = -1;  ///< with which value
};

struct FlatAssertion {
  Node condition = no_node;
  std::string message;
  Place place = 0;
};

/// sample(start, interval)
struct FlatClock {
  Node start = no_node;
  Node interval = no_node;
  Place place = 0;
};

struct FlatModel {
  std::string name;
  std::string description;
  std::map<std::string, double> experiment;
  Graph graph;
  std::vector<FlatVariable> variables;
  std::vector<FlatEquation> equations;
  std::vector<FlatEquation> initial_equations;
  std::vector<FlatEquation> discrete_equations;  ///< of when: hold at events alone; left is a variable
  std::vector<Node> conditions;                  ///< of when, by the index of Op::edge
  std::vector<FlatAction> actions;
  std::vector<FlatAssertion> assertions;
  std::vector<FlatClock> clocks;
};

}  // namespace manyfold::modelica
