// Extracts the figures of the five stories from a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/report/stories.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

class Stories : public testing::Test {
 protected:
  StoredDiff& add_diff(const char* suite, const char* name) {
    StoredDiff& stored = diffs_.emplace_back();
    stored.outcome.suite = suite;
    stored.outcome.name = name;
    stored.outcome.status = Status::ok;
    return stored;
  }
  StoredOutcome& add_outcome(const char* suite, StoredOutcome stored) {
    stored.outcome.suite = suite;
    return outcomes_.emplace_back(std::move(stored));
  }
  std::string ours(std::size_t story, const std::string& what) const {
    const RunReport report{&run_, &outcomes_, &diffs_, &scores_, 0, "plumbline run"};
    const auto stories = stories_of(report);
    for (const StoryFigure& figure : stories.at(story).figures)
      if (figure.what == what) return figure.ours;
    ADD_FAILURE() << "no figure " << what;
    return "?";
  }

  RunInfo run_;
  std::vector<StoredOutcome> outcomes_;
  std::vector<StoredDiff> diffs_;
  std::vector<SuiteScore> scores_;
};

TEST_F(Stories, UnmeasuredFigureIsEmpty) {
  const RunReport report{&run_, &outcomes_, &diffs_, &scores_, 0, "plumbline run"};
  const auto stories = stories_of(report);
  ASSERT_EQ(stories.size(), 5U);
  for (const StoryFigures& story : stories) {
    EXPECT_GE(story.figures.size(), 3U) << story.id;
    for (const StoryFigure& figure : story.figures) {
      EXPECT_EQ(figure.ours, "") << story.id << ": " << figure.what;
      EXPECT_NE(figure.theirs, "") << story.id << ": " << figure.what;
    }
  }
  add_diff("s1_prefill_vs_decode", "outputs_in_16_32").outcome.status = Status::crashed;
  EXPECT_EQ(ours(0, "largest difference of the two paths"), "");
}

TEST_F(Stories, TwoPathsPreferRealKernels) {
  add_diff("s1_prefill_vs_decode", "outputs_in_16_32").outcome.max_abs = 0.125;
  DiffOutcome& plain = add_diff("s1_prefill_vs_decode", "last_rows").outcome;
  plain.mean_abs = 1.25e-5;
  plain.heads = 32;
  plain.heads_bit_equal = 24;
  EXPECT_EQ(ours(0, "largest difference of the two paths"), "0.125");
  EXPECT_EQ(ours(0, "mean difference"), "1.25e-05");
  EXPECT_EQ(ours(0, "outputs that are equal bit for bit"), "24 of 32 heads");
  add_diff("s1_prefill_vs_decode", "flash_attn_prefill_vs_kvcache").outcome.max_abs = 0.25;
  EXPECT_EQ(ours(0, "largest difference of the two paths"), "0.25");
}

TEST_F(Stories, RaggedBf16UsesWorstCase) {
  for (const double share : {0.01, 0.125}) {
    StoredOutcome& stored = add_outcome("s2_bf16_ragged", passing_outcome());
    stored.outcome.errors.outside_allclose_1e3 = share;
    stored.judgement.percent_of_limit = 100 * share;
  }
  EXPECT_EQ(ours(1, "bf16 at allclose 1e-3"), "up to 12 % of the elements outside");
  EXPECT_EQ(ours(1, "bf16, share of the limit of its roundings"), "12 %");
  EXPECT_EQ(ours(1, "fp16, likewise"), "");
}

TEST_F(Stories, CrossoverIfUnpaddingStaysFaster) {
  const auto add = [&](int length, double padded, double unpadded) {
    DiffOutcome& diff = add_diff("s3_padding_policy", "valid_rows").outcome;
    diff.case_a =
        "cpu/flash_attended/bf16/b4-h4-s" + std::to_string(length) + "-d64/layout=padded_bshd";
    diff.time_ns_a = padded;
    diff.time_ns_b = unpadded;
  };
  add(64, 3, 2);
  add(128, 2, 3);
  EXPECT_EQ(ours(2, "which is faster"), "the padded path is the faster one from 64 to 128 tokens");
  add(256, 5, 4);
  add(512, 9, 4);
  EXPECT_EQ(ours(2, "which is faster"),
            "unpadding is faster from 256 tokens on (of 64 to 512 tokens)");
}

TEST_F(Stories, UntimedDiffShowsNoTime) {
  DiffOutcome& full = add_diff("s4_tensor_cores", "full_size").outcome;
  full.max_rel = 1.5;
  EXPECT_THAT(ours(3, "largest relative difference"), testing::StartsWith("1.5, where"));
  EXPECT_EQ(ours(3, "time with and without"), "") << "it was not timed";
  DiffOutcome& timed = add_diff("s4_tensor_cores", "p_rounded_or_not").outcome;
  timed.time_ns_a = 1e6;
  timed.time_ns_b = 1.25e6;
  EXPECT_EQ(ours(3, "time with and without"), "1 ms and 1.25 ms (+25 %)");
}

TEST_F(Stories, RefusalHasReason) {
  StoredOutcome& refused = add_outcome("s5_unsupported_dtype", unsupported_outcome());
  refused.outcome.reason = "only fp16 and bf16";
  EXPECT_EQ(ours(4, "fp32 on that kernel"), "refused in 1 case: only fp16 and bf16");
  add_outcome("s5_unsupported_dtype", crashed_outcome());
  EXPECT_EQ(ours(4, "fp32 on that kernel"),
            "refused in 1 case: only fp16 and bf16; 1 more ended badly");
  DiffOutcome& cast = add_diff("s5_unsupported_dtype", "fallbacks").outcome;
  cast.rms_a = 1e-6;
  cast.rms_b = 2e-3;
  EXPECT_EQ(ours(4, "error of casting, over that of fp32"), "2000");
}

}  // namespace
}  // namespace plumbline
