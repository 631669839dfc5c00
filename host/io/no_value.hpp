#pragma once
// What stands in results where there is no value.
#include <limits>

namespace manyfold {

inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace manyfold
