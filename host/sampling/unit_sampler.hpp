#pragma once
// Points of the unit cube, computed from the instance's number: no state, no order.
#include <cstdint>
#include <memory>
#include <string_view>

namespace manyfold {

/// Coordinates of instance `i` in the open unit cube. They depend on (seed, i) alone, and for the Latin hypercube on
/// the number of instances too. Any order, any thread, no storage per instance.
class UnitSampler {
 public:
  UnitSampler() = default;
  UnitSampler(const UnitSampler&) = delete;
  UnitSampler& operator=(const UnitSampler&) = delete;
  virtual ~UnitSampler() = default;

  /// Coordinate `dimension` of `instance`, strictly inside (0, 1).
  virtual double coordinate(std::int64_t instance, int dimension) const = 0;
};

/// `name` is monte_carlo, latin_hypercube or sobol; `instances` > 0. Throws UsageError for other names and for more
/// dimensions (3667) or instances (2^32) than the Sobol sequence has.
std::unique_ptr<const UnitSampler> make_unit_sampler(std::string_view name, std::uint64_t seed, std::int64_t instances,
                                                     int dimensions);

}  // namespace manyfold
