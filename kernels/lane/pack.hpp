#pragma once
// A lane of W instances: one SIMD register of the widest instruction set this translation unit is compiled for.
// Registers and operators come from xsimd, the elementary functions from glibc's libmvec (2 to 5 times faster at 1-4
// ulp, and a lane's result does not depend on the others).
#include <xsimd/xsimd.hpp>

#include "scalar.hpp"

namespace manyfold {

#if defined(__AVX512F__)
using PackArchitecture = xsimd::avx512dq;
#elif defined(__AVX2__)
using PackArchitecture = xsimd::fma3<xsimd::avx2>;
#else
using PackArchitecture = xsimd::sse2;
#endif

class PackMask {
 public:
  using Register = xsimd::batch_bool<double, PackArchitecture>;
  PackMask() = default;
  MANYFOLD_INLINE PackMask(bool value) : value_(value) {}
  MANYFOLD_INLINE explicit PackMask(Register value) : value_(value) {}
  MANYFOLD_INLINE Register value() const { return value_; }

  friend MANYFOLD_INLINE PackMask operator&(PackMask a, PackMask b) { return PackMask(a.value_ & b.value_); }
  friend MANYFOLD_INLINE PackMask operator|(PackMask a, PackMask b) { return PackMask(a.value_ | b.value_); }
  friend MANYFOLD_INLINE PackMask operator!(PackMask a) { return PackMask(~a.value_); }
  friend MANYFOLD_INLINE PackMask operator&&(PackMask a, PackMask b) { return a & b; }
  friend MANYFOLD_INLINE PackMask operator||(PackMask a, PackMask b) { return a | b; }

 private:
  Register value_;
};

class Pack {
 public:
  using Register = xsimd::batch<double, PackArchitecture>;
  static constexpr int width = static_cast<int>(Register::size);

  Pack() = default;
  MANYFOLD_INLINE Pack(double value) : value_(value) {}
  MANYFOLD_INLINE explicit Pack(Register value) : value_(value) {}
  MANYFOLD_INLINE Register value() const { return value_; }

  friend MANYFOLD_INLINE Pack operator+(Pack a, Pack b) { return Pack(a.value_ + b.value_); }
  friend MANYFOLD_INLINE Pack operator-(Pack a, Pack b) { return Pack(a.value_ - b.value_); }
  friend MANYFOLD_INLINE Pack operator*(Pack a, Pack b) { return Pack(a.value_ * b.value_); }
  friend MANYFOLD_INLINE Pack operator/(Pack a, Pack b) { return Pack(a.value_ / b.value_); }
  friend MANYFOLD_INLINE Pack operator-(Pack a) { return Pack(-a.value_); }
  friend MANYFOLD_INLINE Pack operator+(Pack a) { return a; }
  MANYFOLD_INLINE Pack& operator+=(Pack other) { return *this = *this + other; }
  MANYFOLD_INLINE Pack& operator-=(Pack other) { return *this = *this - other; }
  MANYFOLD_INLINE Pack& operator*=(Pack other) { return *this = *this * other; }
  MANYFOLD_INLINE Pack& operator/=(Pack other) { return *this = *this / other; }

  friend MANYFOLD_INLINE PackMask operator<(Pack a, Pack b) { return PackMask(a.value_ < b.value_); }
  friend MANYFOLD_INLINE PackMask operator<=(Pack a, Pack b) { return PackMask(a.value_ <= b.value_); }
  friend MANYFOLD_INLINE PackMask operator>(Pack a, Pack b) { return PackMask(a.value_ > b.value_); }
  friend MANYFOLD_INLINE PackMask operator>=(Pack a, Pack b) { return PackMask(a.value_ >= b.value_); }
  friend MANYFOLD_INLINE PackMask operator==(Pack a, Pack b) { return PackMask(a.value_ == b.value_); }
  friend MANYFOLD_INLINE PackMask operator!=(Pack a, Pack b) { return PackMask(a.value_ != b.value_); }

 private:
  Register value_;
};

template <>
struct LaneTraits<Pack> {
  using Mask = PackMask;
  using Count = Pack;
  static constexpr int width = Pack::width;
  // Memory is the portable way to one element; the compiler turns it into an insert or extract where it pays.
  static MANYFOLD_INLINE double get(const Pack& pack, int lane) {
    return reinterpret_cast<const Element*>(&pack)[lane];
  }
  static MANYFOLD_INLINE void set(Pack& pack, int lane, double to) { reinterpret_cast<Element*>(&pack)[lane] = to; }
  static MANYFOLD_INLINE bool test(const PackMask& mask, int lane) {
    return get(Pack(xsimd::select(mask.value(), Pack(1.0).value(), Pack(0.0).value())), lane) != 0.0;
  }
  /// The mask that holds lane `lane` alone.
  static MANYFOLD_INLINE PackMask only(int lane) {
    Pack position(0.0);
    set(position, lane, 1.0);
    return position == Pack(1.0);
  }

 private:
  using Element = double __attribute__((may_alias));
};

MANYFOLD_INLINE bool any(PackMask mask) {
  return xsimd::any(mask.value());
}
MANYFOLD_INLINE bool all(PackMask mask) {
  return xsimd::all(mask.value());
}
MANYFOLD_INLINE Pack select(PackMask mask, Pack if_true, Pack if_false) {
  return Pack(xsimd::select(mask.value(), if_true.value(), if_false.value()));
}

MANYFOLD_INLINE int count(PackMask mask) {
  return static_cast<int>(xsimd::hadd(select(mask, Pack(1.0), Pack(0.0)).value()));
}

// `b` where either is not a number, as the scalar versions.
MANYFOLD_INLINE Pack min(Pack a, Pack b) {
  return select(b < a, b, a);
}
MANYFOLD_INLINE Pack max(Pack a, Pack b) {
  return select(a < b, b, a);
}
MANYFOLD_INLINE Pack abs(Pack a) {
  return Pack(xsimd::abs(a.value()));
}
MANYFOLD_INLINE Pack sqrt(Pack a) {
  return Pack(xsimd::sqrt(a.value()));
}
MANYFOLD_INLINE Pack square(Pack a) {
  return a * a;
}
MANYFOLD_INLINE PackMask is_finite(Pack a) {
  return a - a == Pack(0.0);
}

#if defined(__AVX512F__)
#define MANYFOLD_VECTOR_MATH(name) _ZGVeN8v_##name
#define MANYFOLD_VECTOR_MATH2(name) _ZGVeN8vv_##name
#elif defined(__AVX2__)
#define MANYFOLD_VECTOR_MATH(name) _ZGVdN4v_##name
#define MANYFOLD_VECTOR_MATH2(name) _ZGVdN4vv_##name
#else
#define MANYFOLD_VECTOR_MATH(name) _ZGVbN2v_##name
#define MANYFOLD_VECTOR_MATH2(name) _ZGVbN2vv_##name
#endif

#define MANYFOLD_DEFINE_UNARY(name)                                                                   \
  extern "C" Pack::Register::register_type MANYFOLD_VECTOR_MATH(name)(Pack::Register::register_type); \
  MANYFOLD_INLINE Pack name(Pack x) {                                                                 \
    return Pack(Pack::Register(MANYFOLD_VECTOR_MATH(name)(x.value())));                               \
  }
#define MANYFOLD_DEFINE_BINARY(name)                                                                   \
  extern "C" Pack::Register::register_type MANYFOLD_VECTOR_MATH2(name)(Pack::Register::register_type,  \
                                                                       Pack::Register::register_type); \
  MANYFOLD_INLINE Pack name(Pack x, Pack y) {                                                          \
    return Pack(Pack::Register(MANYFOLD_VECTOR_MATH2(name)(x.value(), y.value())));                    \
  }

MANYFOLD_DEFINE_UNARY(acos)
MANYFOLD_DEFINE_UNARY(asin)
MANYFOLD_DEFINE_UNARY(atan)
MANYFOLD_DEFINE_UNARY(cbrt)
MANYFOLD_DEFINE_UNARY(cos)
MANYFOLD_DEFINE_UNARY(cosh)
MANYFOLD_DEFINE_UNARY(exp)
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

#undef MANYFOLD_DEFINE_UNARY
#undef MANYFOLD_DEFINE_BINARY
#undef MANYFOLD_VECTOR_MATH
#undef MANYFOLD_VECTOR_MATH2

}  // namespace manyfold
