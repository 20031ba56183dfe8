#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <int HeadDim, int TileKv>
Instance tiled() {
  using Tiling = PrefillMma<BFloat16, float, HeadDim, 64, TileKv>;
  return instance<Tiling>("prefill_mma", true, prefill_mma<Tiling>);
}

}  // namespace

std::span<const Instance> prefill_mma_bf16_instances() {
  static const Instance all[] = {tiled<64, 64>(), tiled<64, 32>(), tiled<128, 64>(), tiled<128, 32>(), tiled<256, 32>()};
  return all;
}

}  // namespace plumbline::attention
