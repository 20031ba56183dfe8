// Tests diff on two dumps: layouts that correspond, and inputs and problems that do not.
#include <gmock/gmock.h>

#include "tests/check_diff/sides.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Problem problem(Layout layout = Layout::padded_bshd) {
  Problem p = test::small_problem();
  p.seq_q = 20;
  p.lengths = Lengths::random;
  p.mask = Mask::causal_bottom_right;
  p.layout = layout;
  p.page_size = 4;
  return p;
}

std::string error_of(const Dump& a, const Dump& b) {
  const auto report = diff(a, b);
  return report ? "no error" : to_string(report.error());
}

TEST(DiffDumps, MatchesRowsAcrossLayouts) {
  const Dump padded = dump_of(test::FilledProblem(problem()), "padded");
  for (const Layout layout :
       {Layout::padded_bhsd, Layout::ragged, Layout::paged_nhd, Layout::paged_hnd}) {
    const auto report = diff(padded, dump_of(test::FilledProblem(problem(layout)), "other"));
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(report->answer, Answer::rounding) << name(layout) << report->sentence;
    EXPECT_EQ(report->outcome.bit_equal_share, 1) << name(layout);
    EXPECT_EQ(report->outcome.rows, padded.geometry->total_q() * 4);
  }
}

TEST(DiffDumps, MatchesDecodeWithLastPrefillRow) {
  Problem decode = problem();
  decode.seq_q = 1;
  const auto report = diff(dump_of(test::FilledProblem(problem()), "prefill"),
                           dump_of(test::FilledProblem(decode), "decode"));
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->answer, Answer::rounding);
  EXPECT_EQ(report->rows_total, 2 * 4);
}

TEST(DiffDumps, WrongSideIsNamed) {
  test::FilledProblem wrong(problem());
  const RowId row = wrong.reference.selection.rows[40];
  wrong.set(row, 5, wrong.expected(40, 5) + 0.25);
  const Dump good = dump_of(test::FilledProblem(problem()), "good"), bad = dump_of(wrong, "bad");
  const auto report = diff(good, bad);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->answer, Answer::bug);
  EXPECT_THAT(report->sentence,
              AllOf(HasSubstr("b (bad) is wrong"), HasSubstr("a keeps its limits")));
  EXPECT_EQ(report->largest_sigma.element, (ElementId{row.sample, row.head, row.row, 5}));
}

// If the reference samples rows, the row that differs most is still examined.
TEST(DiffDumps, SampleIncludesLargestDifference) {
  const test::FilledProblem exact(problem());
  CheckOptions cheap;
  cheap.reference_cost_limit = 1;
  const auto sampled = select_rows(exact.geometry, 1).rows;
  for (std::size_t r = 0; r < exact.reference.selection.rows.size(); ++r) {
    const RowId row = exact.reference.selection.rows[r];
    if (std::find(sampled.begin(), sampled.end(), row) != sampled.end()) continue;
    test::FilledProblem wrong(problem());
    // The value is within the range of V, so only the reference can find it.
    wrong.set(row, 0, exact.expected(r, 0) * 1.25 + 0.01);
    const auto report = diff(dump_of(exact, "good"), dump_of(wrong, "bad"), cheap);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_LT(report->outcome.rows, report->rows_total);
    EXPECT_LT(report->outcome.bit_equal_share, 1);
    EXPECT_EQ(report->answer, Answer::bug) << report->sentence;
    return;
  }
  FAIL() << "no row was left out";
}

TEST(DiffDumps, ErrorLocatesDifferentInputs) {
  const test::FilledProblem exact(problem());
  const Dump a = dump_of(exact, "a");
  const auto changed = [&](std::vector<std::byte> Dump::*tensor, std::int64_t offset) {
    Dump b = a;
    // Flips the sign of one fp16 number.
    (b.*tensor)[static_cast<std::size_t>(offset) * 2 + 1] ^= std::byte{0x80};
    return error_of(a, b);
  };
  EXPECT_THAT(changed(&Dump::q, exact.geometry.q_offset(0, 3, 2) + 7),
              HasSubstr("q differs first at sample 0 head 2 row 3 column 7"));
  EXPECT_THAT(changed(&Dump::k, exact.geometry.k_offset(0, 2, 1) + 4),
              HasSubstr("k differs first at sample 0 key 2 head 1 column 4"));
  EXPECT_THAT(changed(&Dump::v, exact.geometry.v_offset(0, 2, 1)),
              HasSubstr("v differs first at sample 0 key 2 head 1 column 0"));
}

TEST(DiffDumps, ErrorLocatesDifferentFp8Scales) {
  Problem fp8 = problem();
  fp8.dtype = DType::e4m3, fp8.kv_scales = KvScales::batch_head;
  const Dump a = dump_of(test::FilledProblem(fp8), "a");
  const auto changed = [&](std::vector<float> SideInputs::*scales, std::size_t at) {
    Dump b = a;
    Geometry geometry = *a.geometry;
    (geometry.side.*scales)[at] *= 2;
    b.geometry = std::make_shared<const Geometry>(geometry);
    return error_of(a, b);
  };
  EXPECT_THAT(changed(&SideInputs::q_scale, 2),
              HasSubstr("the scale of q differs first at sample 0 head 2 row 0"));
  EXPECT_THAT(changed(&SideInputs::k_scale, 1),
              HasSubstr("the scale of k differs first at sample 0 key 0 head 1"));
  EXPECT_THAT(changed(&SideInputs::v_scale, 1),
              HasSubstr("the scale of v differs first at sample 0 key 0 head 1"));
}

TEST(DiffDumps, IgnoresContentOfPadding) {
  const test::FilledProblem exact(problem());
  Problem zeros = problem();
  zeros.fill = Fill::zeros;
  const auto report = diff(dump_of(exact, "garbage"), dump_of(test::FilledProblem(zeros), "zeros"));
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->answer, Answer::rounding);
}

TEST(DiffDumps, DifferentProblemsAreErrors) {
  const Dump a = dump_of(test::FilledProblem(problem()), "a");
  const auto with = [&](auto change) {
    Problem other = problem();
    change(other);
    return error_of(a, dump_of(test::FilledProblem(other), "b"));
  };
  EXPECT_THAT(with([](Problem& p) { p.mask = Mask::none; }),
              HasSubstr("sees keys [0, 1) in a and [0, "));
  EXPECT_THAT(with([](Problem& p) { p.scale = 0.5; }),
              HasSubstr("scale is 0.25 in a and 0.5 in b"));
  EXPECT_THAT(with([](Problem& p) { p.dtype = DType::bf16; }),
              HasSubstr("dtype of q is fp16 in a and bf16 in b"));
  EXPECT_THAT(with([](Problem& p) { p.heads_q = 2; }), HasSubstr("heads_q is 4 in a and 2 in b"));
  EXPECT_THAT(with([](Problem& p) { p.seq_kv = 24; }), HasSubstr("keys in a and"));
  Dump without = a;
  without.out.clear();
  EXPECT_THAT(error_of(a, without), HasSubstr("b (a) has no output"));
}

}  // namespace
}  // namespace plumbline
