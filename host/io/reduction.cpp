#include "host/io/reduction.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string> kinds = {"min", "max", "mean", "final", "time_of_min", "time_of_max"};  // as in Kind

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
  term.kind = static_cast<Reduction::Kind>(kind);
  term.variable = trimmed(text.substr(opening + 1, text.size() - opening - 2));
}

Reduction::Term parse_term(std::string_view text, std::string_view whole) {
  using Relation = Reduction::Relation;
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
  const auto [end, error] = std::from_chars(bound.data(), bound.data() + bound.size(), term.bound);
  if (error != std::errc() || end != bound.data() + bound.size() || !std::isfinite(term.bound)) {
    throw UsageError(fmt::format("\"{}\" must compare with a number, not with \"{}\"", whole, bound));
  }
  parse_number(trimmed(text.substr(0, sign)), whole, term);
  return term;
}

bool holds(double value, Reduction::Relation relation, double bound) {
  using Relation = Reduction::Relation;
  return relation == Relation::less      ? value < bound
         : relation == Relation::at_most ? value <= bound
         : relation == Relation::greater ? value > bound
                                         : value >= bound;
}

double number_of(const Reduction::Term& term, std::span<const double> times, const double* values, std::size_t saved) {
  using Kind = Reduction::Kind;
  double result = nan;
  double time = nan;  // of the result; for the mean, of the last value
  double area = 0.0;
  double span = 0.0;
  double last = nan;
  for (std::size_t t = 0; t < times.size(); ++t) {
    const double value = values[t * saved + static_cast<std::size_t>(term.place)];
    if (!std::isfinite(value)) continue;
    const bool lowest = term.kind == Kind::minimum || term.kind == Kind::time_of_minimum;
    if (term.kind == Kind::mean) {
      if (!std::isnan(last)) {
        area += 0.5 * (last + value) * (times[t] - time);
        span += times[t] - time;
      }
      time = times[t];
      last = value;
    } else if (std::isnan(result) || term.kind == Kind::final || (lowest ? value < result : value > result)) {
      result = value;
      time = times[t];
    }
  }
  if (term.kind == Kind::mean) return span != 0.0 ? area / span : last;
  return term.kind == Kind::time_of_minimum || term.kind == Kind::time_of_maximum ? time : result;
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
  if (!criterion()) return number_of(terms_.front(), times, values, saved);
  bool all = true;
  for (const Term& term : terms_) {
    const double number = number_of(term, times, values, saved);
    if (std::isnan(number)) return nan;
    all = all && holds(number, term.relation, term.bound);
  }
  return all ? 1.0 : 0.0;
}

}  // namespace manyfold
