#pragma once
// The entry points that add up a batch on a device, and count and sort what is there. They are a program of their own,
// compiled without the contraction of products and sums, so that it gives what the host gives, to the last bit.
#include "ranks.hpp"
#include "sketch.hpp"
#include "sums.hpp"

extern "C" __global__ void manyfold_reduce(const manyfold::DeviceSums sums) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < sums.count) manyfold::reduce_instance(sums, i);
}

extern "C" __global__ void manyfold_add_up(const manyfold::DeviceSums sums) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < manyfold::threads_of_sums(sums)) manyfold::add_up(sums, thread);
}

extern "C" __global__ void manyfold_count_digits(const manyfold::DeviceDigits digits) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < digits.of.columns * digits.of.slices) manyfold::count_digits(digits, thread);
}

extern "C" __global__ void manyfold_count_bins(const manyfold::DeviceBins bins) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < bins.of.columns * bins.of.slices) manyfold::count_bins(bins, thread);
}

extern "C" __global__ void manyfold_sort_runs(const manyfold::DeviceRuns runs) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < manyfold::threads_that_sort(runs)) manyfold::sort_run(runs, thread);
}

extern "C" __global__ void manyfold_merge_runs(const manyfold::DeviceRuns runs) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < manyfold::threads_that_merge_runs(runs)) manyfold::merge_runs(runs, thread);
}

extern "C" __global__ void manyfold_count_summaries(const manyfold::DeviceRuns runs) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < manyfold::threads_that_count(runs)) manyfold::count_summary(runs, thread);
}

extern "C" __global__ void manyfold_merge_summaries(const manyfold::DeviceMerge merge) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < manyfold::threads_that_merge(merge)) manyfold::merge_summaries(merge, thread);
}
