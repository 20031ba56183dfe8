// Instantiates the tensor-core prefill kernel for fp16, with fp32 or fp16 accumulators.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <class Accumulator, int HeadDim, int TileKv>
using Tiles = PrefillMma<Half, Accumulator, HeadDim, 64, TileKv>;

}  // namespace

std::span<const Instance> prefill_mma_fp16_instances() {
  return instances_of<Tiles<float, 64, 64>, Tiles<float, 64, 32>, Tiles<float, 128, 64>,
                      Tiles<float, 128, 32>, Tiles<float, 256, 32>, Tiles<Half, 64, 64>,
                      Tiles<Half, 128, 64>, WithFp8<Tiles<float, 64, 64>>,
                      WithFp8<Tiles<float, 128, 64>>>(
      "prefill_mma", true, []<class Tiled>(const Tiled*) { return prefill_mma<Tiled>; });
}

}  // namespace plumbline::attention
