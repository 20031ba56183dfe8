// The instances of the decode kernels and of prefill_simt. Each of these kernels is compiled for
// - Q, K and V in fp32, fp16 or bf16, with head dimensions 64, 128 and 256,
// - Q in fp16 or bf16 with K and V in fp8, with head dimensions 64 and 128.
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
