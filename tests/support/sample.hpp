#pragma once
// What tests take of many cases alike: all at night (the preset `nightly`), a fixed sample else, since every kernel
// compiles for some seconds.
#include <cstddef>
#include <string_view>
#include <vector>

/// A test at night; by day its kernels are not compiled.
#ifdef MANYFOLD_NIGHTLY
#define NIGHTLY_TEST(suite, name) TEST(suite, name)
#else
#define NIGHTLY_TEST(suite, name) \
  template <int>                  \
  void suite##_##name()
#endif

namespace manyfold::test {

/// With which one of several cases alike a sample begins, by a name.
constexpr std::size_t sum_of_letters(std::string_view text) {
  std::size_t sum = 0;
  for (const char letter : text) sum += static_cast<unsigned char>(letter);
  return sum;
}

#ifdef MANYFOLD_NIGHTLY
inline constexpr bool nightly = true;
#else
inline constexpr bool nightly = false;
#endif

/// Is case k one of the sample that begins with case `first` and has every `stride`th one?
constexpr bool is_sampled(std::size_t k, std::size_t first, std::size_t stride) {
  return nightly || k % stride == first;
}

/// Every other one of the cases, or every `stride`th, or all at night.
template <class Case>
std::vector<Case> sampled(const std::vector<Case>& cases, std::size_t stride = 2) {
  std::vector<Case> sample;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (is_sampled(k, 0, stride)) sample.push_back(cases[k]);
  }
  return sample;
}

}  // namespace manyfold::test
