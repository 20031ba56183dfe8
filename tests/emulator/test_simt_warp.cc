// Collectives of a warp: shuffles, votes, ldmatrix, mma.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::Arch;
using emulator::launch;
using emulator::LaunchOptions;
using emulator::Schedule;

constexpr unsigned everyone = 0xffffffffU;
constexpr Schedule schedules[] = {Schedule::in_order, Schedule::reversed, Schedule::random};

// Sums each block's `blockDim.x` values: within warps by shuffles, then one warp sums the warps'
// results.
struct SumParameters {
  const float* in;
  float* out;
};

__global__ void block_sum(SumParameters p) {
  auto* const sums = reinterpret_cast<float*>(simt::dynamic_shared());
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = p.in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(everyone, sum, step);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    float total = lane < blockDim.x / 32 ? sums[lane] : 0.0F;
    for (unsigned step = 16; step > 0; step /= 2) total += __shfl_down_sync(everyone, total, step);
    if (lane == 0) p.out[blockIdx.x] = total;
  }
}

TEST(SimtWarp, BlocksOf1024SumWithShuffles) {
  std::vector<float> in(7 * 1024);
  std::iota(in.begin(), in.end(), 0.0F);
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    std::vector<float> out(7, -1);
    ASSERT_EQ(launch(options, {7}, {1024}, 32 * sizeof(float), block_sum, {in.data(), out.data()}),
              "");
    for (unsigned block = 0; block < 7; ++block)
      EXPECT_EQ(out[block], 1024.0F * 1024 * static_cast<float>(block) + 1023.0F * 512) << block;
  }
}

// The lane that each lane read from, for every kind of shuffle: [lane, kind].
struct ShuffleParameters {
  int operand, width;
  int* out;
};

__global__ void shuffle_kinds(ShuffleParameters p) {
  const auto lane = static_cast<int>(threadIdx.x);
  p.out[lane * 4] = __shfl_sync(everyone, lane, p.operand, p.width);
  p.out[lane * 4 + 1] = __shfl_up_sync(everyone, lane, static_cast<unsigned>(p.operand), p.width);
  p.out[lane * 4 + 2] = __shfl_down_sync(everyone, lane, static_cast<unsigned>(p.operand), p.width);
  p.out[lane * 4 + 3] = __shfl_xor_sync(everyone, lane, p.operand, p.width);
}

TEST(SimtWarp, ShufflesReadLaneDefinedByPtx) {
  std::vector<int> out(32 * 4);
  const auto from = [&](int lane, int kind) {
    return out[static_cast<std::size_t>(lane * 4 + kind)];
  };
  for (const int width : {8, 16, 32}) {
    for (const int operand : {0, 1, 5}) {
      ASSERT_EQ(launch({}, {1}, {32}, 0, shuffle_kinds, {operand, width, out.data()}), "");
      for (int lane = 0; lane < 32; ++lane) {
        const int segment = lane / width * width, in_segment = lane % width;
        EXPECT_EQ(from(lane, 0), segment + operand);
        EXPECT_EQ(from(lane, 1), in_segment >= operand ? lane - operand : lane);
        EXPECT_EQ(from(lane, 2), in_segment + operand < width ? lane + operand : lane);
        EXPECT_EQ(from(lane, 3), lane ^ operand);
      }
    }
  }
  // xor beyond the segment: earlier lanes can be read, later ones cannot.
  ASSERT_EQ(launch({}, {1}, {32}, 0, shuffle_kinds, {8, 8, out.data()}), "");
  EXPECT_EQ(from(9, 3), 1);
  EXPECT_EQ(from(1, 3), 1);
}

// All types, with negative numbers and all 64 bits.
__global__ void shuffle_types(double* out) {
  const auto lane = static_cast<int>(threadIdx.x);
  const double d = __shfl_xor_sync(everyone, 1.0 + lane * 0x1p-50, 1);
  const float f = __shfl_xor_sync(everyone, -0.5F * static_cast<float>(lane), 1);
  const int i = __shfl_xor_sync(everyone, -lane, 1);
  const unsigned u = __shfl_xor_sync(everyone, 0xfffffff0U + threadIdx.x % 2, 1);
  out[lane] = d == 1.0 + (lane ^ 1) * 0x1p-50 && f == -0.5F * static_cast<float>(lane ^ 1) &&
                      i == -(lane ^ 1) && u == 0xfffffff0U + (threadIdx.x ^ 1U) % 2
                  ? 1
                  : 0;
}

TEST(SimtWarp, ShufflesKeepEveryBitOfEveryType) {
  std::vector<double> out(32);
  ASSERT_EQ(launch({}, {1}, {32}, 0, shuffle_types, out.data()), "");
  EXPECT_EQ(out, std::vector<double>(32, 1.0));
}

// The halves of a warp diverge, at different places and different numbers of times, and vote.
__global__ void diverged_votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned sum = lane;
  if (lane < 16) {
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0x0000ffffU, sum, step);
    out[lane] = __ballot_sync(0x0000ffffU, lane % 3 == 0);
  } else {
    sum += __shfl_xor_sync(0xffff0000U, sum, 1);
    out[lane] = static_cast<unsigned>(__any_sync(0xffff0000U, lane == 20)) +
                2 * static_cast<unsigned>(__all_sync(0xffff0000U, lane != 20)) +
                4 * static_cast<unsigned>(__all_sync(0xffff0000U, lane >= 16));
  }
  __syncwarp();
  out[32 + lane] = sum;
}

TEST(SimtWarp, HalvesOfAWarpMayDiverge) {
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    std::vector<unsigned> out(64);
    ASSERT_EQ(launch(options, {1}, {32}, 0, diverged_votes, out.data()), "");
    for (unsigned lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(out[lane], lane < 16 ? 0b1001001001001001U : 5U);
      EXPECT_EQ(out[32 + lane], lane < 16 ? 120U : lane + (lane ^ 1U));
    }
  }
}

// Element [row][column] of a 16-bit matrix in shared memory is 100 row + column; the four matrices
// are its 8 x 8 quarters.
__global__ void load_quarters(std::uint32_t* out) {
  auto* const tile = reinterpret_cast<std::uint16_t*>(simt::dynamic_shared());  // [16][16]
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32)
    tile[i] = static_cast<std::uint16_t>(100 * (i / 16) + i % 16);
  __syncwarp();
  // matrices: top left, bottom left, top right, bottom right
  const std::uint16_t* const row = tile + (lane % 16) * 16 + lane / 16 * 8;
  std::uint32_t r[4], t[4];
  simt::ldmatrix_x4(r, row);
  simt::ldmatrix_x4_trans(t, row);
  for (unsigned i = 0; i < 4; ++i) {
    out[lane * 8 + i] = r[i];
    out[lane * 8 + 4 + i] = t[i];
  }
}

TEST(SimtWarp, LdmatrixLaysOutFragments) {
  std::vector<std::uint32_t> out(32 * 8);
  ASSERT_EQ(launch({}, {1}, {32}, 512, load_quarters, out.data()), "");
  const auto pair = [](unsigned low, unsigned high) { return low | high << 16U; };
  // Computed by hand for lane 13: row 3 and columns 2, 3 of each quarter; transposed: rows 2, 3 and
  // column 3.
  EXPECT_EQ(out[13 * 8 + 0], pair(302, 303));
  EXPECT_EQ(out[13 * 8 + 1], pair(1102, 1103));
  EXPECT_EQ(out[13 * 8 + 2], pair(310, 311));
  EXPECT_EQ(out[13 * 8 + 3], pair(1110, 1111));
  EXPECT_EQ(out[13 * 8 + 4], pair(203, 303));
  EXPECT_EQ(out[13 * 8 + 5], pair(1003, 1103));
  EXPECT_EQ(out[13 * 8 + 6], pair(211, 311));
  EXPECT_EQ(out[13 * 8 + 7], pair(1011, 1111));
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane * 8],
              pair(100 * (lane / 4) + 2 * (lane % 4), 100 * (lane / 4) + 2 * (lane % 4) + 1));
    EXPECT_EQ(out[lane * 8 + 4],
              pair(200 * (lane % 4) + lane / 4, 200 * (lane % 4) + 100 + lane / 4));
  }
}

// D = A B + D twice, with registers as loaded from memory.
struct MmaParameters {
  const std::uint32_t *a, *b;  // [lane, register]
  std::uint32_t* d;            // [instruction, lane, 4]
};

__global__ void every_mma(MmaParameters p) {
  const unsigned lane = threadIdx.x;
  std::uint32_t a[4], b[2];
  for (unsigned i = 0; i < 4; ++i) a[i] = p.a[lane * 4 + i];
  for (unsigned i = 0; i < 2; ++i) b[i] = p.b[lane * 2 + i];
  const auto store = [&](unsigned instruction, const float(&d)[4]) {
    for (unsigned i = 0; i < 4; ++i) p.d[(instruction * 32 + lane) * 4 + i] = __float_as_uint(d[i]);
  };
  float f16[4]{}, bf16[4]{}, tf32[4]{}, e4m3[4]{}, e5m2[4]{};
  std::uint32_t half[2]{};
  for (int step = 0; step < 2; ++step) {
    simt::mma_f16(f16, a, b);
    simt::mma_f16(half, a, b);
    simt::mma_bf16(bf16, a, b);
    simt::mma_tf32(tf32, a, b);
    simt::mma_e4m3(e4m3, a, b);
    simt::mma_e5m2(e5m2, a, b);
  }
  store(0, f16);
  store(1, bf16);
  store(2, tf32);
  store(3, e4m3);
  store(4, e5m2);
  for (unsigned i = 0; i < 2; ++i) p.d[(5 * 32 + lane) * 4 + i] = half[i];
}

TEST(SimtWarp, MmaMatchesArchitectureModel) {
  using emulator::MmaAccumulator;
  using emulator::MmaFormat;
  using emulator::MmaInstruction;
  std::vector<std::uint32_t> a(128), b(64);
  std::uint32_t state = 1;
  for (auto* values : {&a, &b}) {
    // no NaN in any format
    for (std::uint32_t& value : *values)
      value = (state = state * 1664525 + 1013904223) & 0xbbbbbbbbU;
  }
  const MmaInstruction instructions[] = {
      {MmaFormat::f16, MmaAccumulator::f32, 16},  {MmaFormat::bf16, MmaAccumulator::f32, 16},
      {MmaFormat::tf32, MmaAccumulator::f32, 8},  {MmaFormat::e4m3, MmaAccumulator::f32, 32},
      {MmaFormat::e5m2, MmaAccumulator::f32, 32}, {MmaFormat::f16, MmaAccumulator::f16, 16}};
  for (const Arch arch : {Arch::sm_89, Arch::sm_90, Arch::sm_100}) {
    LaunchOptions options;
    options.arch = arch;
    std::vector<std::uint32_t> d(6 * 128);
    ASSERT_EQ(launch(options, {1}, {32}, 0, every_mma, {a.data(), b.data(), d.data()}), "");
    for (unsigned i = 0; i < 6; ++i) {
      std::vector<std::uint32_t> expected(128);
      for (int step = 0; step < 2; ++step) {
        emulator::mma_sync_exact(arch, instructions[i], a.data(), b.data(), expected.data(),
                                 expected.data());
      }
      const std::size_t registers = i == 5 ? 2 : 4;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        for (std::size_t r = 0; r < registers; ++r)
          EXPECT_EQ(d[(i * 32 + lane) * 4 + r], expected[lane * registers + r]) << i << ' ' << lane;
      }
    }
  }
}

// C [64, 64] = A [64, K] B [64, K]^T in bf16, four warps of 16 rows: ldmatrix from shared memory, B
// also as [K, 64] through .trans.
struct MatmulParameters {
  const std::uint16_t *a, *b, *b_transposed;
  float *c, *c_transposed;
  int k;
};

__global__ void matmul(MatmulParameters p) {
  auto* const a = reinterpret_cast<std::uint16_t*>(simt::dynamic_shared());  // [64][16] of A
  auto* const b = a + 64 * 16;                                               // [64][16] of B
  auto* const bt = b + 64 * 16;                                              // [16][64] of B^T
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32, warp = thread / 32;
  float c[8][4]{}, ct[8][4]{};  // [16, 8] each
  for (int k = 0; k < p.k; k += 16) {
    simt::cp_async_16(a + thread * 8, p.a + thread / 2 * p.k + k + thread % 2 * 8, true);
    simt::cp_async_16(b + thread * 8, p.b + thread / 2 * p.k + k + thread % 2 * 8, true);
    simt::cp_async_16(bt + thread * 8, p.b_transposed + (k + thread / 8) * 64 + thread % 8 * 8,
                      true);
    simt::cp_async_commit();
    simt::cp_async_wait<0>();
    __syncthreads();
    std::uint32_t fragment_a[4];
    simt::ldmatrix_x4(fragment_a, a + (warp * 16 + lane % 16) * 16 + lane / 16 * 8);
    for (int n = 0; n < 64; n += 16) {  // two tiles of 8 columns
      std::uint32_t r[4], t[4];
      simt::ldmatrix_x4(r, b + (n + lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8);
      simt::ldmatrix_x4_trans(t, bt + (lane % 16) * 64 + n + lane / 16 * 8);
      const std::uint32_t low[2] = {r[0], r[1]}, high[2] = {r[2], r[3]}, low_t[2] = {t[0], t[1]},
                          high_t[2] = {t[2], t[3]};
      simt::mma_bf16(c[n / 8], fragment_a, low);
      simt::mma_bf16(c[n / 8 + 1], fragment_a, high);
      simt::mma_bf16(ct[n / 8], fragment_a, low_t);
      simt::mma_bf16(ct[n / 8 + 1], fragment_a, high_t);
    }
    __syncthreads();
  }
  for (int n = 0; n < 8; ++n) {
    for (int i = 0; i < 4; ++i) {
      const int row = warp * 16 + lane / 4 + i / 2 * 8, column = n * 8 + lane % 4 * 2 + i % 2;
      p.c[row * 64 + column] = c[n][i];
      p.c_transposed[row * 64 + column] = ct[n][i];
    }
  }
}

TEST(SimtWarp, MatrixProductThroughFragments) {
  constexpr int k = 48;
  std::vector<std::uint16_t> a(64 * k), b(64 * k), b_transposed(64 * k);
  std::uint32_t state = 7;
  for (auto* values : {&a, &b}) {
    for (std::uint16_t& value : *values)
      value = static_cast<std::uint16_t>((state = state * 1664525 + 1013904223) >> 16U & 0xbfffU);
  }
  for (std::size_t n = 0; n < 64; ++n) {
    for (std::size_t j = 0; j < k; ++j) b_transposed[j * 64 + n] = b[n * k + j];
  }
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    std::vector<float> c(64 * 64), ct(64 * 64);
    ASSERT_EQ(launch(options, {1}, {128}, 3 * 2048, matmul,
                     {a.data(), b.data(), b_transposed.data(), c.data(), ct.data(), k}),
              "");
    const auto model = emulator::model(
        Arch::sm_90, {emulator::MmaFormat::bf16, emulator::MmaAccumulator::f32, 16});
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t column = 0; column < 64; ++column) {
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < k; j += 16) {
          std::uint32_t x[16], y[16];
          for (std::size_t i = 0; i < 16; ++i) {
            x[i] = a[row * k + j + i];
            y[i] = b[column * k + j + i];
          }
          sum = dot(model, emulator::MmaFormat::bf16, 16, x, y, sum);
        }
        ASSERT_EQ(__float_as_uint(c[row * 64 + column]), sum) << row << ' ' << column;
        ASSERT_EQ(__float_as_uint(ct[row * 64 + column]), sum) << row << ' ' << column;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
