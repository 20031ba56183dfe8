// cp.async lands as late as possible, and a three-stage pipeline fails if any one of its barriers
// or waits is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::launch;
using emulator::LaunchOptions;
using emulator::Schedule;
using emulator::SyncSite;

// One thread, three groups. Shows which destinations hold their values after each wait.
struct LandingParameters {
  const float* in;
  float* out;  // [5][12]
};

__global__ void landing(LandingParameters p) {
  auto* const shared = reinterpret_cast<float*>(simt::dynamic_shared());
  const auto snapshot = [&](int at) { std::memcpy(p.out + at * 12, shared, 12 * sizeof(float)); };
  for (int i = 0; i < 12; ++i) shared[i] = 0;
  for (int group = 0; group < 3; ++group) {
    simt::cp_async_16(shared + group * 4, p.in + group * 4, group != 1);
    simt::cp_async_commit();
  }
  simt::cp_async_wait<3>();
  snapshot(0);
  simt::cp_async_wait<2>();
  snapshot(1);
  simt::cp_async_wait<1>();
  snapshot(2);
  simt::cp_async_16(shared, p.in + 8, true);  // in no group yet, so no wait forces it
  simt::cp_async_wait<0>();
  snapshot(3);
  simt::cp_async_commit();
  simt::cp_async_wait<0>();
  snapshot(4);
}

TEST(SimtAsync, CopyLandsAtWait) {
  std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out(5 * 12);
  ASSERT_EQ(launch({}, {1}, {1}, 48, landing, {in.data(), out.data()}), "");
  const auto row = [&](std::size_t at) {
    std::vector<float> values(out.begin() + static_cast<std::ptrdiff_t>(at * 12),
                              out.begin() + static_cast<std::ptrdiff_t>(at * 12 + 12));
    for (float& value : values) value = std::isnan(value) ? -1 : value;
    return values;
  };
  EXPECT_EQ(row(0), (std::vector<float>{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(row(1), (std::vector<float>{1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(row(2), (std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0, -1, -1, -1, -1}));
  EXPECT_EQ(row(3), (std::vector<float>{-1, -1, -1, -1, 0, 0, 0, 0, 9, 10, 11, 12}));
  EXPECT_EQ(row(4), (std::vector<float>{9, 10, 11, 12, 0, 0, 0, 0, 9, 10, 11, 12}));
}

// For each tile, sum = sum / 2 + tile[(thread + 37) % 128] - tile[thread]; out[thread] is the sum
// of thread (thread + 64) % 128. The [tiles, 128] floats pass through three stages of shared
// memory, two in flight.
struct PipelineParameters {
  const float* in;
  float* out;
  int tiles;
};

__device__ inline void load_tile(const PipelineParameters& p, float* stages, int tile) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < 32)
    simt::cp_async_16(stages + tile % 3 * 128 + thread * 4, p.in + tile * 128 + thread * 4,
                      tile < p.tiles);
  simt::cp_async_commit();
}

__global__ void pipeline(PipelineParameters p) {
  auto* const stages = reinterpret_cast<float*>(simt::dynamic_shared());  // [3][128]
  float* const sums = stages + 3 * 128;                                   // [128]
  const auto thread = static_cast<int>(threadIdx.x);
  float sum = 0;
  load_tile(p, stages, 0);
  load_tile(p, stages, 1);
  for (int tile = 0; tile < p.tiles; ++tile) {
    simt::cp_async_wait<1>();
    __syncthreads();  // the tile has landed, and all threads are done with the previous one
    const float* const stage = stages + tile % 3 * 128;
    sum = sum * 0.5F + stage[(thread + 37) % 128] - stage[thread];
    load_tile(p, stages, tile + 2);
  }
  sums[thread] = sum;
  __syncthreads();
  p.out[thread] = sums[(thread + 64) % 128];
}

struct Result {
  std::string text;
  std::vector<float> out;
};

Result run_pipeline(const LaunchOptions& options) {
  constexpr int tiles = 5;
  std::vector<float> in(tiles * 128);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  Result result{"", std::vector<float>(128, -1)};
  result.text =
      launch(options, {1}, {128}, 4 * 512, pipeline, {in.data(), result.out.data(), tiles});
  return result;
}

LaunchOptions ordered(Schedule schedule) {
  LaunchOptions options;
  options.schedule = schedule;
  return options;
}

TEST(SimtAsync, PipelineIsEqualInEverySchedule) {
  const Result first = run_pipeline({});
  ASSERT_EQ(first.text, "");
  for (const float value : first.out) ASSERT_TRUE(std::isfinite(value));
  for (const Schedule schedule : {Schedule::reversed, Schedule::random})
    EXPECT_EQ(run_pipeline(ordered(schedule)).out, first.out);
}

TEST(SimtAsync, DetectsEachMissingBarrierOrWait) {
  std::set<SyncSite> sites;
  LaunchOptions options;
  options.sites = &sites;
  const Result whole = run_pipeline(options);
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites.begin()->call, "cp_async_wait");
  for (const SyncSite& site : sites) {
    bool noticed = false;
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      LaunchOptions without = ordered(schedule);
      without.skipped = site;
      noticed |= run_pipeline(without).out != whole.out;
    }
    EXPECT_TRUE(noticed) << site.call << " line " << site.line;
  }
  // The line of a wait with the name of another call: nothing is skipped.
  options.sites = nullptr;
  options.skipped = SyncSite{sites.begin()->file, sites.begin()->line, "__syncthreads"};
  EXPECT_EQ(run_pipeline(options).out, whole.out);
}

}  // namespace
}  // namespace plumbline
