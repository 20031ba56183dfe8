// Instantiates the tensor-core prefill kernel for fp32 inputs, which it multiplies as tf32.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <int HeadDim, int TileQ, int TileKv>
Instance tiled() {
  using Tiling = PrefillMma<Float, float, HeadDim, TileQ, TileKv>;
  return instance<Tiling>("prefill_mma", true, prefill_mma<Tiling>);
}

}  // namespace

std::span<const Instance> prefill_mma_tf32_instances() {
  static const Instance all[] = {tiled<64, 64, 32>(), tiled<128, 64, 32>(), tiled<256, 32, 16>()};
  return all;
}

}  // namespace plumbline::attention
