#include "host/modelica/parse_expression.hpp"

#include "host/modelica/iterator_ranges.hpp"
#include "host/modelica/subscripted_names.hpp"

namespace manyfold::modelica {
namespace {

/// Words that no name can be.
bool is_reserved(const Token& token) {
  if (token.kind != TokenKind::word) return false;
  for (const char* word : {"algorithm", "and",     "annotation", "class",  "connect",  "constant", "discrete", "each",
                           "else",      "elseif",  "elsewhen",   "end",    "equation", "external", "final",    "for",
                           "function",  "if",      "in",         "input",  "loop",     "model",    "not",      "or",
                           "output",    "package", "parameter",  "record", "then",     "when",     "while"}) {
    if (token.text == word) return true;
  }
  return false;
}

}  // namespace

ExpressionPtr ExpressionParser::make(Kind kind) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->place = stream_.peek().place;
  return expression;
}

ExpressionPtr ExpressionParser::expression() {
  const TokenStream::Level level(stream_);
  if (stream_.peek().is("if")) return choice();
  return simple();
}

ExpressionPtr ExpressionParser::simple() {
  ExpressionPtr first = logical();
  if (!stream_.peek().is(":") || stream_.peek(1).is("=")) return first;
  ExpressionPtr range = make(Kind::range);
  range->place = first->place;
  range->operands.push_back(std::move(first));
  while (stream_.accept(":")) range->operands.push_back(logical());
  if (range->operands.size() > 3) stream_.fail("a range has a beginning, a step and an end: a : b : c");
  return range;
}

ExpressionPtr ExpressionParser::choice() {
  ExpressionPtr result = make(Kind::choice);
  stream_.expect("if", "");
  result->operands.push_back(expression());
  stream_.expect("then", "after the condition of if");
  result->operands.push_back(expression());
  while (stream_.accept("elseif")) {
    result->operands.push_back(expression());
    stream_.expect("then", "after the condition of elseif");
    result->operands.push_back(expression());
  }
  stream_.expect("else", "of an if expression");
  result->operands.push_back(expression());
  return result;
}

/// `first`, or a chain of operands joined by any of `words`.
ExpressionPtr ExpressionParser::chain(ExpressionPtr first, std::initializer_list<std::string_view> words,
                                      ExpressionPtr (ExpressionParser::*operand)()) {
  if (!stream_.at_any(words)) return first;
  ExpressionPtr result = make(Kind::chain);
  result->place = first->place;
  result->operands.push_back(std::move(first));
  while (stream_.at_any(words)) {
    result->words.push_back(stream_.take().text);
    result->operands.push_back((this->*operand)());
  }
  return result;
}

ExpressionPtr ExpressionParser::logical() {
  return chain(conjunction(), {"or"}, &ExpressionParser::conjunction);
}

ExpressionPtr ExpressionParser::conjunction() {
  return chain(logical_factor(), {"and"}, &ExpressionParser::logical_factor);
}

ExpressionPtr ExpressionParser::logical_factor() {
  if (!stream_.peek().is("not")) return relation();
  const TokenStream::Level level(stream_);
  ExpressionPtr result = make(Kind::negation);
  result->words.push_back(stream_.take().text);
  result->operands.push_back(logical_factor());
  return result;
}

ExpressionPtr ExpressionParser::relation() {
  ExpressionPtr first = arithmetic();
  if (!stream_.at_any({"<", "<=", ">", ">=", "==", "<>"})) return first;
  ExpressionPtr result = make(Kind::relation);
  result->place = first->place;
  result->words.push_back(stream_.take().text);
  result->operands.push_back(std::move(first));
  result->operands.push_back(arithmetic());
  return result;
}

ExpressionPtr ExpressionParser::arithmetic() {
  ExpressionPtr first;
  if (stream_.at_any({"+", "-", ".+", ".-"})) {
    ExpressionPtr sign = make(Kind::negation);
    const bool minus = stream_.take().text.back() == '-';
    first = term();
    if (minus) {
      sign->words.emplace_back("-");
      sign->operands.push_back(std::move(first));
      first = std::move(sign);
    }
  } else {
    first = term();
  }
  return chain(std::move(first), {"+", "-", ".+", ".-"}, &ExpressionParser::term);
}

ExpressionPtr ExpressionParser::term() {
  return chain(factor(), {"*", "/", ".*", "./"}, &ExpressionParser::factor);
}

ExpressionPtr ExpressionParser::factor() {
  ExpressionPtr base = suffixed();
  if (!stream_.at_any({"^", ".^"})) return base;
  ExpressionPtr power = make(Kind::power);
  power->place = base->place;
  power->words.push_back(stream_.take().text);
  power->operands.push_back(std::move(base));
  // Exports have -2 as an exponent without brackets too.
  if (stream_.peek().is("-")) {
    ExpressionPtr sign = make(Kind::negation);
    sign->words.push_back(stream_.take().text);
    sign->operands.push_back(suffixed());
    power->operands.push_back(std::move(sign));
  } else {
    power->operands.push_back(suffixed());
  }
  return power;
}

/// A primary, with the subscripts and members that exports append to brackets.
ExpressionPtr ExpressionParser::suffixed() {
  ExpressionPtr result = primary();
  const Kind kind = result->kind;
  const bool may = kind == Kind::tuple || kind == Kind::array || kind == Kind::call || kind == Kind::comprehension ||
                   kind == Kind::matrix;
  while (may && stream_.at_any({"[", "."})) {
    ExpressionPtr outer = make(stream_.peek().is("[") ? Kind::element : Kind::member);
    NamePart part;
    if (stream_.take().text == "[") {
      part.subscripts = subscripts();
    } else {
      part.name = stream_.expect_name("the name of a member");
    }
    outer->parts.push_back(std::move(part));
    outer->operands.push_back(std::move(result));
    result = std::move(outer);
  }
  return result;
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = stream_.peek();
  if (token.kind == TokenKind::number) {
    ExpressionPtr result = make(Kind::number);
    result->number = stream_.take().number;
    return result;
  }
  if (token.kind == TokenKind::string) {
    ExpressionPtr result = make(Kind::string);
    result->text = stream_.take().text;
    return result;
  }
  if (token.is("true") || token.is("false")) {
    ExpressionPtr result = make(Kind::boolean);
    result->number = stream_.take().text == "true" ? 1.0 : 0.0;
    return result;
  }
  if (token.is("(")) return bracketed();
  if (token.is("{")) return braced();
  if (token.is("[")) return matrix();
  if (token.is("end")) {
    ExpressionPtr result = make(Kind::last);
    stream_.take();
    return result;
  }
  // -2 as an operand is written without brackets here and there.
  if (token.is("-") || token.is("+")) {
    const TokenStream::Level level(stream_);
    ExpressionPtr sign = make(Kind::negation);
    if (stream_.take().text == "+") return suffixed();
    sign->words.emplace_back("-");
    sign->operands.push_back(factor());
    return sign;
  }
  if (token.is("function") && stream_.peek(1).is_name()) {
    stream_.take();
    ExpressionPtr given = reference();
    given->kind = Kind::partial_call;
    arguments(*given);
    return given;
  }
  if (token.is_name() && !(is_reserved(token) && !token.is("function"))) {
    ExpressionPtr name = reference();
    if (!stream_.peek().is("(")) return name;
    name->kind = Kind::call;
    arguments(*name);
    return name;
  }
  if (token.is("initial")) return reference();
  if (token.is("#")) stream_.fail("the export has lost an expression here: export the model with another version");
  stream_.fail(fmt::format("expected an expression, found {}", stream_.found()));
}

/// An expression in brackets, or several: what a function with several results gives.
ExpressionPtr ExpressionParser::bracketed() {
  const TokenStream::Level level(stream_);
  ExpressionPtr tuple = make(Kind::tuple);
  stream_.expect("(", "");
  while (!stream_.peek().is(")")) {
    tuple->operands.push_back(stream_.peek().is(",") ? nullptr : expression());
    if (!stream_.accept(",")) break;
    if (stream_.peek().is(")")) tuple->operands.push_back(nullptr);
  }
  stream_.expect(")", "to close the bracket");
  return tuple;
}

ExpressionPtr ExpressionParser::braced() {
  const TokenStream::Level level(stream_);
  ExpressionPtr array = make(Kind::array);
  stream_.expect("{", "");
  while (!stream_.peek().is("}")) {
    array->operands.push_back(expression());
    if (array->operands.size() == 1 && stream_.accept("for")) {
      array->kind = Kind::comprehension;
      array->iterators = iterators();
      note_indexed(array->iterators, *array->operands[0]);
      break;
    }
    if (!stream_.accept(",")) break;
  }
  stream_.expect("}", "to close the array");
  return array;
}

ExpressionPtr ExpressionParser::matrix() {
  const TokenStream::Level level(stream_);
  ExpressionPtr result = make(Kind::matrix);
  stream_.expect("[", "");
  do {
    ExpressionPtr row = make(Kind::array);
    do {
      row->operands.push_back(expression());
    } while (stream_.accept(","));
    result->operands.push_back(std::move(row));
  } while (stream_.accept(";"));
  stream_.expect("]", "to close the matrix");
  return result;
}

ExpressionPtr ExpressionParser::reference() {
  ExpressionPtr result = make(Kind::reference);
  stream_.accept(".");
  do {
    const Token token = stream_.peek();
    std::string name = stream_.expect_name("a name");
    if (token.kind == TokenKind::quoted && name.find('\'') != std::string::npos) {
      for (NamePart& part : parts_of_quoted(name, token.place, stream_.diagnostics())) {
        result->parts.push_back(std::move(part));
      }
    } else {
      result->parts.push_back({std::move(name), token.kind == TokenKind::quoted, {}});
    }
    std::vector<ExpressionPtr>& own = result->parts.back().subscripts;
    if (own.empty() && stream_.accept("[")) own = subscripts();
  } while (stream_.peek().is(".") && stream_.peek(1).is_name() && stream_.accept("."));
  return result;
}

std::vector<ExpressionPtr> ExpressionParser::subscripts() {
  std::vector<ExpressionPtr> result;
  do {
    if (stream_.peek().is(":")) {
      result.push_back(make(Kind::colon));
      stream_.take();
    } else {
      result.push_back(expression());
    }
  } while (stream_.accept(","));
  stream_.expect("]", "to close the subscripts");
  return result;
}

std::vector<Iterator> ExpressionParser::iterators() {
  std::vector<Iterator> result;
  do {
    Iterator iterator;
    iterator.place = stream_.peek().place;
    iterator.name = stream_.expect_name("the name of an iterator");
    if (stream_.accept("in")) iterator.range = expression();
    result.push_back(std::move(iterator));
  } while (stream_.accept(","));
  return result;
}

void ExpressionParser::arguments(Expression& call) {
  const TokenStream::Level level(stream_);
  stream_.expect("(", "");
  while (!stream_.peek().is(")")) {
    if (stream_.peek().is_name() && stream_.peek(1).is("=")) {
      std::string name = stream_.take().text;
      stream_.take();
      call.named.emplace_back(std::move(name), expression());
    } else {
      call.operands.push_back(expression());
      if (call.operands.size() == 1 && stream_.accept("for")) {
        call.iterators = iterators();
        note_indexed(call.iterators, *call.operands[0]);
        break;
      }
    }
    if (!stream_.accept(",")) break;
  }
  stream_.expect(")", "to close the arguments");
}

}  // namespace manyfold::modelica
