// What the instructions do: NVIDIA, Parallel Thread Execution ISA, version 9.0, chapter 9.7. A register is a slot of 64
// bits, of which narrower types take the low ones.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "tests/cuda/ptx/machine.hpp"

namespace manyfold::test::ptx {
namespace {

__extension__ using Int128 = __int128;

template <class T>
T get(std::uint64_t slot) {
  T value;
  std::memcpy(&value, &slot, sizeof(T));
  return value;
}

template <class T>
std::uint64_t put(T value) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    std::uint64_t slot = 0;
    std::memcpy(&slot, &value, sizeof(T));
    return slot;
  }
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// Integers wrap.
template <class T, class F>
T wrapped(T a, T b, F&& f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::common_type_t<Unsigned<T>, std::uint32_t>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

/// The integer of twice the size.
template <class T>
struct Wide {
  using Signed =
      std::conditional_t<sizeof(T) == 1, std::int16_t, std::conditional_t<sizeof(T) == 2, std::int32_t, std::int64_t>>;
  using type = std::conditional_t<std::is_signed_v<T>, Signed, std::make_unsigned_t<Signed>>;
};

/// d = F(a, b, c) with as many operands as F takes, all of T but the result.
template <class T, auto F>
void map(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    if constexpr (std::is_invocable_v<decltype(F), T>) {
      slots[d] = put(F(get<T>(slots[a])));
    } else if constexpr (std::is_invocable_v<decltype(F), T, T>) {
      slots[d] = put(F(get<T>(slots[a]), get<T>(slots[b])));
    } else {
      slots[d] = put(F(get<T>(slots[a]), get<T>(slots[b]), get<T>(slots[c])));
    }
  });
}

/// The upper half of a double, which is all that rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give, of its normal
/// numbers.
double estimate(double exact) {
  const std::uint64_t upper = std::bit_cast<std::uint64_t>(exact) & 0xffffffff00000000U;
  const double result = std::bit_cast<double>(upper);
  return std::fpclassify(result) == FP_SUBNORMAL ? std::copysign(0.0, exact) : result;
}
double normal(double a) {
  return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0, a) : a;
}

// Of integers and floating-point numbers.
struct Arithmetic {
  template <class T>
  static Handler of(std::string_view base, bool wide, bool high) {
    if (base == "add") return &map<T, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x + y; }); }>;
    if (base == "sub") return &map<T, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x - y; }); }>;
    if (base == "neg") return &map<T, [](T a) { return static_cast<T>(-a); }>;
    if (base == "selp") return &select;
    if constexpr (std::is_floating_point_v<T>) {
      if (base == "mul") return &map<T, [](T a, T b) { return a * b; }>;
      if (base == "div") return &map<T, [](T a, T b) { return a / b; }>;
      if (base == "fma" || base == "mad") return &map<T, [](T a, T b, T c) { return std::fma(a, b, c); }>;
      if (base == "rcp") return &map<T, [](T a) { return T(1) / a; }>;
      if (base == "sqrt") return &map<T, [](T a) { return std::sqrt(a); }>;
      if (base == "abs") return &map<T, [](T a) { return std::fabs(a); }>;
      if (base == "min") return &map<T, [](T a, T b) { return std::fmin(a, b); }>;
      if (base == "max") return &map<T, [](T a, T b) { return std::fmax(a, b); }>;
      if (base == "lg2") return &map<T, [](T a) { return std::log2(a); }>;
      if (base == "ex2") return &map<T, [](T a) { return std::exp2(a); }>;
    } else {
      if (base == "abs") return &map<T, [](T a) { return static_cast<T>(a < T(0) ? -a : a); }>;
      if (base == "min") return &map<T, [](T a, T b) { return a < b ? a : b; }>;
      if (base == "max") return &map<T, [](T a, T b) { return a < b ? b : a; }>;
      if (base == "div") return &map<T, [](T a, T b) { return static_cast<T>(b == 0 ? T(-1) : a / b); }>;
      if (base == "rem") return &map<T, [](T a, T b) { return static_cast<T>(b == 0 ? a : a % b); }>;
      if (wide) {
        if constexpr (sizeof(T) < 8) {
          using W = typename Wide<T>::type;
          if (base == "mul") return &map<T, [](T a, T b) { return static_cast<W>(a) * static_cast<W>(b); }>;
          return &multiply_add_wide<T>;
        }
        return nullptr;
      }
      if (high) {
        constexpr auto product = [](T a, T b) {
          return static_cast<T>((static_cast<Int128>(a) * static_cast<Int128>(b)) >> (8 * sizeof(T)));
        };
        if (base == "mul") return &map<T, product>;
        return nullptr;
      }
      if (base == "mul") return &map<T, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x * y; }); }>;
      if (base == "mad") {
        return &map<T, [](T a, T b, T c) {
          return wrapped(wrapped(a, b, [](auto x, auto y) { return x * y; }), c, [](auto x, auto y) { return x + y; });
        }>;
      }
    }
    return nullptr;
  }

  template <class T>
  static void multiply_add_wide(Warp& warp, const Instruction& instruction, Mask active) {
    using W = typename Wide<T>::type;
    const auto& [d, a, b, c, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      const auto product =
          static_cast<std::uint64_t>(static_cast<W>(get<T>(slots[a])) * static_cast<W>(get<T>(slots[b])));
      slots[d] = put(static_cast<W>(product + static_cast<std::uint64_t>(get<W>(slots[c]))));
    });
  }

  static void select(Warp& warp, const Instruction& instruction, Mask active) {
    const auto& [d, a, b, p, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      slots[d] = slots[p] != 0 ? slots[a] : slots[b];
    });
  }
};

/// Of bits; predicates are 0 or 1.
struct Bits {
  template <class T>
  static Handler of(std::string_view base, bool signed_type, bool predicate) {
    using S = std::make_signed_t<T>;
    if (base == "and") return &map<T, [](T a, T b) { return static_cast<T>(a & b); }>;
    if (base == "or") return &map<T, [](T a, T b) { return static_cast<T>(a | b); }>;
    if (base == "xor") return &map<T, [](T a, T b) { return static_cast<T>(a ^ b); }>;
    if (base == "not") {
      if (predicate) return &map<T, [](T a) { return static_cast<T>(a ^ 1); }>;
      return &map<T, [](T a) { return static_cast<T>(~a); }>;
    }
    if (base == "clz") return &map<T, [](T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); }>;
    if (base == "brev") return &map<T, &reversed<T>>;
    if (base == "shl") return &shift<T, [](T a, unsigned n) { return static_cast<T>(n < 8 * sizeof(T) ? a << n : 0); }>;
    if (base == "shr" && signed_type) {
      return &shift<S, [](S a, unsigned n) { return static_cast<S>(a >> std::min<unsigned>(n, 8 * sizeof(T) - 1)); }>;
    }
    if (base == "shr") return &shift<T, [](T a, unsigned n) { return static_cast<T>(n < 8 * sizeof(T) ? a >> n : 0); }>;
    if (base == "bfe") return signed_type ? &extract<S> : &extract<T>;
    return nullptr;
  }

  template <class T>
  static T reversed(T a) {
    T result = 0;
    for (std::size_t k = 0; k < 8 * sizeof(T); ++k) result = static_cast<T>(result << 1 | (a >> k & 1));
    return result;
  }

  /// Shifts count in 32 bits, of any type.
  template <class T, auto F>
  static void shift(Warp& warp, const Instruction& instruction, Mask active) {
    const auto& [d, a, b, c, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      slots[d] = put(F(get<T>(slots[a]), get<unsigned>(slots[b])));
    });
  }

  /// bfe: a field of bits. The sign of one of a signed type is its highest bit, or that of the word where it ends
  /// there.
  template <class T>
  static void extract(Warp& warp, const Instruction& instruction, Mask active) {
    constexpr unsigned size = 8 * sizeof(T);
    const auto& [d, a, b, c, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      const unsigned from = std::min(get<unsigned>(slots[b]) & 0xff, size);
      const unsigned count = std::min(get<unsigned>(slots[c]) & 0xff, size - from);
      if (count == 0) {
        const bool asked = (get<unsigned>(slots[c]) & 0xff) > 0;
        slots[d] = put(asked && std::is_signed_v<T> ? static_cast<T>(get<T>(slots[a]) >> (size - 1)) : T(0));
        return;
      }
      // To the top of the word, and down again with its sign.
      using U = std::make_unsigned_t<T>;
      const U top = static_cast<U>(static_cast<U>(get<T>(slots[a])) << (size - from - count));
      slots[d] = put(static_cast<T>(static_cast<T>(top) >> (size - count)));
    });
  }

  /// prmt: four bytes of the eight of two words, by the digits of a third.
  static void permute(Warp& warp, const Instruction& instruction, Mask active) {
    const auto& [d, a, b, c, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      const std::uint64_t both = (slots[b] << 32) | get<std::uint32_t>(slots[a]);
      std::uint64_t result = 0;
      for (unsigned k = 0; k < 4; ++k) {
        const auto digit = static_cast<unsigned>(slots[c] >> (4 * k)) & 15;
        const auto byte = static_cast<std::uint8_t>(both >> (8 * (digit & 7)));
        // The digit's high bit asks for copies of the byte's.
        const std::uint64_t value = (digit & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xff : 0;
        result |= value << (8 * k);
      }
      slots[d] = result;
    });
  }

  /// shf: the high or low half of two words, shifted.
  template <bool left>
  static void funnel(Warp& warp, const Instruction& instruction, Mask active) {
    const auto& [d, a, b, c, e, f] = instruction.slots;
    for_lanes(active, [&](int lane) {
      std::uint64_t* slots = warp.slots(lane);
      const std::uint64_t both = (slots[b] << 32) | get<std::uint32_t>(slots[a]);
      const unsigned n = get<unsigned>(slots[c]) & 31;
      slots[d] = static_cast<std::uint32_t>(left ? (both << n) >> 32 : both >> n);
    });
  }
};

/// With the carry from or to the next instruction. `kind`: add, sub or mad, and of the latter the half.
enum class Chain { add, subtract, multiply_low, multiply_high };

template <Chain kind, bool carry_in, bool carry_out>
void chain(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    const std::uint64_t x = get<std::uint32_t>(slots[a]);
    const std::uint64_t y = get<std::uint32_t>(slots[b]);
    const std::uint64_t in = carry_in ? warp.carry(lane) : 0;
    std::uint64_t sum = 0;
    if constexpr (kind == Chain::add) {
      sum = x + y + in;
    } else if constexpr (kind == Chain::subtract) {
      sum = x - y - in;
    } else {
      const std::uint64_t half = kind == Chain::multiply_low ? (x * y) & 0xffffffffu : (x * y) >> 32;
      sum = half + get<std::uint32_t>(slots[c]) + in;
    }
    slots[d] = get<std::uint32_t>(sum);
    if constexpr (carry_out) warp.carry(lane) = static_cast<std::uint32_t>(sum >> 32) & 1;
  });
}

template <Chain kind>
Handler chain_of(bool carry_in, bool carry_out) {
  if (carry_in) return carry_out ? &chain<kind, true, true> : &chain<kind, true, false>;
  return carry_out ? &chain<kind, false, true> : nullptr;
}

template <class T, auto F>
void compare(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    slots[d] = F(get<T>(slots[a]), get<T>(slots[b])) ? 1 : 0;
  });
}

template <class T>
Handler comparison(std::string_view relation) {
  if (relation == "eq") return &compare<T, [](T a, T b) { return a == b; }>;
  if (relation == "lt" || relation == "lo") return &compare<T, [](T a, T b) { return a < b; }>;
  if (relation == "le" || relation == "ls") return &compare<T, [](T a, T b) { return a <= b; }>;
  if (relation == "gt" || relation == "hi") return &compare<T, [](T a, T b) { return b < a; }>;
  if (relation == "ge" || relation == "hs") return &compare<T, [](T a, T b) { return b <= a; }>;
  // Of floating-point numbers `ne` is false where one is NaN, and those that end in u are true.
  if (relation == "ne") return &compare<T, [](T a, T b) { return a < b || b < a; }>;
  if constexpr (std::is_floating_point_v<T>) {
    if (relation == "equ") return &compare<T, [](T a, T b) { return !(a < b || b < a); }>;
    if (relation == "neu") return &compare<T, [](T a, T b) { return !(a == b); }>;
    if (relation == "ltu") return &compare<T, [](T a, T b) { return !(b <= a); }>;
    if (relation == "leu") return &compare<T, [](T a, T b) { return !(b < a); }>;
    if (relation == "gtu") return &compare<T, [](T a, T b) { return !(a <= b); }>;
    if (relation == "geu") return &compare<T, [](T a, T b) { return !(a < b); }>;
    if (relation == "num") return &compare<T, [](T a, T b) { return a == a && b == b; }>;
    if (relation == "nan") return &compare<T, [](T a, T b) { return a != a || b != b; }>;
  }
  return nullptr;
}

enum class Rounding { none, nearest, zero, down, up };

template <class To, class From, Rounding rounding>
To convert(From from) {
  if constexpr (!std::is_floating_point_v<From>) {
    return static_cast<To>(from);
  } else {
    const From whole = rounding == Rounding::nearest ? std::nearbyint(from)
                       : rounding == Rounding::zero  ? std::trunc(from)
                       : rounding == Rounding::down  ? std::floor(from)
                       : rounding == Rounding::up    ? std::ceil(from)
                                                     : from;
    if constexpr (std::is_floating_point_v<To>) {
      return static_cast<To>(whole);
    } else {
      // Out of range: the nearest; not a number: zero, of 64 bits the least.
      using Limits = std::numeric_limits<To>;
      if (whole != whole) return sizeof(To) == 8 ? static_cast<To>(std::uint64_t{1} << 63) : To(0);
      if (whole <= static_cast<From>(Limits::min())) return Limits::min();
      if (whole >= static_cast<From>(Limits::max())) return Limits::max();
      return static_cast<To>(whole);
    }
  }
}

/// `mov` of a whole, of two halves to one, or of one to two halves.
void move(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    slots[d] = slots[a];
  });
}

template <class T>
void load(Warp& warp, const Instruction& instruction, Mask active) {
  const int address = instruction.slots[static_cast<std::size_t>(instruction.vector)];
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    const Address from = slots[address] + static_cast<Address>(instruction.offset);
    if (from % (sizeof(T) * static_cast<std::size_t>(instruction.vector)) != 0) {
      warp.fault(lane, fmt::format("address {:#x} is not aligned", from));
    }
    for (int k = 0; k < instruction.vector; ++k) {
      T value;
      std::memcpy(&value,
                  warp.access(lane, instruction.space, from + static_cast<Address>(k) * sizeof(T), sizeof(T), false),
                  sizeof(T));
      slots[instruction.slots[static_cast<std::size_t>(k)]] = put(value);
    }
  });
}

template <class T>
void store(Warp& warp, const Instruction& instruction, Mask active) {
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    const Address to = slots[instruction.slots[0]] + static_cast<Address>(instruction.offset);
    if (to % (sizeof(T) * static_cast<std::size_t>(instruction.vector)) != 0) {
      warp.fault(lane, fmt::format("address {:#x} is not aligned", to));
    }
    for (int k = 0; k < instruction.vector; ++k) {
      const T value = get<T>(slots[instruction.slots[static_cast<std::size_t>(k) + 1]]);
      std::memcpy(warp.access(lane, instruction.space, to + static_cast<Address>(k) * sizeof(T), sizeof(T), true),
                  &value, sizeof(T));
    }
  });
}

/// Threads of a launch take turns, so that each has the memory to itself.
template <class T>
void atomic_add(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    const Address at = slots[a] + static_cast<Address>(instruction.offset);
    T value;
    std::memcpy(&value, warp.access(lane, instruction.space, at, sizeof(T), false), sizeof(T));
    const T sum = wrapped(value, get<T>(slots[b]), [](auto x, auto y) { return x + y; });
    slots[d] = put(value);
    std::memcpy(warp.access(lane, instruction.space, at, sizeof(T), true), &sum, sizeof(T));
  });
}

void barrier(Warp& warp, const Instruction& instruction, Mask active) {
  while (active != 0) {
    const int first = std::countr_zero(active);
    const Mask mask = get<Mask>(warp.slots(first)[instruction.slots[0]]);
    const Mask present = warp.participants(mask, active, first);
    if (present == 0) {
      warp.wait(active & mask);
      active &= ~mask;
      continue;
    }
    warp.synchronize(present);
    warp.advance(present);
    active &= ~present;
  }
}

enum class Shuffle { butterfly, index };

template <Shuffle kind>
void shuffle(Warp& warp, const Instruction& instruction, Mask active) {
  // d|p or d; a; b; c; mask
  const bool with_predicate = instruction.text.find('|') != std::string::npos;
  const std::size_t shift = with_predicate ? 1 : 0;
  const auto operand = [&](int lane, std::size_t k) {
    return get<std::uint32_t>(warp.slots(lane)[instruction.slots[k + shift]]);
  };
  while (active != 0) {
    const int first = std::countr_zero(active);
    const Mask mask = operand(first, 4);
    const Mask present = warp.participants(mask, active, first);
    if (present == 0) {
      warp.wait(active & mask);
      active &= ~mask;
      continue;
    }
    std::array<std::uint32_t, warp_size> values{};
    for_lanes(present, [&](int lane) { values[static_cast<std::size_t>(lane)] = operand(lane, 1); });
    for_lanes(present, [&](int lane) {
      const auto b = static_cast<int>(operand(lane, 2) & 31);
      const std::uint32_t c = operand(lane, 3);
      const auto segment = static_cast<int>((c >> 8) & 31);
      const auto clamp = static_cast<int>(c & 31);
      const int last = (lane & segment) | (clamp & ~segment);
      const int begin = lane & segment;
      const int source = kind == Shuffle::butterfly ? lane ^ b : begin | (b & ~segment);
      const bool inside = source <= last;
      const int from = inside ? source : lane;
      if ((present >> from & 1) == 0) warp.fault(lane, fmt::format("lane {} does not take part", from));
      warp.slots(lane)[instruction.slots[0]] = values[static_cast<std::size_t>(from)];
      if (with_predicate) warp.slots(lane)[instruction.slots[1]] = inside ? 1 : 0;
    });
    warp.advance(present);
    active &= ~present;
  }
}

void call(Warp& warp, const Instruction& instruction, Mask active) {
  warp.call(instruction, active);
}
void leave(Warp& warp, const Instruction&, Mask active) {
  warp.leave(active);
}
void nothing(Warp&, const Instruction&, Mask) {}

/// A move between one register and two halves.
template <class Half>
void pack(Warp& warp, const Instruction& instruction, Mask active) {
  const auto& [d, a, b, c, e, f] = instruction.slots;
  const bool to_one = instruction.text.find('{') > instruction.text.find(',');
  for_lanes(active, [&](int lane) {
    std::uint64_t* slots = warp.slots(lane);
    if (to_one) {
      slots[d] = get<Half>(slots[a]) | static_cast<std::uint64_t>(get<Half>(slots[b])) << (8 * sizeof(Half));
    } else {
      const std::uint64_t whole = slots[b];
      slots[d] = get<Half>(whole);
      slots[a] = get<Half>(whole >> (8 * sizeof(Half)));
    }
  });
}

template <class Half>
void move_or_pack(Warp& warp, const Instruction& instruction, Mask active) {
  (instruction.vector == 3 ? &pack<Half> : &move)(warp, instruction, active);
}

/// Calls `visit` with a value of the type of `name`: s and u are integers, b unsigned ones.
template <class Visit>
Handler with_type(std::string_view name, Visit&& visit) {
  if (name == "f64") return visit(double{});
  if (name == "f32") return visit(float{});
  if (name == "s64") return visit(std::int64_t{});
  if (name == "u64" || name == "b64") return visit(std::uint64_t{});
  if (name == "s32") return visit(std::int32_t{});
  if (name == "u32" || name == "b32") return visit(std::uint32_t{});
  if (name == "s16") return visit(std::int16_t{});
  if (name == "u16" || name == "b16") return visit(std::uint16_t{});
  if (name == "s8") return visit(std::int8_t{});
  if (name == "u8" || name == "b8") return visit(std::uint8_t{});
  return nullptr;
}

class Opcode {
 public:
  explicit Opcode(std::string_view text) {
    while (true) {
      const std::size_t dot = text.find('.');
      words_.push_back(text.substr(0, dot));
      if (dot == std::string_view::npos) break;
      text.remove_prefix(dot + 1);
    }
  }
  std::string_view base() const { return words_.front(); }
  std::string_view type() const { return words_.back(); }
  std::string_view word(std::size_t k) const { return k < words_.size() ? words_[k] : std::string_view(); }
  std::size_t size() const { return words_.size(); }
  bool has(std::string_view word) const {
    for (const std::string_view candidate : words_) {
      if (candidate == word) return true;
    }
    return false;
  }

 private:
  std::vector<std::string_view> words_;
};

Handler conversion(const Opcode& opcode) {
  const std::string_view to = opcode.word(opcode.size() - 2);
  return with_type(opcode.type(), [&]<class From>(From) {
    return with_type(to, [&]<class To>(To) -> Handler {
      if (opcode.has("rni")) return &map<From, [](From a) { return convert<To, From, Rounding::nearest>(a); }>;
      if (opcode.has("rzi")) return &map<From, [](From a) { return convert<To, From, Rounding::zero>(a); }>;
      if (opcode.has("rmi")) return &map<From, [](From a) { return convert<To, From, Rounding::down>(a); }>;
      if (opcode.has("rpi")) return &map<From, [](From a) { return convert<To, From, Rounding::up>(a); }>;
      return &map<From, [](From a) { return convert<To, From, Rounding::none>(a); }>;
    });
  });
}

Handler handler_of(const Opcode& opcode) {
  const std::string_view base = opcode.base();
  const std::string_view type = opcode.type();
  if (type == "pred" && base == "mov") return &map<std::uint64_t, [](std::uint64_t a) { return a != 0; }>;
  if (base == "mov" || base == "cvta") {
    return type == "b64" ? &move_or_pack<std::uint32_t> : type == "b32" ? &move_or_pack<std::uint16_t> : &move;
  }
  if (base == "ld") return with_type(type, []<class T>(T) -> Handler { return &load<T>; });
  if (base == "st") return with_type(type, []<class T>(T) -> Handler { return &store<T>; });
  if (base == "cvt") return conversion(opcode);
  if (base == "setp") {
    if (opcode.size() != 3) return nullptr;
    return with_type(type, [&]<class T>(T) { return comparison<T>(opcode.word(1)); });
  }
  if (base == "atom") {
    if (!opcode.has("add")) return nullptr;
    return with_type(type, []<class T>(T) -> Handler { return &atomic_add<T>; });
  }
  if (base == "prmt" && opcode.size() == 2) return &Bits::permute;
  if (base == "shf") return opcode.has("l") ? &Bits::funnel<true> : &Bits::funnel<false>;
  if (base == "add" || base == "addc" || base == "sub" || base == "subc" || base == "mad" || base == "madc") {
    const bool in = base.ends_with('c');
    const bool out = opcode.has("cc");
    if (in || out) {
      if (type != "u32" && type != "s32" && type != "b32") return nullptr;
      if (base.starts_with("add")) return chain_of<Chain::add>(in, out);
      if (base.starts_with("sub")) return chain_of<Chain::subtract>(in, out);
      return opcode.has("hi") ? chain_of<Chain::multiply_high>(in, out) : chain_of<Chain::multiply_low>(in, out);
    }
  }
  if (opcode.has("approx") && type == "f64") {
    if (base == "rcp") return &map<double, [](double a) { return estimate(1.0 / normal(a)); }>;
    if (base == "rsqrt") return &map<double, [](double a) { return estimate(1.0 / std::sqrt(normal(a))); }>;
    return nullptr;
  }
  const bool predicate = type == "pred";
  const Handler bits = with_type(predicate ? "b64" : type, [&]<class T>(T) -> Handler {
    if constexpr (std::is_integral_v<T>) {
      return Bits::of<std::make_unsigned_t<T>>(base, type.starts_with('s'), predicate);
    } else {
      return nullptr;
    }
  });
  if (bits != nullptr) return bits;
  return with_type(type, [&]<class T>(T) { return Arithmetic::of<T>(base, opcode.has("wide"), opcode.has("hi")); });
}

}  // namespace

Operation operation(std::string_view text) {
  const Opcode opcode(text);
  const std::string_view base = opcode.base();
  if (base == "bra") return {&nothing, Flow::branch};
  if (base == "call") return {&call, Flow::call};
  if (base == "ret" || base == "exit") return {&leave, Flow::leave};
  if (text == "bar.warp.sync") return {&barrier, Flow::exchange};
  if (text == "shfl.sync.bfly.b32") return {&shuffle<Shuffle::butterfly>, Flow::exchange};
  if (text == "shfl.sync.idx.b32") return {&shuffle<Shuffle::index>, Flow::exchange};
  const Handler handler = handler_of(opcode);
  if (handler == nullptr) throw Fault(fmt::format("the instruction {} is not known to this machine", text));
  return {handler, Flow::next};
}

}  // namespace manyfold::test::ptx
