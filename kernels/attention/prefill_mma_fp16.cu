// Instantiates the tensor-core prefill kernel for fp16, with fp32 or fp16 accumulators.
#include "kernels/attention/instances.h"
#include "kernels/attention/prefill_mma.cuh"

namespace plumbline::attention {
namespace {

template <class Tiling>
Instance instance_of() {
  return instance<Tiling, typename Tiling::Accumulator>("prefill_mma", true, prefill_mma<Tiling>);
}
template <class Accumulator, int HeadDim, int TileKv>
Instance tiled() {
  return instance_of<PrefillMma<Half, Accumulator, HeadDim, 64, TileKv>>();
}
template <int HeadDim, int TileKv>
Instance with_fp8() {
  return instance_of<WithFp8<PrefillMma<Half, float, HeadDim, 64, TileKv>>>();
}

}  // namespace

std::span<const Instance> prefill_mma_fp16_instances() {
  static const Instance all[] = {
      tiled<float, 64, 64>(),  tiled<float, 64, 32>(),  tiled<float, 128, 64>(),
      tiled<float, 128, 32>(), tiled<float, 256, 32>(), tiled<Half, 64, 64>(),
      tiled<Half, 128, 64>(),  with_fp8<64, 64>(),      with_fp8<128, 64>()};
  return all;
}

}  // namespace plumbline::attention
