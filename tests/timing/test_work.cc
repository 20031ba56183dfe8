// The work of problems small enough to count by hand.
#include <gtest/gtest.h>

#include "harness/problem/geometry.h"
#include "harness/timing/processor_peak.h"
#include "harness/timing/work.h"

namespace plumbline {
namespace {

Problem small() {
  Problem p;
  p.dtype = DType::f16;
  p.batch = 2;
  p.heads_q = 4;
  p.heads_kv = 2;
  p.seq_q = 3;
  p.seq_kv = 5;
  p.head_dim_qk = 8;
  p.head_dim_vo = 16;
  return p;
}

TEST(Work, CountsMultiplyAddsPerVisiblePair) {
  const Work work = work_of(Geometry(small()));
  EXPECT_EQ(work.flops, 2.0 * 4 * 15 * 2 * (8 + 16));
  EXPECT_EQ(work.bytes, 2.0 * (2 * 3 * 4 * 8 + 2 * 5 * 2 * (8 + 16) + 2 * 3 * 4 * 16));
  EXPECT_EQ(work.min_flops, 2.0 * 4 * 15 * 2 * 8) << "P V may be skipped where P underflows";
  EXPECT_EQ(work.min_bytes, 2.0 * (2 * 3 * 4 * 8 + 2 * 5 * 2 * 8 + 2 * 3 * 4 * 16));
}

TEST(Work, SkipsHiddenPairs) {
  Problem p = small();
  p.mask = Mask::causal_top_left;  // 1 + 2 + 3 pairs; no row sees the last two keys
  const Work work = work_of(Geometry(p));
  EXPECT_EQ(work.flops, 2.0 * 4 * 6 * 2 * (8 + 16));
  EXPECT_EQ(work.bytes, 2.0 * (2 * 3 * 4 * 8 + 2 * 3 * 2 * (8 + 16) + 2 * 3 * 4 * 16));
  p.window_left = 0;  // 3 pairs
  EXPECT_EQ(work_of(Geometry(p)).flops, 2.0 * 4 * 3 * 2 * (8 + 16));
}

TEST(Work, CountsBitsOfMasks) {
  Problem p = small();
  p.mask = Mask::custom;
  p.seq_kv = 40;
  const Geometry g(p);
  double pairs = 0, keys = 0, rows = 0;
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    for (std::int64_t key = 0; key < p.seq_kv; ++key) {
      bool seen = false;
      for (std::int64_t row = 0; row < p.seq_q; ++row) {
        if (!g.sees(sample, row, key)) continue;
        ++pairs;
        seen = true;
      }
      keys += seen ? 1 : 0;
    }
    for (std::int64_t row = 0; row < p.seq_q; ++row)
      rows += g.visible_count(sample, row) > 0 ? 1 : 0;
  }
  const Work work = work_of(g);
  EXPECT_EQ(work.flops, pairs * 4 * 2 * (8 + 16));
  EXPECT_EQ(work.bytes, 2.0 * (rows * 4 * 8 + keys * 2 * (8 + 16) + 2 * 3 * 4 * 16));
}

TEST(Work, AlibiMaySkipKeys) {
  Problem p = small();
  p.alibi = Alibi::standard;
  const Work work = work_of(Geometry(p));
  EXPECT_EQ(work.min_flops, 0);
  EXPECT_EQ(work.min_bytes, 2.0 * (2 * 3 * 4 * 8 + 2 * 3 * 4 * 16));
  EXPECT_EQ(work.flops, work_of(Geometry(small())).flops);
}

TEST(ProcessorPeak, IsPlausible) {
  const ProcessorPeak peak = processor_peak();
  EXPECT_GT(peak.flops, 1e6);
  EXPECT_GT(peak.cache_bytes, 1e6);
  EXPECT_GT(peak.memory_bytes, 1e6);
  EXPECT_GE(peak.widest, 1);
  EXPECT_GE(processor_peak_again().flops, peak.flops) << "the largest counts";
}

// A loop that the compiler removed would exceed what any core can do.
TEST(ProcessorPeak, LoopsOfEveryInstructionSetArePlausible) {
  const std::vector<LoopRates> rates = processor_loop_rates();
  ASSERT_FALSE(rates.empty());
  EXPECT_EQ(rates.back().instructions, "plain");
  for (const LoopRates& rate : rates) {
    EXPECT_GT(rate.flops, 1e6) << rate.instructions;
    EXPECT_LT(rate.flops, 2e12) << rate.instructions;
    EXPECT_GT(rate.cache_bytes, 1e6) << rate.instructions;
    EXPECT_LT(rate.cache_bytes, 1e13) << rate.instructions;
  }
}

}  // namespace
}  // namespace plumbline
