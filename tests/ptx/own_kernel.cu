// An instance of our tensor-core prefill, which nvcc compiles to PTX.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {

template __global__ void prefill_mma<PrefillMma<BFloat16, float, 64, 64, 32>>(const Parameters);

}  // namespace plumbline::attention
