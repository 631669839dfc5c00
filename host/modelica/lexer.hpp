#pragma once
// Splits the text of a model into words, numbers, strings and marks.
#include <string>
#include <string_view>
#include <vector>

#include "host/modelica/diagnostics.hpp"

namespace manyfold::modelica {

enum class TokenKind { word, quoted, number, string, mark, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< of quoted names and strings: what is between the quotes, without escapes
  double number = 0.0;
  Place place = 0;

  /// Is it this keyword or mark?
  bool is(std::string_view expected) const {
    return (kind == TokenKind::word || kind == TokenKind::mark) && text == expected;
  }
  bool is_name() const { return kind == TokenKind::word || kind == TokenKind::quoted; }
};

/// The tokens, an `end` last. Letters that belong to nothing are reported and passed over.
std::vector<Token> tokens_of(const std::string& text, Diagnostics& diagnostics);

}  // namespace manyfold::modelica
