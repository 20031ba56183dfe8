// Instantiates the tensor-core decode kernel for each dtype and head dimension that is compiled.
#include "kernels/attention/decode_mma.cuh"
#include "kernels/attention/every_dtype.cuh"

namespace plumbline::attention {
namespace {

struct Family {
  static constexpr const char* name = "decode_mma";
  static constexpr bool tensor_cores = true;
  template <class Element, int HeadDim>
  using Tiling = DecodeMma<Element, HeadDim>;
  template <class Tiled>
  static auto kernel() {
    return decode_mma<Tiled>;
  }
};

}  // namespace

std::span<const Instance> decode_mma_instances() { return EveryDtype<Family>::instances(); }

}  // namespace plumbline::attention
