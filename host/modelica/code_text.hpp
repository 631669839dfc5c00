#pragma once
// Expressions as C++.
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/modelica/graph.hpp"

namespace manyfold::modelica {

/// Names that C++ and the functions of a model leave free, each given once.
class Names {
 public:
  std::string of(const std::string& wish);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> counts_;  ///< of further names, by the first
};

/// Ends the writing of a function: nothing gives this variable or derivative there.
struct UnknownQuantity {
  Node node;
};

/// A number as C++ reads it.
std::string literal(double value);

/// The body of a function: declarations of local numbers, then what is made of them. What occurs twice is computed
/// once.
class Body {
 public:
  Body(const Graph& graph, Names& names, int indent) : graph_(graph), names_(names), indent_(indent) {}

  /// `text` is what the leaf is in this function.
  void bind(Node leaf, const std::string& text) { known_[leaf] = text; }
  bool knows(Node node) const { return known_.contains(node); }
  /// Tells what will be written, so that shared parts are found.
  void announce(Node root);
  /// const auto NAME = value;  // comment
  void let(Node quantity, const std::string& wish, Node value, const std::string& comment);
  /// const auto NAME = condition; with the name.
  std::string let_mask(const std::string& wish, Node condition);
  /// The expression, after what it needs.
  std::string number(Node node);
  std::string mask(Node node);
  void line(const std::string& text) { text_ += std::string(static_cast<std::size_t>(indent_), ' ') + text + "\n"; }
  void comment(const std::string& text);
  /// A body within this one, with a copy of what is known.
  Body inner(int more) const;
  /// As `inner`, but what was computed of leaves that now have other values is forgotten.
  Body afresh() const;
  /// The leaf has another value from here on.
  void forget(Node leaf);
  void take(const Body& inner) { text_ += inner.text_; }
  const std::string& text() const { return text_; }

 private:
  std::vector<Node> unknown_below(Node root) const;
  void prepare(Node root);
  std::string print(Node node, int& precedence);
  std::string operand(Node node, int least);
  std::string number_at(Node node, int& precedence);

  const Graph& graph_;
  Names& names_;
  int indent_;
  std::unordered_map<Node, std::string> known_;
  std::set<Node> temporaries_;
  std::unordered_map<Node, int> uses_;
  std::set<Node> announced_;
  std::string text_;
};

}  // namespace manyfold::modelica
