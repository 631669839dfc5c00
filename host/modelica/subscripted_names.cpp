#include "host/modelica/subscripted_names.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "host/modelica/parse_expression.hpp"

namespace manyfold::modelica {
namespace {

/// The place of the bracket that closes the one at `open`, names in quotes passed over; npos without one.
std::size_t closing(const std::string& text, std::size_t open) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '\'') {
      quoted = !quoted;
    } else if (!quoted && text[at] == '[') {
      ++depth;
    } else if (!quoted && text[at] == ']' && --depth == 0) {
      return at;
    }
  }
  return std::string::npos;
}

std::vector<ExpressionPtr> parsed(const std::string& subscripts, Place place, Diagnostics& diagnostics) {
  const std::string text = subscripts + "]";
  Diagnostics inner("", text);
  std::vector<Token> tokens = tokens_of(text, inner);
  if (inner.failed()) {
    diagnostics.error(place, fmt::format("'{}' is no subscript", subscripts));
    throw SyntaxError{};
  }
  for (Token& token : tokens) token.place = place;
  TokenStream stream(std::move(tokens), diagnostics);
  return ExpressionParser(stream).subscripts();
}

using Literals = std::map<std::string, std::size_t>;

void collect_literals(const Class& parent, Literals& literals) {
  for (const auto& inner : parent.classes) {
    for (std::size_t k = 0; k < inner->literals.size(); ++k) {
      literals[fmt::format("{}.{}", inner->name, inner->literals[k])] = k + 1;
    }
    collect_literals(*inner, literals);
  }
}

/// a[2] of 'a[\'Color\'.\'red\']'; the name as it is, where its subscripts are something else.
std::string numbered(const Declaration& declaration, const Literals& literals, Diagnostics& diagnostics) {
  std::string name;
  for (const NamePart& part : parts_of_quoted(declaration.name, declaration.place, diagnostics)) {
    append_part(name, part.name);
    for (std::size_t k = 0; k < part.subscripts.size(); ++k) {
      const Expression& subscript = *part.subscripts[k];
      const auto literal = literals.find(dotted(subscript.parts));
      const bool named = subscript.kind == Kind::reference && literal != literals.end();
      if (!named && subscript.kind != Kind::number) return declaration.name;
      name += fmt::format("{}{}", k == 0 ? "[" : ",", named ? static_cast<double>(literal->second) : subscript.number);
    }
    if (!part.subscripts.empty()) name += ']';
  }
  return name;
}

void number_elements(Class& parent, const Literals& literals, Diagnostics& diagnostics) {
  for (Declaration& declaration : parent.declarations) {
    if (declaration.name.find("['") == std::string::npos) continue;
    try {
      declaration.name = numbered(declaration, literals, diagnostics);
    } catch (const SyntaxError&) {
    }
  }
  for (const auto& inner : parent.classes) number_elements(*inner, literals, diagnostics);
}

}  // namespace

std::vector<NamePart> parts_of_quoted(const std::string& content, Place place, Diagnostics& diagnostics) {
  std::vector<NamePart> result;
  std::string name;
  std::size_t at = 0;
  const auto add = [&](std::vector<ExpressionPtr> subscripts) {
    result.push_back({std::move(name), true, std::move(subscripts)});
    name.clear();
  };
  while (at < content.size()) {
    const std::size_t open = content.find('[', at);
    const std::size_t close = open == std::string::npos ? open : closing(content, open);
    if (close == std::string::npos) break;
    name += content.substr(at, open - at);
    const std::string subscripts = content.substr(open + 1, close - open - 1);
    at = close + 1;
    if (subscripts.find('\'') == std::string::npos || name.empty()) {
      name += content.substr(open, close + 1 - open);
      continue;
    }
    add(parsed(subscripts, place, diagnostics));
    if (at < content.size() && content[at] == '.') ++at;
  }
  if (at < content.size() || result.empty()) {
    name += content.substr(std::min(at, content.size()));
    add({});
  } else if (!name.empty()) {
    add({});
  }
  return result;
}

void number_elements(Class& file, Diagnostics& diagnostics) {
  Literals literals;
  collect_literals(file, literals);
  number_elements(file, literals, diagnostics);
}

}  // namespace manyfold::modelica
