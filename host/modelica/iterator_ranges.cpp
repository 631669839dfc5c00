#include "host/modelica/iterator_ranges.hpp"

#include <algorithm>

namespace manyfold::modelica {
namespace {

bool has_name(const std::vector<Iterator>& iterators, const std::string& name) {
  return std::any_of(iterators.begin(), iterators.end(), [&](const Iterator& one) { return one.name == name; });
}

/// Looks for one iterator; an inner one of the same name hides it.
class Search {
 public:
  explicit Search(Iterator& iterator) : iterator_(iterator) {}

  void visit(const Expression& expression) {
    if (has_name(expression.iterators, iterator_.name)) return;
    for (std::size_t k = 0; k < expression.parts.size(); ++k) visit_subscripts(expression, k);
    for (const ExpressionPtr& operand : expression.operands) visit(operand);
    for (const auto& [name, value] : expression.named) visit(value);
    for (const Iterator& inner : expression.iterators) visit(inner.range);
  }

  void visit(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (has_name(statement.iterators, iterator_.name)) continue;
      visit(statement.left);
      visit(statement.right);
      for (const Iterator& inner : statement.iterators) visit(inner.range);
      for (const Branch& branch : statement.branches) {
        visit(branch.condition);
        visit(branch.body);
      }
    }
  }

 private:
  void visit(const ExpressionPtr& expression) {
    if (expression) visit(*expression);
  }

  void visit_subscripts(const Expression& expression, std::size_t part) {
    const std::vector<ExpressionPtr>& subscripts = expression.parts[part].subscripts;
    for (std::size_t k = 0; k < subscripts.size(); ++k) {
      const Expression& subscript = *subscripts[k];
      const bool itself = subscript.kind == Kind::reference && subscript.parts.size() == 1 &&
                          subscript.parts[0].subscripts.empty() && subscript.parts[0].name == iterator_.name;
      if (itself && expression.kind == Kind::reference) iterator_.indexed.push_back({&expression, part, k});
      visit(subscript);
    }
  }

  Iterator& iterator_;
};

void note(std::vector<Iterator>& iterators, const auto& body) {
  for (Iterator& iterator : iterators) {
    if (!iterator.range) Search(iterator).visit(body);
  }
}

}  // namespace

void note_indexed(std::vector<Iterator>& iterators, const Expression& body) {
  note(iterators, body);
}

void note_indexed(std::vector<Iterator>& iterators, const std::vector<Statement>& body) {
  note(iterators, body);
}

}  // namespace manyfold::modelica
