// Every field of a problem is written as a text that reads back. The test walks field_names(), so a
// new field without a text fails.
#include <gmock/gmock.h>

#include <map>

#include "harness/problem/field_text.h"
#include "tests/inputs/recorded_file.h"
#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

// For each field a value other than the default, and the other fields that the problem then needs
// to be valid.
const std::map<std::string_view, std::vector<std::pair<std::string_view, std::string_view>>> others{
    {"inputs", {{"inputs", "recorded.safetensors"}}},
    {"dtype", {{"dtype", "fp16"}}},
    {"kv_dtype", {{"kv_dtype", "e4m3"}}},
    {"out_dtype", {{"out_dtype", "fp32"}}},
    {"batch", {{"batch", "3"}}},
    {"heads", {{"heads", "6"}}},
    {"heads_q", {{"heads_q", "7"}}},
    {"heads_kv", {{"heads_q", "6"}, {"heads_kv", "3"}}},
    {"seq", {{"seq", "9"}}},
    {"seq_q", {{"seq_q", "5"}}},
    {"seq_kv", {{"seq_kv", "70"}}},
    {"head_dim", {{"head_dim", "128"}}},
    {"head_dim_qk", {{"head_dim_qk", "192"}}},
    {"head_dim_vo", {{"head_dim_vo", "32"}}},
    {"mask", {{"mask", "custom"}}},
    {"window", {{"window", "7,3"}}},
    {"window_left", {{"window_left", "4"}}},
    {"window_right", {{"window_right", "2"}}},
    {"layout", {{"layout", "paged_hnd"}}},
    {"lengths", {{"lengths", "with_zero"}}},
    {"padding", {{"padding", "left"}}},
    {"page_size", {{"layout", "paged_nhd"}, {"page_size", "32"}}},
    {"fill", {{"fill", "nan"}}},
    {"law", {{"law", "needle"}}},
    {"v_law", {{"v_law", "large_mean"}}},
    {"k_scale", {{"k_scale", "0"}}},
    {"v_scale", {{"v_scale", "1e-3"}}},
    {"scale", {{"scale", "0.1"}}},
    {"softcap", {{"softcap", "30"}}},
    {"alibi", {{"alibi", "standard"}}},
    {"sinks", {{"sinks", "large"}}},
    {"kv_scales", {{"kv_dtype", "e5m2"}, {"kv_scales", "batch_head"}}},
    {"scale_block", {{"kv_dtype", "e4m3"}, {"kv_scales", "block"}, {"scale_block", "48"}}},
    {"view", {{"view", "packed_kv"}}},
    {"merge", {{"head_dim_qk", "1"}, {"merge", "base_2"}}},
    {"lse", {{"lse", "false"}}},
    {"seed", {{"seed", "18446744073709551615"}}},
};

class FieldText : public SuiteFiles {
 protected:
  void SetUp() override {
    SuiteFiles::SetUp();
    Recording::sample().write(directory_ / "recorded.safetensors");
    ::setenv("PLUMBLINE_INPUTS", directory_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("PLUMBLINE_INPUTS");
    SuiteFiles::TearDown();
  }
  static Problem problem_with(std::string_view field) {
    Problem problem;
    for (const auto& [key, value] : others.at(field)) {
      const auto refused = set_field(problem, key, value);
      EXPECT_FALSE(refused) << *refused;
    }
    EXPECT_THAT(validate(problem), testing::IsEmpty());
    return problem;
  }
};

TEST_F(FieldText, EveryFieldHasTestProblem) {
  for (const std::string_view field : field_names())
    EXPECT_EQ(others.count(field), 1U) << field << " is missing in this test";
  EXPECT_EQ(others.size(), field_names().size());
}

TEST_F(FieldText, EveryFieldReadsBack) {
  for (const std::string_view field : field_names()) {
    const Problem problem = problem_with(field);
    Problem copy;
    ASSERT_FALSE(set_field(copy, "inputs", field_text(problem, "inputs")));
    for (const std::string_view key : field_names()) {
      const std::string text = field_text(problem, key);
      if (key == "inputs" || text.empty()) continue;
      const auto refused = set_field(copy, key, text);
      EXPECT_FALSE(refused) << *refused;
    }
    EXPECT_EQ(copy, problem) << field;
  }
}

TEST_F(FieldText, GroupReadsBackAsEqualProblem) {
  for (const std::string_view field : field_names()) {
    const Case c{"mine/k.1_x", "cuda:1", problem_with(field)};
    const std::string group = group_text(c, "reduced", "fails: \"of the limit\"\n");
    const auto suite = read("schema = 1\nname = \"s\"\n" + group);
    ASSERT_TRUE(suite) << group << to_string(suite.error());
    ASSERT_EQ(suite->cases.size(), 1U) << group;
    EXPECT_EQ(canonical(suite->cases[0].problem), canonical(c.problem)) << group;
    EXPECT_EQ(suite->cases[0].kernel_pattern, c.kernel);
    EXPECT_EQ(suite->cases[0].device, c.device);
    EXPECT_EQ(suite->cases[0].reason, "fails: \"of the limit\"\n");
  }
}

TEST_F(FieldText, DefaultsExceptShapeAreOmitted) {
  Problem problem;
  problem.softcap = 5;
  EXPECT_EQ(group_text({"cpu/flash", "cpu", problem}, "g", "r"), R"([[group]]
name = "g"
reason = "r"
kernels = ["cpu/flash"]
set = { dtype = "bf16", heads_q = 1, heads_kv = 1, seq_q = 1, seq_kv = 1, head_dim_qk = 64, head_dim_vo = 64, softcap = 5 }
)");
}

// A recorded mask that is removed must be written, although it is the default of other problems.
TEST_F(FieldText, OverriddenRecordedMaskIsWritten) {
  Recording causal = Recording::sample();
  causal.metadata["mask"] = "causal_bottom_right";
  causal.write(directory_ / "causal.safetensors");
  Problem problem;
  ASSERT_FALSE(set_field(problem, "inputs", "causal.safetensors"));
  ASSERT_EQ(problem.mask, Mask::causal_bottom_right);
  problem.mask = Mask::none;
  const auto fields = fields_to_set(problem);
  EXPECT_THAT(fields, testing::Contains(testing::Pair("mask", "none")));
}

}  // namespace
}  // namespace plumbline
