#pragma once
// A lane of W instances: one SIMD register of the widest instruction set this translation unit is compiled for.
// Registers and operators come from xsimd, most elementary functions from glibc's libmvec (2 to 5 times faster at 1-4
// ulp, and a lane's result does not depend on the others).
#include <xsimd/xsimd.hpp>

#include "exponential.hpp"
#include "single.hpp"

namespace manyfold {

#if defined(__AVX512F__)
using PackArchitecture = xsimd::avx512dq;
using NarrowArchitecture = xsimd::fma3<xsimd::avx2>;
#elif defined(__AVX2__)
using PackArchitecture = xsimd::fma3<xsimd::avx2>;
using NarrowArchitecture = xsimd::sse4_2;
#else
using PackArchitecture = xsimd::sse2;
using NarrowArchitecture = xsimd::sse2;
#endif

// A bit for each lane of a mask that lies in a register of numbers.
#if defined(__AVX2__)
MANYFOLD_INLINE unsigned bits_of(__m256d mask) {
  return static_cast<unsigned>(_mm256_movemask_pd(mask));
}
MANYFOLD_INLINE unsigned bits_of(__m256 mask) {
  return static_cast<unsigned>(_mm256_movemask_ps(mask));
}
#endif
MANYFOLD_INLINE unsigned bits_of(__m128d mask) {
  return static_cast<unsigned>(_mm_movemask_pd(mask));
}
MANYFOLD_INLINE unsigned bits_of(__m128 mask) {
  return static_cast<unsigned>(_mm_movemask_ps(mask));
}

template <class Element, class Architecture>
class BasicPackMask {
 public:
  using Register = xsimd::batch_bool<Element, Architecture>;
  BasicPackMask() = default;
  MANYFOLD_INLINE BasicPackMask(bool value) : value_(value) {}
  MANYFOLD_INLINE explicit BasicPackMask(Register value) : value_(value) {}
  MANYFOLD_INLINE Register value() const { return value_; }
  /// Lane k is bit k.
  MANYFOLD_INLINE unsigned bits() const {
    if constexpr (is_same<Architecture, NarrowArchitecture> || !is_same<PackArchitecture, xsimd::avx512dq>) {
      return bits_of(typename Register::register_type(value_));
    } else {
      return value_.data;
    }
  }
  friend MANYFOLD_INLINE void for_each_lane(BasicPackMask mask, auto&& visit) {
    for (unsigned left = mask.bits(); left != 0; left &= left - 1) visit(__builtin_ctz(left));
  }

  friend MANYFOLD_INLINE BasicPackMask operator&(BasicPackMask a, BasicPackMask b) {
    return BasicPackMask(a.value_ & b.value_);
  }
  friend MANYFOLD_INLINE BasicPackMask operator|(BasicPackMask a, BasicPackMask b) {
    return BasicPackMask(a.value_ | b.value_);
  }
  friend MANYFOLD_INLINE BasicPackMask operator!(BasicPackMask a) { return BasicPackMask(~a.value_); }
  friend MANYFOLD_INLINE BasicPackMask operator&&(BasicPackMask a, BasicPackMask b) { return a & b; }
  friend MANYFOLD_INLINE BasicPackMask operator||(BasicPackMask a, BasicPackMask b) { return a | b; }
  friend MANYFOLD_INLINE bool any(BasicPackMask mask) { return xsimd::any(mask.value_); }
  friend MANYFOLD_INLINE bool all(BasicPackMask mask) { return xsimd::all(mask.value_); }
  friend MANYFOLD_INLINE int count(BasicPackMask mask) {
    using Number = xsimd::batch<Element, Architecture>;
    return static_cast<int>(xsimd::hadd(xsimd::select(mask.value_, Number(Element(1)), Number(Element(0)))));
  }

 private:
  Register value_;
};

template <class Element_, class Architecture_>
class BasicPack {
 public:
  using Element = Element_;
  using Architecture = Architecture_;
  using Register = xsimd::batch<Element, Architecture>;
  using Mask = BasicPackMask<Element, Architecture>;
  static constexpr int width = static_cast<int>(Register::size);

  BasicPack() = default;
  MANYFOLD_INLINE BasicPack(double value) : value_(static_cast<Element>(value)) {}
  MANYFOLD_INLINE explicit BasicPack(Register value) : value_(value) {}
  MANYFOLD_INLINE Register value() const { return value_; }

  friend MANYFOLD_INLINE BasicPack operator+(BasicPack a, BasicPack b) { return BasicPack(a.value_ + b.value_); }
  friend MANYFOLD_INLINE BasicPack operator-(BasicPack a, BasicPack b) { return BasicPack(a.value_ - b.value_); }
  friend MANYFOLD_INLINE BasicPack operator*(BasicPack a, BasicPack b) { return BasicPack(a.value_ * b.value_); }
  friend MANYFOLD_INLINE BasicPack operator/(BasicPack a, BasicPack b) { return BasicPack(a.value_ / b.value_); }
  friend MANYFOLD_INLINE BasicPack operator-(BasicPack a) { return BasicPack(-a.value_); }
  friend MANYFOLD_INLINE BasicPack operator+(BasicPack a) { return a; }
  MANYFOLD_INLINE BasicPack& operator+=(BasicPack other) { return *this = *this + other; }
  MANYFOLD_INLINE BasicPack& operator-=(BasicPack other) { return *this = *this - other; }
  MANYFOLD_INLINE BasicPack& operator*=(BasicPack other) { return *this = *this * other; }
  MANYFOLD_INLINE BasicPack& operator/=(BasicPack other) { return *this = *this / other; }

  friend MANYFOLD_INLINE Mask operator<(BasicPack a, BasicPack b) { return Mask(a.value_ < b.value_); }
  friend MANYFOLD_INLINE Mask operator<=(BasicPack a, BasicPack b) { return Mask(a.value_ <= b.value_); }
  friend MANYFOLD_INLINE Mask operator>(BasicPack a, BasicPack b) { return Mask(a.value_ > b.value_); }
  friend MANYFOLD_INLINE Mask operator>=(BasicPack a, BasicPack b) { return Mask(a.value_ >= b.value_); }
  friend MANYFOLD_INLINE Mask operator==(BasicPack a, BasicPack b) { return Mask(a.value_ == b.value_); }
  friend MANYFOLD_INLINE Mask operator!=(BasicPack a, BasicPack b) { return Mask(a.value_ != b.value_); }

  friend MANYFOLD_INLINE BasicPack select(Mask mask, BasicPack if_true, BasicPack if_false) {
    return BasicPack(xsimd::select(mask.value(), if_true.value_, if_false.value_));
  }
  // `b` where either is not a number, as the scalar versions.
  friend MANYFOLD_INLINE BasicPack min(BasicPack a, BasicPack b) { return select(b < a, b, a); }
  friend MANYFOLD_INLINE BasicPack max(BasicPack a, BasicPack b) { return select(a < b, b, a); }
  friend MANYFOLD_INLINE BasicPack abs(BasicPack a) { return BasicPack(xsimd::abs(a.value_)); }
  friend MANYFOLD_INLINE BasicPack floor(BasicPack a) { return BasicPack(xsimd::floor(a.value_)); }
  friend MANYFOLD_INLINE BasicPack sqrt(BasicPack a) { return BasicPack(xsimd::sqrt(a.value_)); }
  friend MANYFOLD_INLINE BasicPack square(BasicPack a) { return a * a; }
  friend MANYFOLD_INLINE Mask is_finite(BasicPack a) { return a - a == BasicPack(0.0); }

 private:
  Register value_;
};

/// For models that choose between plain numbers.
template <class Element, class Architecture>
MANYFOLD_INLINE BasicPack<Element, Architecture> select(BasicPackMask<Element, Architecture> mask, double if_true,
                                                        double if_false) {
  using Pack = BasicPack<Element, Architecture>;
  return select(mask, Pack(if_true), Pack(if_false));
}

/// Counts of the lanes of single precision, whose numbers end at 2^24.
template <class Architecture>
class CountPack {
 public:
  using Register = xsimd::batch<int, Architecture>;
  using Number = BasicPack<float, Architecture>;

  CountPack() = default;
  MANYFOLD_INLINE CountPack(int value) : value_(value) {}
  MANYFOLD_INLINE explicit CountPack(Register value) : value_(value) {}
  MANYFOLD_INLINE explicit CountPack(Number numbers) : value_(xsimd::to_int(numbers.value())) {}
  MANYFOLD_INLINE explicit operator Number() const { return Number(xsimd::to_float(value_)); }

  friend MANYFOLD_INLINE CountPack operator+(CountPack a, CountPack b) { return CountPack(a.value_ + b.value_); }
  MANYFOLD_INLINE CountPack& operator+=(CountPack other) { return *this = *this + other; }

 private:
  Register value_;
};

/// The counts of a pack: of double precision they are numbers like the others.
template <class Element, class Architecture>
struct CountsOf {
  using type = BasicPack<Element, Architecture>;
};
template <class Architecture>
struct CountsOf<float, Architecture> {
  using type = CountPack<Architecture>;
};

using Pack = BasicPack<double, PackArchitecture>;
using PackMask = Pack::Mask;
/// Of single precision: twice as many lanes.
using SinglePack = BasicPack<float, PackArchitecture>;
/// As many numbers of single precision as a `Pack` holds of double (SSE2: in the lower half).
using NarrowPack = BasicPack<float, NarrowArchitecture>;

/// A number that may lie in memory of another type.
template <class Element>
struct MayAlias;
template <>
struct MayAlias<double> {
  using type = double __attribute__((may_alias));
};
template <>
struct MayAlias<float> {
  using type = float __attribute__((may_alias));
};
template <>
struct MayAlias<int> {
  using type = int __attribute__((may_alias));
};

/// Packs with their lanes in another order: lane k takes its number from lane from[k].
template <class Element, class Architecture>
class LaneOrder {
 public:
  using Pack = BasicPack<Element, Architecture>;

  MANYFOLD_INLINE explicit LaneOrder(const int (&from)[Pack::width]) {
    for (int k = 0; k < Pack::width; ++k) from_[k] = from[k];
  }
  MANYFOLD_INLINE Pack operator()(const Pack& x) const {
#if defined(__clang__)
    Pack result;
    for (int k = 0; k < Pack::width; ++k) {
      reinterpret_cast<Alias*>(&result)[k] = reinterpret_cast<const Alias*>(&x)[from_[k]];
    }
    return result;
#else
    using Register = typename Pack::Register;
    const typename Register::register_type value = x.value();
    return Pack(Register(__builtin_shuffle(value, from_)));
#endif
  }

 private:
  using Alias = typename MayAlias<Element>::type;
  using Index = typename Either<is_same<Element, double>, long long, int>::type;
  Index from_ __attribute__((vector_size(sizeof(Pack))));
};

template <class Element, class Architecture>
struct LaneTraits<BasicPack<Element, Architecture>> {
 private:
  using Real = BasicPack<Element, Architecture>;
  using Alias = typename MayAlias<Element>::type;

 public:
  using Double = Pack;
  static constexpr double epsilon = is_same<Element, double> ? 2.220446049250313e-16 : 1.1920929e-7;
  using Mask = typename Real::Mask;
  using Count = typename CountsOf<Element, Architecture>::type;
  using Order = LaneOrder<Element, Architecture>;
  static constexpr int width = Real::width;
  // Memory is the portable way to one element; the compiler turns it into an insert or extract where it pays.
  static MANYFOLD_INLINE double get(const Real& pack, int lane) {
    return static_cast<double>(reinterpret_cast<const Alias*>(&pack)[lane]);
  }
  static MANYFOLD_INLINE void set(Real& pack, int lane, double to) {
    reinterpret_cast<Alias*>(&pack)[lane] = static_cast<Element>(to);
  }
  static MANYFOLD_INLINE double get(const CountPack<Architecture>& counts, int lane) {
    return reinterpret_cast<const MayAlias<int>::type*>(&counts)[lane];
  }
  static MANYFOLD_INLINE void set(CountPack<Architecture>& counts, int lane, double to) {
    reinterpret_cast<MayAlias<int>::type*>(&counts)[lane] = static_cast<int>(to);
  }
  static MANYFOLD_INLINE bool test(const Mask& mask, int lane) { return (mask.bits() >> lane & 1U) != 0; }
  /// The mask that holds lane `lane` alone.
  static MANYFOLD_INLINE Mask only(int lane) {
    Real position(0.0);
    set(position, lane, 1.0);
    return position == Real(1.0);
  }
};

template <>
struct Narrowed<Pack> {
  using type = NarrowPack;
#if defined(__AVX512F__)
  // Not by its intrinsics, of which g++ 12 wrongly warns that they use what is not initialised.
  static MANYFOLD_INLINE NarrowPack narrow(Pack x) {
    return NarrowPack(NarrowPack::Register(__builtin_convertvector(__v8df(x.value().data), __v8sf)));
  }
  static MANYFOLD_INLINE Pack widen(NarrowPack x) {
    return Pack(Pack::Register(__builtin_convertvector(__v8sf(x.value().data), __v8df)));
  }
#elif defined(__AVX2__)
  static MANYFOLD_INLINE NarrowPack narrow(Pack x) {
    return NarrowPack(_mm256_cvtpd_ps(x.value()));
  }
  static MANYFOLD_INLINE Pack widen(NarrowPack x) {
    return Pack(_mm256_cvtps_pd(x.value()));
  }
#else
  static MANYFOLD_INLINE NarrowPack narrow(Pack x) {
    return NarrowPack(_mm_cvtpd_ps(x.value()));
  }
  static MANYFOLD_INLINE Pack widen(NarrowPack x) {
    return Pack(_mm_cvtps_pd(x.value()));
  }
#endif
  static MANYFOLD_INLINE PackMask widen(NarrowPack::Mask mask) {
    return widen(select(mask, NarrowPack(1.0), NarrowPack(0.0))) == Pack(1.0);
  }
  static MANYFOLD_INLINE NarrowPack::Mask narrow(PackMask mask) {
    return narrow(select(mask, Pack(1.0), Pack(0.0))) == NarrowPack(1.0);
  }
};

#if defined(__AVX512F__)
#define MANYFOLD_DOUBLE_MATH(arguments, name) _ZGVeN8##arguments##_##name
#define MANYFOLD_SINGLE_MATH(arguments, name) _ZGVeN16##arguments##_##name##f
#elif defined(__AVX2__)
#define MANYFOLD_DOUBLE_MATH(arguments, name) _ZGVdN4##arguments##_##name
#define MANYFOLD_SINGLE_MATH(arguments, name) _ZGVdN8##arguments##_##name##f
#else
#define MANYFOLD_DOUBLE_MATH(arguments, name) _ZGVbN2##arguments##_##name
#define MANYFOLD_SINGLE_MATH(arguments, name) _ZGVbN4##arguments##_##name##f
#endif

// With `const`, what nobody uses is not computed, and what stands twice in the equations only once.
#define MANYFOLD_DEFINE_UNARY_OF(PACK, name, function)                                                       \
  extern "C" __attribute__((const)) PACK::Register::register_type function(PACK::Register::register_type x); \
  MANYFOLD_INLINE PACK name(PACK x) {                                                                        \
    return PACK(PACK::Register(function(x.value())));                                                        \
  }
#define MANYFOLD_DEFINE_BINARY_OF(PACK, name, function)                                                      \
  extern "C" __attribute__((const)) PACK::Register::register_type function(PACK::Register::register_type x,  \
                                                                           PACK::Register::register_type y); \
  MANYFOLD_INLINE PACK name(PACK x, PACK y) {                                                                \
    return PACK(PACK::Register(function(x.value(), y.value())));                                             \
  }
#define MANYFOLD_DEFINE_UNARY(name)                                   \
  MANYFOLD_DEFINE_UNARY_OF(Pack, name, MANYFOLD_DOUBLE_MATH(v, name)) \
  MANYFOLD_DEFINE_UNARY_OF(SinglePack, name, MANYFOLD_SINGLE_MATH(v, name))
#define MANYFOLD_DEFINE_BINARY(name)                                    \
  MANYFOLD_DEFINE_BINARY_OF(Pack, name, MANYFOLD_DOUBLE_MATH(vv, name)) \
  MANYFOLD_DEFINE_BINARY_OF(SinglePack, name, MANYFOLD_SINGLE_MATH(vv, name))

MANYFOLD_DEFINE_UNARY(acos)
MANYFOLD_DEFINE_UNARY(asin)
MANYFOLD_DEFINE_UNARY(atan)
MANYFOLD_DEFINE_UNARY(cbrt)
MANYFOLD_DEFINE_UNARY(cos)
MANYFOLD_DEFINE_UNARY(cosh)
MANYFOLD_DEFINE_UNARY(expm1)
MANYFOLD_DEFINE_UNARY(log)
MANYFOLD_DEFINE_UNARY(log10)
MANYFOLD_DEFINE_UNARY(log1p)
MANYFOLD_DEFINE_UNARY(sin)
MANYFOLD_DEFINE_UNARY(sinh)
MANYFOLD_DEFINE_UNARY(tan)
MANYFOLD_DEFINE_UNARY(tanh)
MANYFOLD_DEFINE_BINARY(atan2)
MANYFOLD_DEFINE_BINARY(pow)

MANYFOLD_DEFINE_UNARY_OF(SinglePack, exp, MANYFOLD_SINGLE_MATH(v, exp))
#if defined(__AVX512F__)
MANYFOLD_INLINE Pack exp(Pack x) {
  return Pack(Pack::Register(exponential(x.value())));
}
#else
MANYFOLD_DEFINE_UNARY_OF(Pack, exp, MANYFOLD_DOUBLE_MATH(v, exp))
#endif

#if defined(__AVX512F__)
// Rough arithmetic, see rough.hpp: from the first fourteen bits, which cost a quarter of a division or a root. The
// masks are there because g++ 12 wrongly warns of the intrinsics without.

MANYFOLD_INLINE Pack rough_quotient(const Pack& a, const Pack& b) {
  const __m512d estimate = _mm512_maskz_rcp14_pd(0xff, b.value());
  const __m512d quotient = _mm512_mul_pd(a.value(), estimate);
  const __m512d rest = _mm512_fnmadd_pd(b.value(), estimate, _mm512_set1_pd(1.0));
  // Of zero and infinity the estimate is exact, and the rest not a number.
  const __mmask8 usual = _mm512_cmp_pd_mask(rest, rest, _CMP_ORD_Q);
  return Pack(Pack::Register(_mm512_mask3_fmadd_pd(rest, quotient, quotient, usual)));
}

MANYFOLD_INLINE Pack rough_sqrt(const Pack& x) {
  const __m512d square = x.value();
  // Beyond these bounds only whether x is small or large counts.
  const __mmask8 usual = _mm512_cmp_pd_mask(square, _mm512_set1_pd(1e-290), _CMP_GE_OQ) &
                         _mm512_cmp_pd_mask(square, _mm512_set1_pd(1e290), _CMP_LE_OQ);
  const __m512d estimate = _mm512_maskz_rsqrt14_pd(0xff, square);
  const __m512d root = _mm512_mul_pd(square, estimate);
  const __m512d rest = _mm512_fnmadd_pd(root, estimate, _mm512_set1_pd(1.0));
  const __m512d better = _mm512_fmadd_pd(_mm512_mul_pd(root, _mm512_set1_pd(0.5)), rest, root);
  return Pack(Pack::Register(_mm512_mask_mov_pd(square, usual, better)));
}

template <int order>
MANYFOLD_INLINE Pack rough_root(const Pack& x) {
  if constexpr (order == 2) {
    return rough_sqrt(x);
  } else if constexpr (order == 4) {
    return rough_sqrt(rough_sqrt(x));
  } else {
    // The bits of a number, read as an integer, are 2^52 (log2 x + 1023 - 0.04), give or take a twenty-fifth. So three
    // iterations of Newton's method for y = x^(-1/order) are enough.
    constexpr double one = (1023.0 - 0.043) * 4503599627370496.0;
    const __m512d bits = _mm512_cvtepi64_pd(_mm512_castpd_si512(x.value()));
    const __m512d guess =
        _mm512_fmadd_pd(bits, _mm512_set1_pd(-1.0 / order), _mm512_set1_pd((1.0 + 1.0 / order) * one));
    Pack y{Pack::Register(_mm512_castsi512_pd(_mm512_cvtpd_epi64(guess)))};
    for (int iteration = 0; iteration < 3; ++iteration) {
      Pack power = y;
      for (int k = 1; k < order; ++k) power *= y;
      y += Pack(1.0 / order) * y * (Pack(1.0) - x * power);
    }
    Pack root = x;
    for (int k = 1; k < order; ++k) root *= y;
    return select((x >= Pack(1e-38)) & (x <= Pack(1e38)), root, x);
  }
}
#endif

#undef MANYFOLD_DEFINE_UNARY
#undef MANYFOLD_DEFINE_BINARY
#undef MANYFOLD_DEFINE_UNARY_OF
#undef MANYFOLD_DEFINE_BINARY_OF
#undef MANYFOLD_DOUBLE_MATH
#undef MANYFOLD_SINGLE_MATH

}  // namespace manyfold
