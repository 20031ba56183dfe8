// Features of only the provider "emulated": architectures, schedules, and its own refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const Library& library() {
  static const Library loaded(PLUMBLINE_GPU_LIBRARY);
  return loaded;
}

Problem problem_of(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 33;
  problem.seq_kv = 210;
  problem.mask = Mask::causal_bottom_right;
  problem.out_dtype = DType::f32;
  return problem;
}

Answer on(const std::string& arch, const std::string& kernel, DType dtype,
          const std::string& options = "") {
  return call(kernel, problem_of(dtype),
              {.library = &library(), .options = options, .arch = "emulated:" + arch});
}

TEST(Emulated, ArchitecturesDifferOnlyInTensorCores) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const Answer ampere = on("sm_80", "prefill_mma", dtype),
                 hopper = on("sm_90", "prefill_mma", dtype);
    ASSERT_EQ(ampere.status, PLUMBLINE_OK) << ampere.reason;
    EXPECT_NE(ampere.out, hopper.out) << name(dtype);
    EXPECT_EQ(ampere.out, on("sm_86", "prefill_mma", dtype).out);
    EXPECT_EQ(ampere.out, on("sm_89", "prefill_mma", dtype).out);
    EXPECT_EQ(hopper.out, on("sm_100", "prefill_mma", dtype).out);
    EXPECT_EQ(ampere.description.spec.qk_accumulator.fraction_bits, 24U);
    EXPECT_EQ(hopper.description.spec.qk_accumulator.fraction_bits, 25U);
    EXPECT_STREQ(ampere.description.device_arch, "sm_80");
  }
}

TEST(Emulated, ArchitectureIrrelevantWithoutTensorCores) {
  for (const char* kernel : {"naive", "prefill_simt", "decode_simt"}) {
    EXPECT_EQ(on("sm_80", kernel, DType::bf16).out, on("sm_100", kernel, DType::bf16).out)
        << kernel;
  }
}

TEST(Emulated, SchedulesGiveSameBits) {
  for (const char* kernel : {"prefill_mma", "prefill_simt", "decode_mma", "decode_simt"}) {
    const Answer expected = on("sm_90", kernel, DType::bf16, "schedule=in_order");
    for (const char* options :
         {"schedule=reversed", "schedule=random,seed=5", "schedule=alternating"}) {
      EXPECT_EQ(on("sm_90", kernel, DType::bf16, options).out, expected.out)
          << kernel << " " << options;
    }
  }
}

TEST(Emulated, TilesAndAccumulatorsAreOptions) {
  const Answer tile_64 = on("sm_90", "prefill_mma", DType::f16),
               tile_32 = on("sm_90", "prefill_mma", DType::f16, "tile=64x32");
  EXPECT_NE(tile_64.out, tile_32.out);
  EXPECT_THAT(tile_32.description.launched, HasSubstr("tile 64x32"));
  const Answer fp16 = on("sm_90", "prefill_mma", DType::f16, "accumulator=fp16");
  EXPECT_EQ(fp16.out, on("sm_90", "prefill_mma_acc16", DType::f16).out);
  EXPECT_NE(fp16.out, tile_64.out);
  EXPECT_EQ(fp16.description.spec.pv_accumulator.dtype, PLUMBLINE_F16);
  EXPECT_EQ(on("sm_90", "prefill_simt", DType::f16, "p_dtype=fp16").description.spec.p_dtype,
            PLUMBLINE_F16);
}

TEST(Emulated, RefusalsNameUnsupportedFeatures) {
  const auto reason = [](const std::string& arch, const std::string& kernel, DType dtype,
                         const std::string& options = "") {
    const Answer answer = on(arch, kernel, dtype, options);
    EXPECT_NE(answer.status, PLUMBLINE_OK);
    return answer.reason;
  };
  EXPECT_THAT(reason("sm_75", "naive", DType::f16),
              HasSubstr("emulated:sm_75 is not emulated: there are sm_80"));
  EXPECT_THAT(reason("sm_90", "prefill_mma_acc16", DType::bf16),
              HasSubstr("only fp16 inputs if it accumulates in fp16 (got bf16)"));
  EXPECT_THAT(reason("sm_90", "prefill_mma", DType::bf16, "tile=16x16"),
              HasSubstr("is not compiled for this problem; there is 64x64, 64x32"));
  EXPECT_THAT(reason("sm_90", "naive", DType::bf16, "colour=red"),
              HasSubstr("unknown option 'colour' (known: tile, splits"));
  EXPECT_THAT(reason("sm_90", "naive", DType::bf16, "splits=many"),
              HasSubstr("splits=many: expected 0 (by length) to 64"));
  Problem odd = problem_of(DType::bf16);
  odd.head_dim_qk = odd.head_dim_vo = 80;
  EXPECT_THAT(call("decode_mma", odd, {.library = &library()}).reason,
              HasSubstr("takes head dimensions 64, 128, 256 alike"));
  EXPECT_EQ(call("naive", odd, {.library = &library()}).status, PLUMBLINE_OK);
}

}  // namespace
}  // namespace plumbline::testing
