// The C ABI of the cpu provider: versions, refusals with their reasons, descriptions, padded rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "harness/provider/description.h"
#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

Problem small(DType dtype = DType::f16) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 3;
  problem.heads_q = 2;
  problem.seq_q = 9;
  problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.lengths = Lengths::random;
  return problem;
}

// Calls query alone, after `change` has modified the problem and the device.
template <class Change>
std::pair<plumbline_status, std::string> query(const std::string& kernel, const Problem& problem,
                                               Change change) {
  const plumbline_provider& provider = *cpu_library().provider();
  plumbline_problem asked = abi_problem(Geometry(problem));
  plumbline_device device = first_device(provider);
  change(asked, device);
  std::array<char, 200> reason{};
  const plumbline_status status =
      provider.query(kernel_index(provider, kernel), &asked, &device, reason.data(), reason.size());
  return {status, reason.data()};
}
std::pair<plumbline_status, std::string> query(const std::string& kernel, const Problem& problem) {
  return query(kernel, problem, [](auto&, auto&) {});
}

TEST(Provider, ServesOnlyCurrentVersion) {
  EXPECT_EQ(cpu_library().provider("", PLUMBLINE_ABI_VERSION + 1), nullptr);
  const plumbline_provider* provider = cpu_library().provider();
  ASSERT_NE(provider, nullptr);
  EXPECT_EQ(provider->struct_size, sizeof(plumbline_provider));
  EXPECT_EQ(provider->abi_version, PLUMBLINE_ABI_VERSION);
  EXPECT_STREQ(provider->name, "cpu");
  EXPECT_EQ(provider->memory, nullptr);
}

TEST(Provider, SixteenBitKernelRefusesFp32) {
  using Pair = std::pair<plumbline_status, std::string>;
  const Problem fp32 = small(DType::f32);
  EXPECT_EQ(query("flash", fp32),
            Pair(PLUMBLINE_UNSUPPORTED, "FlashAttention only supports fp16 and bf16 (got fp32)"));
  EXPECT_EQ(query("flash_unpad", fp32),
            Pair(PLUMBLINE_UNSUPPORTED, "FlashAttention only supports fp16 and bf16 (got fp32)"));
  EXPECT_THAT(query("naive", fp32).second, HasSubstr("only supports fp16 and bf16 (got fp32)"));
  EXPECT_EQ(query("flash_p32", fp32).first, PLUMBLINE_OK);
  EXPECT_EQ(query("split_kv", fp32).first, PLUMBLINE_OK);
}

TEST(Provider, RefusesUnknownValuesWithReason) {
  const auto reason = [](auto change, const std::string& kernel = "flash") {
    const auto [status, text] = query(kernel, small(), change);
    EXPECT_EQ(status, PLUMBLINE_UNSUPPORTED);
    return text;
  };
  EXPECT_THAT(reason([](auto&, auto& device) { device.memory_space = PLUMBLINE_CUDA; }),
              HasSubstr("device cpu only"));
  EXPECT_THAT(reason([](auto& problem, auto&) { problem.mask = 4; }), HasSubstr("unknown mask 4"));
  EXPECT_THAT(reason([](auto& problem, auto&) { problem.dtype_kv = PLUMBLINE_BF16; }),
              HasSubstr("got fp16 with bf16"));
  EXPECT_THAT(reason([](auto& problem, auto&) { problem.dtype_q = PLUMBLINE_E5M2; }),
              HasSubstr("got e5m2"));
  EXPECT_THAT(reason([](auto& problem, auto&) { problem.dtype_out = PLUMBLINE_BF16; }),
              HasSubstr("the output bf16"));
  EXPECT_THAT(
      reason([](auto& problem, auto&) { problem.layout = PLUMBLINE_RAGGED_THD; }, "flash_unpad"),
      HasSubstr("padded layouts only"));
}

TEST(Provider, ShortReasonBufferIsTerminated) {
  const plumbline_provider& provider = *cpu_library().provider();
  const plumbline_problem problem = abi_problem(Geometry(small(DType::f32)));
  const plumbline_device device = first_device(provider);
  std::array<char, 8> reason{};
  reason.fill('x');
  EXPECT_EQ(provider.query(kernel_index(provider, "flash"), &problem, &device, reason.data(), 6),
            PLUMBLINE_UNSUPPORTED);
  EXPECT_STREQ(reason.data(), "Flash");
  EXPECT_EQ(reason[6], 'x');
}

TEST(Provider, OlderStructsAreRefused) {
  const auto [status, reason] =
      query("flash", small(), [](auto& problem, auto&) { problem.struct_size -= 8; });
  EXPECT_EQ(status, PLUMBLINE_ERROR);
  EXPECT_THAT(reason, HasSubstr("plumbline is too old for this provider"));
}

TEST(Description, DeclaresRoundingsOfEachKernel) {
  const auto spec = [](const std::string& kernel, const Problem& problem) {
    return call(kernel, problem).description.spec;
  };
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto abi = static_cast<std::uint32_t>(dtype);
    EXPECT_EQ(spec("naive", small(dtype)).s_rounded, abi);
    EXPECT_EQ(spec("naive", small(dtype)).p_dtype, abi);
    EXPECT_EQ(spec("flash", small(dtype)).s_rounded, PLUMBLINE_DTYPE_NONE);
    EXPECT_EQ(spec("flash", small(dtype)).p_dtype, abi);
    EXPECT_EQ(spec("flash", small(dtype)).out_dtype, abi);
    EXPECT_EQ(spec("flash_p32", small(dtype)).p_dtype, PLUMBLINE_F32);
    EXPECT_EQ(spec("split_kv", small(dtype)).split_partial_dtype, PLUMBLINE_F32);
    EXPECT_EQ(spec("split_kv_16", small(dtype)).split_partial_dtype, abi);
    EXPECT_EQ(spec("flash_denominator", small(dtype)).denominator_from_rounded_p, 1U);
    EXPECT_EQ(spec("flash", small(dtype)).denominator_from_rounded_p, 0U);
  }
  EXPECT_EQ(spec("split_kv", small(DType::f32)).p_dtype, PLUMBLINE_F32);
  const plumbline_rounding_spec flash = spec("flash", small());
  EXPECT_EQ(flash.struct_size, sizeof flash);
  EXPECT_EQ(flash.p_prescale, 1);
  EXPECT_EQ(flash.pv_accumulator.dtype, PLUMBLINE_F32);
  EXPECT_EQ(flash.pv_accumulator.fraction_bits, 24U);
  EXPECT_EQ(flash.pv_accumulator.products_per_step, 1U);
  EXPECT_EQ(flash.pv_accumulator.toward_zero, 0U);
  EXPECT_EQ(flash.lse_base, 0U);
}

TEST(Description, NamesLaunchedKernel) {
  const plumbline_description description = call("split_kv", small()).description;
  EXPECT_STREQ(description.launched, "cpu/split_kv tile 32x64 fp32 accumulate, splits by length");
  EXPECT_STREQ(description.tensor_cores, "none");
  EXPECT_EQ(description.registers_per_thread, -1);
  EXPECT_EQ(description.shared_memory_bytes, -1);
}

TEST(PaddedRows, AreZeroWithoutKeysSeenUnlessAttended) {
  for (const std::string kernel : {"naive", "flash", "split_kv", "flash_unpad"}) {
    for (const Padding padding : {Padding::right, Padding::left}) {
      Problem problem = small();
      problem.padding = padding;
      const Answer answer = call(kernel, problem);
      EXPECT_EQ(answer.description.padding_policy, PLUMBLINE_PADDED_ROWS_ZEROS);
      ASSERT_FALSE(answer.padded_out.empty());
      EXPECT_THAT(answer.padded_out, Each(0.0));
      EXPECT_THAT(answer.padded_lse, Each(-HUGE_VAL));
    }
  }
}

TEST(PaddedRows, UntouchedKeepsOldValues) {
  const Answer answer =
      call("flash", small(), {.options = "padded=untouched", .left_over_outputs = true});
  EXPECT_EQ(answer.description.padding_policy, PLUMBLINE_PADDED_ROWS_UNTOUCHED);
  ASSERT_FALSE(answer.padded_out.empty());
  const std::uint16_t left_over = 0x4747;
  EXPECT_THAT(answer.padded_out, Each(decode_at(DType::f16, &left_over, 0)));
}

// Padded query rows hold a value, as in batches that are padded with a token. Each attends to the
// sample's valid keys as if positions continued after the valid ones.
TEST(PaddedRows, AttendedRowsAreQueries) {
  for (const Padding padding : {Padding::right, Padding::left}) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
      Problem problem = small();
      problem.padding = padding;
      problem.mask = mask;
      const Geometry geometry(problem);
      Inputs inputs = make_inputs(geometry);
      const std::vector<float> filler(static_cast<std::size_t>(problem.head_dim_qk), 0.25F);
      for (std::int64_t b = 0; b < problem.batch; ++b) {
        for (std::int64_t row = 0; row < problem.seq_q; ++row) {
          if (geometry.padded_row_is_valid(b, row)) continue;
          for (std::int64_t h = 0; h < problem.heads_q; ++h) {
            const std::int64_t at =
                b * geometry.q.stride[0] + row * geometry.q.stride[1] + h * geometry.q.stride[2];
            encode(problem.dtype, filler,
                   inputs.q.data() + static_cast<std::size_t>(at) * size_in_bytes(problem.dtype));
          }
        }
      }
      const Answer answer = call("flash_attended", geometry, inputs);
      ASSERT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
      EXPECT_EQ(answer.description.padding_policy, PLUMBLINE_PADDED_ROWS_ATTENDED);

      const std::vector<double> q(filler.begin(), filler.end());
      std::size_t next = 0;
      for (std::int64_t b = 0; b < problem.batch; ++b) {
        const std::int64_t first =
            padding == Padding::left ? problem.seq_q - geometry.length_q(b) : 0;
        for (std::int64_t h = 0; h < problem.heads_q; ++h) {
          for (std::int64_t row = 0; row < problem.seq_q; ++row) {
            if (geometry.padded_row_is_valid(b, row)) continue;
            const ExactRow exact = exact_row(geometry, inputs, b, h, row - first, q);
            for (const double value : exact.out)
              EXPECT_NEAR(answer.padded_out[next++], value, 4e-3);
          }
        }
      }
      EXPECT_EQ(next, answer.padded_out.size());
    }
  }
}

TEST(PaddedRows, UnpaddingGivesTheBitsOfFlash) {
  for (const Padding padding : {Padding::right, Padding::left}) {
    Problem problem = small(DType::bf16);
    problem.padding = padding;
    const Answer flash = call("flash", problem);
    const Answer unpadded = call("flash_unpad", problem);
    EXPECT_EQ(flash.out, unpadded.out);
    EXPECT_EQ(flash.lse, unpadded.lse);
    EXPECT_GT(unpadded.workspace_bytes, flash.workspace_bytes) << "the unpadded copies cost memory";
  }
}

TEST(Workspace, SplitsNeedRoomForPartials) {
  Problem problem = small();
  problem.seq_kv = 2000;
  EXPECT_GT(call("split_kv", problem).workspace_bytes, call("flash", problem).workspace_bytes);
  EXPECT_GT(call("naive", problem).workspace_bytes, call("flash", problem).workspace_bytes)
      << "a whole row of S";
}

TEST(NonFinite, NanInputReachesOutput) {
  for (const std::string kernel : {"naive", "flash", "split_kv"}) {
    for (const bool in_v : {false, true}) {
      Problem problem = small();
      problem.batch = 1;
      problem.lengths = Lengths::full;
      const Geometry geometry(problem);
      Inputs inputs = make_inputs(geometry);
      const float nan = std::nanf("");
      std::byte* key = in_v ? inputs.v.data() + 2 * geometry.v_offset(0, 11, 0)
                            : inputs.k.data() + 2 * geometry.k_offset(0, 11, 0);
      encode(DType::f16, std::span(&nan, 1), key);
      const Answer answer = call(kernel, geometry, inputs);
      EXPECT_TRUE(std::isnan(answer.out[0])) << kernel << (in_v ? " V" : " K");
      EXPECT_EQ(std::isnan(answer.lse[0]), !in_v) << kernel;
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
