// Contracts: the members of an entry, the choice among several, and all errors at once.
#include "harness/contract/contract.h"
#include "harness/problem/contradictory_flags.h"
#include "harness/problem/problem.h"
#include "tests/judge/files.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Contracts> read(const std::string& text) {
  return Contracts::read(TemporaryFile(text).path());
}

Contracts read_good(const std::string& text) {
  const auto contracts = read(text);
  if (!contracts) ADD_FAILURE() << to_string(contracts.error());
  return contracts.value_or(Contracts{});
}

std::vector<std::string> errors_of(const std::string& text) {
  const auto contracts = read(text);
  return contracts ? std::vector<std::string>{"no error"} : lines_and_messages(contracts.error());
}

Problem problem_of(DType dtype, DType out = DType::none) {
  Problem problem;
  problem.dtype = dtype;
  problem.out_dtype = out;
  return problem;
}

TEST(Contracts, ReadAllMembers) {
  const Contracts contracts = read_good(R"(schema = 1
[[contract]]
kernel = "mine/*"
reason = "because"
padding_policy = "attended"
spec = { s_rounded = "input", p_prescale = 256, lse_base = 2, lse_includes_sink = false, exp2_rel_error = 9e-5 }
promises = { run_to_run = "bitwise", split = "rounding" }
limits = { peak = 5.5, rms = 1 }
proof = "mine.cu line 7"
)");
  ASSERT_EQ(contracts.contracts.size(), 1U);
  const Contract& contract = contracts.contracts[0];
  EXPECT_EQ(contract.kernels, std::vector<std::string>{"mine/*"});
  EXPECT_EQ(contract.reason, "because");
  EXPECT_EQ(contract.proof, "mine.cu line 7");
  EXPECT_EQ(contract.padding_policy, PaddingPolicy::attended);
  EXPECT_EQ(contract.promises.run_to_run, Promise::bitwise);
  EXPECT_EQ(contract.promises.split, Promise::rounding);
  EXPECT_EQ(contract.promises.batch, Promise::none);
  EXPECT_EQ(contract.limits[&Limits::peak], 5.5);
  EXPECT_EQ(contract.limits[&Limits::rms], 1.0);
  EXPECT_EQ(contract.limits[&Limits::lse], std::nullopt);
  EXPECT_EQ(contract.line, 2);

  const RoundingSpec spec = contracts.pinned_spec("mine/kernel", problem_of(DType::f16));
  RoundingSpec expected = strict_spec(problem_of(DType::f16));
  expected.s_rounded = DType::f16;
  expected.p_prescale = 256;
  expected.lse_base = 2;
  expected.lse_includes_sink = false;
  expected.exp2_rel_error = 9e-5;
  EXPECT_EQ(spec, expected);
}

TEST(Contracts, DefaultIsStrict) {
  const Contracts none = read_good("schema = 1\n");
  EXPECT_EQ(none.find("mine/kernel"), nullptr);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    EXPECT_EQ(none.pinned_spec("mine/kernel", problem_of(dtype)), strict_spec(problem_of(dtype)));
  }
  const Problem fp8 = problem_of(DType::e4m3);
  const RoundingSpec spec = none.pinned_spec("mine/kernel", fp8, {"cuda:0", "sm_90"});
  EXPECT_EQ(spec, strict_spec(fp8, "sm_90"));
  EXPECT_EQ(spec.qk_accumulator, fp8_accumulator);
  EXPECT_EQ(describe(spec, fp8, "sm_90"), "strict");
  EXPECT_EQ(strict_spec(fp8).qk_accumulator, tensor_core_accumulator);
  EXPECT_EQ(none.limits("mine/kernel", Problem{}, 10'000),
            default_limits(strict_spec(Problem{}), Problem{}, 10'000));
}

TEST(Contracts, FirstMatchCounts) {
  const Contracts contracts = read_good(R"(
[[contract]]
kernel = "mine/special"
reason = "a"
[[contract]]
kernel = "mine/*"
reason = "b"
)");
  EXPECT_EQ(contracts.find("mine/special")->reason, "a");
  EXPECT_EQ(contracts.find("mine/other")->reason, "b");
  EXPECT_EQ(contracts.find("yours/other"), nullptr);
}

TEST(Contracts, DtypesFollowProblem) {
  const Contracts contracts = read_good(R"(
[[contract]]
kernel = "mine/*"
reason = "r"
proof = "p"
spec = { p_dtype = "input", s_rounded = "input", q_prescaled = "input", split_partial_dtype = "output", kv_dequantized_to = "fp32" }
)");
  RoundingSpec spec = contracts.pinned_spec("mine/k", problem_of(DType::bf16, DType::f16));
  EXPECT_EQ(spec.p_dtype, DType::bf16);
  EXPECT_EQ(spec.s_rounded, DType::bf16);
  EXPECT_EQ(spec.q_prescaled, DType::bf16);
  EXPECT_EQ(spec.split_partial_dtype, DType::f16);
  EXPECT_EQ(spec.kv_dequantized_to, DType::f32);
  spec = contracts.pinned_spec("mine/k", problem_of(DType::f32));
  EXPECT_EQ(spec.p_dtype, DType::f32);
  EXPECT_EQ(spec.s_rounded, DType::none);  // rounding fp32 to fp32 does nothing
  EXPECT_EQ(spec.q_prescaled, DType::none);
  EXPECT_EQ(spec.split_partial_dtype, DType::f32);
}

TEST(Contracts, SpellAccumulators) {
  const Contracts contracts = read_good(R"(
[[contract]]
kernel = "mine/*"
reason = "r"
proof = "Hopper fp8"
[contract.spec]
qk_accumulator = "tensor_core"
pv_accumulator = { dtype = "fp32", toward_zero = true, fraction_bits = 13, products_per_step = 32 }
[[contract]]
kernel = "yours/*"
reason = "r"
spec = { qk_accumulator = "fma", pv_accumulator = "fp32/nearest/23/4" }
)");
  RoundingSpec spec = contracts.pinned_spec("mine/k", problem_of(DType::f32));
  EXPECT_EQ(spec.qk_accumulator, tensor_core_accumulator);
  EXPECT_EQ(spec.pv_accumulator, (Accumulator{DType::f32, true, 13, 32}));
  spec = contracts.pinned_spec("yours/k", problem_of(DType::bf16));
  EXPECT_EQ(spec.qk_accumulator, fma_accumulator);
  EXPECT_EQ(spec.pv_accumulator, (Accumulator{DType::f32, false, 23, 4}));
}

TEST(Contracts, LimitsTightenWithoutProof) {
  const Contracts contracts = read_good(R"(
[[contract]]
kernel = "mine/*"
reason = "r"
spec = { p_dtype = "fp32" }
limits = { peak = 5, beyond_output = 6.5, rms = 1.2, lse = 2 }
)");
  const Limits limits = contracts.limits("mine/k", Problem{}, 10'000);
  EXPECT_EQ(limits.peak, 5);
  EXPECT_EQ(limits.beyond_output, 6.5);
  EXPECT_EQ(limits.rms, 1.2);
  EXPECT_EQ(limits.lse, 2);
  EXPECT_EQ(contracts.limits("mine/k", Problem{}, 100'000'000).peak, grown_limit(5, 100'000'000));
}

TEST(Contracts, LimitsLoosenWithProof) {
  const Contracts contracts = read_good(R"(
[[contract]]
kernel = "mine/*"
reason = "r"
proof = "measured"
limits = { lse = 12 }
)");
  EXPECT_EQ(contracts.limits("mine/k", Problem{}, 10'000).lse, 12);
  EXPECT_EQ(contracts.limits("mine/k", Problem{}, 10'000).peak, 6.5);
}

TEST(Contracts, ReportAllErrors) {
  EXPECT_THAT(
      errors_of(R"(schema = 2
contracts = 3
[[contract]]
reason = ""
padding_policy = "zero"
sepc = {}
[[contract]]
kernel = "mine/k"
reason = 7
promises = { run_to_run = "bits", bach = "none" }
[[contract]]
kernel = "mine/l"
reason = "r"
limits = { peak = 0, rms = "1", lse = 6.5 }
spec = { p_dtype = "fp12", out_dtype = "bf16" }
)"),
      testing::UnorderedElementsAre(
          HasSubstr("2: "), "1: schema 2 is not known", "3: kernel is missing",
          "4: reason is not a text",
          "5: padding_policy: \"zero\" is not one of zeros, untouched, attended, anything",
          HasSubstr("6: "), "9: reason is not a text",
          "10: run_to_run: \"bits\" is not one of none, rounding, bitwise", HasSubstr("bach"),
          "14: peak: \"0\" is not a finite number above 0",
          "14: rms: \"1\" is not a finite number above 0",
          "14: contract of mine/l: lse = 6.5 is looser than the default 6 and cites no proof",
          "15: contract of mine/l: p_dtype: \"fp12\" is not one of input, output, tensor_core, "
          "fp32, tf32, fp16, bf16, e4m3, e5m2",
          HasSubstr("out_dtype")));
}

std::string spec_error(const std::string& spec) {
  const auto errors = errors_of(
      "[[contract]]\nkernel = \"k\"\nreason = \"r\"\nproof = \"p\"\nspec = { " + spec + " }\n");
  return errors.size() == 1 ? errors[0] : std::to_string(errors.size()) + " errors";
}

TEST(Contracts, SpecErrorsListAllowedValues) {
  const std::string at = "5: contract of k: ";
  EXPECT_EQ(spec_error(R"(s_rounded = "int32")"),
            at + "s_rounded: \"int32\" is not one of none, input, output, tensor_core, fp32, tf32, "
                 "fp16, bf16, e4m3, e5m2");
  EXPECT_EQ(spec_error(R"(p_dtype = "none")"),
            at + "p_dtype: \"none\" is not one of input, output, tensor_core, fp32, tf32, fp16, "
                 "bf16, e4m3, e5m2");
  EXPECT_EQ(spec_error("p_prescale = -2"),
            at + "p_prescale: \"-2\" is not a positive number (1, 256, 448, …)");
  EXPECT_EQ(spec_error("p_prescale = inf"),
            at + "p_prescale: \"inf\" is not a positive number (1, 256, 448, …)");
  EXPECT_EQ(spec_error("exp2_rel_error = nan"),
            at + "exp2_rel_error: \"nan\" is not a number in [0, 1)");
  EXPECT_EQ(spec_error("tanh_rel_error = 1"),
            at + "tanh_rel_error: \"1\" is not a number in [0, 1)");
  EXPECT_EQ(spec_error(R"(p_max = "two")"),
            at + "p_max: \"two\" is not one of running, one, ceil2, bf16, free");
  EXPECT_EQ(spec_error("p_normalized = 1"), at + "p_normalized: \"1\" is not one of true, false");
  EXPECT_EQ(spec_error("lse_base = 10"), at + "lse_base: \"10\" is not one of e, 2");
  EXPECT_EQ(spec_error("denominator_from_rounded_p = 1"),
            at + "denominator_from_rounded_p: \"1\" is not one of true, false");
  EXPECT_EQ(spec_error("p_dtype = [\"fp16\"]"), at + "p_dtype is not one value");
  EXPECT_THAT(spec_error(R"(qk_accumulator = "wgmma")"),
              HasSubstr("qk_accumulator: \"wgmma\" is not one of fma, tensor_core or a table"));
  EXPECT_THAT(
      spec_error("qk_accumulator = { dtype = \"fp32\", toward_zero = true, fraction_bits = 13 }"),
      HasSubstr("products_per_step missing"));
  EXPECT_THAT(spec_error("qk_accumulator = { dtype = \"bf16\", toward_zero = true, fraction_bits = "
                         "13, products_per_step = 8 }"),
              HasSubstr("with dtype fp32 or fp16"));
  EXPECT_THAT(spec_error("qk_accumulator = { dtype = \"fp32\", toward_zero = true, fraction_bits = "
                         "0, products_per_step = 8 }"),
              HasSubstr("fraction_bits from 1"));
  EXPECT_THAT(spec_error(R"(p_dtyp = "fp16")"), HasSubstr("p_dtyp"));
}

TEST(Contracts, RefuseContradictoryFlags) {
  EXPECT_THAT(spec_error("out_toward_zero = true, out_stochastic = true"),
              HasSubstr("out_toward_zero and out_stochastic exclude each other; state the one"));
  EXPECT_THAT(spec_error("p_stochastic = true, p_toward_zero = true"),
              HasSubstr("p_toward_zero and p_stochastic exclude each other"));
  EXPECT_THAT(spec_error("s_rounded_before_bias = true, s_rounded_before_softcap = true"),
              HasSubstr("s_rounded_before_bias and s_rounded_before_softcap exclude"));
  EXPECT_THAT(spec_error("p_normalized = true, denominator_from_rounded_p = true"),
              HasSubstr("p_normalized and denominator_from_rounded_p exclude"));
}

TEST(Contracts, RefuseIdleFlags) {
  for (const FlagOfRounding& flag : flags_of_roundings) {
    if (flag.dtype == &RoundingSpec::out_dtype) continue;  // the problem states it
    const std::string stated = std::string(flag.name) + " = true",
                      wide = flag.dtype == &RoundingSpec::p_dtype ? R"(p_dtype = "fp32", )" : "";
    EXPECT_EQ(spec_error(wide + stated), "5: contract of k: " + idle_sentence(flag));
  }
  EXPECT_EQ(spec_error(R"(inputs_toward_zero = true, kv_dequantized_to = "bf16")"),
            "5: contract of k: inputs_toward_zero changes nothing, because the inputs are not "
            "rounded to tf32; state kv_dequantized_to = tf32");
}

TEST(Contracts, FlagsMayActForSomeDtypes) {
  for (const char* spec : {"p_stochastic = true", R"(s_rounded = "input", s_rounded_twice = true)",
                           R"(inputs_toward_zero = true, kv_dequantized_to = "tensor_core")",
                           "out_stochastic = true"}) {
    EXPECT_EQ(spec_error(spec), "no error") << spec;
  }
  EXPECT_THAT(errors_of("[[contract]]\nkernel = \"k\"\nreason = \"r\"\nproof = \"p\"\ndtype = "
                        "\"fp32\"\nspec = { p_stochastic = true }\n"),
              ElementsAre(HasSubstr("6: contract of k: p_stochastic changes nothing")));
}

TEST(Contracts, MuchWiderSigmaNeedsProof) {
  const auto count = [](const std::string& spec, const std::string& proof) {
    const auto contracts = read("[[contract]]\nkernel = \"k\"\nreason = \"r\"\n" + proof +
                                "\nspec = { " + spec + " }\n");
    return contracts ? 0U : contracts.error().size();
  };
  for (
      const char* spec :
      {R"(s_rounded = "input")", R"(q_prescaled = "fp16")", R"(kv_dequantized_to = "tf32")",
       R"(kv_dequantized_to = "tensor_core")", R"(p_max = "free")", R"(p_max = "ceil2")",
       R"(p_max = "bf16")", R"(o_between_tiles = "input")", "p_toward_zero = true",
       "out_toward_zero = true", "p_stochastic = true", "out_stochastic = true",
       "skipped_below = 1e-4", R"(qk_accumulator = "fp32/toward_zero/22/8")",
       R"(lse_dtype = "input")",
       R"(pv_accumulator = { dtype = "fp16", toward_zero = false, fraction_bits = 24, products_per_step = 8 })"}) {
    EXPECT_EQ(count(spec, ""), 1U) << spec;
    EXPECT_EQ(count(spec, "proof = \"\""), 1U) << spec;
    EXPECT_EQ(count(spec, "proof = \"mine.cu\""), 0U) << spec;
  }
  EXPECT_EQ(count(R"(s_rounded = "input", s_rounded_twice = true)", ""), 2U);
  for (const char* spec :
       {R"(s_rounded = "none")", R"(p_dtype = "e4m3")", R"(p_dtype = "tensor_core")",
        R"(kv_dequantized_to = "bf16")", R"(qk_accumulator = "fp32/toward_zero/23/8")",
        R"(p_max = "one")", R"(p_max = "running")", "p_normalized = true", R"(lse_dtype = "none")",
        "denominator_from_rounded_p = true"}) {
    EXPECT_EQ(count(spec, ""), 0U) << spec;
  }
}

TEST(Contracts, ShadowedContractIsError) {
  EXPECT_THAT(
      errors_of(R"([[contract]]
kernel = "mine/*"
reason = "r"
[[contract]]
kernel = "mine/k"
reason = "r"
[[contract]]
kernel = "mine/*"
reason = "r"
)"),
      ElementsAre("4: the contract of mine/k is never used: \"mine/*\" on line 1 matches first",
                  "7: the contract of mine/* is never used: \"mine/*\" on line 1 matches first"));
}

TEST(Contracts, MissingOrBrokenFileIsError) {
  EXPECT_FALSE(Contracts::read("/nonexistent/contracts.toml"));
  EXPECT_FALSE(read("[[contract]\n"));
  EXPECT_THAT(errors_of("contract = 3\n"), ElementsAre("1: contract is not a list of tables"));
  EXPECT_THAT(errors_of("contract = [1]\n"), ElementsAre("1: contract is not a list of tables"));
  EXPECT_THAT(errors_of("[[contract]]\nkernel = \"k\"\nreason = \"r\"\nspec = 3\n"),
              ElementsAre("4: spec is not a table"));
}

// The reviewed file pins the roundings of the project's own kernels.
TEST(ReviewedContracts, PinCpuKernels) {
  const auto contracts =
      Contracts::read(std::filesystem::path(PLUMBLINE_SOURCE_DIR) / "baselines/contracts.toml");
  ASSERT_TRUE(contracts) << to_string(contracts.error());
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Problem problem = problem_of(dtype);
    RoundingSpec flash = strict_spec(problem);
    flash.qk_accumulator = flash.pv_accumulator = fma_accumulator;
    RoundingSpec naive = flash, p32 = flash, split_16 = flash, denominator = flash;
    naive.s_rounded = dtype;
    p32.p_dtype = DType::f32;
    split_16.split_partial_dtype = dtype;
    denominator.denominator_from_rounded_p = true;
    EXPECT_EQ(contracts->pinned_spec("cpu/flash", problem), flash);
    for (const char* kernel : {"cpu/flash_unpad", "cpu/flash_attended", "cpu/split_kv",
                               "cpu/flash_tile32", "cpu/flash_tile128", "cpu/flash_lazy"}) {
      EXPECT_EQ(contracts->pinned_spec(kernel, problem), flash) << kernel;
    }
    RoundingSpec base_2 = flash;
    base_2.lse_base = 2;
    EXPECT_EQ(contracts->pinned_spec("cpu/flash_lse2", problem), base_2);
    EXPECT_EQ(contracts->pinned_spec("cpu/naive", problem), naive);
    EXPECT_EQ(contracts->pinned_spec("cpu/flash_p32", problem), p32);
    EXPECT_EQ(contracts->pinned_spec("cpu/split_kv_16", problem), split_16);
    EXPECT_EQ(contracts->pinned_spec("cpu/flash_denominator", problem), denominator);
  }
  EXPECT_EQ(contracts->find("cpu/flash_attended")->padding_policy, PaddingPolicy::attended);
  EXPECT_EQ(contracts->find("cpu/flash_unpad")->padding_policy, PaddingPolicy::zeros);
  for (const Contract& contract : contracts->contracts) {
    if (!contract.kernels.front().starts_with("cpu/")) continue;
    EXPECT_EQ(contract.promises.run_to_run, Promise::bitwise) << contract.kernels.front();
  }
}

}  // namespace
}  // namespace plumbline
