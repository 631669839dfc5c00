#pragma once
// Function qualifiers for code that g++, nvcc and NVRTC all compile.

#if defined(__CUDACC__)
#define MANYFOLD_INLINE __host__ __device__ __forceinline__
#define MANYFOLD_NOINLINE __host__ __device__ __noinline__
#else
#define MANYFOLD_INLINE inline __attribute__((always_inline))
#define MANYFOLD_NOINLINE __attribute__((noinline))
#endif
