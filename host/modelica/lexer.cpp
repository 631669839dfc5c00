#include "host/modelica/lexer.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace manyfold::modelica {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  Lexer(const std::string& text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::vector<Token> all() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (skip_blanks()) next();
    tokens_.push_back({TokenKind::end, "the end of the file", 0.0, text_.size()});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  /// Passes over blanks, comments and decorations such as @17, which link to what other files say; false at the end.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string::npos) diagnostics_.error(at_, "this comment has no end: needs */");
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else if (c == '@' && is_digit(peek(peek(1) == ' ' ? 2 : 1))) {
        at_ += 2;
        while (is_digit(peek())) ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  void next() {
    const char c = peek();
    if (is_letter(c)) {
      word();
    } else if (c == '\'') {
      enclosed('\'', TokenKind::quoted, "name");
    } else if (c == '"') {
      enclosed('"', TokenKind::string, "string");
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else {
      mark();
    }
  }

  void word() {
    const Place begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    tokens_.push_back({TokenKind::word, text_.substr(begin, at_ - begin), 0.0, begin});
  }

  /// Names stand in the subscripts of other names, in older exports without escapes: 'a['i']'. The place behind the
  /// name that begins here, or 0 where none does.
  std::size_t end_of_inner_name() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '\'' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    return end < text_.size() && text_[end] == '\'' ? end + 1 : 0;
  }

  void enclosed(char quote, TokenKind kind, const char* what) {
    const Place begin = at_++;
    std::string content;
    int brackets = 0;
    while (at_ < text_.size()) {
      if (peek() == quote) {
        const std::size_t after = brackets > 0 ? end_of_inner_name() : 0;
        if (after == 0) break;
        content += text_.substr(at_, after - at_);
        at_ = after;
        continue;
      }
      if (kind == TokenKind::quoted && peek() == '\n') break;
      if (kind == TokenKind::quoted) brackets += peek() == '[' ? 1 : peek() == ']' ? -1 : 0;
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      content += text_[at_++];
    }
    if (peek() != quote || at_ >= text_.size()) {
      diagnostics_.error(begin, fmt::format("this {} has no end: needs {}", what, quote));
    } else {
      ++at_;
    }
    tokens_.push_back({kind, content, 0.0, begin});
  }

  void number() {
    const Place begin = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && !(peek(1) == '*' || peek(1) == '/' || peek(1) == '^' || peek(1) == '+' || peek(1) == '-')) {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign))) {
      at_ += sign;
      while (is_digit(peek())) ++at_;
    }
    Token token{TokenKind::number, text_.substr(begin, at_ - begin), 0.0, begin};
    const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, token.number);
    // Too small a number is zero; too large a one is none.
    if (error == std::errc::result_out_of_range && std::abs(std::strtod(token.text.c_str(), nullptr)) > 1.0) {
      diagnostics_.error(begin, fmt::format("the number {} is too large", token.text));
    }
    tokens_.push_back(token);
  }

  void mark() {
    static constexpr std::array<std::string_view, 30> marks = {
        ":=", "==", "<>", "<=", ">=", ".+", ".-", ".*", "./", ".^", "(", ")", "[", "]", "{",
        "}",  ",",  ";",  ":",  "=",  "<",  ">",  "+",  "-",  "*",  "/", "^", ".", "#", "!"};
    for (const std::string_view candidate : marks) {
      if (text_.compare(at_, candidate.size(), candidate) != 0) continue;
      tokens_.push_back({TokenKind::mark, std::string(candidate), 0.0, at_});
      at_ += candidate.size();
      return;
    }
    const auto byte = static_cast<unsigned char>(peek());
    const Place begin = at_++;
    // The bytes of one letter beyond ASCII are one mistake.
    while (byte >= 0x80 && (static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U && at_ < text_.size()) ++at_;
    diagnostics_.error(begin, byte > 0x20 && byte < 0x7f ? fmt::format("'{}' is no part of the language", text_[begin])
                                                         : "this letter is no part of the language outside quotes");
  }

  const std::string& text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(const std::string& text, Diagnostics& diagnostics) {
  return Lexer(text, diagnostics).all();
}

}  // namespace manyfold::modelica
