// Tests which parts of a dump are judged, and what check and diff report about the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/check/diff.h"
#include "harness/report/check_text.h"
#include "harness/report/diff_text.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::DumpTensors;
using test::Emulated;
using test::run_emulated;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

constexpr std::int64_t seq = 64, seen_by_all = 16;

Problem square(std::int64_t batch = 1) {
  Problem problem;
  problem.dtype = DType::f16;
  problem.batch = batch;
  problem.heads_q = problem.heads_kv = 2;
  problem.seq_q = problem.seq_kv = seq;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  return problem;
}

Dump dump_of(const DumpTensors& tensors, Attributes attributes = {}) {
  attributes.emplace("layout", "padded_bshd");
  attributes.emplace("lse_layout", "heads_last");
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  return dump ? *dump : Dump{};
}

CheckReport judged(const Dump& dump, const CheckOptions& options = {}) {
  auto report = check(dump, options);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

DiffReport compared(const Dump& a, const Dump& b) {
  auto report = diff(a, b);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : DiffReport{};
}

// Returns a dump in which every row sees only the first `seen_by_all` keys, by a mask of `shape`,
// the same for all heads.
DumpTensors block_mask(const std::vector<std::int64_t>& shape) {
  Emulated kernel;
  kernel.sees = [](auto, auto, auto, std::int64_t key) { return key < seen_by_all; };
  DumpTensors tensors = run_emulated(square(), kernel);
  std::size_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= static_cast<std::size_t>(shape[i]);
  std::vector<std::byte> mask;
  for (std::size_t i = 0; i < rows * seq; ++i)
    mask.push_back(std::byte{i % seq < static_cast<std::size_t>(seen_by_all)});
  tensors.set("mask", "BOOL", shape, std::move(mask));
  return tensors;
}

// Replaces each row i >= `row` of out [1, seq, heads, dim] by row i - `row`.
void spoil_rows(DumpTensors& tensors, std::int64_t row) {
  std::vector<std::byte>& out = tensors.data("out");
  const std::size_t begin = out.size() / seq * static_cast<std::size_t>(row);
  std::copy_backward(out.begin(), out.end() - static_cast<std::ptrdiff_t>(begin), out.end());
}

TEST(NotJudged, QueryMaskHidesNoRow) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {seq, seq}, {1, seq, seq}, {2, seq, seq}, {1, 2, seq, seq}}) {
    DumpTensors tensors = block_mask(shape);
    const CheckReport right = judged(dump_of(tensors));
    EXPECT_EQ(right.answer, Answer::rounding) << right.sentence;
    EXPECT_EQ(right.judged_trial().outcome.reference_rows, 2 * seq);
    EXPECT_THAT(right.not_judged, IsEmpty());
    spoil_rows(tensors, seen_by_all);
    EXPECT_EQ(judged(dump_of(tensors)).answer, Answer::bug);
  }
}

TEST(NotJudged, CountsPaddingByKeyMask) {
  DumpTensors tensors = block_mask({1, seq});
  spoil_rows(tensors, seen_by_all);
  const CheckReport report = judged(dump_of(tensors));
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(report.rows_given, 2 * seq);
  EXPECT_THAT(render_check(report, {.piped = true}),
              HasSubstr("dump: 32 rows compared with fp64; not judged: 96 of 128 rows (padding by "
                        "the mask of valid keys)\n"));
  const Json json = Json::parse(json_of_checks({report}))["dumps"][0];
  EXPECT_EQ(json["rows_compared"], 32);
  EXPECT_EQ(json["rows_given"], 128);
  EXPECT_EQ(json["not_judged"][0]["what"], "rows");
  EXPECT_EQ(json["not_judged"][0]["count"], 96);
  // Stated lengths define the padding; padded_rows states its content.
  tensors.set_integers("seqlens_q", {1}, {seen_by_all});
  EXPECT_THAT(judged(dump_of(tensors)).not_judged, IsEmpty());
}

TEST(NotJudged, PaddedRowsMustMatchStatedContent) {
  DumpTensors tensors = block_mask({1, seq});
  spoil_rows(tensors, seen_by_all);
  EXPECT_EQ(judged(dump_of(tensors, {{"padded_rows", "zeros"}})).answer, Answer::bug);
  const CheckReport anything = judged(dump_of(tensors, {{"padded_rows", "anything"}}));
  EXPECT_EQ(anything.answer, Answer::rounding);
  EXPECT_EQ(anything.not_judged.size(), 1U);
  EXPECT_THAT(judged(dump_of(tensors, {{"padded_rows", "attended"}})).not_judged, IsEmpty());
}

TEST(NotJudged, RowsWithoutKeysMayBePadding) {
  Emulated kernel;
  kernel.sees = [](auto, auto, std::int64_t i, std::int64_t key) {
    return key <= i && key >= seen_by_all;
  };
  Problem problem = square();
  problem.lse = false;
  DumpTensors tensors = run_emulated(problem, kernel);
  EXPECT_EQ(judged(dump_of(tensors)).answer, Answer::rounding) << "zeros are right";
  std::vector<std::byte>& out = tensors.data("out");
  const auto padding = static_cast<std::ptrdiff_t>(out.size() / seq * seen_by_all);
  std::copy(out.end() - padding, out.end(), out.begin());
  const CheckReport report = judged(dump_of(tensors));
  EXPECT_EQ(report.answer, Answer::undecided);
  EXPECT_THAT(report.sentence, HasSubstr("32 rows see no key by the mask, and some do not hold 0"));
  EXPECT_THAT(report.suggestions.at(0), HasSubstr("state seqlens_q and seqlens_kv"));
  spoil_rows(tensors, 40);
  EXPECT_EQ(judged(dump_of(tensors)).answer, Answer::bug) << "other rows are wrong, too";
}

TEST(NotJudged, CountsRowsLeftOutBySampling) {
  CheckOptions cheap;
  cheap.reference_cost_limit = 1;
  const CheckReport report = judged(dump_of(run_emulated(square(), {})), cheap);
  const Json json = Json::parse(json_of_checks({report}))["dumps"][0];
  ASSERT_EQ(json["not_judged"].size(), 1U);
  EXPECT_EQ(json["not_judged"][0]["count"].get<int>() + json["rows_compared"].get<int>(), 2 * seq);
}

DumpTensors with_tensors(const std::vector<std::string>& names) {
  DumpTensors tensors = run_emulated(square(), {});
  for (const std::string& name : names)
    tensors.set(name, "F16", {1, seq, 2, 32}, tensors.data("q"));
  return tensors;
}

TEST(NotJudged, GradientsLeaveRightOutputUndecided) {
  const CheckReport report = judged(dump_of(with_tensors({"dq", "dk", "dv", "dout"})));
  EXPECT_EQ(report.answer, Answer::undecided);
  EXPECT_THAT(report.sentence,
              AllOf(HasSubstr("nothing judges gradients yet, so dk, dout, dq and dv are open"),
                    HasSubstr("explained by what")));
  EXPECT_THAT(render_check(report, {.piped = true}),
              HasSubstr("all 128 rows compared with fp64; not judged: dk, dout, dq, dv (nothing "
                        "judges gradients yet)\n"));
  EXPECT_THAT(report.unused_tensors, IsEmpty());
  const Json json = Json::parse(json_of_checks({report}))["dumps"][0];
  EXPECT_THAT(json["not_judged"][0]["names"], ElementsAre("dk", "dout", "dq", "dv"));
}

TEST(NotJudged, GradientsHideNoBug) {
  DumpTensors tensors = with_tensors({"dq"});
  spoil_rows(tensors, 32);
  EXPECT_EQ(judged(dump_of(tensors)).answer, Answer::bug);
}

TEST(NotJudged, UnknownTensorsAreListedOnly) {
  const CheckReport report = judged(dump_of(with_tensors({"rope_cos", "query"})));
  EXPECT_EQ(report.answer, Answer::rounding);
  EXPECT_THAT(render_check(report, {.piped = true}),
              HasSubstr("rows compared with fp64; unused: query, rope_cos\n"));
  const Json json = Json::parse(json_of_checks({report}))["dumps"][0];
  EXPECT_THAT(json["not_judged"][0]["names"], ElementsAre("query", "rope_cos"));
}

TEST(NotJudged, DropoutIsUndecided) {
  DumpTensors tensors = run_emulated(square(), {});
  tensors.set("dropout_mask", "BOOL", {1}, {std::byte{1}});
  for (const Dump& dump :
       {dump_of(tensors), dump_of(run_emulated(square(), {}), {{"dropout_p", "0.1"}})}) {
    const CheckReport report = judged(dump);
    EXPECT_EQ(report.answer, Answer::undecided);
    EXPECT_THAT(report.sentence, HasSubstr("nothing judges a call with dropout yet"));
    EXPECT_THAT(render_check(report, {.piped = true}),
                AllOf(HasSubstr("no row was compared; not judged: dropout_"),
                      Not(HasSubstr("of the limit"))));
    const Json json = Json::parse(json_of_checks({report}))["dumps"][0];
    EXPECT_EQ(json["rows_compared"], 0);
    EXPECT_TRUE(json["percent_of_limit"].is_null());
  }
}

TEST(NotJudged, ZeroDropoutIsIgnored) {
  DumpTensors tensors = run_emulated(square(), {});
  tensors.set("dropout_p", "F32", {}, std::vector<std::byte>(4));
  for (const char* value : {"0", "0.0", "None"}) {
    const CheckReport report = judged(dump_of(tensors, {{"dropout_p", value}}));
    EXPECT_EQ(report.answer, Answer::rounding) << value << report.sentence;
    EXPECT_THAT(report.not_judged, IsEmpty());
  }
}

TEST(NotJudged, DiffOfGradientsIsUndecided) {
  const Dump plain = dump_of(run_emulated(square(), {}));
  const Dump gradients = dump_of(with_tensors({"dq", "dk"})),
             dropout = dump_of(run_emulated(square(), {}), {{"dropout_p", "0.1"}});
  const DiffReport of_gradients = compared(plain, gradients), of_dropout = compared(plain, dropout);
  EXPECT_EQ(of_gradients.answer, Answer::undecided);
  EXPECT_THAT(of_gradients.sentence, HasSubstr("nothing judges gradients yet, so dk and dq"));
  EXPECT_THAT(render_diff(of_gradients, {.piped = true}),
              HasSubstr("not judged: dk, dq (nothing judges gradients yet,"));
  EXPECT_EQ(of_dropout.answer, Answer::undecided);
  EXPECT_THAT(of_dropout.sentence, HasSubstr("nothing judges a call with dropout yet"));
  EXPECT_THAT(render_diff(of_dropout, {.piped = true}),
              HasSubstr("no row was compared; not judged: dropout_p = 0.1"));
  EXPECT_EQ(overall_answer({of_dropout}), Answer::undecided);
  EXPECT_EQ(compared(std::vector{of_dropout}), 1U) << "if 0, diff exits with 4";
}

TEST(NotJudged, DiffCountsSkippedRows) {
  Problem longer = square();
  longer.mask = Mask::causal_top_left;
  Problem one_row = longer;
  one_row.mask = Mask::none;
  one_row.seq_q = 1;
  // Only the prefill's last row has a partner.
  const Dump prefill = dump_of(run_emulated(longer, {}), {{"mask", "causal_top_left"}});
  const Dump decode = dump_of(run_emulated(one_row, {}));
  const DiffReport report = compared(prefill, decode);
  EXPECT_THAT(render_diff(report, {.piped = true}),
              HasSubstr("2 rows compared with fp64; not judged: 126 of 128 rows (a has them, b has "
                        "not)\n"));
  const Json json = Json::parse(json_of_diffs({report}, report.answer))["diffs"][0];
  EXPECT_EQ(json["not_judged"][0]["count"], 126);
}

// Rows without keys are zeros on both sides, but their elements do not count as equal bits.
TEST(NotJudged, HiddenRowsAreNotEqualBits) {
  Emulated kernel;
  kernel.sees = [](auto, auto, std::int64_t i, std::int64_t) { return i >= 48; };
  DumpTensors tensors = run_emulated(square(), kernel);
  const Dump a = dump_of(tensors);
  std::vector<std::byte>& out = tensors.data("out");
  out[out.size() - 2] ^= std::byte{1};  // one of 1,024 elements of visible rows
  const DiffReport report = compared(a, dump_of(tensors));
  EXPECT_DOUBLE_EQ(report.outcome.bit_equal_share, 1023.0 / 1024);
  EXPECT_EQ(report.rows_total, 32);
  EXPECT_THAT(render_diff(report, {.piped = true}),
              HasSubstr("not judged: 96 of 128 rows (they see no key)"));
  EXPECT_THAT(compared(a, a).sentence, HasSubstr("equal in every element that was compared"));
}

}  // namespace
}  // namespace plumbline
