// Instantiates the CUDA-core decode kernel for each dtype and head dimension that is compiled.
#include "kernels/attention/decode_simt.cuh"
#include "kernels/attention/every_dtype.cuh"

namespace plumbline::attention {
namespace {

struct Family {
  static constexpr const char* name = "decode_simt";
  static constexpr bool tensor_cores = false;
  template <class Element, int HeadDim>
  using Tiling = DecodeSimt<Element, HeadDim>;
  template <class Tiled>
  static auto kernel() {
    return decode_simt<Tiled>;
  }
};

}  // namespace

std::span<const Instance> decode_simt_instances() { return EveryDtype<Family>::instances(); }

}  // namespace plumbline::attention
