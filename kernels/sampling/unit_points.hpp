#pragma once
// Points of the unit cube, computed from the instance's number: no state, no order.
#include <manyfold/integers.hpp>

#include "../lane/qualifiers.hpp"

namespace manyfold {

/// What a random word is for: streams of different purposes never overlap.
enum class Purpose : std::uint32_t { monte_carlo, jitter, permutation, scrambling, low_bits };

/// Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) with the seed as
/// key: 64 random bits for (purpose, index, dimension).
MANYFOLD_INLINE std::uint64_t random_bits(std::uint64_t seed, Purpose purpose, std::uint64_t index,
                                          std::uint32_t dimension) {
  constexpr std::uint32_t low_word = 0xffffffffU;
  std::uint32_t x0 = static_cast<std::uint32_t>(index & low_word);
  std::uint32_t x1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t x2 = dimension;
  std::uint32_t x3 = static_cast<std::uint32_t>(purpose);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed & low_word);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * x0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * x2;
    x0 = static_cast<std::uint32_t>(product1 >> 32) ^ x1 ^ key0;
    x2 = static_cast<std::uint32_t>(product0 >> 32) ^ x3 ^ key1;
    x1 = static_cast<std::uint32_t>(product1 & low_word);
    x3 = static_cast<std::uint32_t>(product0 & low_word);
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return std::uint64_t{x0} << 32 | x1;
}

/// A sequence of points.
struct UnitPoints {
  enum class Kind : int { monte_carlo, latin_hypercube, sobol };
  static constexpr int sobol_bits = 32;
  Kind kind = Kind::monte_carlo;
  std::uint64_t seed = 0;
  std::uint64_t instances = 0;                ///< of a Latin hypercube
  int half_bits = 1;                          ///< of a Latin hypercube: half of those that hold an instance's number
  const std::uint32_t* directions = nullptr;  ///< of Sobol: [dimensions][sobol_bits]
  const std::uint32_t* scrambles = nullptr;   ///< of Sobol: [dimensions]
};

namespace unit_points {

/// The middle of one of 2^52 cells: never 0, never 1, exact.
MANYFOLD_INLINE double open_unit(std::uint64_t cell) {
  return (static_cast<double>(cell) + 0.5) * 0x1p-52;
}

/// One round trip of the permutation of 2^(2 half_bits) numbers: a Feistel network.
MANYFOLD_INLINE std::uint64_t permute(const UnitPoints& points, std::uint64_t value, std::uint32_t dimension) {
  const std::uint64_t mask = (std::uint64_t{1} << points.half_bits) - 1;
  std::uint64_t left = value >> points.half_bits;
  std::uint64_t right = value & mask;
  constexpr std::uint64_t rounds = 6;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t mixed =
        left ^ (random_bits(points.seed, Purpose::permutation, right | round << 32, dimension) & mask);
    left = right;
    right = mixed;
  }
  return left << points.half_bits | right;
}

/// McKay, Beckman & Conover 1979. The permutation of each dimension is walked along its cycle until it lands below the
/// number of instances (Black & Rogaway 2002): a bijection without storage.
MANYFOLD_INLINE double latin_hypercube(const UnitPoints& points, std::uint64_t instance, std::uint32_t dimension) {
  std::uint64_t stratum = instance;
  do {
    stratum = permute(points, stratum, dimension);
  } while (stratum >= points.instances);
  const double jitter = open_unit(random_bits(points.seed, Purpose::jitter, instance, dimension) >> 12);
  const double u = (static_cast<double>(stratum) + jitter) / static_cast<double>(points.instances);
  return u < 1.0 - 0x1p-53 ? u : 1.0 - 0x1p-53;
}

MANYFOLD_INLINE std::uint32_t reverse_bits(std::uint32_t x) {
  x = (x & 0x55555555U) << 1 | (x >> 1 & 0x55555555U);
  x = (x & 0x33333333U) << 2 | (x >> 2 & 0x33333333U);
  x = (x & 0x0f0f0f0fU) << 4 | (x >> 4 & 0x0f0f0f0fU);
  x = (x & 0x00ff00ffU) << 8 | (x >> 8 & 0x00ff00ffU);
  return x << 16 | x >> 16;
}

/// Nested uniform (Owen) scrambling by hashing: Burley, "Practical Hash-based Owen Scrambling", JCGT 9(4), 2020,
/// listing 4, with the permutation of Laine & Karras 2011.
MANYFOLD_INLINE std::uint32_t nested_scramble(std::uint32_t x, std::uint32_t seed) {
  x = reverse_bits(x);
  x += seed;
  x ^= x * 0x6c50b47cU;
  x ^= x * 0xb82f1e52U;
  x ^= x * 0xc7afe638U;
  x ^= x * 0x8d22f6e6U;
  return reverse_bits(x);
}

/// Point m is the sum of the direction numbers in the Gray code of m.
MANYFOLD_INLINE double sobol(const UnitPoints& points, std::uint64_t instance, std::uint32_t dimension) {
  const std::uint32_t* direction = points.directions + std::uint64_t{dimension} * UnitPoints::sobol_bits;
  std::uint32_t point = 0;
  const std::uint64_t code = instance ^ instance >> 1;
  for (int bit = 0; bit < UnitPoints::sobol_bits; ++bit) {
    if ((code >> bit & 1) != 0) point ^= direction[bit];
  }
  const std::uint64_t high = nested_scramble(point, points.scrambles[dimension]);
  // The sequence has 32 bits; the 20 below them are random, as full nested scrambling would leave them.
  const std::uint64_t low = random_bits(points.seed, Purpose::low_bits, instance, dimension) >> 44;
  return open_unit(high << 20 | low);
}

}  // namespace unit_points

/// Coordinate `dimension` of `instance`, strictly inside (0, 1).
MANYFOLD_INLINE double unit_coordinate(const UnitPoints& points, std::int64_t instance, int dimension) {
  const auto number = static_cast<std::uint64_t>(instance);
  const auto axis = static_cast<std::uint32_t>(dimension);
  switch (points.kind) {
    case UnitPoints::Kind::monte_carlo:
      return unit_points::open_unit(random_bits(points.seed, Purpose::monte_carlo, number, axis) >> 12);
    case UnitPoints::Kind::latin_hypercube:
      return unit_points::latin_hypercube(points, number, axis);
    case UnitPoints::Kind::sobol:
      return unit_points::sobol(points, number, axis);
  }
  return 0.5;
}

}  // namespace manyfold
