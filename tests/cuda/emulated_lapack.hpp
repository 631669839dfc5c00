#pragma once
// What the emulated cuBLAS and cuSOLVER have in common: LU with partial pivoting and triangular solves, as LAPACK and
// BLAS define them, and the streams of the emulated driver.
#include <cuda.h>

#include <cmath>
#include <complex>
#include <functional>
#include <utility>

/// Of the emulated driver: adds a task to a stream.
void add_task(CUstream stream, std::function<void()> task);
/// Of the emulated driver: notes that bytes have been written.
void initialise(CUdeviceptr to, std::size_t bytes);

namespace lapack {

/// LAPACK's measure of a pivot.
template <class Number>
auto size_of(const Number& x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

/// xGETRF of a square matrix by columns; pivots count from one.
template <class Number>
int factorize(int n, Number* a, int stride, int* pivots) {
  int info = 0;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (size_of(a[k * stride + i]) > size_of(a[k * stride + pivot])) pivot = i;
    }
    pivots[k] = pivot + 1;
    if (a[k * stride + pivot] == Number(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int j = 0; j < n; ++j) std::swap(a[j * stride + k], a[j * stride + pivot]);
    for (int i = k + 1; i < n; ++i) a[k * stride + i] /= a[k * stride + k];
    for (int j = k + 1; j < n; ++j) {
      for (int i = k + 1; i < n; ++i) a[j * stride + i] -= a[k * stride + i] * a[j * stride + k];
    }
  }
  return info;
}

/// xTRSM from the left, not transposed, with one right-hand side.
template <class Number>
void solve(bool lower, bool unit, int n, const Number* a, int stride, Number* b) {
  for (int step = 0; step < n; ++step) {
    const int k = lower ? step : n - 1 - step;
    if (!unit) b[k] /= a[k * stride + k];
    for (int i = lower ? k + 1 : 0; i < (lower ? n : k); ++i) b[i] -= a[k * stride + i] * b[k];
  }
}

}  // namespace lapack
