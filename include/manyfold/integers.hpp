#pragma once
// Integers of known size, also for NVRTC, which has no standard library.

#if defined(__CUDACC_RTC__)
namespace std {
using int8_t = signed char;
using int64_t = long;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
}  // namespace std
#else
#include <cstdint>
#endif
