// Tests check on dumps of fp8 Q, K and V with scales in any granularity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::Emulated;
using test::run_emulated;

Problem fp8_problem(KvScales scales) {
  Problem problem;
  problem.dtype = DType::e4m3;
  problem.kv_scales = scales;
  problem.scale_block = 24;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 50;
  problem.seq_kv = 100;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

Emulated flash_attention_3() {
  Emulated kernel;
  kernel.p = DType::e4m3;
  kernel.p_prescale = 256;
  return kernel;
}

CheckReport judged(const DumpTensors& tensors, Attributes attributes) {
  const auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  const auto report = check(*dump, {});
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

CheckReport judged(const Problem& problem, const Emulated& kernel) {
  Attributes attributes = attributes_of(problem);
  if (problem.kv_scales == KvScales::block) attributes["scale_block"] = "24";
  return judged(run_emulated(problem, kernel), attributes);
}

std::string rung(const CheckReport& report) {
  return report.trials.empty() ? "" : report.trials.at(report.judged).rung.name;
}

TEST(Fp8Dumps, RoundingInEveryScaleGranularity) {
  for (const KvScales scales : all<KvScales>()) {
    const Problem problem = fp8_problem(scales);
    const auto report = judged(problem, flash_attention_3());
    EXPECT_EQ(report.answer, Answer::rounding) << name(scales) << ": " << report.sentence;
    EXPECT_EQ(rung(report), "fp8 P") << name(scales) << ": " << report.sentence;
    EXPECT_EQ(rung(judged(problem, {})), "fp32") << name(scales);
    Emulated widened;
    widened.inputs = widened.p = DType::bf16;
    const auto of_widened = judged(problem, widened);
    EXPECT_EQ(of_widened.answer, Answer::rounding) << name(scales) << ": " << of_widened.sentence;
    EXPECT_EQ(rung(of_widened), "widened") << name(scales) << ": " << of_widened.sentence;
  }
}

TEST(Fp8Dumps, QueriesMayBeBf16) {
  Problem problem = fp8_problem(KvScales::head);
  problem.dtype = DType::bf16;
  problem.kv_dtype = DType::e5m2;
  Emulated flash;
  flash.p = DType::bf16;
  const auto report = judged(problem, flash);
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(rung(report), "FlashAttention-2") << report.sentence;
}

// Kernels that round K and V of a latent cache to bf16 may keep P in fp32 or round P, and may sum P
// before or after its rounding.
TEST(Fp8Dumps, WidenedModelsNameDenominator) {
  Problem problem = fp8_problem(KvScales::head);
  problem.kv_dtype = DType::e4m3;
  problem.heads_kv = 1;
  problem.head_dim_qk = 96;
  for (const DType q_dtype : {DType::bf16, DType::e4m3}) {
    problem.dtype = q_dtype;
    for (const bool rounded_denominator : {false, true}) {
      Emulated kernel;
      kernel.inputs = kernel.p = DType::bf16;
      kernel.rounded_denominator = rounded_denominator;
      const auto report = judged(problem, kernel);
      EXPECT_EQ(report.answer, Answer::rounding) << name(q_dtype) << ": " << report.sentence;
      EXPECT_EQ(rung(report), rounded_denominator ? "widened, rounded denominator" : "widened")
          << name(q_dtype);
    }
    Emulated unrounded;
    unrounded.inputs = DType::bf16;
    EXPECT_EQ(judged(problem, unrounded).answer, Answer::rounding) << name(q_dtype);
  }
}

TEST(Fp8Dumps, ForgottenScaleIsBug) {
  for (const KvScales scales : {KvScales::batch_head, KvScales::block}) {
    Emulated kernel = flash_attention_3();
    kernel.forget_q_scale = true;
    EXPECT_EQ(judged(fp8_problem(scales), kernel).answer, Answer::bug) << name(scales);
  }
}

TEST(Fp8Dumps, RefusesWrongScaleBlock) {
  const Problem problem = fp8_problem(KvScales::block);
  Attributes attributes = attributes_of(problem);
  attributes["scale_block"] = "48";  // K and V have blocks of 24
  const DumpTensors tensors = run_emulated(problem, flash_attention_3());
  const auto dump = make_dump("dump", tensors.view(), attributes);
  ASSERT_FALSE(dump);
  EXPECT_NE(to_string(dump.error()).find("state the scale_block that the kernel had"),
            std::string::npos)
      << to_string(dump.error());
}

TEST(Fp8Dumps, JudgesOutputsWithScale) {
  Problem problem = fp8_problem(KvScales::head);
  for (const DType dtype : {DType::bf16, DType::e4m3}) {
    problem.dtype = dtype;
    for (const DType out : fp8_dtypes) {
      problem.out_dtype = out;
      Emulated flash = flash_attention_3();
      if (dtype == DType::bf16) flash.p = DType::bf16, flash.p_prescale = 1;
      const auto report = judged(problem, flash);
      EXPECT_EQ(report.answer, Answer::rounding) << name(dtype) << ": " << report.sentence;
      DumpTensors tensors = run_emulated(problem, flash);
      const float other = Geometry(problem).side.out_scale.at(0) * 1.1F;
      std::memcpy(tensors.data("out_scale").data(), &other, sizeof other);
      EXPECT_EQ(judged(tensors, attributes_of(problem)).answer, Answer::bug) << name(dtype);
    }
  }
}

// Each row sees one key, so its output is that key's V in bf16, outside the range of V as stored.
TEST(Fp8Dumps, RangeHasRoundedValues) {
  Problem problem = fp8_problem(KvScales::head);
  problem.dtype = DType::bf16;
  problem.kv_dtype = DType::e4m3;
  problem.out_dtype = DType::f32;
  problem.seq_q = problem.seq_kv = 1;
  Emulated widened;
  widened.inputs = DType::bf16;
  Attributes attributes = attributes_of(problem);
  attributes["spec"] = "p_dtype=fp32 kv_dequantized_to=bf16";
  const auto report = judged(run_emulated(problem, widened), attributes);
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
}

TEST(Fp8Dumps, RefusesOutputWithoutScale) {
  Problem problem = fp8_problem(KvScales::head);
  problem.out_dtype = DType::e4m3;
  DumpTensors tensors = run_emulated(problem, flash_attention_3());
  tensors.erase("out_scale");
  const auto dump = make_dump("dump", tensors.view(), attributes_of(problem));
  ASSERT_FALSE(dump);
  EXPECT_NE(to_string(dump.error()).find("tensor out_scale is missing: out is fp8"),
            std::string::npos)
      << to_string(dump.error());
}

// FlashAttention-3 has q_descale [batch, heads_kv]. A single number is also allowed.
TEST(Fp8Dumps, ScalesMayHaveFewerExtents) {
  const Problem problem = fp8_problem(KvScales::batch_head);
  DumpTensors tensors = run_emulated(problem, flash_attention_3());
  const std::vector<float>& of_heads = Geometry(problem).side.q_scale;
  const float of_groups[] = {of_heads[0], of_heads[2], of_heads[4], of_heads[6]};
  const auto bytes = std::as_bytes(std::span(of_groups));
  tensors.erase("q_scale");
  tensors.set("q_descale", "F32", {2, 2}, {bytes.begin(), bytes.end()});
  const auto report = judged(tensors, attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;

  const Problem of_tensor = fp8_problem(KvScales::tensor);
  DumpTensors scalar = run_emulated(of_tensor, flash_attention_3());
  for (const char* name : {"q_scale", "k_scale", "v_scale"}) {
    scalar.data(name).resize(sizeof(float));
    scalar.shape(name) = {};
  }
  EXPECT_EQ(judged(scalar, attributes_of(of_tensor)).answer, Answer::rounding);
}

}  // namespace
}  // namespace plumbline
