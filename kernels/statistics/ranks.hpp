#pragma once
// Numbers as integers of the same order, whose digits lead to the number of a given rank.
#include <manyfold/integers.hpp>

#include "../lane/qualifiers.hpp"

namespace manyfold {

/// Of a finite number. Both zeros have the same key.
MANYFOLD_INLINE std::uint64_t key_of(double number) {
  const auto bits = __builtin_bit_cast(std::uint64_t, number + 0.0);
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

MANYFOLD_INLINE double number_of_key(std::uint64_t key) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  return __builtin_bit_cast(double, (key & sign) != 0 ? key & ~sign : ~key);
}

/// Keys are read digit by digit.
inline constexpr int bits_of_digit = 4;
inline constexpr int digit_values = 1 << bits_of_digit;

/// What is above the digit that has `shift` bits below it.
MANYFOLD_INLINE std::uint64_t leading_bits(std::uint64_t key, int shift) {
  return key >> static_cast<unsigned>(shift) >> static_cast<unsigned>(bits_of_digit);
}

MANYFOLD_INLINE int digit_of(std::uint64_t key, int shift) {
  return static_cast<int>(key >> static_cast<unsigned>(shift)) & (digit_values - 1);
}

}  // namespace manyfold
