#include "host/compiler/model_errors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace manyfold {
namespace {

/// Beyond, what was said first is lost on the screen.
constexpr std::size_t most_errors = 10;
constexpr std::size_t most_columns = 300;

/// An error of the compiler with what it printed before, as it went into functions, and below.
struct Diagnostic {
  std::string place;    ///< FILE:LINE:COLUMN
  std::string message;  ///< without "error: "
  std::vector<std::string> before;
  std::vector<std::string> excerpt;  ///< the source line, and a line that marks what is meant
  std::vector<std::string> notes;
};

bool is_excerpt(const std::string& line) {
  const std::size_t bar = line.find(" | ");
  return line.size() > 7 && bar < 8;
}

std::vector<Diagnostic> diagnostics(const std::string& output) {
  std::vector<Diagnostic> found;
  std::vector<std::string> before;
  bool of_error = false;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t error = line.find(": error: ");
    if (error != std::string::npos) {
      found.push_back({line.substr(0, error), line.substr(error + 9), before, {}, {}});
      before.clear();
      of_error = true;
    } else if (line.find(": note: ") != std::string::npos && !found.empty()) {
      found.back().notes.push_back(line);
      of_error = false;
    } else if (is_excerpt(line)) {
      if (of_error && found.back().excerpt.size() < 2) found.back().excerpt.push_back(line.substr(0, most_columns));
    } else {
      before.push_back(line);
    }
  }
  return found;
}

/// The text between two marks; nothing where one is missing.
std::optional<std::string> between(const std::string& text, std::string_view open, std::string_view close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = text.find(close, begin + open.size());
  if (end == std::string::npos) return std::nullopt;
  return text.substr(begin + open.size(), end - begin - open.size());
}

/// FILE:LINE:COLUMN at the beginning of a line about `file`.
std::optional<std::string> place_in(const std::string& file, const std::string& line) {
  if (!line.starts_with(file + ":")) return std::nullopt;
  std::size_t end = file.size() + 1;
  while (end < line.size() && (std::isdigit(static_cast<unsigned char>(line[end])) || line[end] == ':')) ++end;
  return line.substr(0, line[end - 1] == ':' ? end - 1 : end);
}

/// The name before `[index]` in the text; empty if that is not there.
std::string array_name(const std::string& text, const std::string& index) {
  const std::size_t bracket = text.find("[" + index + "]");
  if (bracket == std::string::npos) return "";
  std::size_t begin = bracket;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) --begin;
  return text.substr(begin, bracket - begin);
}

/// The name that the marks of an excerpt begin with: of y in y[i].
std::string marked_name(const std::vector<std::string>& excerpt) {
  if (excerpt.size() < 2) return "";
  const std::size_t begin = excerpt[1].find_first_of("~^", excerpt[1].find('|'));
  std::size_t end = begin;
  const std::string& source = excerpt[0];
  while (end < source.size() && (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '_')) ++end;
  return end > begin ? source.substr(begin, end - begin) : "";
}

/// The error of an index out of range, if it is one.
std::optional<std::string> index_error(const Diagnostic& diagnostic, const std::string& model) {
  std::optional<std::string> index = between(diagnostic.message, "array subscript value '", "'");
  std::optional<std::string> count;
  std::string place = model;
  std::string name;
  if (index) {
    const std::size_t bracket = diagnostic.message.rfind('[');
    if (bracket == std::string::npos) return std::nullopt;
    count = between(diagnostic.message.substr(bracket), "[", "]");
    if (const auto own = place_in(model, diagnostic.place)) {
      place = *own;
      name = marked_name(diagnostic.excerpt);
    } else {
      // Within the library: the call is the last line about the model.
      for (const std::string& line : diagnostic.before) {
        const auto caller = place_in(model, line);
        if (!caller || line.find("'constexpr' expansion of") == std::string::npos) continue;
        place = *caller;
        name = array_name(line, *index);
      }
    }
  } else if (diagnostic.message.find("'out_of_range' must be initialized by a constant") != std::string::npos) {
    for (const std::string& note : diagnostic.notes) {
      if (!index) {
        index = between(note, "cannot refer to element ", " of array of ");
        count = between(note, " of array of ", " element");
      }
      if (const auto own = place_in(model, note); own && index) {
        place = *own;
        break;
      }
    }
    // clang has no words for what is just beyond, but has warned of it.
    for (const std::string& line : diagnostic.before) {
      const auto own = place_in(model, line);
      if (index || !own) continue;
      place = *own;
      index = between(line, "warning: array index ", " is past the end");
      count = between(line, "which contains ", " element");
    }
  }
  if (!index || !count) return std::nullopt;
  const int numbers = std::atoi(count->c_str());
  const std::string range =
      name.empty()   ? fmt::format("the array has {} numbers, 0 to {}", numbers, numbers - 1)
      : numbers == 1 ? fmt::format("{} has 1 number, {}[0]", name, name)
                     : fmt::format("{} has {} numbers, {}[0] to {}[{}]", name, numbers, name, name, numbers - 1);
  return fmt::format("{}: error: index {} is out of range: {}", place, *index, range);
}

/// The error of a function of the model whose arguments have types of their own, if it is one.
std::optional<std::string> argument_error(const Diagnostic& diagnostic, const std::string& model) {
  std::optional<std::string> called = between(diagnostic.message, "no matching function for call to '", "'");
  if (!called) return std::nullopt;
  const std::string path = called->substr(0, called->find('('));
  const std::string name = path.substr(path.rfind(':') + 1);
  for (const std::string& note : diagnostic.notes) {
    const auto place = place_in(model, note);
    if (!place || note.find("candidate") == std::string::npos) continue;
    return fmt::format(
        "{}: error: {} is called with the integrator's numbers, which are of several types: declare "
        "what it reads as const auto&, and what it writes as auto&",
        *place, name);
  }
  return std::nullopt;
}

/// Functions of a model's numbers, and what others are called here.
const std::vector<std::string_view> functions = {"sqrt", "cbrt", "exp",  "expm1", "log",  "log10", "log1p", "sin",
                                                 "cos",  "tan",  "asin", "acos",  "atan", "atan2", "sinh",  "cosh",
                                                 "tanh", "pow",  "abs",  "min",   "max",  "square"};
const std::vector<std::pair<std::string_view, std::string_view>> other_names = {
    {"fmin", "min"}, {"fmax", "max"}, {"fabs", "abs"}};

/// Is `name` called in the source line, and not as a part of another name?
bool calls(const std::string& source, const std::string& name) {
  const std::size_t at = source.find(name + "(");
  if (at == std::string::npos) return false;
  return at == 0 || !(std::isalnum(static_cast<unsigned char>(source[at - 1])) || source[at - 1] == '_');
}

/// What to write instead; empty where that is not known.
std::string cure(const std::string& message, const std::string& source) {
  for (const auto& [name, ours] : other_names) {
    if (calls(source, std::string(name))) {
      return fmt::format("{} is for plain numbers: use {}, without std::", name, ours);
    }
  }
  for (const std::string_view name : functions) {
    if (calls(source, fmt::format("std::{}", name))) {
      return fmt::format("std::{} is for plain numbers: use {} without std::", name, name);
    }
  }
  const bool of_numbers = message.find("Dependency<") != std::string::npos;
  if (of_numbers && message.find("'bool'") != std::string::npos) {
    return "a condition on numbers of the model cannot choose what is evaluated, for the instances of a pack may "
           "disagree: use select(condition, a, b) instead of if, ?:, while, && and ||";
  }
  if (of_numbers && (message.find("'double'") != std::string::npos || message.find("'float'") != std::string::npos)) {
    return "the numbers of a model are of several types: use auto for local ones, and manyfold::NumberOf<decltype(f)> "
           "for arrays, with f (or F, g) that the function writes";
  }
  if (message.find("Dual<") != std::string::npos &&
      (message.find("operator") != std::string::npos || message.find("cannot convert") != std::string::npos)) {
    return "a local number has the type of its first value, which here holds fewer derivatives than what is added to "
           "it: declare it as manyfold::NumberOf<decltype(f)>, with f (or F, g) that the function writes";
  }
  return "";
}

/// The compiler's message without the type that records what a number depends on.
std::string in_plain_words(std::string message) {
  for (std::size_t at = 0; (at = message.find("manyfold::Dependency<")) != std::string::npos;) {
    const std::size_t end = message.find('>', at);
    if (end == std::string::npos) break;
    message.replace(at, end + 1 - at, "number");
  }
  return message.substr(0, most_columns);
}

}  // namespace

std::string model_errors(const std::string& output, const std::filesystem::path& model) {
  const std::string name = model.string();
  std::vector<std::string> kept;
  std::set<std::string> places;
  const std::vector<Diagnostic> all = diagnostics(output);
  // A statement that does not end takes the next one with it, which is missing then.
  const bool malformed = std::any_of(all.begin(), all.end(), [&](const Diagnostic& one) {
    return one.message.starts_with("expected ") && place_in(name, one.place);
  });
  for (const Diagnostic& diagnostic : all) {
    // Whatever else is said follows from it.
    if (diagnostic.message.find("manyfold::WrongModel<") != std::string::npos) {
      if (malformed) continue;
      if (auto text = between(diagnostic.message, "{\"", "\"}")) {
        std::erase(*text, '\\');
        return fmt::format("{}: error: {}", name, *text);
      }
    }
    std::string error;
    const auto place = place_in(name, diagnostic.place);
    if (const auto index = index_error(diagnostic, name)) {
      error = *index;
    } else if (const auto argument = place ? std::nullopt : argument_error(diagnostic, name)) {
      error = *argument;
    } else if (const auto own = between(diagnostic.message + "\n", "manyfold: ", "\n");
               own && diagnostic.message.starts_with("static")) {
      error = fmt::format("{}: error: manyfold: {}", place.value_or(name), *own);
    } else if (place) {
      const std::string source = diagnostic.excerpt.empty() ? "" : diagnostic.excerpt[0];
      const std::string better = cure(diagnostic.message, source);
      error = fmt::format("{}: error: {}", *place, better.empty() ? in_plain_words(diagnostic.message) : better);
    } else {
      continue;
    }
    // Equations are compiled for several kinds of numbers, each with the same error.
    if (!places.insert(place.value_or(error)).second) continue;
    if (place) {
      for (const std::string& line : diagnostic.excerpt) error += "\n" + line;
    }
    kept.push_back(error);
    if (kept.size() == most_errors) break;
  }
  if (kept.empty()) kept.push_back(output.substr(0, 8000));
  std::string text = fmt::format("{}", fmt::join(kept, "\n"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace manyfold
