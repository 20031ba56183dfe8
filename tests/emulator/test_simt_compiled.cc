// Features that compiled kernels use and ours do not: smaller matrix instructions, stmatrix, short
// asynchronous copies, redux and match, lanes in lockstep, and barriers that are matched by id.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::Arch;
using emulator::BarrierMatch;
using emulator::Call;
using emulator::Lanes;
using emulator::launch;
using emulator::LaunchOptions;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;
using emulator::Schedule;
using emulator::Where;
using testing::HasSubstr;

constexpr unsigned everyone = 0xffffffffU;
constexpr Schedule schedules[] = {Schedule::in_order, Schedule::reversed, Schedule::random};

struct ProductParameters {
  Call call;
  emulator::MmaRegisters words;
  const std::uint32_t *a, *b, *c;
  std::uint32_t* d;
};

__global__ void product(ProductParameters p) {
  const unsigned lane = threadIdx.x;
  std::uint32_t a[4] = {}, b[2] = {}, d[4] = {};
  for (int i = 0; i < p.words.a; ++i) a[i] = p.a[static_cast<int>(lane) * p.words.a + i];
  for (int i = 0; i < p.words.b; ++i) b[i] = p.b[static_cast<int>(lane) * p.words.b + i];
  for (int i = 0; i < p.words.c; ++i) d[i] = p.c[static_cast<int>(lane) * p.words.c + i];
  emulator::mma(p.call, a, b, d, Where::current());
  for (int i = 0; i < p.words.c; ++i) p.d[static_cast<int>(lane) * p.words.c + i] = d[i];
}

// Small numbers of the format, so that no sum overflows: random sign and mantissa, exponents near
// that of one.
std::vector<std::uint32_t> operands(MmaFormat format, std::size_t words, std::mt19937& random) {
  std::vector<std::uint32_t> all(words);
  for (std::uint32_t& word : all) {
    const auto bits = static_cast<std::uint32_t>(random());
    switch (format) {
      case MmaFormat::f16:
        word = (bits & 0x83ff83ffU) | 0x38003800U;
        break;
      case MmaFormat::bf16:
        word = (bits & 0x807f807fU) | 0x3f003f00U;
        break;
      case MmaFormat::tf32:
        word = (bits & 0x807fe000U) | 0x3f000000U;
        break;
      case MmaFormat::e4m3:
        word = (bits & 0x87878787U) | 0x30303030U;
        break;
      case MmaFormat::e5m2:
        word = (bits & 0x83838383U) | 0x38383838U;
        break;
    }
  }
  return all;
}

TEST(SimtCompiled, SmallProductsMatchModel) {
  const struct {
    Call call;
    MmaInstruction instruction;
  } rows[] = {{Call::mma_f16_k8, {MmaFormat::f16, MmaAccumulator::f32, 8}},
              {Call::mma_f16_f16_k8, {MmaFormat::f16, MmaAccumulator::f16, 8}},
              {Call::mma_bf16_k8, {MmaFormat::bf16, MmaAccumulator::f32, 8}},
              {Call::mma_tf32_k4, {MmaFormat::tf32, MmaAccumulator::f32, 4}},
              {Call::mma_e4m3_k16, {MmaFormat::e4m3, MmaAccumulator::f32, 16}},
              {Call::mma_e5m2_k16, {MmaFormat::e5m2, MmaAccumulator::f32, 16}}};
  std::mt19937 random(7);
  for (const auto& [call, instruction] : rows) {
    for (const Arch arch : {Arch::sm_80, Arch::sm_89, Arch::sm_90}) {
      const auto words = emulator::registers(instruction);
      const auto of = [](int n) { return 32 * static_cast<std::size_t>(n); };
      const auto a = operands(instruction.format, of(words.a), random);
      const auto b = operands(instruction.format, of(words.b), random);
      const auto c = operands(
          instruction.accumulator == MmaAccumulator::f16 ? MmaFormat::f16 : MmaFormat::tf32,
          of(words.c), random);
      std::vector<std::uint32_t> d(c.size()), expected(c.size());
      LaunchOptions options;
      options.arch = arch;
      const std::string failure = launch(options, {1}, {32}, 0, product,
                                         {call, words, a.data(), b.data(), c.data(), d.data()});
      if (!supports(arch, instruction)) {
        EXPECT_THAT(failure, HasSubstr("sm_80 has no such instruction"));
        continue;
      }
      ASSERT_EQ(failure, "");
      mma_sync_exact(arch, instruction, a.data(), b.data(), c.data(), expected.data());
      EXPECT_EQ(d, expected) << name(call) << " on " << name(arch);
    }
  }
}

struct MatrixParameters {
  Call store, load;
  int count;
  std::uint16_t* stored;  // [8 * count][8], as in shared memory
  std::uint32_t* loaded;  // [32][count]
};

// Element (row, column) of matrix m is 64 m + 8 row + column. Lane l holds two columns of row l /
// 4; if the store transposes, two rows of column l / 4.
__global__ void matrices(MatrixParameters p) {
  std::byte* const shared = simt::dynamic_shared();
  const unsigned lane = threadIdx.x;
  const bool transposed = p.store == Call::stmatrix_x1_trans ||
                          p.store == Call::stmatrix_x2_trans || p.store == Call::stmatrix_x4_trans;
  std::uint32_t r[4] = {}, got[4] = {};
  for (unsigned m = 0; m < 4; ++m) {
    const unsigned major = lane / 4, minor = 2 * (lane % 4);
    const unsigned first = transposed ? 8 * minor + major : 8 * major + minor;
    r[m] = (64 * m + first) | (64 * m + first + (transposed ? 8 : 1)) << 16U;
  }
  // Lanes without a matrix row name an address out of bounds.
  void* const row = shared + (lane < 8U * static_cast<unsigned>(p.count) ? 16 * lane : 1U << 30U);
  emulator::stmatrix(p.store, r, row, Where::current());
  __syncwarp();
  emulator::ldmatrix(p.load, got, row, Where::current());
  if (lane == 0) std::memcpy(p.stored, shared, 128U * static_cast<unsigned>(p.count));
  for (int m = 0; m < p.count; ++m) p.loaded[static_cast<int>(lane) * p.count + m] = got[m];
}

TEST(SimtCompiled, StoresAndLoadsMatrices) {
  const struct {
    Call store, store_trans, load, load_trans;
    int count;
  } rows[] = {
      {Call::stmatrix_x1, Call::stmatrix_x1_trans, Call::ldmatrix_x1, Call::ldmatrix_x1_trans, 1},
      {Call::stmatrix_x2, Call::stmatrix_x2_trans, Call::ldmatrix_x2, Call::ldmatrix_x2_trans, 2},
      {Call::stmatrix_x4, Call::stmatrix_x4_trans, Call::ldmatrix_x4, Call::ldmatrix_x4_trans, 4}};
  for (const auto& row : rows) {
    const auto count = static_cast<std::size_t>(row.count);
    std::vector<std::uint16_t> in_order(64 * count), stored(64 * count);
    std::iota(in_order.begin(), in_order.end(), std::uint16_t{0});
    std::vector<std::uint32_t> loaded(32 * count), transposed(32 * count);
    ASSERT_EQ(launch({}, {1}, {32}, 128 * count, matrices,
                     {row.store, row.load, row.count, stored.data(), loaded.data()}),
              "");
    EXPECT_EQ(stored, in_order);
    ASSERT_EQ(
        launch({}, {1}, {32}, 128 * count, matrices,
               {row.store_trans, row.load_trans, row.count, stored.data(), transposed.data()}),
        "");
    EXPECT_EQ(stored, in_order);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t m = 0; m < count; ++m) {
        const std::size_t first = 64 * m + 8 * (lane / 4) + 2 * (lane % 4);
        EXPECT_EQ(loaded[lane * count + m], first | (first + 1) << 16U);
        const std::size_t of_column = 64 * m + 16 * (lane % 4) + lane / 4;
        EXPECT_EQ(transposed[lane * count + m], of_column | (of_column + 8) << 16U);
      }
    }
  }
}

struct CopyParameters {
  const std::uint32_t* in;
  std::size_t bytes, source_bytes;
  std::uint32_t *before, *after;  // 4 words each, read before and after the wait
};

__global__ void copies(CopyParameters p) {
  std::byte* const shared = simt::dynamic_shared();
  emulator::cp_async(shared, p.in, p.bytes, p.source_bytes, Where::current());
  simt::cp_async_commit();
  std::memcpy(p.before, shared, p.bytes);
  simt::cp_async_wait<0>();
  std::memcpy(p.after, shared, p.bytes);
}

TEST(SimtCompiled, ShortCopiesLandAtWait) {
  alignas(16) const std::array<std::uint32_t, 4> in{1, 2, 3, 4};
  for (const std::size_t bytes : {4U, 8U, 16U}) {
    for (const std::size_t source : {std::size_t{0}, bytes / 2 / 4 * 4, bytes}) {
      std::array<std::uint32_t, 4> before{}, after{}, poison{}, landed{};
      std::memset(poison.data(), 0xff, bytes);
      std::memcpy(landed.data(), in.data(), source);
      ASSERT_EQ(
          launch({}, {1}, {1}, 16, copies, {in.data(), bytes, source, before.data(), after.data()}),
          "");
      EXPECT_EQ(before, poison);
      EXPECT_EQ(after, landed);
    }
  }
  std::array<std::uint32_t, 4> unused{};
  EXPECT_THAT(launch({}, {1}, {1}, 16, copies, {in.data(), 12, 12, unused.data(), unused.data()}),
              HasSubstr("reads 12 of 12 bytes: a copy must have 4, 8 or 16"));
  EXPECT_THAT(
      launch({}, {1}, {1}, 16, copies, {in.data() + 1, 16, 16, unused.data(), unused.data()}),
      HasSubstr("is not 16-byte aligned"));
}

std::uint64_t sum(const std::uint64_t* values, unsigned mask, unsigned) {
  std::uint64_t all = 0;
  for (; mask != 0; mask &= mask - 1) all += values[std::countr_zero(mask)];
  return all;
}
std::uint64_t same(const std::uint64_t* values, unsigned mask, unsigned lane) {
  unsigned lanes = 0;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (values[i] == values[lane]) lanes |= 1U << i;
  }
  return lanes;
}

// Three groups at once. The first starts another round before the others have read their results.
__global__ void combined(std::uint64_t* out) {
  const unsigned lane = threadIdx.x;
  const unsigned mask = lane < 4 ? 0xfU : lane < 20 ? 0xffff0U : 0xfff00000U;
  out[lane] = emulator::combine(Call::redux, mask, lane, sum, Where::current());
  out[32 + lane] = emulator::combine(Call::match, mask, lane % 3, same, Where::current());
}

TEST(SimtCompiled, ReduxAndMatchUseMaskedLanes) {
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    std::vector<std::uint64_t> out(64);
    ASSERT_EQ(launch(options, {1}, {32}, 0, combined, out.data()), "");
    EXPECT_EQ(out[0], 0U + 1 + 2 + 3);
    EXPECT_EQ(out[4], (4U + 19) * 8);
    EXPECT_EQ(out[31], (20U + 31) * 6);
    EXPECT_EQ(out[32], 0b1001U);
    EXPECT_EQ(out[32 + 21], 1U << 21U | 1U << 24U | 1U << 27U | 1U << 30U);
  }
}

// A transpose through shared memory without __syncwarp, as in FlashInfer's epilogue.
__global__ void unguarded(unsigned* out) {
  auto* const shared = reinterpret_cast<unsigned*>(simt::dynamic_shared());
  const unsigned lane = threadIdx.x;
  shared[lane] = lane;
  emulator::converge();
  out[lane] = shared[31 - lane];
}

TEST(SimtCompiled, LockstepCodeNeedsLockstep) {
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    options.lanes = Lanes::lockstep;
    std::vector<unsigned> out(32), expected(32);
    std::iota(expected.rbegin(), expected.rend(), 0U);
    ASSERT_EQ(launch(options, {1}, {32}, 128, unguarded, out.data()), "");
    EXPECT_EQ(out, expected);
    options.lanes = Lanes::independent;
    ASSERT_EQ(launch(options, {1}, {32}, 128, unguarded, out.data()), "");
    EXPECT_NE(out, expected);
  }
}

// Lanes converge different numbers of times, next to lanes that wait for them or have ended.
__global__ void uneven(unsigned* out) {
  const unsigned lane = threadIdx.x;
  for (unsigned i = 0; i < lane % 5; ++i) emulator::converge();
  if (lane % 7 == 6) return;
  __syncthreads();
  for (unsigned i = 0; i < lane % 3; ++i) emulator::converge();
  out[lane] = 1;
}

TEST(SimtCompiled, ConvergingNeverBlocksWarp) {
  for (const Schedule schedule : schedules) {
    LaunchOptions options;
    options.schedule = schedule;
    options.lanes = Lanes::lockstep;
    options.barriers = BarrierMatch::id;
    std::vector<unsigned> out(128);
    ASSERT_EQ(launch(options, {1}, {128}, 0, uneven, out.data()), "");
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0U), 128U - 18);
  }
}

// Each side of a branch has its own barrier.
__global__ void two_places(unsigned* out) {
  auto* const shared = reinterpret_cast<unsigned*>(simt::dynamic_shared());
  shared[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = shared[63 - threadIdx.x];
}

TEST(SimtCompiled, BarriersMatchByIdOrPlace) {
  LaunchOptions options;
  std::vector<unsigned> out(64), expected(64);
  std::iota(expected.rbegin(), expected.rend(), 0U);
  EXPECT_THAT(launch(options, {1}, {64}, 256, two_places, out.data()),
              HasSubstr("divergent barrier"));
  options.barriers = BarrierMatch::id;
  ASSERT_EQ(launch(options, {1}, {64}, 256, two_places, out.data()), "");
  EXPECT_EQ(out, expected);
}

// Barrier 0 with a count of threads. Only 64 threads reach it, so a larger count is a deadlock.
__global__ void numbered(int threads) {
  if (threadIdx.x < 64) simt::named_barrier_sync(0, threads);
}

TEST(SimtCompiled, BarrierZeroMayHaveCount) {
  LaunchOptions options;
  EXPECT_THAT(launch(options, {1}, {96}, 0, numbered, 64), HasSubstr("named barriers are 1 to 15"));
  options.barriers = BarrierMatch::id;
  EXPECT_EQ(launch(options, {1}, {96}, 0, numbered, 64), "");
  EXPECT_THAT(launch(options, {1}, {96}, 0, numbered, 96), HasSubstr("deadlock"));
}

}  // namespace
}  // namespace plumbline
