// One case or diff in full, as text: each kind of outcome, wrapping, quoting and colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/report/format.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

constexpr Style plain{false, 0};

TEST(RenderCase, Pass) {
  EXPECT_EQ(render_case(passing_outcome(), "plumbline run", plain),
            R"(pass  cpu/flash/bf16/b1-h4-s128-d64/mask=causal_top_left
  suite      smoke/causal
  judged     62 % of the limit (peak)
  error      peak 4.03, beyond output rounding 2.5, rms 0.9712, lse 1.2; largest 0.003906, mean 0.000412; outside allclose 1e-3: 0 %, 1e-2: 0 %; 32768 elements, 512 of 512 rows
  launched   flash<64, 64> (build 0123abcd), tensor cores none

)");
}

TEST(RenderCase, Fail) {
  EXPECT_EQ(render_case(failing_outcome(), "plumbline run --provider './mine.so'", plain),
            R"(fail  mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left
  the sums are kept in bf16
  why        peak is 9.3, its limit 6.5
  note       sigma is 1.5 times that of the strict spec (p_dtype=bf16)
  suite      smoke/causal
  judged     143 % of the limit (peak)
  worst      peak: sample 0 head 3 row 17 column 5, 18 visible keys
             got 0.515625, expected 0.5, error 0.01562: 9.3 sigma, 4 ulp
  sigma      0.00168 there: output rounding 74 %, P rounding 25 %
  error      peak 9.3, beyond output rounding 2.5, rms 0.9712, lse 1.2; largest 0.003906, mean 0.000412; outside allclose 1e-3: 0 %, 1e-2: 0 %; 32768 elements, 512 of 512 rows
  where      head: head 3 carries 81 % of the excess
  looser     would be explained by PyTorch math: S to bf16 and P to bf16 after normalisation
  launched   flash<64, 64> (build 0123abcd), tensor cores none
  saved to   failures/0001.safetensors
reproduce: plumbline run --provider './mine.so' --case 'mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left'

)");
}

TEST(RenderCase, Unsupported) {
  EXPECT_EQ(render_case(unsupported_outcome(), "plumbline run", plain),
            R"(unsupported  cpu/flash/fp32/b1-h1-s1-d64
  note       unsupported: only fp16 and bf16 are supported
  suite      stories/S5

)");
}

TEST(RenderCase, CrashedSaysWhyAndHowToRepeat) {
  EXPECT_EQ(render_case(crashed_outcome(), "plumbline run", plain),
            R"(crashed  cpu/flash/fp32/b1-h1-s1-d64
  why        signal 11 (segmentation fault)
  suite      stories/S5
reproduce: plumbline run --case 'cpu/flash/fp32/b1-h1-s1-d64'

)");
}

TEST(RenderCase, ResourcesAndTimes) {
  StoredOutcome stored = passing_outcome();
  stored.outcome.description.tensor_cores = "on";
  stored.outcome.description.registers_per_thread = 182;
  stored.outcome.description.shared_memory_bytes = 69630;
  stored.outcome.timed = true;
  stored.outcome.time_ns = 1.276e6;
  stored.outcome.time_mad_ns = 2500;
  stored.outcome.time_ratio = 0.8123;
  const std::string text = render_case(stored, "plumbline run", plain);
  EXPECT_NE(text.find("tensor cores on, 182 registers, 69.63 KB shared memory\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  time       1.276 ms (MAD 2.5 us), 0.8123 of the sentinel\n"),
            std::string::npos)
      << text;
}

TEST(RenderCase, FirstSeenIsTwoWordsAndNanIsVisible) {
  StoredOutcome stored = passing_outcome();
  stored.judgement.verdict = Verdict::first_seen;
  stored.judgement.percent_of_limit = std::nan("");
  const std::string text = render_case(stored, "plumbline run", plain);
  EXPECT_TRUE(text.starts_with("first seen  ")) << text;
  EXPECT_NE(text.find("judged     nan % of the limit"), std::string::npos) << text;
}

ErrorPicture triangle() {
  ErrorPicture picture;
  picture.histogram.assign(ErrorPicture::bins, 0);
  picture.spre_ratios.assign(ErrorPicture::ratio_classes, 0);
  for (std::size_t i = 0; i < 9; ++i) picture.histogram[16 + i] = 100;
  picture.histogram.back() = 40;
  picture.spre_ratios[10] = 940;
  picture.map_rows = picture.map_columns = 2;
  picture.map = {map_code(1), map_code(6), map_code(500), 255};
  return picture;
}

TEST(RenderErrors, DrawsHistogramAndMap) {
  StoredOutcome stored = failing_outcome();
  stored.outcome.picture = triangle();
  const std::string text = render_errors(stored, plain);
  EXPECT_NE(text.find("e / sigma of 940 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("\n                             #########               #\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n             -5        -2.5      0         2.5       5\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("x: "), std::string::npos) << text;
  EXPECT_NE(text.find("\n             ..::\n             ##NN\n"), std::string::npos) << text;
  const std::string blocks = render_errors(stored, {false, 80, true});
  EXPECT_NE(blocks.find("█████████"), std::string::npos) << blocks;
  EXPECT_NE(blocks.find("▓▓NN\n"), std::string::npos) << blocks;
  for (std::size_t begin = 0, end = 0; (end = blocks.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    EXPECT_LE(display_width(blocks.substr(begin, end - begin)), 80U);
}

TEST(RenderErrors, OfNothingComparedIsEmpty) {
  EXPECT_EQ(render_errors(crashed_outcome(), plain), "");
}

TEST(RenderCase, LongTextIsWrappedButNeverTheCommand) {
  StoredOutcome stored = failing_outcome();
  const std::string text = render_case(stored, "plumbline run", Style{false, 60});
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    const bool may_be_long = line.starts_with("reproduce: ") || line.starts_with("fail  ");
    EXPECT_TRUE(line.size() <= 60 || may_be_long) << line;
    begin = end + 1;
  }
  EXPECT_NE(text.find("reproduce: plumbline run --case "
                      "'mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left'\n"),
            std::string::npos);
}

TEST(RenderCase, QuotesForTheShell) {
  StoredOutcome stored = crashed_outcome();
  stored.outcome.case_id = "it's";
  EXPECT_NE(render_case(stored, "plumbline run", plain).find(R"(--case 'it'\''s')"),
            std::string::npos);
}

TEST(RenderCase, ColoursOnlyTheVerdictAndOnlyIfAsked) {
  const std::string coloured = render_case(failing_outcome(), "plumbline run", Style{true, 0});
  EXPECT_TRUE(coloured.starts_with("\x1b[31mfail\x1b[0m  mutants/")) << coloured.substr(0, 40);
  EXPECT_EQ(render_case(failing_outcome(), "plumbline run", plain).find('\x1b'), std::string::npos);
}

TEST(RenderDiff, Explained) {
  EXPECT_EQ(render_diff(explained_diff(), plain), R"(pass  stories/S4
  a          cpu/split_kv/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  b          cpu/flash/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  note       the difference is explained by what both declare
  largest    6.104e-05, 2 ulp at sample 3 head 7 row 0 column 90; mean 4.1e-06; 4.25 of the legal standard deviations at most
  relative   1.579 at most, where |expected| is 1.9e-07 and the output's rms 0.0181; mean 0.0022
  bits       71 % of 233472 elements equal, 2 of 1824 heads entirely
  fp64       rms error of a 4e-06, of b 2e-06
  time       a 1.276 ms, b 1.595 ms: a takes 0.800 times as long

)");
}

TEST(RenderDiff, OneSideDidNotRun) {
  StoredDiff stored = explained_diff();
  stored.outcome.status = Status::crashed;
  stored.judgement = {};
  stored.judgement.verdict = Verdict::crashed;
  stored.judgement.findings = {{"status", 0, 0, "a: signal 11"}};
  EXPECT_EQ(render_diff(stored, plain), R"(crashed  stories/S4
  a          cpu/split_kv/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  b          cpu/flash/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  why        a: signal 11

)");
}

TEST(CaseText, SaysWhatWasReused) {
  StoredOutcome stored = passing_outcome();
  stored.outcome.reused_from = "emulated/prefill_simt/bf16/b1-h1-s8-d64/device=emulated:sm_80";
  EXPECT_THAT(render_case(stored, "plumbline run", {}),
              testing::HasSubstr("reused     from emulated/prefill_simt/"));
}

}  // namespace
}  // namespace plumbline
