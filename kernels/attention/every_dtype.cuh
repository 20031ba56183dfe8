// The instances of a kernel that is compiled for every dtype of a tensor.
#pragma once

#include "kernels/attention/elements.cuh"
#include "kernels/attention/instances.h"

namespace plumbline::attention {

template <template <class, int> class Tiling, class KernelOf>
std::span<const Instance> every_dtype(const char* name, bool tensor_cores, KernelOf kernel_of) {
  return instances_of<Tiling<Float, 64>, Tiling<Float, 128>, Tiling<Float, 256>, Tiling<Half, 64>,
                      Tiling<Half, 128>, Tiling<Half, 256>, Tiling<BFloat16, 64>,
                      Tiling<BFloat16, 128>, Tiling<BFloat16, 256>, WithFp8<Tiling<Half, 64>>,
                      WithFp8<Tiling<Half, 128>>, WithFp8<Tiling<BFloat16, 64>>,
                      WithFp8<Tiling<BFloat16, 128>>>(name, tensor_cores, kernel_of);
}

}  // namespace plumbline::attention
