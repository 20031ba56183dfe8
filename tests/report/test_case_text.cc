// The report of one case or diff: each kind of outcome, wrapping, quoting and colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/report/format.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

constexpr Style plain{false, 0};
constexpr Style in_full{.width = 0, .verbose = true};

TEST(RenderCase, Pass) {
  EXPECT_EQ(render_case(passing_outcome(), "plumbline run", plain),
            R"(pass: 62 % of the limit (peak)
  cpu/flash/bf16/b1-h4-s128-d64/mask=causal_top_left: all 512 rows compared with fp64
  figures   62 % of the limit (peak): peak 4.03, beyond output rounding 2.5, rms 0.9712, lse 1.2; largest error 0.003906, mean 0.000412
  suite     smoke/causal

)");
}

constexpr const char* failure =
    R"(fail: the sums are kept in bf16
  mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left: all 512 rows compared with fp64
  why       peak is 9.3, its limit 6.5
  note      sigma is 1.5 times that of the strict spec (p_dtype=bf16)
  figures   143 % of the limit (peak): peak 9.3, beyond output rounding 2.5, rms 0.9712, lse 1.2; largest error 0.003906, mean 0.000412
  worst     sample 0 head 3 row 17 column 5: 0.5156, not 0.5 (9.3 sigma)
  where     head: head 3 carries 81 % of the excess
  looser    would be explained by PyTorch math: S to bf16 and P to bf16 after normalisation
  suite     smoke/causal
  saved to  failures/0001.safetensors
)";
constexpr const char* repeat =
    R"(reproduce: plumbline run --provider './mine.so' --case 'mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left'

)";

TEST(RenderCase, Fail) {
  EXPECT_EQ(render_case(failing_outcome(), "plumbline run --provider './mine.so'", plain),
            std::string(failure) + repeat);
}

TEST(RenderCase, VerboseHasEverything) {
  EXPECT_EQ(
      render_case(failing_outcome(), "plumbline run --provider './mine.so'", in_full),
      std::string(failure) +
          R"(  sigma     0.00168 there, with 18 visible keys: output rounding 74 %, P rounding 25 %; the error is 0.01562, 4 ulp
  outside   allclose 1e-3: 0 %, 1e-2: 0 %; 32768 elements
  launched  flash<64, 64> (build 0123abcd), tensor cores none
)" + repeat);
}

TEST(RenderCase, Unsupported) {
  EXPECT_EQ(render_case(unsupported_outcome(), "plumbline run", plain),
            R"(unsupported: only fp16 and bf16 are supported
  cpu/flash/fp32/b1-h1-s1-d64: no row was compared
  suite     stories/S5

)");
}

TEST(RenderCase, CrashHasReasonAndReproduceLine) {
  EXPECT_EQ(render_case(crashed_outcome(), "plumbline run", plain),
            R"(crashed: signal 11 (segmentation fault)
  cpu/flash/fp32/b1-h1-s1-d64: no row was compared
  suite     stories/S5
reproduce: plumbline run --case 'cpu/flash/fp32/b1-h1-s1-d64'

)");
}

TEST(RenderCase, TracebackFollowsFirstLine) {
  StoredOutcome stored = crashed_outcome();
  stored.outcome.reason = "ZeroDivisionError: division by zero\n  mine.py:3: out = 1 / 0";
  stored.judgement.findings[0].text = stored.outcome.reason;
  EXPECT_THAT(render_case(stored, "plumbline run", plain),
              testing::StartsWith("crashed: ZeroDivisionError: division by zero\n"
                                  "  cpu/flash/fp32/b1-h1-s1-d64: no row was compared\n"
                                  "              mine.py:3: out = 1 / 0\n"));
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
  const std::string text = render_case(stored, "plumbline run", in_full);
  EXPECT_NE(text.find("tensor cores on, 182 registers, 69.63 KB shared memory\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  time      1.276 ms (MAD 2.5 us), 0.8123 of the sentinel\n"),
            std::string::npos)
      << text;
}

TEST(RenderCase, FirstSeenWithNan) {
  StoredOutcome stored = passing_outcome();
  stored.judgement.verdict = Verdict::first_seen;
  stored.judgement.percent_of_limit = std::nan("");
  const std::string text = render_case(stored, "plumbline run", plain);
  EXPECT_TRUE(text.starts_with("first seen: nan % of the limit")) << text;
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

TEST(RenderErrors, EmptyIfNothingCompared) {
  EXPECT_EQ(render_errors(crashed_outcome(), plain), "");
}

TEST(RenderCase, FitsEachTerminal) {
  StoredOutcome stored = failing_outcome();
  stored.outcome.cause = "the sums are kept in bf16, and so is what is added to them " +
                         std::string(150, 'y') + " in every tile";
  for (const std::size_t width : {60U, 80U, 100U, 120U}) {
    const std::string text =
        render_case(stored, "plumbline run", Style{.width = static_cast<int>(width)});
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12 + 1) << text;  // and a blank line
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      EXPECT_LE(display_width(text.substr(begin, end - begin)), width) << text;
  }
}

TEST(RenderCase, QuotesForTheShell) {
  StoredOutcome stored = crashed_outcome();
  stored.outcome.case_id = "it's";
  EXPECT_NE(render_case(stored, "plumbline run", plain).find(R"(--case 'it'\''s')"),
            std::string::npos);
}

TEST(RenderCase, ColoursOnlyTheVerdict) {
  const std::string coloured = render_case(failing_outcome(), "plumbline run", Style{true, 0});
  EXPECT_TRUE(coloured.starts_with("\x1b[31mfail\x1b[0m: the sums")) << coloured.substr(0, 40);
  EXPECT_EQ(render_case(failing_outcome(), "plumbline run", plain).find('\x1b'), std::string::npos);
}

TEST(RenderDiff, Explained) {
  EXPECT_EQ(render_diff(explained_diff(), plain),
            R"(pass: the difference is explained by what both declare
  stories/S4: 1824 common rows compared with fp64
  a         cpu/split_kv/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  b         cpu/flash/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  largest   6.104e-05, 2 ulp at sample 3 head 7 row 0 column 90; mean 4.1e-06; at most 4.25 legal standard deviations
  relative  1.579 at most, where |expected| is 1.9e-07 and the output's rms 0.0181; mean 0.0022
  bits      71 % of 233472 elements equal, 2 of 1824 heads entirely
  fp64      rms error of a 4e-06, of b 2e-06
  time      a 1.276 ms, b 1.595 ms: a takes 0.800 times as long

)");
}

TEST(RenderDiff, OneSideDidNotRun) {
  StoredDiff stored = explained_diff();
  stored.outcome.status = Status::crashed;
  stored.judgement = {};
  stored.judgement.verdict = Verdict::crashed;
  stored.judgement.findings = {{FindingKind::status, 0, 0, "a: signal 11"}};
  EXPECT_EQ(render_diff(stored, plain), R"(crashed: a: signal 11
  stories/S4: no row was compared
  a         cpu/split_kv/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd
  b         cpu/flash/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd

)");
}

TEST(CaseText, NamesReusedCase) {
  StoredOutcome stored = passing_outcome();
  stored.outcome.reused_from = "emulated/prefill_simt/bf16/b1-h1-s8-d64/device=emulated:sm_80";
  EXPECT_THAT(render_case(stored, "plumbline run", {}),
              testing::HasSubstr("reused    from emulated/prefill_simt/"));
}

}  // namespace
}  // namespace plumbline
