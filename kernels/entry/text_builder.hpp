#pragma once
// Texts that are composed in constant expressions, for what is said of a model while it is compiled. Host side only.
#include <cstddef>
#include <string>

namespace manyfold {

/// A text, ended by 0, that a template can have as its argument, so that error messages of the compiler show it.
template <int Size>
struct Text {
  char letters[Size];
};

/// Composes a text in a constant expression.
struct TextBuilder {
  static constexpr int capacity = 400;
  char letters[capacity + 1] = {};  ///< ends with 0
  int size = 0;

  constexpr TextBuilder& operator<<(char letter) {
    if (size < capacity) letters[size++] = letter;
    return *this;
  }
  constexpr TextBuilder& operator<<(const char* text) {
    for (; *text != '\0'; ++text) *this << *text;
    return *this;
  }
  constexpr TextBuilder& operator<<(int number) {
    if (number >= 10) *this << number / 10;
    return *this << static_cast<char>('0' + number % 10);
  }
  constexpr bool operator==(const TextBuilder& other) const {
    if (size != other.size) return false;
    for (int i = 0; i < size; ++i) {
      if (letters[i] != other.letters[i]) return false;
    }
    return true;
  }
  std::string string() const { return {letters, static_cast<std::size_t>(size)}; }
  template <int Size>
  constexpr Text<Size> text() const {
    Text<Size> result{};
    for (int i = 0; i < Size; ++i) result.letters[i] = letters[i];
    return result;
  }
};

/// Has no definition: what needs one fails to compile, with the text in the message.
template <Text text>
struct WrongModel;

}  // namespace manyfold
