#pragma once
// Points of the unit cube: a sampler by name, with the tables that it needs.
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/sampling/unit_points.hpp"

namespace manyfold {

/// Coordinates of instance `i` in the open unit cube. They depend on (seed, i) alone, and for the Latin hypercube on
/// the number of instances too. Any order, any thread, no storage per instance.
class UnitSampler {
 public:
  /// `name` is monte_carlo, latin_hypercube or sobol; `instances` > 0. Throws UsageError for other names and for more
  /// dimensions (3667) or instances (2^32) than the Sobol sequence has.
  UnitSampler(std::string_view name, std::uint64_t seed, std::int64_t instances, int dimensions);
  UnitSampler(const UnitSampler&) = delete;
  UnitSampler& operator=(const UnitSampler&) = delete;

  /// Coordinate `dimension` of `instance`, strictly inside (0, 1).
  double coordinate(std::int64_t instance, int dimension) const;

  /// As a device takes them; the tables are this object's.
  const UnitPoints& points() const { return points_; }

 private:
  void prepare_sobol(int dimensions);

  UnitPoints points_;
  std::vector<std::uint32_t> directions_;
  std::vector<std::uint32_t> scrambles_;
};

}  // namespace manyfold
