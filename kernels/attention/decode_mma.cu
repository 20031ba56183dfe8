// Instantiates the tensor-core decode kernel for each compiled dtype and head dimension.
#include "kernels/attention/decode_mma.cuh"
#include "kernels/attention/every_dtype.cuh"

namespace plumbline::attention {

std::span<const Instance> decode_mma_instances() {
  return every_dtype<DecodeMma>("decode_mma", true,
                                []<class Tiled>(const Tiled*) { return decode_mma<Tiled>; });
}

}  // namespace plumbline::attention
