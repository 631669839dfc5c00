#pragma once
// Loops over compile-time indices: unrolled while the trip count is small, ordinary loops beyond.
#include "qualifiers.hpp"

namespace manyfold {

template <int Value>
struct Constant {
  static constexpr int value = Value;
  constexpr operator int() const { return Value; }
};

template <int... Values>
struct Sequence {};

template <class First, class Second, int offset>
struct Join;
template <int... A, int... B, int offset>
struct Join<Sequence<A...>, Sequence<B...>, offset> {
  using type = Sequence<A..., (offset + B)...>;
};

/// Sequence<0, ..., Count - 1>, by halves: compilers have builtins for it, each its own.
template <int Count>
struct Counting {
  using type =
      typename Join<typename Counting<Count / 2>::type, typename Counting<Count - Count / 2>::type, Count / 2>::type;
};
template <>
struct Counting<0> {
  using type = Sequence<>;
};
template <>
struct Counting<1> {
  using type = Sequence<0>;
};

template <int Count>
using CountTo = typename Counting<Count>::type;

template <class Body, int... Values>
MANYFOLD_INLINE void static_for_each(Sequence<Values...>, Body&& body) {
  (body(Constant<Values>{}), ...);
}

/// body(Constant<0>{}), ..., body(Constant<Count - 1>{})
template <int Count, class Body>
MANYFOLD_INLINE void static_for(Body&& body) {
  static_for_each(CountTo<Count>{}, static_cast<Body&&>(body));
}

/// Longer loops stay loops: unrolling them costs compile time and instruction cache, and gains nothing. Where a program
/// is compiled for longer than it runs, all do.
#if defined(MANYFOLD_COMPILE_BRIEFLY)
inline constexpr int unroll_limit = 0;
#else
inline constexpr int unroll_limit = 24;
#endif

/// body(0), ..., body(Count - 1); the argument is a compile-time constant while Count <= Limit.
template <int Count, int Limit = unroll_limit, class Body>
MANYFOLD_INLINE void for_each_index(Body&& body) {
  if constexpr (Count <= Limit) {
    static_for<Count>(static_cast<Body&&>(body));
  } else {
    for (int i = 0; i < Count; ++i) body(i);
  }
}

}  // namespace manyfold
