// What the lanes of a warp do together.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/attention/simt.h"
#include "kernels/emulator/launch.h"

namespace plumbline {
namespace {

using emulator::launch;
using emulator::LaunchOptions;

// Sums of each block's `blockDim.x` values: within warps by shuffles, then one warp over the warps' sums.
struct SumParameters {
  const float* in;
  float* out;
};

__global__ void block_sum(SumParameters p) {
  auto* const sums = reinterpret_cast<float*>(simt::dynamic_shared());
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = p.in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    float total = lane < blockDim.x / 32 ? sums[lane] : 0.0F;
    for (unsigned step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffU, total, step);
    if (lane == 0) p.out[blockIdx.x] = total;
  }
}

TEST(Simt, BlocksSumWithShuffles) {
  std::vector<float> in(7 * 1024), out(7, -1);
  std::iota(in.begin(), in.end(), 0.0F);
  ASSERT_EQ(launch({}, {7}, {1024}, 32 * sizeof(float), block_sum, {in.data(), out.data()}), "");
  for (unsigned block = 0; block < 7; ++block) EXPECT_EQ(out[block], 1024.0F * 1024 * static_cast<float>(block) + 1023.0F * 512) << block;
}

}  // namespace
}  // namespace plumbline
