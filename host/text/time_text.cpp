#include "time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manyfold {

std::string time_text(double t, double t_begin, int digits) {
  constexpr int most = 17;  // of a double
  const double elapsed = std::abs(t - t_begin);
  if (elapsed > 0.0 && elapsed < std::abs(t)) {
    const double more = std::ceil(std::log10(std::abs(t)) - std::log10(elapsed));
    digits = std::min(most, digits + static_cast<int>(std::min(more, double{most})));
  }
  return fmt::format("{:.{}g}", t, digits);
}

}  // namespace manyfold
