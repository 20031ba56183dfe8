// Tests check on outputs whose roundings and faults are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::Emulated;
using test::run_emulated;
using testing::Contains;
using testing::HasSubstr;

Problem problem_of(DType dtype, Layout layout) {
  Problem problem;
  problem.dtype = dtype;
  problem.layout = layout;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 24;
  problem.seq_kv = 100;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  problem.mask = Mask::causal_bottom_right;
  if (layout != Layout::padded_bshd) problem.lengths = Lengths::random;
  return problem;
}

CheckReport judged(const DumpTensors& tensors, const Attributes& attributes,
                   const CheckOptions& options = {}) {
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  auto report = check(*dump, options);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

CheckReport judged(const Problem& problem, const Emulated& kernel, const std::string& spec = "") {
  Attributes attributes = attributes_of(problem);
  attributes["spec"] = spec;
  return judged(run_emulated(problem, kernel), attributes);
}

std::string rung(const CheckReport& report) {
  return report.trials.empty() ? "" : report.trials.at(report.judged).rung.name;
}

Emulated flash(DType dtype) {
  Emulated kernel;
  kernel.p = dtype;
  return kernel;
}

// Rounds S. If logits have a standard deviation of 3, this is larger than all other roundings.
Emulated pytorch_math(DType dtype) {
  Emulated kernel;
  kernel.p = kernel.s = dtype;
  kernel.normalise_first = true;
  return kernel;
}

class EveryLayout : public testing::TestWithParam<std::tuple<Layout, DType>> {
 protected:
  Layout layout() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Layouts, EveryLayout,
                         testing::Combine(testing::Values(Layout::padded_bshd, Layout::padded_bhsd,
                                                          Layout::ragged, Layout::paged_nhd,
                                                          Layout::paged_hnd),
                                          testing::Values(DType::f16, DType::bf16)));

TEST_P(EveryLayout, FlashAttentionIsRounding) {
  const auto report = judged(problem_of(dtype(), layout()), flash(dtype()));
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "FlashAttention-2") << report.sentence;
  EXPECT_TRUE(report.suggestions.empty());
}

TEST_P(EveryLayout, Fp32PNamesTightestModel) {
  const auto report = judged(problem_of(dtype(), layout()), {});
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "FlashInfer decode");
  EXPECT_EQ(report.trials.size(), 1U)
      << "a rung that permits all that an explaining one does need not be tried";
}

TEST_P(EveryLayout, DroppedLastKeyIsEdgeBug) {
  Emulated kernel = flash(dtype());
  kernel.drop_last_keys = 1;
  const auto report = judged(problem_of(dtype(), layout()), kernel);
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.trials.at(report.judged).outcome.location.description, HasSubstr("last"));
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("off by one"))) << report.sentence;
  ASSERT_EQ(report.worst.size(), 5U);
  EXPECT_GT(
      std::abs(report.worst[0].got - report.worst[0].expected) / report.worst[0].sigma,
      0.99 * std::abs(report.worst[4].got - report.worst[4].expected) / report.worst[4].sigma);
}

TEST_P(EveryLayout, WrongCausalCornerIsNamed) {
  Emulated kernel = flash(dtype());
  kernel.other_mask = true;
  kernel.wrong_mask = Mask::causal_top_left;
  const auto report = judged(problem_of(dtype(), layout()), kernel);
  EXPECT_EQ(report.answer, Answer::bug);
  ASSERT_FALSE(report.suggestions.empty());
  EXPECT_THAT(report.suggestions.front(), HasSubstr("if causal were top-left")) << report.sentence;
}

TEST(Check, PyTorchMathMatchesOwnModel) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Problem problem = problem_of(dtype, Layout::padded_bhsd);
    problem.k_scale = 3;
    const auto report = judged(problem, pytorch_math(dtype));
    EXPECT_EQ(report.answer, Answer::undecided) << report.sentence;
    EXPECT_EQ(rung(report), "PyTorch math") << report.sentence;
    EXPECT_THAT(report.sentence, HasSubstr("only a kernel that rounds S may err so"));
    EXPECT_THAT(report.suggestions, Contains(HasSubstr("no fused kernel does")));
  }
}

TEST(Check, UndecidedIfLooserThanStated) {
  Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  problem.k_scale = 3;
  const auto report = judged(problem, pytorch_math(DType::bf16), "FlashAttention-2");
  EXPECT_EQ(report.answer, Answer::undecided) << report.sentence;
  EXPECT_TRUE(report.stated);
  EXPECT_EQ(report.trials.front().rung.name, "FlashAttention-2");
  EXPECT_EQ(rung(report), "PyTorch math");
  EXPECT_THAT(report.sentence, HasSubstr("FlashAttention-2 does not explain"));
}

TEST(Check, ExplainingStatedSpecEndsTrials) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  const auto report =
      judged(problem, flash(DType::bf16), "p_dtype=bf16 qk_accumulator=fma pv_accumulator=fma");
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(report.trials.size(), 1U);
}

TEST(Check, RoundedDenominatorNamesFlashInferPrefill) {
  Emulated kernel = flash(DType::bf16);
  kernel.rounded_denominator = true;
  const auto report = judged(problem_of(DType::bf16, Layout::ragged), kernel);
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "FlashInfer prefill") << report.sentence;
}

TEST(Check, ScaleErrorOfPermilleIsBug) {
  Emulated kernel = flash(DType::f16);
  kernel.scale_factor = 1.001;
  const auto report = judged(problem_of(DType::f16, Layout::padded_bshd), kernel);
  EXPECT_EQ(report.answer, Answer::bug) << report.sentence;
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("the softmax scale is 0.1 % too large")));
}

TEST(Check, MissingScaleIsNamed) {
  Emulated kernel = flash(DType::bf16);
  kernel.scale_factor = 8;
  const auto report = judged(problem_of(DType::bf16, Layout::padded_bshd), kernel);
  EXPECT_EQ(report.answer, Answer::bug);
  ASSERT_FALSE(report.suggestions.empty());
  EXPECT_THAT(report.suggestions.front(),
              HasSubstr("if the scale were 1 (the softmax scale is not applied)"));
}

TEST(Check, IgnoredWindowOrPaddingIsNamed) {
  Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  const DumpTensors whole = run_emulated(problem, flash(DType::bf16));
  Attributes attributes = attributes_of(problem);
  attributes["window"] = "30,0";
  EXPECT_THAT(judged(whole, attributes).suggestions, Contains(HasSubstr("without the window")));

  problem.mask = Mask::none;
  DumpTensors padded = run_emulated(problem, flash(DType::bf16));
  padded.set_integers("seqlens_kv", {2}, {60, 100});
  EXPECT_THAT(judged(padded, attributes_of(problem)).suggestions,
              Contains(HasSubstr("the padding mask is not applied")));
}

TEST(Check, WrongDenominatorIsBug) {
  Emulated kernel = flash(DType::bf16);
  kernel.denominator_factor = 1.03;
  const auto report = judged(problem_of(DType::bf16, Layout::padded_bshd), kernel);
  EXPECT_EQ(report.answer, Answer::bug) << report.sentence;
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("softmax denominator")));
}

TEST(Check, OneWrongHeadIsNamed) {
  Emulated kernel = flash(DType::bf16);
  kernel.wrong_head = true;
  const auto report = judged(problem_of(DType::bf16, Layout::ragged), kernel);
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("head 3 of sample 1")));
}

TEST(Check, NanIsBugAndWorst) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  tensors.data("out")[1001] = std::byte{0x7F};  // the high byte of a bf16: sign and exponent
  tensors.data("out")[1000] = std::byte{0xC0};
  const auto report = judged(tensors, attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.sentence, HasSubstr("NaN at sample"));
  ASSERT_FALSE(report.worst.empty());
  EXPECT_TRUE(std::isnan(report.worst.front().got));
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("denominator of 0")));
}

TEST(Check, ValueOutsideVRangeIsBug) {
  const Problem problem = problem_of(DType::bf16, Layout::paged_nhd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  tensors.data("out")[2001] = std::byte{0x43};  // a few hundred
  const auto report = judged(tensors, attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("one element is wrong")));
}

// The wrong row is only a little beyond the limit of the model that rounds S, so a search with that
// model finds no cause.
TEST(Check, StrictSpecNamesCauseFirst) {
  Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  problem.k_scale = 3;
  problem.out_dtype = DType::f32;
  const DumpTensors right = run_emulated(problem, flash(DType::bf16));
  CheckReport report;
  for (double error = 0.01; report.answer != Answer::bug && error < 1; error *= 1.4) {
    DumpTensors tensors = right;
    // row 20, head 1 of sample 0
    auto* row = reinterpret_cast<float*>(tensors.data("out").data()) + (20 * 4 + 1) * 64;
    for (int j = 0; j < 64; ++j) row[j] *= static_cast<float>(1 + error);
    report = judged(tensors, attributes_of(problem));
  }
  ASSERT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.cause(), testing::StartsWith("one row is wrong"));
}

TEST(Check, PaddedRowsNeedStatedContent) {
  Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  problem.mask = Mask::none;
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  // the last 4 rows of sample 1 hold attended queries
  tensors.set_integers("seqlens_q", {2}, {24, 20});
  Attributes attributes = attributes_of(problem);
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::rounding);
  attributes["padded_rows"] = "attended";
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::rounding);
  attributes["padded_rows"] = "zeros";
  const auto report = judged(tensors, attributes);
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.suggestions, Contains(HasSubstr("padded query rows")));
}

TEST(Check, UnstatedBase2LseIsUndecided) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  auto* lse = reinterpret_cast<float*>(tensors.data("lse").data());
  for (std::size_t i = 0; i < tensors.data("lse").size() / 4; ++i)
    lse[i] = static_cast<float>(lse[i] / std::log(2.0));
  Attributes attributes = attributes_of(problem);
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::undecided);
  EXPECT_THAT(judged(tensors, attributes).sentence, HasSubstr("lse_base = 2"));
  attributes["lse_base"] = "e";
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::bug);
  attributes["lse_base"] = "2";
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::rounding);
}

// NumPy has no bf16, so the tensors of a bf16 kernel are often saved as F32.
TEST(Check, WideBf16NeedsDtype) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  for (const char* name : {"q", "k", "v", "out"}) {
    std::vector<float> values(tensors.data(name).size() / 2);
    decode(DType::bf16, tensors.data(name).data(), std::span<float>(values));
    std::vector<std::byte> wide(values.size() * 4);
    encode(DType::f32, values, wide.data());
    tensors.set(name, "F32", tensors.shape(name), wide);
  }
  Attributes attributes = attributes_of(problem);
  const auto unstated = judged(tensors, attributes);
  EXPECT_EQ(unstated.answer, Answer::undecided) << unstated.sentence;
  EXPECT_THAT(unstated.sentence, HasSubstr("dtype = bf16"));
  attributes["dtype"] = "fp32";
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::bug);
  attributes["dtype"] = "bf16";
  const auto stated = judged(tensors, attributes);
  EXPECT_EQ(stated.answer, Answer::rounding) << stated.sentence;
  EXPECT_EQ(rung(stated), "FlashAttention-2");
}

TEST(Check, TensorCoresNameTf32) {
  Emulated kernel;
  kernel.inputs = kernel.p = DType::tf32;
  const auto report = judged(problem_of(DType::f32, Layout::padded_bshd), kernel);
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "TF32");
  kernel.scale_factor = 1.001;
  EXPECT_EQ(judged(problem_of(DType::f32, Layout::padded_bshd), kernel).answer, Answer::bug);
}

// Triton's tl.dot hands fp32 numbers to tensor cores like this.
TEST(Check, TensorCoresNameTruncation) {
  Emulated kernel;
  kernel.inputs = kernel.p = DType::tf32;
  kernel.toward_zero = true;
  const Problem problem = problem_of(DType::f32, Layout::padded_bshd);
  const auto report = judged(run_emulated(problem, kernel), attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "TF32 truncated");
  kernel.scale_factor = 1.002;
  EXPECT_EQ(judged(problem, kernel).answer, Answer::bug);
}

// bf16x3 permits 500 times the errors of fp32, so a dump must state it.
TEST(Check, ProductsOfPartsNeedSpec) {
  Emulated kernel;
  kernel.bf16_parts = true;
  const Problem problem = problem_of(DType::f32, Layout::padded_bshd);
  Attributes attributes = attributes_of(problem);
  const DumpTensors tensors = run_emulated(problem, kernel);
  const auto unstated = judged(tensors, attributes);
  EXPECT_EQ(unstated.answer, Answer::undecided) << unstated.sentence;
  EXPECT_EQ(rung(unstated), "bf16x3");
  EXPECT_THAT(unstated.suggestions, Contains(HasSubstr("state spec = \"bf16x3\"")));
  attributes["spec"] = "bf16x3";
  EXPECT_EQ(judged(tensors, attributes).answer, Answer::rounding);
  kernel.scale_factor = 1.001;
  EXPECT_EQ(judged(run_emulated(problem, kernel), attributes).answer, Answer::bug);
}

TEST(Check, Fp32OutputsNameFp32) {
  const auto report = judged(problem_of(DType::f32, Layout::padded_bshd), {});
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  Emulated kernel;
  kernel.scale_factor = 1.00001;
  EXPECT_EQ(judged(problem_of(DType::f32, Layout::padded_bshd), kernel).answer, Answer::bug);
}

TEST(Check, WholeLadderOnRequest) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  CheckOptions options;
  options.whole_ladder = true;
  const auto report =
      judged(run_emulated(problem, flash(DType::bf16)), attributes_of(problem), options);
  EXPECT_EQ(report.trials.size(), ladder(problem).size());
  EXPECT_EQ(rung(report), "FlashAttention-2")
      << "the tightest, although looser ones explain the output, too";
}

TEST(Check, NothingToJudgeNeverPasses) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  const DumpTensors complete = tensors;
  tensors.erase("out");
  auto dump = make_dump("inputs only", tensors.view(), attributes_of(problem));
  ASSERT_TRUE(dump) << to_string(dump.error());
  auto report = check(*dump);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().front().to_string(), HasSubstr("tensor out is missing"));

  tensors = complete;
  tensors.set_integers("seqlens_kv", {2}, {0, 0});
  for (std::byte& byte : tensors.data("out")) byte = std::byte{0};
  auto* lse = reinterpret_cast<float*>(tensors.data("lse").data());
  std::fill(lse, lse + tensors.data("lse").size() / 4, -std::numeric_limits<float>::infinity());
  const auto empty = judged(tensors, attributes_of(problem));
  EXPECT_EQ(empty.answer, Answer::undecided) << empty.sentence;
}

TEST(Check, NonFiniteInputsAreAnError) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  tensors.data("k")[1] = std::byte{0x7F};
  tensors.data("k")[0] = std::byte{0xC0};
  auto dump = make_dump("dump", tensors.view(), attributes_of(problem));
  ASSERT_TRUE(dump);
  auto report = check(*dump);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().front().message, HasSubstr("k holds nan at element 0"));
}

TEST(Check, UnknownSpecErrorListsLadder) {
  const Problem problem = problem_of(DType::bf16, Layout::padded_bshd);
  Attributes attributes = attributes_of(problem);
  attributes["spec"] = "FlashAtention-2";
  const DumpTensors tensors = run_emulated(problem, flash(DType::bf16));
  auto dump = make_dump("dump", tensors.view(), attributes);
  ASSERT_TRUE(dump);
  auto report = check(*dump);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().front().remedy, HasSubstr("FlashAttention-2"));
}

}  // namespace
}  // namespace plumbline
