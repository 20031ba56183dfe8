// Replaces PyTorch's header of this name. FlashAttention-2 needs the type and the unpacking of its
// random state for dropout, which no kernel here has.
#pragma once

#include <cstdint>
#include <tuple>

namespace at {

struct PhiloxCudaState {};

namespace cuda::philox {
#ifdef __CUDACC__
__host__ __device__
#endif
    inline std::tuple<std::uint64_t, std::uint64_t>
    unpack(PhiloxCudaState) {
  return {0, 0};
}
}  // namespace cuda::philox

}  // namespace at
