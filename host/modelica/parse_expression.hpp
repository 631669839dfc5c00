#pragma once
// Reads expressions.
#include <initializer_list>
#include <string_view>

#include "host/modelica/syntax.hpp"
#include "host/modelica/token_stream.hpp"

namespace manyfold::modelica {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExpressionPtr expression();
  /// A sum, a difference: what can stand on the left of an equation.
  ExpressionPtr simple();
  /// A name with subscripts: a.b[2].c
  ExpressionPtr reference();
  /// Between brackets that have been opened, to the closing one.
  std::vector<ExpressionPtr> subscripts();
  std::vector<Iterator> iterators();

 private:
  ExpressionPtr make(Kind kind) const;
  ExpressionPtr choice();
  ExpressionPtr chain(ExpressionPtr first, std::initializer_list<std::string_view> words,
                      ExpressionPtr (ExpressionParser::*operand)());
  ExpressionPtr logical();
  ExpressionPtr conjunction();
  ExpressionPtr logical_factor();
  ExpressionPtr relation();
  ExpressionPtr arithmetic();
  ExpressionPtr term();
  ExpressionPtr factor();
  ExpressionPtr primary();
  ExpressionPtr suffixed();
  ExpressionPtr bracketed();
  ExpressionPtr braced();
  ExpressionPtr matrix();
  void arguments(Expression& call);

  TokenStream& stream_;
};

}  // namespace manyfold::modelica
