#pragma once
// Function qualifiers, and what of <type_traits> kernels need, for code that g++, nvcc and NVRTC all compile.

// INLINE: always. NOINLINE: never; for rare work on memory of its own. RARE: the same, and on a CPU in code that is
// short rather than fast, which compiles in a fraction of the time. OUTLINE: out of line on a CPU, where rare code
// should not crowd the rest; inline on a GPU, where a call would force the state of the thread from registers to
// memory. FLAT: out of line on a CPU, with all that it calls inside, so that the compiler sees what is not used.
#if defined(__CUDACC__)
#define MANYFOLD_INLINE __host__ __device__ __forceinline__
#define MANYFOLD_NOINLINE __host__ __device__ __noinline__
#define MANYFOLD_RARE __host__ __device__ __noinline__
#define MANYFOLD_OUTLINE __host__ __device__ __forceinline__
#define MANYFOLD_FLAT __host__ __device__ __forceinline__
#else
#if defined(MANYFOLD_COMPILE_BRIEFLY)
// Where a program is compiled for longer than it runs: the compiler's own judgement makes less code.
#define MANYFOLD_INLINE inline
#define MANYFOLD_FLAT __attribute__((noinline))
#elif defined(MANYFOLD_LARGE_MODEL)
// The equations take the time of a step, and what is put in again and again takes that of the compiler.
#define MANYFOLD_INLINE inline
#define MANYFOLD_FLAT __attribute__((noinline, flatten))
#else
#define MANYFOLD_INLINE inline __attribute__((always_inline))
#define MANYFOLD_FLAT __attribute__((noinline, flatten))
#endif
#define MANYFOLD_NOINLINE __attribute__((noinline))
#define MANYFOLD_RARE __attribute__((noinline, cold))
#define MANYFOLD_OUTLINE __attribute__((noinline))
#endif

namespace manyfold {

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

/// A if `first`, else B.
template <bool first, class A, class B>
struct Either {
  using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using type = B;
};

/// Holds the place of what a kernel has no use for.
struct None {};

}  // namespace manyfold
