#pragma once
// The parser's view of the tokens, and its errors.
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "host/modelica/lexer.hpp"

namespace manyfold::modelica {

/// Ends what is being read; the error is reported.
struct SyntaxError {};

class TokenStream {
 public:
  /// Deeper nesting than anybody writes: the stack must hold it.
  static constexpr int deepest = 256;

  TokenStream(std::vector<Token> tokens, Diagnostics& diagnostics)
      : tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  /// The place of the next token, to read from there again.
  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }
  bool at_end() const { return peek().kind == TokenKind::end; }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept(std::string_view text) {
    if (!peek().is(text)) return false;
    take();
    return true;
  }
  /// `what`: what it belongs to or ends, for the message.
  const Token& expect(std::string_view text, const std::string& what) {
    if (peek().is(text)) return take();
    fail(fmt::format("expected '{}' {}, found {}", text, what, found()));
  }
  std::string expect_name(const std::string& what) {
    if (peek().is_name()) return take().text;
    fail(fmt::format("expected {}, found {}", what, found()));
  }
  [[noreturn]] void fail(const std::string& message) {
    diagnostics_.error(peek().place, message);
    throw SyntaxError{};
  }
  /// What stands here, for messages.
  std::string found() const {
    const Token& token = peek();
    if (token.kind == TokenKind::end) return token.text;
    if (token.kind == TokenKind::string) return fmt::format("\"{:.40}\"", token.text);
    return fmt::format("'{:.80}'", token.text);
  }
  bool at_any(std::initializer_list<std::string_view> words) const {
    for (const std::string_view word : words) {
      if (peek().is(word)) return true;
    }
    return false;
  }
  /// Goes behind the next semicolon, after an error.
  void recover() {
    while (!at_end() && !peek().is(";")) take();
    accept(";");
  }

  /// Counts a level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (++stream_.depth_ > deepest) {
        --stream_.depth_;
        stream_.fail(fmt::format("expressions and statements are nested deeper than {} levels", deepest));
      }
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --stream_.depth_; }

   private:
    TokenStream& stream_;
  };

  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace manyfold::modelica
