// Instantiates the CUDA-core decode kernel for each compiled dtype and head dimension.
#include "kernels/attention/decode_simt.cuh"
#include "kernels/attention/every_dtype.cuh"

namespace plumbline::attention {

std::span<const Instance> decode_simt_instances() {
  return every_dtype<DecodeSimt>("decode_simt", false,
                                 []<class Tiled>(const Tiled*) { return decode_simt<Tiled>; });
}

}  // namespace plumbline::attention
