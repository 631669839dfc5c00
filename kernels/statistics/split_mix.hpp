#pragma once
// SplitMix64: Steele, Lea & Flood, Fast splittable pseudorandom number generators (2014).
#include <manyfold/integers.hpp>

namespace manyfold {

/// Random bits that follow from `counter` alone.
constexpr std::uint64_t split_mix(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace manyfold
