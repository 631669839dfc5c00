#pragma once
// std::int8_t and std::int64_t, also for NVRTC, which has no standard library.

#if defined(__CUDACC_RTC__)
namespace std {
using int8_t = signed char;
using int64_t = long;
}  // namespace std
#else
#include <cstdint>
#endif
