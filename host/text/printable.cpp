#include "host/text/printable.hpp"

#include <fmt/format.h>

namespace manyfold {

std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool control = byte < 0x20 || byte == 0x7f;
    if (control && kept.find(letter) == std::string_view::npos) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += letter;
    }
  }
  return result;
}

}  // namespace manyfold
