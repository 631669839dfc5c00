#pragma once
// A model as it is written: the syntax tree.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/modelica/diagnostics.hpp"

namespace manyfold::modelica {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// One part of a name such as 'a'[1].'b'.
struct NamePart {
  std::string name;
  bool quoted = false;
  std::vector<ExpressionPtr> subscripts;
};

/// name.part
inline void append_part(std::string& name, const std::string& part) {
  if (!name.empty()) name += '.';
  name += part;
}
inline std::string dotted(const std::vector<NamePart>& parts, std::size_t first = 0) {
  std::string name;
  for (std::size_t k = first; k < parts.size(); ++k) append_part(name, parts[k].name);
  return name;
}

/// Where a name stands as a subscript.
struct Indexed {
  const Expression* reference = nullptr;
  std::size_t part = 0;       ///< of the reference
  std::size_t subscript = 0;  ///< of the part
};

struct Iterator {
  std::string name;
  ExpressionPtr range;           ///< null: of what it indexes
  std::vector<Indexed> indexed;  ///< by an iterator without a range
  Place place = 0;
};

enum class Kind {
  number,
  string,
  boolean,
  reference,      ///< parts
  call,           ///< parts: the function's name; operands, named
  partial_call,   ///< function f(named): the function with some of its inputs given
  chain,          ///< operands joined by `words`: + - * / and or, from left to right
  power,          ///< two operands
  negation,       ///< unary - or not, in words[0]
  relation,       ///< two operands, words[0]
  choice,         ///< if, then, elseif, then, ..., else
  array,          ///< {operands}
  matrix,         ///< [rows], each an array
  comprehension,  ///< operands[0] for iterators
  range,          ///< begin : end or begin : step : end
  colon,          ///< a whole dimension, as subscript
  last,           ///< `end` as subscript
  tuple,          ///< (a, , b); operands that are left out are null
  member,         ///< (operands[0]).name, parts[0]
  element,        ///< (operands[0])[subscripts of parts[0]]
};

struct Expression {
  Kind kind = Kind::number;
  Place place = 0;
  double number = 0.0;
  std::string text;
  std::vector<std::string> words;
  std::vector<NamePart> parts;
  std::vector<ExpressionPtr> operands;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<Iterator> iterators;
};

struct Modifier {
  std::string name;
  ExpressionPtr value;  ///< may be null
  std::vector<Modifier> inner;
  Place place = 0;
};

struct Declaration {
  std::string name;
  std::string type;
  bool type_quoted = false;
  std::vector<ExpressionPtr> dimensions;
  std::vector<Modifier> modifiers;
  ExpressionPtr binding;
  std::string description;
  bool parameter = false;
  bool constant = false;
  bool discrete = false;
  bool input = false;
  bool output = false;
  bool is_protected = false;
  Place place = 0;
};

struct Statement;

/// A condition, null for `else`, and what it guards.
struct Branch {
  ExpressionPtr condition;
  std::vector<Statement> body;
};

/// An equation, or a statement of an algorithm.
struct Statement {
  enum class Kind { equation, assignment, call, choice, when, loop, while_loop, leave, next, back } kind;
  Place place = 0;
  Place end = 0;
  ExpressionPtr left;
  ExpressionPtr right;
  std::vector<Branch> branches;  ///< of choice and when; of loops the first
  std::vector<Iterator> iterators;
};

struct Section {
  bool initial = false;
  bool algorithm = false;
  std::vector<Statement> statements;
};

struct Class {
  enum class Kind { package, model, record, function, type, external_object } kind = Kind::model;
  std::string name;
  Place place = 0;
  std::string description;
  std::vector<Declaration> declarations;
  std::vector<Section> sections;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> guesses;  ///< parameter equation guess(x) = value
  std::vector<std::unique_ptr<Class>> classes;
  std::vector<std::string> literals;  ///< of an enumeration
  std::string base;                   ///< type X = base(...), function X = der(base, ...)
  bool input = false;                 ///< type X = input base: so is all that has the type
  bool output = false;
  std::vector<std::string> seeds;  ///< of function X = der(base, a, b): a, b
  std::vector<Modifier> base_modifiers;
  std::vector<ExpressionPtr> base_dimensions;
  bool external = false;
  std::string external_name;  ///< of the function in C
  bool partial = false;
  std::map<std::string, double> experiment;  ///< StartTime, StopTime, Tolerance, Interval
};

}  // namespace manyfold::modelica
