#include "host/sampling/unit_sampler.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <manyfold/error.hpp>

namespace manyfold {
namespace {

// What a random word is for: streams of different purposes never overlap.
enum class Purpose : std::uint32_t { monte_carlo, jitter, permutation, scrambling, low_bits };

// Philox4x32-10 (Salmon et al. 2011) with the seed as key: 64 random bits for (purpose, index, dimension).
std::uint64_t random_bits(std::uint64_t seed, Purpose purpose, std::uint64_t index, std::uint32_t dimension) {
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(index),
                                               static_cast<std::uint32_t>(index >> 32), dimension,
                                               static_cast<std::uint32_t>(purpose)}};
  const auto words = r123::Philox4x32()(counter, key);
  return std::uint64_t{words[0]} << 32 | words[1];
}

// The middle of one of 2^52 cells: never 0, never 1, exact.
double open_unit(std::uint64_t cell) {
  return (static_cast<double>(cell) + 0.5) * 0x1p-52;
}

class MonteCarlo : public UnitSampler {
 public:
  explicit MonteCarlo(std::uint64_t seed) : seed_(seed) {}
  double coordinate(std::int64_t instance, int dimension) const override {
    return open_unit(random_bits(seed_, Purpose::monte_carlo, static_cast<std::uint64_t>(instance),
                                 static_cast<std::uint32_t>(dimension)) >>
                     12);
  }

 private:
  std::uint64_t seed_;
};

// McKay, Beckman, Conover 1979. The permutation of each dimension is a Feistel network over the smallest even number of
// bits that hold N, walked along its cycle until it lands below N (Black & Rogaway 2002): a bijection without storage.
class LatinHypercube : public UnitSampler {
 public:
  LatinHypercube(std::uint64_t seed, std::int64_t instances)
      : seed_(seed),
        instances_(static_cast<std::uint64_t>(instances)),
        half_bits_(std::max(1, (static_cast<int>(std::bit_width(instances_ - 1)) + 1) / 2)) {}

  double coordinate(std::int64_t instance, int dimension) const override {
    const auto dim = static_cast<std::uint32_t>(dimension);
    std::uint64_t stratum = static_cast<std::uint64_t>(instance);
    do {
      stratum = permute(stratum, dim);
    } while (stratum >= instances_);
    const double jitter =
        open_unit(random_bits(seed_, Purpose::jitter, static_cast<std::uint64_t>(instance), dim) >> 12);
    const double u = (static_cast<double>(stratum) + jitter) / static_cast<double>(instances_);
    return std::min(u, 1.0 - 0x1p-53);
  }

 private:
  std::uint64_t permute(std::uint64_t value, std::uint32_t dimension) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    constexpr std::uint64_t rounds = 6;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t mixed =
          left ^ (random_bits(seed_, Purpose::permutation, right | round << 32, dimension) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t seed_;
  std::uint64_t instances_;
  int half_bits_;
};

std::uint32_t reverse_bits(std::uint32_t x) {
  x = (x & 0x55555555U) << 1 | (x >> 1 & 0x55555555U);
  x = (x & 0x33333333U) << 2 | (x >> 2 & 0x33333333U);
  x = (x & 0x0f0f0f0fU) << 4 | (x >> 4 & 0x0f0f0f0fU);
  x = (x & 0x00ff00ffU) << 8 | (x >> 8 & 0x00ff00ffU);
  return x << 16 | x >> 16;
}

// Nested uniform (Owen) scrambling by hashing: Burley, "Practical Hash-based Owen Scrambling", JCGT 9(4), 2020,
// listing 4, with the permutation of Laine & Karras 2011.
std::uint32_t nested_scramble(std::uint32_t x, std::uint32_t seed) {
  x = reverse_bits(x);
  x += seed;
  x ^= x * 0x6c50b47cU;
  x ^= x * 0xb82f1e52U;
  x ^= x * 0xc7afe638U;
  x ^= x * 0x8d22f6e6U;
  return reverse_bits(x);
}

class Sobol : public UnitSampler {
 public:
  static constexpr int bits = 32;

  Sobol(std::uint64_t seed, int dimensions) : seed_(seed), directions_(static_cast<std::size_t>(dimensions)) {
    boost::random::sobol engine(static_cast<std::size_t>(std::max(dimensions, 1)));
    for (int bit = 0; bit < bits; ++bit) {
      // Point m is the sum of the direction numbers in the Gray code of m, and that of 2^(k+1) - 1 is 2^k alone.
      // Boost's engine leaves out point 0, so its seed is one less.
      engine.seed((std::uint64_t{2} << bit) - 2);
      for (auto& direction : directions_)
        direction[static_cast<std::size_t>(bit)] = static_cast<std::uint32_t>(engine() >> 32);
    }
    for (int dimension = 0; dimension < dimensions; ++dimension) {
      scrambles_.push_back(
          static_cast<std::uint32_t>(random_bits(seed, Purpose::scrambling, 0, static_cast<std::uint32_t>(dimension))));
    }
  }

  double coordinate(std::int64_t instance, int dimension) const override {
    const auto dim = static_cast<std::size_t>(dimension);
    const auto index = static_cast<std::uint64_t>(instance);
    std::uint32_t point = 0;
    for (std::uint64_t code = index ^ index >> 1; code != 0; code &= code - 1) {
      point ^= directions_[dim][static_cast<std::size_t>(std::countr_zero(code))];
    }
    const std::uint64_t high = nested_scramble(point, scrambles_[dim]);
    // The sequence has 32 bits; the 20 below them are random, as full nested scrambling would leave them.
    const std::uint64_t low = random_bits(seed_, Purpose::low_bits, index, static_cast<std::uint32_t>(dimension)) >> 44;
    return open_unit(high << 20 | low);
  }

 private:
  std::uint64_t seed_;
  std::vector<std::array<std::uint32_t, bits>> directions_;
  std::vector<std::uint32_t> scrambles_;
};

}  // namespace

std::unique_ptr<const UnitSampler> make_unit_sampler(std::string_view name, std::uint64_t seed, std::int64_t instances,
                                                     int dimensions) {
  if (instances < 1) throw UsageError(fmt::format("instances is {}, but must be at least 1", instances));
  if (dimensions < 0) throw UsageError(fmt::format("dimensions is {}, but must be at least 0", dimensions));
  if (name == "monte_carlo") return std::make_unique<MonteCarlo>(seed);
  if (name == "latin_hypercube") {
    if (instances > std::int64_t{1} << 52) {
      throw UsageError(fmt::format("instances is {}, but a Latin hypercube resolves at most 2^52", instances));
    }
    return std::make_unique<LatinHypercube>(seed, instances);
  }
  if (name == "sobol") {
    constexpr int most_dimensions = 3667;
    if (dimensions > most_dimensions) {
      throw UsageError(
          fmt::format("the sobol sampler was given {} quantities, but has at most {}", dimensions, most_dimensions));
    }
    if (instances > std::int64_t{1} << Sobol::bits) {
      throw UsageError(fmt::format("instances is {}, but the sobol sampler has at most 2^32", instances));
    }
    return std::make_unique<Sobol>(seed, dimensions);
  }
  throw UsageError(fmt::format(
      "sampler is \"{}\", but must be monte_carlo, latin_hypercube or sobol for points of the unit cube", name));
}

}  // namespace manyfold
