// Instantiates the CUDA-core prefill kernel for each compiled dtype and head dimension.
#include "kernels/attention/every_dtype.cuh"
#include "kernels/attention/prefill_simt.cuh"

namespace plumbline::attention {

std::span<const Instance> prefill_simt_instances() {
  return every_dtype<PrefillSimt>("prefill_simt", false,
                                  []<class Tiled>(const Tiled*) { return prefill_simt<Tiled>; });
}

}  // namespace plumbline::attention
