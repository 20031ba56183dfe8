// Instantiates the tensor-core prefill kernel for bf16, with K and V in bf16 or fp8.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <int HeadDim, int TileKv>
using Tiles = PrefillMma<BFloat16, float, HeadDim, 64, TileKv>;

}  // namespace

std::span<const Instance> prefill_mma_bf16_instances() {
  return instances_of<Tiles<64, 64>, Tiles<64, 32>, Tiles<128, 64>, Tiles<128, 32>, Tiles<256, 32>,
                      WithFp8<Tiles<64, 64>>, WithFp8<Tiles<128, 64>>>(
      "prefill_mma", true, []<class Tiled>(const Tiled*) { return prefill_mma<Tiled>; });
}

}  // namespace plumbline::attention
