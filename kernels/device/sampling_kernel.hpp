#pragma once
// The entry point that fills the inputs of a batch on a device. It is a program of its own, compiled without the
// contraction of products and sums, so that it gives what the host gives, to the last bit.
#include "sampling.hpp"

extern "C" __global__ void manyfold_sample(const manyfold::InputPlan plan, const manyfold::DeviceInputs inputs,
                                           long first, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) manyfold::sample_instance(plan, inputs, first, i);
}
