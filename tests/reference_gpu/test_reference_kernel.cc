// The GPU reference, on the emulator, has the same bits under every schedule, and other bits if any
// one of its barriers is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/reference_gpu/emulated_machine.h"

namespace plumbline::reference_gpu {
namespace {

using emulator::LaunchOptions;
using emulator::Schedule;
using emulator::SyncSite;

constexpr std::int64_t keys = 300, rows = 5, dim_qk = 16, dim_vo = 136;

struct Answer {
  std::vector<double> o, variance, bound, lse, lse_variance;
  std::vector<std::int32_t> repeats;
  bool operator==(const Answer& other) const {
    const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
    };
    return same(o, other.o) && same(variance, other.variance) && same(bound, other.bound) &&
           same(lse, other.lse) && same(lse_variance, other.lse_variance) &&
           repeats == other.repeats;
  }
};

// P in fp16 and S in bf16, with ties. Every row sees other keys.
Answer compute_with(const LaunchOptions& options, unsigned blocks = rows) {
  std::vector<float> k(keys * dim_qk), v(keys * dim_vo);
  std::vector<double> q(rows * dim_qk);
  for (std::size_t i = 0; i < k.size(); ++i)
    k[i] = static_cast<float>(static_cast<int>(i * 37 % 11) - 5) / 4;
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::cos(static_cast<double>(i));
  std::vector<std::int64_t> k_offsets, v_offsets;
  for (std::int64_t i = 0; i < keys; ++i) {
    k_offsets.push_back((keys - 1 - i) * dim_qk);
    v_offsets.push_back(i * dim_vo);
  }
  const std::vector<plumbline_reference_group> groups{{0, keys}};
  const std::vector<plumbline_reference_row> seen{
      {0, 0, keys}, {0, 10, 90}, {0, 7, 8}, {0, 100, 228}, {0, 0, 299}};

  Answer answer{std::vector<double>(rows * dim_vo), std::vector<double>(rows * dim_vo),
                std::vector<double>(rows * dim_vo), std::vector<double>(rows),
                std::vector<double>(rows),          std::vector<std::int32_t>(rows)};
  plumbline_reference_request request{};
  request.struct_size = sizeof request;
  request.dtype = PLUMBLINE_F32;
  request.dim_qk = dim_qk;
  request.dim_vo = dim_vo;
  request.scale = 0.25;
  request.q = q.data();
  request.k = k.data();
  request.v = v.data();
  request.k_bytes = k.size() * sizeof(float);
  request.v_bytes = v.size() * sizeof(float);
  request.k_offsets = k_offsets.data();
  request.v_offsets = v_offsets.data();
  request.offset_count = keys;
  request.groups = groups.data();
  request.group_count = 1;
  request.rows = seen.data();
  request.row_count = rows;
  request.model = {0x1p-11,
                   0x1p-25,
                   0x1p-14,
                   0x1p-8,
                   0,
                   0,
                   0,
                   14,
                   11,
                   1,
                   0,
                   {0x1p-24, 0x1p-24, 0x1p-23, 8, 1, 0},
                   {0x1p-24, 0, 0, 1, 0, 0}};
  request.o = answer.o.data();
  request.variance = answer.variance.data();
  request.bound = answer.bound.data();
  request.lse = answer.lse.data();
  request.lse_variance = answer.lse_variance.data();
  request.repeats = answer.repeats.data();
  EmulatedMachine machine(options, blocks);
  compute(machine, request);
  return answer;
}

LaunchOptions ordered(Schedule schedule) {
  LaunchOptions options;
  options.schedule = schedule;
  return options;
}

TEST(ReferenceKernel, EqualBitsUnderEverySchedule) {
  const Answer in_order = compute_with({});
  for (const double variance : in_order.variance)
    ASSERT_TRUE(std::isfinite(variance) && variance > 0);
  for (const unsigned blocks : {1U, 2U, 5U}) {  // one block computes several rows
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      EXPECT_TRUE(compute_with(ordered(schedule), blocks) == in_order) << blocks;
    }
  }
}

// With one block per row, memory from an earlier row would contain keys that this row lacks.
TEST(ReferenceKernel, NeedsEveryBarrier) {
  std::set<SyncSite> sites;
  LaunchOptions options;
  options.sites = &sites;
  const Answer whole = compute_with(options);
  EXPECT_EQ(sites.size(), 6U);
  for (const SyncSite& site : sites) {
    bool noticed = false;
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      LaunchOptions without = ordered(schedule);
      without.skipped = site;
      noticed |= !(compute_with(without) == whole);
    }
    EXPECT_TRUE(noticed) << site.file << ':' << site.line;
  }
}

}  // namespace
}  // namespace plumbline::reference_gpu
