// Instantiates the CUDA-core prefill kernel for each dtype and head dimension that is compiled.
#include "kernels/attention/every_dtype.cuh"
#include "kernels/attention/prefill_simt.cuh"

namespace plumbline::attention {
namespace {

struct Family {
  static constexpr const char* name = "prefill_simt";
  static constexpr bool tensor_cores = false;
  template <class Element, int HeadDim>
  using Tiling = PrefillSimt<Element, HeadDim>;
  template <class Tiled>
  static auto kernel() {
    return prefill_simt<Tiled>;
  }
};

}  // namespace

std::span<const Instance> prefill_simt_instances() { return EveryDtype<Family>::instances(); }

}  // namespace plumbline::attention
