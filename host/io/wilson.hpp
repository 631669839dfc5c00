#pragma once
// How sure a share is.
#include <cmath>
#include <cstdint>
#include <limits>

namespace manyfold {

struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// The interval of 95 % for the probability behind `hits` of `count` independent instances (Wilson 1927); NaN without
/// instances.
inline Interval wilson_interval(double hits, double count) {
  if (!(count > 0.0)) return {};
  constexpr double z = 1.959963984540054;  // the normal distribution's quantile of 0.975
  const double share = hits / count;
  const double scale = 1.0 + z * z / count;
  const double centre = (share + z * z / (2.0 * count)) / scale;
  const double half = z / scale * std::sqrt(share * (1.0 - share) / count + z * z / (4.0 * count * count));
  // Exact at the ends, where rounding would leave traces.
  return {hits == 0.0 ? 0.0 : centre - half, hits == count ? 1.0 : centre + half};
}

}  // namespace manyfold
