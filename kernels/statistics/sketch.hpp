#pragma once
// How summaries of a quantile sketch are merged, the same on the host and on a device: host/io/quantile_sketch.hpp says
// what they are.
#include <manyfold/integers.hpp>

#include "../lane/qualifiers.hpp"
#include "split_mix.hpp"

namespace manyfold {

/// Instances whose values are the first summaries, of which the tree is built.
inline constexpr int rows_per_summary = 512;

/// What a summary knows of a column beside its values.
struct SummaryColumn {
  std::uint32_t count = 0;      // of the values
  std::uint32_t doublings = 0;  // each stands for 2^doublings
  double squares = 0.0;         // sum of the squares of the largest error of each coin, in ranks

  MANYFOLD_INLINE double weight() const { return static_cast<double>(std::uint64_t{1} << doublings); }

  /// The first or the second of each pair of its values goes.
  MANYFOLD_INLINE void halve(bool second) {
    if (count > 0) squares += weight() * weight();
    count = (count + 1 - (second ? 1U : 0U)) / 2;
    ++doublings;
  }
};

/// Room for values of a column in the summaries of a level of the tree. `most`: anywhere; both are powers of two.
MANYFOLD_INLINE int room_of_level(int level, int most) {
  int room = rows_per_summary;
  for (int k = 0; k < level && room < most; ++k) room *= 2;
  return room;
}

/// Those of the merge of the summaries 2 `number` and 2 `number` + 1 of a level of the tree. Neighbours have opposite
/// coins, so that errors cancel where the halves of a pair are alike.
class Coins {
 public:
  MANYFOLD_INLINE Coins(int level, std::int64_t number)
      : bits_(split_mix((static_cast<std::uint64_t>(level) << 56U) ^ static_cast<std::uint64_t>(number / 2))) {
    if (number % 2 != 0) bits_ = ~bits_;
  }
  MANYFOLD_INLINE bool flip() {
    const bool result = bits_ % 2 != 0;
    bits_ = bits_ >> 1U | bits_ << 63U;
    return result;
  }

 private:
  std::uint64_t bits_;
};

}  // namespace manyfold
