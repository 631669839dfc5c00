#include "host/modelica/diagnostics.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace manyfold::modelica {
namespace {

constexpr std::size_t widest_excerpt = 120;

/// The line around `place` with a caret below it; of a long line, the part around the place.
std::string excerpt(const std::string& text, Place place) {
  std::size_t begin = place == 0 ? 0 : text.rfind('\n', place - 1);
  begin = begin == std::string::npos || place == 0 ? 0 : begin + 1;
  std::size_t end = std::min(text.find('\n', place), text.size());
  const bool cut_before = place - begin > widest_excerpt / 2;
  if (cut_before) begin = place - widest_excerpt / 2;
  const bool cut_after = end - begin > widest_excerpt;
  if (cut_after) end = begin + widest_excerpt;
  std::string line = text.substr(begin, end - begin);
  std::string marks;
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  }
  marks.assign(place - begin, ' ');
  return fmt::format("  {}{}{}\n  {}{}^", cut_before ? "... " : "", line, cut_after ? " ..." : "",
                     cut_before ? "    " : "", marks);
}

}  // namespace

Position Diagnostics::position(Place place) const {
  Position position;
  place = std::min(place, text_.size());
  for (std::size_t i = 0; i < place; ++i) {
    position.column = text_[i] == '\n' ? 1 : position.column + 1;
    position.line += text_[i] == '\n' ? 1U : 0U;
  }
  return position;
}

void Diagnostics::add(Place place, const char* kind, const std::string& message) {
  const bool error = kind[0] == 'e';
  place = std::min(place, text_.size());
  // A function may be put in at many places: what is wrong in it is said once.
  if (!said_.insert({place, message}).second || (error && errors_++ >= most_errors)) return;
  const Position at = position(place);
  const std::string line =
      fmt::format("{}:{}:{}: {}: {}\n{}", file_, at.line, at.column, kind, message, excerpt(text_, place));
  if (error) {
    text_of_errors_ += (text_of_errors_.empty() ? "" : "\n") + line;
  } else {
    warnings_.push_back(line);
  }
}

}  // namespace manyfold::modelica
