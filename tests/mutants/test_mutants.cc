// Each mutant changes some bit in the modes it lists. Legal variants are as close to exact
// attention as the correct kernel must be.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/exact_attention.h"
#include "tests/mutants/answers.h"
#include "tests/mutants/catalogue.h"

namespace plumbline::testing {
namespace {

const Library& mutants_library() {
  static const Library library(PLUMBLINE_MUTANTS_LIBRARY);
  return library;
}

struct ModeSetup {
  const char* name;
  DType dtype;
  const char* options;
};
constexpr ModeSetup modes[] = {{"fp16", DType::f16, ""},
                               {"bf16", DType::bf16, ""},
                               {"fp32", DType::f32, ""},
                               {"tf32", DType::f32, "mode=tf32"},
                               {"e4m3", DType::f16, "mode=e4m3"}};

CallSetup setup_of(const ModeSetup& mode) {
  return {.library = &mutants_library(), .options = mode.options};
}

// The plain problem: two tiles and a partial one, one split, NaN in unused storage.
Problem plain_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.heads_q = problem.heads_kv = 4;
  problem.seq_q = 40;
  problem.seq_kv = 90;
  problem.fill = Fill::nan;
  return problem;
}

void add_later_feature(Problem& problem, const std::string& need) {
  if (need == "ramp") problem.law = Law::ramp;
  if (need == "near_ties") problem.law = Law::near_ties;
  if (need == "softcap") problem.softcap = 4, problem.law = Law::peaky;
  if (need == "alibi") problem.alibi = Alibi::random;
  if (need == "alibi_standard")
    problem.alibi = Alibi::standard, problem.heads_q = problem.heads_kv = 6;
  if (need == "sinks") problem.sinks = Sinks::normal;
  if (need == "custom_mask") problem.mask = Mask::custom;
  if (need == "prefix_lm") problem.mask = Mask::prefix_lm, problem.seq_q = problem.seq_kv;
  if (need == "block_diagonal") problem.mask = Mask::block_diagonal, problem.seq_q = problem.seq_kv;
  if (need == "fp8") problem.kv_dtype = DType::e4m3;
  if (need == "fp8_e5m2") problem.kv_dtype = DType::e5m2;
  if (need == "fp8_q") problem.dtype = DType::e4m3;
  if (need == "scales_by_head") problem.kv_scales = KvScales::batch_head;
  if (need == "scales_by_block") problem.kv_scales = KvScales::block, problem.scale_block = 24;
  if (need == "packed_kv") problem.view = View::packed_kv;
  if (need == "packed_qkv") problem.view = View::packed_qkv, problem.seq_q = problem.seq_kv;
  if (need == "v_in_k") problem.view = View::v_in_k, problem.heads_kv = 1, problem.head_dim_vo = 40;
}

void add_corner(Problem& problem, const std::string& need) {
  if (need == "full_tiles") problem.seq_kv = 128;
  if (need == "tile_edge") problem.seq_q = 37, problem.seq_kv = 70;
  if (need == "full_pages")
    problem.lengths = Lengths::full, problem.page_size = 16, problem.seq_kv = 96;
  if (need == "decode") problem.seq_q = 1;
  if (need == "huge_logits") problem.law = Law::peaky, problem.k_scale = 1024, problem.scale = 0.25;
  if (need == "bits_beyond_16_bits") problem.seq_q = 260, problem.seq_kv = 300;
  if (need == "bytes_beyond_16_bits")
    problem.seq_q = problem.seq_kv = 730, problem.heads_q = problem.heads_kv = 1;
}

// Adds a feature named as in mutants.toml. The plain problem already has tiles, tail and nan_fill,
// and an LSE.
void add_feature(Problem& problem, const std::string& need) {
  if (need == "causal") problem.mask = Mask::causal_bottom_right;
  if (need == "empty_rows") problem.seq_q = problem.seq_kv > 128 ? 350 : 130;
  if (need == "window" || need == "empty_splits") {
    problem.seq_q = 60, problem.seq_kv = 300;
    problem.mask = Mask::causal_bottom_right;
    problem.window_left = 21;
  }
  if (need == "window_right") problem.mask = Mask::none, problem.window_right = 5;
  if (need == "splits")
    problem.seq_kv = 300, problem.seq_q = std::max<std::int64_t>(problem.seq_q, 40);
  if (need == "gqa") problem.heads_kv = 2;
  if (need == "group_of_three") problem.heads_q = 6;
  if (need == "batch" || need == "ragged" || need == "paged" || need == "padded") problem.batch = 4;
  if (need == "ragged" || need == "paged" || need == "padded") problem.lengths = Lengths::random;
  if (need == "ragged") problem.layout = Layout::ragged;
  if (need == "paged") problem.layout = Layout::paged_nhd;
  if (need == "page_not_16") problem.page_size = 8;
  if (need == "left_padding") problem.padding = Padding::left;
  if (need == "heads_before_tokens") problem.layout = Layout::padded_bhsd;
  if (need == "values_narrower") problem.head_dim_vo = 40;
  if (need == "long") problem.seq_kv = 700, problem.seq_q = 3;
  if (need == "far_logits") problem.law = Law::peaky, problem.k_scale = 1024, problem.scale = 0.001;
  if (need == "peaked") problem.law = Law::needle;
  if (need == "scale_given") problem.scale = 0.15;
  if (need == "no_lse") problem.lse = false;
  add_later_feature(problem, need);
  add_corner(problem, need);
}

Problem problem_for(const Mutant& mutant, DType dtype) {
  Problem problem = plain_problem(dtype);
  for (const std::string& need : mutant.needs) add_feature(problem, need);
  // With a mask the first rows see few keys, some of them only keys with very negative logits.
  if (problem.law == Law::peaky && problem.mask != Mask::none) problem.seq_q = problem.seq_kv = 24;
  return problem;
}

class Mutants : public ::testing::TestWithParam<ModeSetup> {};

TEST_P(Mutants, ChangeBitsIfNeedsAreMet) {
  const CallSetup setup = setup_of(GetParam());
  for (const Mutant& mutant : read_catalogue().mutants) {
    if (std::find(mutant.modes.begin(), mutant.modes.end(), GetParam().name) == mutant.modes.end())
      continue;
    // Needs gigabytes of inputs, which only plumbline's workers can hold; cases/audit.toml covers
    // it.
    if (std::find(mutant.needs.begin(), mutant.needs.end(), "far") != mutant.needs.end()) continue;
    const Problem problem = problem_for(mutant, GetParam().dtype);
    Problem earlier = problem;  // leaves stale state
    earlier.seed = 2;
    earlier.scale = 0.07;
    earlier.mask = Mask::none;
    const Filled filled(problem), filled_earlier(earlier);
    const auto run = [&](const std::string& kernel, const Filled& on) {
      return call(kernel, on.geometry, on.inputs, setup);
    };

    const Answer correct = run("legal_baseline", filled);
    ASSERT_EQ(correct.status, PLUMBLINE_OK) << correct.reason;
    run(mutant.name, filled_earlier);
    const Answer first = run(mutant.name, filled), second = run(mutant.name, filled);
    EXPECT_FALSE(same_bits(first, correct) && same_bits(second, correct))
        << mutant.name << " on " << problem_id(problem);
    EXPECT_EQ(first.description.spec.p_dtype, correct.description.spec.p_dtype) << mutant.name;
    EXPECT_EQ(first.description.promises.run_to_run, PLUMBLINE_PROMISE_BITWISE) << mutant.name;
  }
}

Problem prefill(DType dtype) {
  Problem problem = plain_problem(dtype);
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.seq_q = 20;
  problem.seq_kv = 290;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

Problem paged_with_empty_samples(DType dtype) {
  Problem problem = plain_problem(dtype);
  problem.batch = 4;
  problem.heads_kv = 2;
  problem.seq_q = 50;
  problem.lengths = Lengths::with_zero;
  problem.layout = Layout::paged_hnd;
  problem.window_left = 20;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

Problem padded_left(DType dtype) {
  Problem problem = plain_problem(dtype);
  problem.batch = 3;
  problem.seq_q = 7;
  problem.head_dim_qk = 72;
  problem.head_dim_vo = 24;
  problem.lengths = Lengths::random;
  problem.padding = Padding::left;
  return problem;
}

// All later features at once, and fp8 K and V if Q has 16 bits.
Problem with_features(DType dtype) {
  Problem problem = plain_problem(dtype);
  problem.batch = 3;
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.seq_q = 40;
  problem.seq_kv = 150;
  problem.lengths = Lengths::random;
  problem.layout = Layout::ragged;
  problem.mask = Mask::custom;
  problem.softcap = 3;
  problem.alibi = Alibi::standard;
  problem.sinks = Sinks::normal;
  if (dtype != DType::f32) problem.kv_dtype = DType::e4m3, problem.kv_scales = KvScales::batch_head;
  return problem;
}

TEST_P(Mutants, LegalVariantsAgreeWithExactAttention) {
  const CallSetup setup = setup_of(GetParam());
  for (const std::string& kernel : read_catalogue().legal) {
    for (const auto& problem_of : {prefill, paged_with_empty_samples, padded_left, with_features}) {
      const Problem problem = problem_of(GetParam().dtype);
      const Answer answer = call(kernel, problem, setup);
      if (!setup.options.empty() && answer.status == PLUMBLINE_UNSUPPORTED) {
        EXPECT_EQ(answer.reason, kernel + " needs the default mode");
        continue;
      }
      expect_exact(kernel, problem, setup);
    }
  }
}

// Also with fp8 Q, and with scales per tensor, per head and per block, the last block being
// partial.
TEST(Fp8Queries, LegalVariantsAgreeWithExactAttention) {
  for (const std::string& kernel : read_catalogue().legal) {
    for (const KvScales scales : {KvScales::tensor, KvScales::batch_head, KvScales::block}) {
      Problem problem = with_features(DType::e4m3);
      problem.kv_scales = scales;
      problem.scale_block = 24;
      const CallSetup setup{.library = &mutants_library(), .options = "mode=e4m3"};
      if (call(kernel, problem, setup).status == PLUMBLINE_UNSUPPORTED) continue;
      expect_exact(kernel, problem, setup);
    }
  }
}

TEST_P(Mutants, LegalVariantsRepeatBits) {
  const CallSetup setup = setup_of(GetParam());
  const Filled filled(prefill(GetParam().dtype));
  const Answer correct = call("legal_baseline", filled.geometry, filled.inputs, setup);
  int with_other_bits = 0;
  for (const std::string& kernel : read_catalogue().legal) {
    const Answer first = call(kernel, filled.geometry, filled.inputs, setup);
    EXPECT_TRUE(same_bits(first, call(kernel, filled.geometry, filled.inputs, setup))) << kernel;
    if (!same_bits(first, correct)) ++with_other_bits;
  }
  EXPECT_GE(with_other_bits, 16);  // variants, not copies
}

INSTANTIATE_TEST_SUITE_P(Modes, Mutants, ::testing::ValuesIn(modes),
                         [](const auto& mode) { return std::string(mode.param.name); });

TEST(Refusals, NameUnsupportedFeature) {
  Problem problem = plain_problem(DType::bf16);
  EXPECT_EQ(call("legal_baseline", problem, {.library = &mutants_library(), .options = "mode=tf32"})
                .status,
            PLUMBLINE_UNSUPPORTED);
  problem.dtype = DType::f32;
  const Answer refused =
      call("legal_baseline", problem, {.library = &mutants_library(), .options = "mode=e4m3"});
  EXPECT_EQ(refused.status, PLUMBLINE_UNSUPPORTED);
  EXPECT_EQ(refused.reason, "mode=e4m3 takes fp16, bf16 and fp8 inputs (got fp32)");
}

}  // namespace
}  // namespace plumbline::testing
