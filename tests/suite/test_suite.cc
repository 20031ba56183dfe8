// Expansion of a suite's groups: the cases, their order, and each only once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "harness/suite/suite.h"
#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class SuiteTest : public SuiteFiles {};
using GroupTest = SuiteTest;
using DiffTest = SuiteTest;
using IncludeTest = SuiteTest;

// Returns a suite of one group with these lines.
std::string group(const std::string& lines) {
  return "schema = 1\nname = \"smoke\"\n[[group]]\nname = \"g\"\nreason = \"r\"\nkernels = "
         "[\"cpu/flash\"]\n" +
         lines;
}

TEST_F(SuiteTest, CompleteFile) {
  const auto suite = read(R"(
schema = 1
name = "smoke"
description = "seconds on a laptop"
tier = "pr"
defaults = { seed = 7 }

[[group]]
name = "causal"
reason = "both alignments"
kernels = ["cpu/flash", "cpu/split*"]
devices = ["cpu", "emulated:sm_90"]
timed = true
set = { heads = 4, seq = 64 }
product = { mask = ["causal_top_left"] }

[[group]]
name = "plain"
tier = "smoke"
reason = "no mask"
kernels = ["cpu/flash"]
)");
  ASSERT_TRUE(suite.has_value()) << to_string(suite.error());
  EXPECT_EQ(suite->name, "smoke");
  EXPECT_EQ(suite->description, "seconds on a laptop");
  EXPECT_THAT(suite->files, ElementsAre(EndsWith("suite.toml")));
  EXPECT_THAT(
      ids(*suite),
      ElementsAre("cpu/flash/bf16/b1-h4-s64-d64/mask=causal_top_left/seed=7",
                  "cpu/flash/bf16/b1-h4-s64-d64/mask=causal_top_left/seed=7/device=emulated:sm_90",
                  "cpu/split*/bf16/b1-h4-s64-d64/mask=causal_top_left/seed=7",
                  "cpu/split*/bf16/b1-h4-s64-d64/mask=causal_top_left/seed=7/device=emulated:sm_90",
                  "cpu/flash/bf16/b1-h1-s1-d64/seed=7"));
  const SuiteCase& first = suite->cases.front();
  EXPECT_EQ(first.suite, "smoke");
  EXPECT_EQ(first.group, "causal");
  EXPECT_EQ(first.reason, "both alignments");
  EXPECT_EQ(first.tier, Tier::pr) << "the file's";
  EXPECT_TRUE(first.timed);
  EXPECT_EQ(first.line, 8);
  EXPECT_EQ(suite->cases.back().tier, Tier::smoke);
  EXPECT_FALSE(suite->cases.back().timed);
}

TEST_F(GroupTest, ProductVariesLastCanonicalFieldFastest) {
  const std::vector<std::string> expected{
      "cpu/flash/fp16/b1-h1-s8-d64", "cpu/flash/fp16/b1-h1-s16-d64", "cpu/flash/bf16/b1-h1-s8-d64",
      "cpu/flash/bf16/b1-h1-s16-d64"};
  EXPECT_EQ(ids(group("product = { dtype = [\"fp16\", \"bf16\"], seq = [8, 16] }")), expected);
  EXPECT_EQ(ids(group("product = { seq = [8, 16], dtype = [\"fp16\", \"bf16\"] }")), expected);
}

TEST_F(GroupTest, ZipAdvancesTogetherInsideProduct) {
  EXPECT_THAT(
      ids(group("product = { heads = [1, 2] }\nzip = { seq_q = [1, 16], seq_kv = [512, 300] }")),
      ElementsAre("cpu/flash/bf16/b1-h1-s1x512-d64", "cpu/flash/bf16/b1-h1-s16x300-d64",
                  "cpu/flash/bf16/b1-h2-s1x512-d64", "cpu/flash/bf16/b1-h2-s16x300-d64"));
}

TEST_F(GroupTest, ValuesOfAllTomlKinds) {
  EXPECT_THAT(
      ids(group("set = { lse = false, k_scale = 0.5, v_scale = 2, window = \"8,0\", seed = 3 }")),
      ElementsAre("cpu/flash/bf16/b1-h1-s1-d64/window=8,0/k_scale=0.5/v_scale=2/lse=false/seed=3"));
  EXPECT_THAT(ids(group("product = { dtype = \"fp16\", heads = [3] }")),
              ElementsAre("cpu/flash/fp16/b1-h3-s1-d64"));
}

TEST_F(GroupTest, BroadKeysDoNotUndoNarrowOnes) {
  EXPECT_THAT(ids(group("set = { heads_kv = 2 }\nproduct = { heads = [4, 8] }")),
              ElementsAre("cpu/flash/bf16/b1-h4x2-s1-d64", "cpu/flash/bf16/b1-h8x2-s1-d64"));
}

TEST_F(GroupTest, DuplicatesKeepTimingAndLowerTier) {
  const auto suite =
      read(group("product = { dtype = [\"bf16\", \"bf16\"], out_dtype = [\"none\", \"bf16\"] "
                 "}\ntier = \"full\"\n"
                 "[[group]]\nname = \"again\"\nreason = \"r\"\nkernels = [\"cpu/flash\"]\ntimed = "
                 "true\ntier = \"pr\"\n"));
  ASSERT_TRUE(suite.has_value());
  ASSERT_EQ(suite->cases.size(), 1u);
  EXPECT_EQ(suite->cases[0].group, "g");
  EXPECT_TRUE(suite->cases[0].timed);
  EXPECT_EQ(suite->cases[0].tier, Tier::pr);
}

TEST_F(GroupTest, ExcludeMatchesAllFieldsAnyValue) {
  EXPECT_THAT(
      ids(group("product = { dtype = [\"fp32\", \"fp16\", \"bf16\"], layout = [\"ragged\", "
                "\"padded_bshd\"] }\n"
                "exclude = [{ dtype = \"fp32\", layout = \"ragged\" }, { dtype = [\"fp16\", "
                "\"bf16\"], layout = \"padded_bshd\" }]")),
      ElementsAre("cpu/flash/fp32/b1-h1-s1-d64", "cpu/flash/fp16/b1-h1-s1-d64/layout=ragged",
                  "cpu/flash/bf16/b1-h1-s1-d64/layout=ragged"));
}

TEST_F(GroupTest, ExcludeByKernel) {
  EXPECT_THAT(ids("schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"r\"\nkernels = "
                  "[\"cpu/naive\", \"cpu/flash\"]\n"
                  "product = { dtype = [\"fp32\", \"bf16\"] }\nexclude = [{ kernel = \"*/naive\", "
                  "dtype = \"fp32\" }]\n"),
              ElementsAre("cpu/naive/bf16/b1-h1-s1-d64", "cpu/flash/fp32/b1-h1-s1-d64",
                          "cpu/flash/bf16/b1-h1-s1-d64"));
}

TEST_F(GroupTest, ExcludeDropsInvalidCombinations) {
  EXPECT_THAT(
      ids(group(
          "product = { layout = [\"ragged\", \"padded_bshd\"], padding = [\"left\", \"right\"] }\n"
          "exclude = [{ layout = \"ragged\", padding = \"left\" }]")),
      testing::SizeIs(3));
}

TEST_F(GroupTest, PairwiseSkipsInvalidWithinProduct) {
  const auto suite =
      read(group("product = { dtype = [\"fp16\", \"bf16\"] }\n"
                 "pairwise = { mask = [\"none\", \"causal_top_left\", \"causal_bottom_right\"], "
                 "layout = [\"padded_bshd\", "
                 "\"ragged\", \"paged_nhd\"], padding = [\"left\", \"right\"], lengths = "
                 "[\"full\", \"random\"] }\n"
                 "exclude = [{ mask = \"none\", lengths = \"random\" }]"));
  ASSERT_TRUE(suite.has_value()) << to_string(suite.error());
  std::set<std::tuple<DType, Mask, Layout>> mask_layout;
  std::set<std::tuple<DType, Layout, Padding>> layout_padding;
  std::set<std::tuple<DType, Mask, Padding>> mask_padding;
  for (const SuiteCase& c : suite->cases) {
    const Problem& p = c.problem;
    EXPECT_THAT(validate(p), testing::IsEmpty());
    EXPECT_FALSE(p.mask == Mask::none && p.lengths == Lengths::random);
    mask_layout.emplace(p.dtype, p.mask, p.layout);
    layout_padding.emplace(p.dtype, p.layout, p.padding);
    mask_padding.emplace(p.dtype, p.mask, p.padding);
  }
  EXPECT_EQ(mask_layout.size(), 2u * 9);
  EXPECT_EQ(layout_padding.size(), 2u * 4) << "left padding only in the padded layout";
  EXPECT_EQ(mask_padding.size(), 2u * 6);
  EXPECT_LE(suite->cases.size(), 2u * 18);
  EXPECT_EQ(suite->cases[0].problem.dtype, DType::f16) << "product is outermost";
  EXPECT_EQ(suite->cases.back().problem.dtype, DType::bf16);
}

TEST_F(DiffTest, SidesOverrideTheCommonProblem) {
  const auto suite = read(R"(
schema = 1
name = "stories"
defaults = { dtype = "fp16" }
[[diff]]
name = "prefill-decode"
reason = "story 1"
tier = "nightly"
expect = "report"
timed = true
set = { seq = 512 }
product = { heads = [4, 8] }
a = { kernel = "cpu/flash" }
b = { kernel = "cpu/split_kv", seq_q = 1, device = "emulated:sm_80" }
)");
  ASSERT_TRUE(suite.has_value()) << to_string(suite.error());
  ASSERT_EQ(suite->diffs.size(), 2u);
  const SuiteDiff& diff = suite->diffs[1];
  EXPECT_EQ(diff.suite, "stories");
  EXPECT_EQ(diff.name, "prefill-decode");
  EXPECT_EQ(diff.expect, DiffExpect::report);
  EXPECT_EQ(diff.tier, Tier::nightly);
  EXPECT_EQ(problem_id(diff.a.problem), "fp16/b1-h8-s512-d64");
  EXPECT_EQ(problem_id(diff.b.problem), "fp16/b1-h8-s1x512-d64");
  EXPECT_EQ(diff.b.kernel_pattern, "cpu/split_kv");
  EXPECT_EQ(diff.b.device, "emulated:sm_80");
  EXPECT_TRUE(diff.a.timed && diff.b.timed);
  EXPECT_TRUE(suite->cases.empty());
}

TEST_F(IncludeTest, KeepsNameTierAndDefaults) {
  write("models/llama.toml",
        "schema = 1\nname = \"llama\"\ntier = \"full\"\n[[group]]\nname = \"g\"\nreason = "
        "\"r\"\nkernels = [\"cpu/flash\"]\nset = { heads "
        "= 2 }\n");
  write("both.toml", "schema = 1\nname = \"both\"\ninclude = [\"models/llama.toml\"]\n");
  const auto suite = read(group("[[diff]]\nname = \"d\"\nreason = \"r\"\na = { kernel = \"a/b\" "
                                "}\nb = { kernel = \"a/c\" }\n") +
                          "\n[[group]]\nname = \"h\"\nreason = \"r\"\nkernels = [\"cpu/x\"]\n");
  ASSERT_TRUE(suite.has_value()) << to_string(suite.error());
  const auto including = read(
      "schema = 1\nname = \"top\"\ntier = \"pr\"\ndefaults = { seed = 9 }\n"
      "include = [\"models/llama.toml\", \"both.toml\"]\n[[group]]\nname = \"g\"\nreason = "
      "\"r\"\nkernels = [\"cpu/flash\"]\n");
  ASSERT_TRUE(including.has_value()) << to_string(including.error());
  EXPECT_EQ(including->name, "top");
  EXPECT_THAT(ids(*including),
              ElementsAre("cpu/flash/bf16/b1-h2-s1-d64", "cpu/flash/bf16/b1-h1-s1-d64/seed=9"));
  EXPECT_EQ(including->cases[0].suite, "llama");
  EXPECT_EQ(including->cases[0].tier, Tier::full);
  EXPECT_THAT(including->cases[0].file, EndsWith("models/llama.toml"));
  EXPECT_EQ(including->cases[1].suite, "top");
  EXPECT_THAT(including->files, ElementsAre(EndsWith("suite.toml"), EndsWith("models/llama.toml"),
                                            EndsWith("both.toml")));
}

TEST(GlobTest, Matches) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_TRUE(glob_match("cpu/*", "cpu/flash/bf16/b1"));
  EXPECT_TRUE(glob_match("*bf16*", "cpu/flash/bf16/b1"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbXbXc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXbXbXd"));
  EXPECT_TRUE(glob_match("a?c", "a/c"));
  EXPECT_FALSE(glob_match("cpu/flash", "cpu/flash2"));
  EXPECT_TRUE(glob_match("a**", "a"));
}

TEST(TierTest, NamesParseBack) {
  for (const Tier tier : {Tier::smoke, Tier::pr, Tier::nightly, Tier::full})
    EXPECT_EQ(parse<Tier>(name(tier)), tier);
  EXPECT_EQ(parse<Tier>("weekly"), std::nullopt);
}

std::vector<std::string> texts_of(const std::string& group, const std::string& case_id) {
  return {"smoke/" + group + "/" + case_id, case_id};
}

TEST(FilterTest, MatchesFullAndBareIds) {
  const auto texts = texts_of("masks", "cpu/flash/fp16/b1-h1-s1-d64");
  EXPECT_TRUE(selects_name({}, texts));
  EXPECT_TRUE(selects_name({{"*fp16*"}, {}, {}}, texts));
  EXPECT_TRUE(selects_name({{"smoke/masks/*"}, {}, {}}, texts));
  EXPECT_TRUE(selects_name({{"cpu/flash/fp16/b1-h1-s1-d64"}, {}, {}}, texts));
  EXPECT_TRUE(selects_name({{"*bf16*", "*fp16*"}, {}, {}}, texts)) << "any may match";
  EXPECT_FALSE(selects_name({{"*flash*"}, {"*/masks/*"}, {}}, texts));
  EXPECT_FALSE(selects_name({{"flash"}, {}, {}}, texts)) << "a pattern has to match the whole id";
}

TEST(FilterTest, TierKeepsLowerOnes) {
  EXPECT_TRUE(selects_tier({{}, {}, Tier::pr}, Tier::smoke));
  EXPECT_FALSE(selects_tier({{}, {}, Tier::pr}, Tier::nightly));
  EXPECT_TRUE(selects_tier({}, Tier::full));
}

}  // namespace
}  // namespace plumbline
