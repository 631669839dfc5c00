#include "host/modelica/parser.hpp"

#include <cmath>
#include <map>

#include "host/modelica/iterator_ranges.hpp"
#include "host/modelica/parse_expression.hpp"
#include "host/modelica/subscripted_names.hpp"

namespace manyfold::modelica {
namespace {

class Parser {
 public:
  explicit Parser(TokenStream& stream) : stream_(stream), expressions_(stream) {}

  std::unique_ptr<Class> file() {
    auto all = std::make_unique<Class>();
    all->kind = Class::Kind::package;
    guarded([&] {
      if (stream_.accept("within")) stream_.recover();
    });
    while (!stream_.at_end() && !stream_.diagnostics().full()) {
      guarded([&] {
        all->classes.push_back(definition());
        stream_.expect(";", "after the end of the class");
      });
    }
    return all;
  }

 private:
  template <class Read>
  void guarded(Read&& read) {
    try {
      read();
    } catch (const SyntaxError&) {
      stream_.recover();
    }
  }

  bool at_class() const {
    return stream_.at_any({"package", "model", "record", "function", "type", "class", "block", "partial", "operator",
                           "connector", "pure", "impure", "encapsulated"});
  }

  std::unique_ptr<Class> definition() {
    const TokenStream::Level level(stream_);
    auto result = std::make_unique<Class>();
    while (stream_.at_any({"partial", "operator", "pure", "impure", "encapsulated"})) {
      result->partial = result->partial || stream_.peek().is("partial");
      stream_.take();
    }
    result->place = stream_.peek().place;
    const std::string kind = stream_.peek().text;
    if (!at_class()) {
      stream_.fail(fmt::format("expected package, model, record, function or type, found {}", stream_.found()));
    }
    stream_.take();
    result->kind = kind == "package"                       ? Class::Kind::package
                   : kind == "record"                      ? Class::Kind::record
                   : kind == "function"                    ? Class::Kind::function
                   : kind == "type" || kind == "connector" ? Class::Kind::type
                                                           : Class::Kind::model;
    result->name = stream_.expect_name("the name of the " + kind);
    if (stream_.accept("=")) {
      shorthand(*result);
      return result;
    }
    if (stream_.accept("extends")) {
      result->base = stream_.expect_name("what the class extends");
      result->kind = Class::Kind::external_object;
      if (result->base != "ExternalObject") {
        stream_.fail(
            fmt::format("the class extends '{}': this file is not flat; export it as Base Modelica", result->base));
      }
      stream_.accept(";");
    }
    if (stream_.peek().kind == TokenKind::string) result->description = text_of_description();
    body(*result);
    return result;
  }

  /// type E = enumeration(a, b), type V = Real(unit = "V"), function df = der(f, x).
  void shorthand(Class& result) {
    if (stream_.accept("enumeration")) {
      stream_.expect("(", "after enumeration");
      while (!stream_.peek().is(")")) {
        result.literals.push_back(stream_.expect_name("a literal of the enumeration"));
        if (stream_.peek().kind == TokenKind::string) text_of_description();
        if (!stream_.accept(",")) break;
      }
      stream_.expect(")", "to close the enumeration");
    } else {
      if (result.kind == Class::Kind::function) return partial_derivative(result);
      result.input = stream_.accept("input");
      result.output = stream_.accept("output");
      result.base = name_with_dots();
      if (stream_.accept("[")) result.base_dimensions = expressions_.subscripts();
      if (stream_.accept("(")) result.base_modifiers = modifiers();
      result.kind = Class::Kind::type;
    }
    if (stream_.peek().kind == TokenKind::string) text_of_description();
    annotation(result);
  }

  /// der(f, x, y), of function df = der(f, x, y).
  void partial_derivative(Class& result) {
    if (!stream_.accept("der")) {
      stream_.fail(fmt::format("expected 'der(f, x)', the derivative of a function, found {}", stream_.found()));
    }
    stream_.expect("(", "after der");
    result.base = name_with_dots();
    while (stream_.accept(",")) {
      result.seeds.push_back(stream_.expect_name("the input that the function is differentiated by"));
    }
    stream_.expect(")", "to close the arguments of der");
    if (result.seeds.empty()) stream_.fail("der takes a function and the inputs that it is differentiated by");
    if (stream_.peek().kind == TokenKind::string) text_of_description();
    annotation(result);
  }

  std::string text_of_description() {
    std::string text = stream_.take().text;
    while (stream_.peek().is("+") && stream_.peek(1).kind == TokenKind::string) {
      stream_.take();
      text += stream_.take().text;
    }
    return text;
  }

  std::string name_with_dots() {
    std::string name;
    stream_.accept(".");
    do {
      append_part(name, stream_.expect_name("the name of a type"));
    } while (stream_.accept("."));
    return name;
  }

  void body(Class& result) {
    bool is_protected = false;
    while (!stream_.peek().is("end") && !stream_.at_end() && !stream_.diagnostics().full()) {
      guarded([&] { element(result, is_protected); });
    }
    if (!stream_.peek().is("end")) {
      stream_.fail(fmt::format("expected 'end {};', found {}", result.name, stream_.found()));
    }
    stream_.take();
    const Place place = stream_.peek().place;
    const std::string name = stream_.expect_name(fmt::format("the name '{}' after end", result.name));
    if (name != result.name) {
      stream_.diagnostics().error(place, fmt::format("expected 'end {}', found 'end {}'", result.name, name));
    }
  }

  void element(Class& result, bool& is_protected) {
    if (stream_.accept("public") || stream_.peek().is("protected")) {
      is_protected = stream_.accept("protected");
    } else if (stream_.peek().is("annotation")) {
      annotation(result);
      stream_.expect(";", "after the annotation");
    } else if (stream_.peek().is("external")) {
      external(result);
    } else if (stream_.peek().is("import") || stream_.peek().is("extends") || stream_.peek().is("inner") ||
               stream_.peek().is("outer") || stream_.peek().is("redeclare") || stream_.peek().is("replaceable")) {
      stream_.fail(fmt::format("'{}' stands in no flat model: export the model as Base Modelica", stream_.peek().text));
    } else if (stream_.at_any({"equation", "algorithm"}) ||
               (stream_.peek().is("initial") && (stream_.peek(1).is("equation") || stream_.peek(1).is("algorithm")))) {
      result.sections.push_back(section());
    } else if (at_class() && stream_.peek(1).is_name()) {
      result.classes.push_back(definition());
      stream_.expect(";", "after the end of the class");
    } else {
      declarations(result, is_protected);
    }
  }

  /// external "C" y = name(a, b) annotation(...);
  void external(Class& result) {
    result.external = true;
    for (; !stream_.at_end() && !stream_.peek().is(";"); stream_.take()) {
      if (!stream_.peek().is_name() || !stream_.peek(1).is("(")) continue;
      if (!stream_.peek().is("annotation")) result.external_name = stream_.peek().text;
      break;
    }
    stream_.recover();
  }

  void annotation(Class& result) {
    if (!stream_.accept("annotation")) return;
    stream_.expect("(", "after annotation");
    for (const Modifier& modifier : modifiers()) {
      if (modifier.name != "experiment") continue;
      for (const Modifier& setting : modifier.inner) {
        if (setting.value == nullptr) continue;
        const Expression* value = setting.value.get();
        while (value->kind == Kind::tuple && value->operands.size() == 1 && value->operands[0]) {
          value = value->operands[0].get();
        }
        const bool negative = value->kind == Kind::negation;
        if (negative) value = value->operands[0].get();
        if (value->kind != Kind::number) continue;
        result.experiment[setting.name] = negative ? -value->number : value->number;
      }
    }
  }

  /// In brackets that have been opened.
  std::vector<Modifier> modifiers() {
    const TokenStream::Level level(stream_);
    std::vector<Modifier> result;
    while (!stream_.peek().is(")")) {
      while (stream_.at_any({"each", "final", "redeclare"})) stream_.take();
      Modifier modifier;
      modifier.place = stream_.peek().place;
      modifier.name = name_of_modifier();
      if (stream_.accept("(")) modifier.inner = modifiers();
      if (stream_.accept("=")) modifier.value = expressions_.expression();
      if (stream_.peek().kind == TokenKind::string) text_of_description();
      result.push_back(std::move(modifier));
      if (!stream_.accept(",")) break;
    }
    stream_.expect(")", "to close the modifications");
    return result;
  }

  /// Annotations of functions have 'derivative'(order = 2) = 'f', and names with dots.
  std::string name_of_modifier() {
    std::string name = stream_.expect_name("a name");
    while (stream_.accept(".")) append_part(name, stream_.expect_name("a name"));
    return name;
  }

  void declarations(Class& result, bool is_protected) {
    Declaration common;
    common.is_protected = is_protected;
    for (;;) {
      if (stream_.accept("parameter")) {
        common.parameter = true;
        if (stream_.accept("equation")) return guess(result);
      } else if (stream_.accept("constant")) {
        common.constant = true;
      } else if (stream_.accept("discrete")) {
        common.discrete = true;
      } else if (stream_.accept("input")) {
        common.input = true;
      } else if (stream_.accept("output")) {
        common.output = true;
      } else if (stream_.at_any({"final", "flow", "stream", "each"})) {
        stream_.take();
      } else {
        break;
      }
    }
    common.type_quoted = stream_.peek().kind == TokenKind::quoted;
    common.type = name_with_dots();
    // All names of the declaration share the dimensions of the type: each reads them anew.
    const std::size_t begin = stream_.position();
    const bool has_dimensions = stream_.accept("[");
    if (has_dimensions) expressions_.subscripts();
    do {
      Declaration declaration = component(common);
      if (has_dimensions) {
        const std::size_t end = stream_.position();
        stream_.go_to(begin + 1);
        for (ExpressionPtr& dimension : expressions_.subscripts()) {
          declaration.dimensions.push_back(std::move(dimension));
        }
        stream_.go_to(end);
      }
      result.declarations.push_back(std::move(declaration));
    } while (stream_.accept(","));
    if (stream_.peek().kind == TokenKind::string) result.declarations.back().description = text_of_description();
    annotation(result);
    stream_.expect(";", "after the declaration");
  }

  /// parameter equation guess(x) = 1.0: where the search for initial values begins.
  void guess(Class& result) {
    if (!stream_.peek().is("guess")) {
      stream_.fail(fmt::format("expected 'guess' after 'parameter equation', found {}", stream_.found()));
    }
    ExpressionPtr variable = expressions_.simple();
    stream_.expect("=", "after the variable that is guessed");
    result.guesses.emplace_back(std::move(variable), expressions_.expression());
    if (stream_.peek().kind == TokenKind::string) text_of_description();
    annotation(result);
    stream_.expect(";", "after the guess");
  }

  Declaration component(const Declaration& common) {
    Declaration result;
    result.type = common.type;
    result.type_quoted = common.type_quoted;
    result.parameter = common.parameter;
    result.constant = common.constant;
    result.discrete = common.discrete;
    result.input = common.input;
    result.output = common.output;
    result.is_protected = common.is_protected;
    result.place = stream_.peek().place;
    result.name = stream_.expect_name("the name of a variable");
    while (stream_.accept(".")) append_part(result.name, stream_.expect_name("a name"));
    if (stream_.accept("[")) result.dimensions = expressions_.subscripts();
    if (stream_.accept("(")) result.modifiers = modifiers();
    if (stream_.accept("=") || stream_.accept(":=")) result.binding = expressions_.expression();
    if (stream_.peek().is("if")) stream_.fail("conditional declarations stand in no flat model");
    if (stream_.peek().kind == TokenKind::string) result.description = text_of_description();
    return result;
  }

  Section section() {
    Section result;
    result.initial = stream_.accept("initial");
    result.algorithm = stream_.take().text == "algorithm";
    while (!stream_.at_end() && !stream_.diagnostics().full() && !at_section_end()) {
      guarded([&] {
        result.statements.push_back(statement(result.algorithm));
        end_statement("after the equation");
      });
    }
    return result;
  }

  /// A semicolon that is missing before `end` or `else` is one error, and nothing is passed over for it.
  void end_statement(const char* where) {
    if (!stream_.at_any({"end", "else", "elseif", "elsewhen"})) {
      stream_.expect(";", where);
      return;
    }
    stream_.diagnostics().error(stream_.peek().place, fmt::format("expected ';' {}, found {}", where, stream_.found()));
  }

  bool at_section_end() const {
    return stream_.at_any({"end", "equation", "algorithm", "annotation", "external", "public", "protected"}) ||
           (stream_.peek().is("initial") && !stream_.peek(1).is("("));
  }

  Statement statement(bool algorithm) {
    const TokenStream::Level level(stream_);
    Statement result{};
    result.place = stream_.peek().place;
    if (stream_.peek().is("if")) {
      branches(result, algorithm, "if", "elseif", "then");
      result.kind = Statement::Kind::choice;
    } else if (stream_.peek().is("when")) {
      branches(result, algorithm, "when", "elsewhen", "then");
      result.kind = Statement::Kind::when;
    } else if (stream_.peek().is("for")) {
      stream_.take();
      result.kind = Statement::Kind::loop;
      result.iterators = expressions_.iterators();
      stream_.expect("loop", "after the iterators");
      result.branches.push_back({nullptr, block(algorithm)});
      note_indexed(result.iterators, result.branches[0].body);
      stream_.expect("end", "of the loop");
      stream_.expect("for", "after end");
    } else if (stream_.peek().is("while")) {
      stream_.take();
      result.kind = Statement::Kind::while_loop;
      ExpressionPtr condition = expressions_.expression();
      stream_.expect("loop", "after the condition");
      result.branches.push_back({std::move(condition), block(algorithm)});
      stream_.expect("end", "of the loop");
      stream_.expect("while", "after end");
    } else if (algorithm && stream_.accept("break")) {
      result.kind = Statement::Kind::leave;
    } else if (algorithm && stream_.accept("return")) {
      result.kind = Statement::Kind::back;
    } else if (stream_.peek().is("#")) {
      stream_.fail("the export has lost a statement here: export the model with another version");
    } else if (stream_.at_any({"partition", "subpartition"}) && !stream_.peek(1).is("=")) {
      stream_.fail("clocked models are not supported: use when sample(start, interval)");
    } else if (stream_.peek().is("connect") && stream_.peek(1).is("(")) {
      stream_.fail("'connect' stands in no flat model: export the model as Base Modelica");
    } else {
      relation(result, algorithm);
    }
    result.end = stream_.peek().place;
    if (stream_.peek().kind == TokenKind::string) text_of_description();
    if (stream_.peek().is("annotation")) {
      Class ignored;
      annotation(ignored);
    }
    return result;
  }

  void relation(Statement& result, bool algorithm) {
    result.left = stream_.peek().is("if") ? expressions_.expression() : expressions_.simple();
    if (algorithm ? stream_.accept(":=") : stream_.accept("=")) {
      result.kind = algorithm ? Statement::Kind::assignment : Statement::Kind::equation;
      result.right = expressions_.expression();
      return;
    }
    result.kind = Statement::Kind::call;
    if (result.left->kind == Kind::call) return;
    stream_.fail(
        fmt::format("expected '{}' and the right-hand side, found {}", algorithm ? ":=" : "=", stream_.found()));
  }

  void branches(Statement& result, bool algorithm, const char* word, const char* again, const char* then) {
    stream_.take();
    ExpressionPtr condition = expressions_.expression();
    stream_.expect(then, fmt::format("after the condition of {}", word));
    result.branches.push_back({std::move(condition), block(algorithm)});
    for (;;) {
      if (stream_.accept(again)) {
        condition = expressions_.expression();
        stream_.expect(then, fmt::format("after the condition of {}", again));
        result.branches.push_back({std::move(condition), block(algorithm)});
      } else if (word[0] == 'i' && stream_.accept("else")) {
        result.branches.push_back({nullptr, block(algorithm)});
      } else {
        break;
      }
    }
    stream_.expect("end", fmt::format("of {}", word));
    stream_.expect(word, "after end");
  }

  std::vector<Statement> block(bool algorithm) {
    std::vector<Statement> result;
    while (!stream_.at_end() && !stream_.diagnostics().full() &&
           !stream_.at_any({"end", "else", "elseif", "elsewhen"})) {
      guarded([&] {
        result.push_back(statement(algorithm));
        end_statement("after the statement");
      });
    }
    return result;
  }

  TokenStream& stream_;
  ExpressionParser expressions_;
};

/// What has the type X of `type X = input Real` is an input.
void take_prefixes(Class& parent, const std::map<std::string, const Class*>& prefixed) {
  for (Declaration& declaration : parent.declarations) {
    const auto type = prefixed.find(declaration.type);
    if (type == prefixed.end()) continue;
    declaration.input = declaration.input || type->second->input;
    declaration.output = declaration.output || type->second->output;
  }
  for (const auto& inner : parent.classes) take_prefixes(*inner, prefixed);
}

void collect_prefixed(const Class& parent, std::map<std::string, const Class*>& prefixed) {
  for (const auto& inner : parent.classes) {
    if (inner->input || inner->output) prefixed[inner->name] = inner.get();
    collect_prefixed(*inner, prefixed);
  }
}

}  // namespace

std::unique_ptr<Class> parse(const std::string& text, Diagnostics& diagnostics) {
  TokenStream stream(tokens_of(text, diagnostics), diagnostics);
  std::unique_ptr<Class> file = Parser(stream).file();
  number_elements(*file, diagnostics);
  std::map<std::string, const Class*> prefixed;
  collect_prefixed(*file, prefixed);
  if (!prefixed.empty()) take_prefixes(*file, prefixed);
  return file;
}

}  // namespace manyfold::modelica
