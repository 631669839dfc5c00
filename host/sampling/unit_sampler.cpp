#include "host/sampling/unit_sampler.hpp"

#include <algorithm>
#include <bit>
#include <boost/random/sobol.hpp>

#include <fmt/format.h>

#include <manyfold/error.hpp>

namespace manyfold {

UnitSampler::UnitSampler(std::string_view name, std::uint64_t seed, std::int64_t instances, int dimensions) {
  if (instances < 1) throw UsageError(fmt::format("instances is {}, but must be at least 1", instances));
  if (dimensions < 0) throw UsageError(fmt::format("dimensions is {}, but must be at least 0", dimensions));
  points_.seed = seed;
  points_.instances = static_cast<std::uint64_t>(instances);
  if (name == "monte_carlo") return;
  if (name == "latin_hypercube") {
    if (instances > std::int64_t{1} << 52) {
      throw UsageError(fmt::format("instances is {}, but a Latin hypercube resolves at most 2^52", instances));
    }
    points_.kind = UnitPoints::Kind::latin_hypercube;
    points_.half_bits = std::max(1, (static_cast<int>(std::bit_width(points_.instances - 1)) + 1) / 2);
  } else if (name == "sobol") {
    constexpr int most_dimensions = 3667;
    if (dimensions > most_dimensions) {
      throw UsageError(
          fmt::format("the sobol sampler was given {} quantities, but has at most {}", dimensions, most_dimensions));
    }
    if (instances > std::int64_t{1} << UnitPoints::sobol_bits) {
      throw UsageError(fmt::format("instances is {}, but the sobol sampler has at most 2^32", instances));
    }
    points_.kind = UnitPoints::Kind::sobol;
    prepare_sobol(dimensions);
  } else {
    throw UsageError(fmt::format(
        "sampler is \"{}\", but must be monte_carlo, latin_hypercube or sobol for points of the unit cube", name));
  }
}

void UnitSampler::prepare_sobol(int dimensions) {
  constexpr std::size_t bits = UnitPoints::sobol_bits;
  const auto dimension_count = static_cast<std::size_t>(dimensions);
  directions_.resize(dimension_count * bits);
  boost::random::sobol engine(static_cast<std::size_t>(std::max(dimensions, 1)));
  for (std::size_t bit = 0; bit < bits; ++bit) {
    // Point m is the sum of the direction numbers in the Gray code of m, and that of 2^(k+1) - 1 is 2^k alone.
    // Boost's engine leaves out point 0, so its seed is one less.
    engine.seed((std::uint64_t{2} << bit) - 2);
    for (std::size_t dimension = 0; dimension < dimension_count; ++dimension) {
      directions_[dimension * bits + bit] = static_cast<std::uint32_t>(engine() >> 32);
    }
  }
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    scrambles_.push_back(static_cast<std::uint32_t>(
        random_bits(points_.seed, Purpose::scrambling, 0, static_cast<std::uint32_t>(dimension))));
  }
  points_.directions = directions_.data();
  points_.scrambles = scrambles_.data();
}

double UnitSampler::coordinate(std::int64_t instance, int dimension) const {
  return unit_coordinate(points_, instance, dimension);
}

}  // namespace manyfold
