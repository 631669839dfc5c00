#include "host/text/number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace manyfold {
namespace {

/// std::from_chars takes no plus sign.
std::string_view without_plus(std::string_view text) {
  return text.substr(text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
}

}  // namespace

std::string read_number(std::string_view text, double& value) {
  text = without_plus(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return "a number that a double holds (2.2e-308 to 1.8e308)";
  if (error != std::errc() || end != text.data() + text.size()) return "a decimal number";
  return std::isfinite(value) ? "" : "a finite number";
}

std::string read_integer(std::string_view text, std::int64_t least, std::int64_t most, std::int64_t& value) {
  const std::string_view digits = without_plus(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  bool whole = error == std::errc() && end == digits.data() + digits.size();
  double real = 0.0;
  // Doubles beyond are farther apart than integers.
  if (!whole && read_number(text, real).empty() && real == std::floor(real) && std::abs(real) < 0x1p53) {
    value = static_cast<std::int64_t>(real);
    whole = true;
  }
  if (whole && value >= least && value <= most) return "";
  if (most == std::numeric_limits<std::int64_t>::max()) return fmt::format("an integer of at least {}", least);
  return fmt::format("an integer from {} to {}", least, most);
}

}  // namespace manyfold
