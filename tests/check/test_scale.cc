// Tests that a softmax scale or an output that is off by tenths of a percent is never rounding, and
// that legal kernels keep the limits of the scale tests.
#include <gmock/gmock.h>

#include <tuple>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::Emulated;
using test::run_emulated;
using testing::HasSubstr;

// A typical dump: 2 x 8 x 128 x 128 x 64.
Problem usual(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 2;
  problem.heads_q = problem.heads_kv = 8;
  problem.seq_q = problem.seq_kv = 128;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  return problem;
}

Emulated flash(DType dtype) {
  Emulated kernel;
  kernel.p = dtype;
  return kernel;
}

CheckReport judged(const Problem& problem, const Emulated& kernel, bool with_lse = true,
                   const std::string& spec = "") {
  DumpTensors tensors = run_emulated(problem, kernel);
  if (!with_lse) tensors.erase("lse");
  Attributes attributes = attributes_of(problem);
  attributes["spec"] = spec;
  const auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  auto report = check(*dump);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

class ScaleTestOf : public testing::TestWithParam<std::tuple<DType, bool>> {
 protected:
  DType dtype() const { return std::get<0>(GetParam()); }
  bool with_lse() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, ScaleTestOf,
                         testing::Combine(testing::Values(DType::bf16, DType::f16),
                                          testing::Bool()),
                         [](const auto& at) {
                           return std::string(name(std::get<0>(at.param))) +
                                  (std::get<1>(at.param) ? "_with_lse" : "_without_lse");
                         });

TEST_P(ScaleTestOf, WrongSoftmaxScaleIsNeverRounding) {
  for (const double factor : {1.002, 0.998, 1.004, 1.008}) {
    Emulated kernel = flash(dtype());
    kernel.scale_factor = factor;
    for (const char* spec : {"", "FlashAttention-2"}) {
      const CheckReport report = judged(usual(dtype()), kernel, with_lse(), spec);
      EXPECT_NE(report.answer, Answer::rounding) << factor << ": " << report.sentence;
      for (const RungTrial& trial : report.trials) {
        if (trial.rung.name != "FlashAttention-2" || !trial.scale.temperature.judged) continue;
        EXPECT_NEAR(trial.scale.temperature.effect, factor - 1, 4e-4);
        EXPECT_LT(trial.scale.temperature.limit, 1e-3);
      }
    }
  }
}

TEST_P(ScaleTestOf, TooSmallOutputIsNeverRounding) {
  for (const double factor : {0.998, 0.996, 1.002}) {
    Emulated kernel = flash(dtype());
    kernel.denominator_factor = 1 / factor;
    const CheckReport report = judged(usual(dtype()), kernel, with_lse());
    EXPECT_NE(report.answer, Answer::rounding) << factor << ": " << report.sentence;
  }
}

// docs/judging-formulas.md, "Scale of one output", lists these limits.
TEST(ScaleTest, LimitsOfTypicalDump) {
  const auto limit = [](DType dtype, const char* spec) {
    const CheckReport report = judged(usual(dtype), flash(dtype), true, spec);
    return report.trials.at(0).scale.temperature.limit;
  };
  EXPECT_NEAR(limit(DType::bf16, "FlashAttention-2"), 3.5e-4, 0.5e-4);
  EXPECT_NEAR(limit(DType::bf16, "PyTorch math"), 1.3e-3, 0.05e-3);
  EXPECT_NEAR(limit(DType::f16, "FlashAttention-2"), 4.5e-5, 0.5e-5);
  EXPECT_NEAR(limit(DType::f16, "PyTorch math"), 1.6e-4, 0.4e-4);
}

TEST(ScaleTest, SentenceGivesPercentage) {
  Emulated kernel = flash(DType::bf16);
  kernel.scale_factor = 1.002;
  EXPECT_THAT(judged(usual(DType::bf16), kernel, false, "FlashAttention-2").sentence,
              HasSubstr("the softmax scale is 0.2 % too large"));
}

TEST(ScaleTest, LegalKernelsMatchOwnModel) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::vector<Problem> problems(5, usual(dtype));
    problems[1].heads_kv = 2;
    problems[2].seq_q = 40, problems[2].seq_kv = 200, problems[2].mask = Mask::causal_bottom_right;
    problems[3].head_dim_qk = problems[3].head_dim_vo = 59;
    problems[4].seq_q = 60, problems[4].seq_kv = 25, problems[4].mask = Mask::causal_bottom_right;
    for (const Problem& problem : problems) {
      const auto expect = [&](const Emulated& kernel, const char* rung) {
        const CheckReport report = judged(problem, kernel);
        EXPECT_EQ(report.answer, Answer::rounding)
            << problem_id(problem) << rung << report.sentence;
        EXPECT_EQ(report.trials.at(report.judged).rung.name, rung) << problem_id(problem);
      };
      expect({}, "FlashInfer decode");
      expect(flash(dtype), "FlashAttention-2");
      Emulated kernel = flash(dtype);
      kernel.normalise_first = true;
      expect(kernel, "FlexAttention");
      kernel.s = dtype;
      const CheckReport eager = judged(problem, kernel);
      EXPECT_NE(eager.answer, Answer::bug) << problem_id(problem) << eager.sentence;
      EXPECT_EQ(eager.trials.at(eager.judged).rung.name, "PyTorch math");
    }
  }
}

TEST(ScaleTest, NotJudgedForFlatRows) {
  Problem problem = usual(DType::bf16);
  problem.k_scale = 0;
  const CheckReport report = judged(problem, flash(DType::bf16));
  ASSERT_FALSE(report.trials.empty());
  for (const RungTrial& trial : report.trials) {
    EXPECT_EQ(trial.scale.rows, 0);
    EXPECT_FALSE(trial.scale.shrink.judged);
  }
}

}  // namespace
}  // namespace plumbline
