// Instantiates the tensor-core prefill kernel for fp32 inputs, which are multiplied as tf32.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <int HeadDim, int TileQ, int TileKv>
using Tiles = PrefillMma<Float, float, HeadDim, TileQ, TileKv>;

}  // namespace

std::span<const Instance> prefill_mma_tf32_instances() {
  return instances_of<Tiles<64, 64, 32>, Tiles<128, 64, 32>, Tiles<256, 32, 16>>(
      "prefill_mma", true, []<class Tiled>(const Tiled*) { return prefill_mma<Tiled>; });
}

}  // namespace plumbline::attention
