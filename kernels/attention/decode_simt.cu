// Instantiates the CUDA-core decode kernel for each dtype and head dimension that is compiled.
#include "kernels/attention/decode_simt.cuh"
#include "kernels/attention/instances.h"

namespace plumbline::attention {
namespace {

template <class Tiling>
Instance tiled() {
  return instance<Tiling>("decode_simt", false, decode_simt<Tiling>);
}
template <class Element, int HeadDim>
Instance of() {
  return tiled<DecodeSimt<Element, HeadDim>>();
}
template <class Element, int HeadDim>
Instance of_fp8() {
  return tiled<WithFp8<DecodeSimt<Element, HeadDim>>>();
}

}  // namespace

std::span<const Instance> decode_simt_instances() {
  static const Instance all[] = {
      of<Float, 64>(),        of<Float, 128>(),   of<Float, 256>(),    of<Half, 64>(),
      of<Half, 128>(),        of<Half, 256>(),    of<BFloat16, 64>(),  of<BFloat16, 128>(),
      of<BFloat16, 256>(),    of_fp8<Half, 64>(), of_fp8<Half, 128>(), of_fp8<BFloat16, 64>(),
      of_fp8<BFloat16, 128>()};
  return all;
}

}  // namespace plumbline::attention
