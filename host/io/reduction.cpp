#include "host/io/reduction.hpp"

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/text/nearest_name.hpp"
#include "host/text/number.hpp"

namespace manyfold {
namespace {

const std::vector<std::string> kinds = {"min",   "max",         "mean",
                                        "final", "time_of_min", "time_of_max"};  // as in ReductionKind

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// `kind(variable)` into `term`.
void parse_number(std::string_view text, std::string_view whole, Reduction::Term& term) {
  const auto opening = text.find('(');
  if (opening == std::string_view::npos || text.back() != ')') {
    throw UsageError(
        fmt::format("\"{}\" must be a number of an instance, such as \"max(y1)\", or a criterion, such as "
                    "\"max(y1) < 2\"",
                    whole));
  }
  const std::string name(trimmed(text.substr(0, opening)));
  std::size_t kind = 0;
  while (kind < kinds.size() && kinds[kind] != name) ++kind;
  if (kind == kinds.size()) {
    throw UsageError(fmt::format("\"{}\" has the unknown reduction \"{}\"{}", whole, name, did_you_mean(name, kinds)));
  }
  term.kind = static_cast<ReductionKind>(kind);
  term.variable = trimmed(text.substr(opening + 1, text.size() - opening - 2));
}

Reduction::Term parse_term(std::string_view text, std::string_view whole) {
  Reduction::Term term;
  const auto sign = text.find_last_of("<>");
  if (sign == std::string_view::npos) {
    parse_number(trimmed(text), whole, term);
    return term;
  }
  const bool equal = sign + 1 < text.size() && text[sign + 1] == '=';
  const bool less = text[sign] == '<';
  term.relation = less ? (equal ? Relation::at_most : Relation::less) : equal ? Relation::at_least : Relation::greater;
  const std::string_view bound = trimmed(text.substr(sign + (equal ? 2 : 1)));
  if (const std::string need = read_number(bound, term.bound); !need.empty()) {
    throw UsageError(fmt::format("\"{}\" must compare with {}, not with \"{}\"", whole, need, bound));
  }
  parse_number(trimmed(text.substr(0, sign)), whole, term);
  return term;
}

}  // namespace

Reduction Reduction::parse(std::string_view text) {
  constexpr std::string_view conjunction = " and ";
  Reduction result;
  result.text_ = text;
  std::string_view left = text;
  while (true) {
    const auto end = left.find(conjunction);
    result.terms_.push_back(parse_term(left.substr(0, end), text));
    if (end == std::string_view::npos) break;
    left.remove_prefix(end + conjunction.size());
  }
  for (const Term& term : result.terms_) {
    if (result.terms_.size() == 1 || term.relation != Relation::none) continue;
    throw UsageError(fmt::format("\"{}\" joins by \"and\" what is not a comparison, such as \"max(y1) < 2\"", text));
  }
  return result;
}

double Reduction::of(std::span<const double> times, const double* values, std::size_t saved) const {
  return reduction_of(terms_.data(), static_cast<int>(terms_.size()), times.data(), std::ssize(times), values,
                      static_cast<std::int64_t>(saved));
}

}  // namespace manyfold
