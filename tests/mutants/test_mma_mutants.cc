// Each tensor-core bug changes bits exactly in the modes it lists. Legal variants are as close to
// exact attention as the correct kernel must be.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/kernels/exact_attention.h"
#include "tests/mutants/answers.h"
#include "tests/mutants/catalogue.h"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

const Library& library() {
  static const Library opened(PLUMBLINE_MMA_MUTANTS_LIBRARY);
  return opened;
}
Catalogue mma_catalogue() { return read_catalogue(PLUMBLINE_MMA_MUTANTS_TOML); }
CallSetup on(const std::string& arch) {
  return {.library = &library(), .arch = "emulated:" + arch};
}

struct Mode {
  const char* name;
  DType dtype;
};
constexpr Mode modes[] = {{"fp16", DType::f16}, {"bf16", DType::bf16}, {"tf32", DType::f32}};

// Three tiles, the last one partial; rows of 64 elements.
Problem prefill(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.heads_q = 2;
  problem.heads_kv = 1;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  problem.seq_q = 20;
  problem.seq_kv = 150;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}
// One partial tile with NaN padding on the left.
Problem padded_left(DType dtype) {
  Problem problem = prefill(dtype);
  problem.batch = 2;
  problem.lengths = Lengths::random;
  problem.seq_kv = 41;
  problem.padding = Padding::left;
  problem.fill = Fill::nan;
  return problem;
}
// Two splits; rows 8 to 11 of a product are used.
Problem decode(DType dtype) {
  Problem problem = prefill(dtype);
  problem.heads_q = 12;
  problem.seq_q = 1;
  problem.seq_kv = 530;
  return problem;
}
std::vector<Problem> problems(DType dtype) {
  return {prefill(dtype), padded_left(dtype), decode(dtype)};
}

Answer run(const std::string& kernel, const Filled& filled) {
  return call(kernel, filled.geometry, filled.inputs, on("sm_90"));
}
Answer run_reversed(const std::string& kernel, const Filled& filled) {
  CallSetup setup = on("sm_90");
  setup.threads_reversed = true;
  return call(kernel, filled.geometry, filled.inputs, setup);
}

TEST(MmaCatalogue, NamesKernelsOfLibrary) {
  const Catalogue catalogue = mma_catalogue();
  std::vector<std::string> named = catalogue.legal, offered;
  for (const Mutant& mutant : catalogue.mutants) named.push_back(mutant.name);
  const plumbline_provider* provider = library().provider();
  ASSERT_NE(provider, nullptr);
  EXPECT_STREQ(provider->name, "mma_mutants");
  for (std::uint32_t i = 0; i < provider->kernel_count; ++i)
    offered.emplace_back(provider->kernel_name(i));
  EXPECT_THAT(offered, UnorderedElementsAreArray(named));
  EXPECT_THAT(answer_to_any_query(*library().provider("schedule=random")),
              ::testing::HasSubstr("unknown option 'schedule=random' (it takes none)"));
  EXPECT_GE(catalogue.mutants.size(), 20U);
  EXPECT_GE(catalogue.legal.size(), 3U);
}

TEST(MmaCatalogue, UsesWordsOfHeader) {
  const std::set<std::string> diagnoses{"head", "row",       "column",      "key",
                                        "edge", "scale",     "denominator", "none",
                                        "nan",  "unwritten", "run_to_run"};
  const std::set<std::string> needs{"tiles", "three_tiles",  "prefill",    "decode",
                                    "tail",  "left_padding", "large_group"};
  std::set<std::string> names, classes;
  for (const Mutant& mutant : read_catalogue().mutants) names.insert(mutant.name);
  for (const Mutant& mutant : mma_catalogue().mutants) {
    EXPECT_TRUE(names.insert(mutant.name).second)
        << mutant.name << " stands twice, here or in mutants.toml";
    EXPECT_EQ(mutant.mutant_class, mutant.name.substr(0, mutant.name.find('_')));
    EXPECT_FALSE(mutant.what.empty()) << mutant.name;
    EXPECT_THAT(diagnoses, Contains(mutant.diagnosis.empty() ? "none" : mutant.diagnosis))
        << mutant.name;
    for (const std::string& need : mutant.needs) EXPECT_THAT(needs, Contains(need)) << mutant.name;
    classes.insert(mutant.mutant_class);
  }
  EXPECT_THAT(classes, UnorderedElementsAreArray({"fragment", "step", "reduction", "precision",
                                                  "memory", "stale", "race"}));
}

class MmaMutants : public ::testing::TestWithParam<Mode> {};

TEST_P(MmaMutants, ChangeBitsOnlyInListedModes) {
  std::vector<std::pair<Filled, Answer>> correct;
  for (const Problem& problem : problems(GetParam().dtype)) {
    const Filled filled(problem);
    correct.emplace_back(filled, run("legal_baseline", filled));
    ASSERT_EQ(correct.back().second.status, PLUMBLINE_OK) << correct.back().second.reason;
  }
  for (const Mutant& mutant : mma_catalogue().mutants) {
    bool changed = false;
    for (const auto& [filled, expected] : correct) {
      const Answer first = run(mutant.name, filled), second = run_reversed(mutant.name, filled);
      changed = changed || !same_bits(first, expected) || !same_bits(second, expected);
      EXPECT_EQ(first.description.spec.qk_accumulator.fraction_bits,
                expected.description.spec.qk_accumulator.fraction_bits);
      EXPECT_EQ(first.description.spec.p_dtype, expected.description.spec.p_dtype) << mutant.name;
      EXPECT_THAT(first.description.launched, HasSubstr(mutant.name + ": emulated/"))
          << "and then the kernel that is unchanged";
    }
    EXPECT_EQ(changed, std::find(mutant.modes.begin(), mutant.modes.end(), GetParam().name) !=
                           mutant.modes.end())
        << mutant.name;
  }
}

// fp16 accumulators are left out: the error scale of exact.h does not cover them.
TEST_P(MmaMutants, LegalVariantsAgreeWithExactAttention) {
  for (const std::string& kernel : mma_catalogue().legal) {
    if (kernel == "legal_accumulator_fp16") continue;
    for (const char* arch : {"sm_80", "sm_90"}) {
      for (const Problem& problem : problems(GetParam().dtype))
        expect_exact(kernel, problem, on(arch));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MmaMutants, ::testing::ValuesIn(modes),
                         [](const auto& mode) { return std::string(mode.param.name); });

TEST(MmaMutantsOfTensorCores, LegalVariantsDifferAndRepeatBits) {
  std::vector<std::string> with_other_bits;
  for (Problem problem : {prefill(DType::f16), decode(DType::f16)}) {
    problem.out_dtype = DType::f32;
    const Filled filled(problem);
    const Answer correct = run("legal_baseline", filled);
    for (const std::string& kernel : mma_catalogue().legal) {
      const Answer first = run(kernel, filled);
      EXPECT_TRUE(same_bits(first, run_reversed(kernel, filled))) << kernel;
      if (!same_bits(first, correct)) with_other_bits.push_back(kernel);
    }
  }
  EXPECT_THAT(
      with_other_bits,
      ::testing::IsSupersetOf({"legal_tile_64x32", "legal_three_splits", "legal_accumulator_fp16",
                               "legal_tensor_core_of_sm_80", "legal_half_instructions"}));
}

// The order of threads depends only on the call, not on earlier calls of the process.
TEST(MmaMutantsOfTensorCores, ReversedThreadsShowDecodeRace) {
  const Filled filled(decode(DType::f32));
  for (const char* mutant : {"race_parts_over_tiles", "race_parts_read_too_early"}) {
    const Answer first = run(mutant, filled), reversed = run_reversed(mutant, filled);
    EXPECT_THAT(first.description.launched, HasSubstr("2 splits"));
    EXPECT_FALSE(same_bits(first, reversed)) << mutant;
    EXPECT_TRUE(same_bits(reversed, run_reversed(mutant, filled))) << mutant;
    EXPECT_TRUE(same_bits(first, run(mutant, filled))) << mutant;
  }
}

TEST(MmaMutantsOfTensorCores, RefuseOtherDevices) {
  const Answer refused = call("legal_baseline", prefill(DType::bf16), {.library = &library()});
  EXPECT_EQ(refused.status, PLUMBLINE_UNSUPPORTED);
  EXPECT_THAT(refused.reason, HasSubstr("run on emulated devices only"));
}

}  // namespace
}  // namespace plumbline::testing
