// Blocks and grids: indices, barriers, atomics, shared memory, stacks, both ways of switching.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::Dim3;
using emulator::launch;
using emulator::LaunchOptions;
using emulator::Schedule;
using emulator::Switching;

LaunchOptions ordered(Schedule schedule, std::uint64_t seed = 0) {
  LaunchOptions options;
  options.schedule = schedule;
  options.seed = seed;
  return options;
}

__global__ void indices(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(out + block * blockDim.x * blockDim.y * blockDim.z + thread, 1 + block * 1000 + thread);
}

TEST(SimtBlock, IndicesCoverThreeDimensions) {
  std::vector<unsigned> out(3 * 4 * 5 * 2 * 3 * 7);
  ASSERT_EQ(launch({}, {3, 4, 5}, {2, 3, 7}, 0, indices, out.data()), "");
  for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 1 + i / 42 * 1000 + i % 42);
}

__global__ void count_blocks(std::uint8_t* out) {
  out[blockIdx.x] = static_cast<std::uint8_t>(blockIdx.x % 251 + 1);
}

TEST(SimtBlock, LargeGrids) {
  std::vector<std::uint8_t> out(200'000);
  ASSERT_EQ(launch({}, {static_cast<unsigned>(out.size())}, {1}, 0, count_blocks, out.data()), "");
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % 251 + 1);
}

// Transposes tiles of [32, 32] one after another through the same shared memory.
struct TransposeParameters {
  const float* in;  // [tile, 32, 32]
  float* out;
  int tiles;
};

__global__ void transpose(TransposeParameters p) {
  auto* const tile = reinterpret_cast<float*>(simt::dynamic_shared());
  for (int t = 0; t < p.tiles; ++t) {
    for (unsigned row = threadIdx.y; row < 32; row += blockDim.y)
      tile[row * 32 + threadIdx.x] = p.in[t * 1024 + row * 32 + threadIdx.x];
    __syncthreads();
    for (unsigned row = threadIdx.y; row < 32; row += blockDim.y)
      p.out[t * 1024 + row * 32 + threadIdx.x] = tile[threadIdx.x * 32 + row];
    __syncthreads();
  }
}

struct Transposed {
  std::string text;
  std::vector<float> out;
};

Transposed run_transpose(const LaunchOptions& options, unsigned rows_at_once = 8) {
  std::vector<float> in(4 * 1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  Transposed result{"", std::vector<float>(in.size(), -1)};
  result.text =
      launch(options, {1}, {32, rows_at_once}, 4096, transpose, {in.data(), result.out.data(), 4});
  return result;
}

TEST(SimtBlock, TransposeIsEqualInEverySchedule) {
  for (const unsigned rows : {1U, 8U, 32U}) {
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      const Transposed result = run_transpose(ordered(schedule, rows), rows);
      ASSERT_EQ(result.text, "");
      for (std::size_t i = 0; i < result.out.size(); ++i) {
        ASSERT_EQ(result.out[i], static_cast<float>(i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32));
      }
    }
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(SimtBlock, EachMissingBarrierChangesBits) {
  std::set<emulator::SyncSite> sites;
  LaunchOptions options;
  options.sites = &sites;
  const Transposed whole = run_transpose(options);
  ASSERT_EQ(sites.size(), 2U);
  for (const emulator::SyncSite& site : sites) {
    EXPECT_EQ(site.file, "test_simt_block.cc");
    EXPECT_EQ(site.call, "__syncthreads");
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      LaunchOptions without = ordered(schedule);
      without.skipped = site;
      EXPECT_FALSE(same_bits(run_transpose(without).out, whole.out)) << site.line;
    }
  }
}

TEST(SimtBlock, RandomOrderFollowsTheSeed) {
  LaunchOptions options = ordered(Schedule::random, 1);
  std::set<emulator::SyncSite> sites;
  options.sites = &sites;
  ASSERT_EQ(run_transpose(options).text, "");
  options.sites = nullptr;
  options.skipped = *sites.begin();
  const Transposed first = run_transpose(options), again = run_transpose(options);
  EXPECT_TRUE(same_bits(first.out, again.out));
  options.seed = 2;
  EXPECT_FALSE(same_bits(first.out, run_transpose(options).out));
}

// Warp 0 produces and warps 1 and 2 consume through two buffers. Barriers 1, 2: full; 3, 4: empty.
struct PipelineParameters {
  const int* in;  // [steps, 32]
  int* out;       // [2, steps, 32]
  int steps;
};

__global__ void produce_and_consume(PipelineParameters p) {
  auto* const buffers = reinterpret_cast<int*>(simt::dynamic_shared());  // [2][32]
  const auto lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  for (int step = 0; step < p.steps; ++step) {
    const int buffer = step % 2;
    if (warp == 0) {
      if (step >= 2) simt::named_barrier_sync(3 + buffer, 96);
      buffers[buffer * 32 + lane] = p.in[step * 32 + lane];
      simt::named_barrier_arrive(1 + buffer, 96);
    } else {
      simt::named_barrier_sync(1 + buffer, 96);
      p.out[((warp - 1) * p.steps + step) * 32 + lane] = buffers[buffer * 32 + 31 - lane];
      if (step + 2 < p.steps) simt::named_barrier_arrive(3 + buffer, 96);
    }
  }
}

std::vector<int> run_pipeline(const LaunchOptions& options, std::string& text) {
  constexpr int steps = 6;
  std::vector<int> in(steps * 32), out(2 * steps * 32, -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  text = launch(options, {1}, {96}, 256, produce_and_consume, {in.data(), out.data(), steps});
  return out;
}

TEST(SimtBlock, NamedBarriersJoinProducersAndConsumers) {
  std::set<emulator::SyncSite> sites;
  std::string text;
  std::vector<int> whole;
  for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
    LaunchOptions options = ordered(schedule);
    options.sites = &sites;
    whole = run_pipeline(options, text);
    ASSERT_EQ(text, "");
    for (std::size_t i = 0; i < whole.size(); ++i)
      ASSERT_EQ(whole[i], static_cast<int>(i / 32 % 6 * 32 + 31 - i % 32));
  }
  // If any one of the four is skipped, some schedule deadlocks or gives other values.
  ASSERT_EQ(sites.size(), 4U);
  for (const emulator::SyncSite& site : sites) {
    bool noticed = false;
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      LaunchOptions options = ordered(schedule);
      options.skipped = site;
      noticed |= run_pipeline(options, text) != whole || !text.empty();
    }
    EXPECT_TRUE(noticed) << site.call << " line " << site.line;
  }
}

struct AtomicParameters {
  float* sum;
  int* count;
  unsigned* bits;
  int* largest;
  int* tickets;  // [blocks * threads]
};

__global__ void atomics(AtomicParameters p) {
  const int ticket = atomicAdd(p.count, 1);
  p.tickets[ticket] += 1;
  atomicAdd(p.sum, 0.25F);
  atomicAdd(p.bits, 3U);
  atomicMax(p.largest, static_cast<int>(blockIdx.x * 7919 % 1000) - 500);
}

TEST(SimtBlock, AtomicsOverManyBlocks) {
  constexpr unsigned blocks = 1000, threads = 64;
  float sum = 0;
  int count = 0, largest = -1000;
  unsigned bits = 0;
  std::vector<int> tickets(std::size_t{blocks} * threads);
  ASSERT_EQ(
      launch({}, {blocks}, {threads}, 0, atomics, {&sum, &count, &bits, &largest, tickets.data()}),
      "");
  EXPECT_EQ(sum, 0.25F * blocks * threads);  // every partial sum is exact
  EXPECT_EQ(count, static_cast<int>(blocks * threads));
  EXPECT_EQ(bits, 3 * blocks * threads);
  EXPECT_EQ(largest, 499);
  EXPECT_EQ(tickets, std::vector<int>(tickets.size(), 1));  // atomicAdd returns unique values
}

__global__ void read_shared(float* out) {
  auto* const shared = reinterpret_cast<float*>(simt::dynamic_shared());
  out[blockIdx.x * 32 + threadIdx.x] = shared[threadIdx.x];
  shared[threadIdx.x] = 1;
}

TEST(SimtBlock, SharedMemoryStartsAsNan) {
  std::vector<float> out(50 * 32);
  ASSERT_EQ(launch({}, {50}, {32}, 128, read_shared, out.data()), "");
  for (const float value : out) ASSERT_TRUE(std::isnan(value));
}

// Recursion with 8 KiB frames; the frames of all threads are alive at the barrier.
unsigned descend(int depth, std::uint64_t seed) {
  volatile std::uint64_t frame[1024];
  for (std::uint64_t i = 0; i < 1024; ++i) frame[i] = seed * i;
  if (depth > 0)
    return descend(depth - 1, frame[3] / 3 + 1) + static_cast<unsigned>(frame[1023] % 7);
  __syncthreads();
  return static_cast<unsigned>(frame[1023] % 7);
}
__global__ void deep(unsigned* out) { out[threadIdx.x] = descend(40, threadIdx.x); }

TEST(SimtBlock, StacksCanBeLarger) {
  LaunchOptions options;
  options.stack_bytes = std::size_t{1} << 20U;
  std::vector<unsigned> out(96);
  ASSERT_EQ(launch(options, {1}, {96}, 0, deep, out.data()), "");
  for (unsigned i = 0; i < 96; ++i) {
    unsigned expected = 0;
    for (unsigned depth = 0; depth <= 40; ++depth) expected += 1023 * (i + depth) % 7;
    EXPECT_EQ(out[i], expected);
  }
}

TEST(SimtBlock, UcontextAndAssemblyAgree) {
  for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
    LaunchOptions options = ordered(schedule);
    const Transposed assembly = run_transpose(options);
    options.switching = Switching::ucontext;
    const Transposed portable = run_transpose(options);
    EXPECT_EQ(portable.text, "");
    EXPECT_TRUE(same_bits(portable.out, assembly.out));
    // Even the wrong bits agree: the schedule alone determines the order of threads, not the kind
    // of switch.
    std::set<emulator::SyncSite> sites;
    options.sites = &sites;
    (void)run_transpose(options);
    options.sites = nullptr;
    options.skipped = *sites.begin();
    const Transposed portable_without = run_transpose(options);
    options.switching = Switching::assembly;
    EXPECT_TRUE(same_bits(portable_without.out, run_transpose(options).out));
    EXPECT_FALSE(same_bits(portable_without.out, assembly.out));
  }
}

__global__ void throws(int* in_block) {
  if (static_cast<int>(blockIdx.x) == *in_block && threadIdx.x == 33)
    throw std::runtime_error("no such page");
  __syncthreads();
}

TEST(SimtBlock, ExceptionsEndTheBlockOnly) {
  int block = 3;
  for (const Switching switching : {Switching::assembly, Switching::ucontext}) {
    LaunchOptions options;
    options.switching = switching;
    EXPECT_EQ(launch(options, {8}, {64}, 0, throws, &block),
              "block (3, 0, 0): warp 1 lane 1: the kernel threw: no such page");
  }
  block = 99;
  EXPECT_EQ(launch({}, {8}, {64}, 0, throws, &block), "");  // the block object is reused
}

}  // namespace
}  // namespace plumbline
