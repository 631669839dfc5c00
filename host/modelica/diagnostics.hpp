#pragma once
// What is wrong with a model's text: all of it, each with its place, the line itself, and what would be right.
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/text/printable.hpp"

namespace manyfold::modelica {

/// A place in the text, in bytes from its beginning.
using Place = std::size_t;

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// The text of a file with what has been found wrong in it.
class Diagnostics {
 public:
  /// Beyond, what was said first is lost on the screen.
  static constexpr std::size_t most_errors = 20;

  Diagnostics(const std::string& file, const std::string& text) : file_(printable(file)), text_(text) {}

  void error(Place place, const std::string& message) { add(place, "error", message); }
  void warn(Place place, const std::string& message) { add(place, "warning", message); }

  bool failed() const { return errors_ > 0; }
  /// Nothing more needs to be looked for.
  bool full() const { return errors_ >= most_errors; }
  /// FILE:LINE:COLUMN: error: ..., with the line and a caret below, one after the other.
  const std::string& errors() const { return text_of_errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  Position position(Place place) const;
  const std::string& file() const { return file_; }

 private:
  void add(Place place, const char* kind, const std::string& message);

  std::string file_;
  const std::string& text_;
  std::size_t errors_ = 0;
  std::set<std::pair<Place, std::string>> said_;
  std::string text_of_errors_;
  std::vector<std::string> warnings_;
};

}  // namespace manyfold::modelica
