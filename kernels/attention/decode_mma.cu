#include "kernels/attention/decode_mma.cuh"
#include "kernels/attention/instances.h"

namespace plumbline::attention {
namespace {

template <class Element, int HeadDim>
Instance tiled() {
  using Tiling = DecodeMma<Element, HeadDim>;
  return instance<Tiling>("decode_mma", true, decode_mma<Tiling>);
}

}  // namespace

std::span<const Instance> decode_mma_instances() {
  static const Instance all[] = {tiled<Float, 64>(),    tiled<Float, 128>(),    tiled<Float, 256>(),
                                 tiled<Half, 64>(),     tiled<Half, 128>(),     tiled<Half, 256>(),
                                 tiled<BFloat16, 64>(), tiled<BFloat16, 128>(), tiled<BFloat16, 256>()};
  return all;
}

}  // namespace plumbline::attention
