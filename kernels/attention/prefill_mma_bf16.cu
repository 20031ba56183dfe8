// Instantiates the tensor-core prefill kernel for bf16, with K and V in bf16 or fp8.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <class Tiling>
Instance instance_of() {
  return instance<Tiling>("prefill_mma", true, prefill_mma<Tiling>);
}
template <int HeadDim, int TileKv>
Instance tiled() {
  return instance_of<PrefillMma<BFloat16, float, HeadDim, 64, TileKv>>();
}
template <int HeadDim, int TileKv>
Instance with_fp8() {
  return instance_of<WithFp8<PrefillMma<BFloat16, float, HeadDim, 64, TileKv>>>();
}

}  // namespace

std::span<const Instance> prefill_mma_bf16_instances() {
  static const Instance all[] = {tiled<64, 64>(),    tiled<64, 32>(),  tiled<128, 64>(),
                                 tiled<128, 32>(),   tiled<256, 32>(), with_fp8<64, 64>(),
                                 with_fp8<128, 64>()};
  return all;
}

}  // namespace plumbline::attention
