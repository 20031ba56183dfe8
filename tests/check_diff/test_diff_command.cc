// Tests `plumbline diff` on the command line.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DiffCommand : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("s.toml", R"(
schema = 1
name = "small"
[[group]]
name = "g"
reason = "a few quick problems, twice"
kernels = ["cpu/flash", "cpu/split_kv"]
set = { heads_q = 4, heads_kv = 2, seq_q = 17, seq_kv = 1000, mask = "causal_bottom_right" }
product = { dtype = ["fp32", "fp16", "bf16"] }
)");
  }
  static std::string test_provider() {
    return " --provider '" +
           (test::build_directory / "lib" / "plumbline" / "plumbline_test_provider.so").string() +
           "'";
  }
};

TEST_F(DiffCommand, TwoKernelsAgree) {
  const auto text = plumbline("diff cpu/flash cpu/split_kv s.toml -q");
  EXPECT_EQ(text.code, 0) << text.text;
  EXPECT_THAT(
      text.text,
      HasSubstr("ROUNDING: cpu/flash and cpu/split_kv on 3 problems: 2 ROUNDING, 1 unsupported"));
  const auto one = plumbline("diff cpu/flash cpu/split_kv s.toml -q -v --case '*bf16*'");
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.text, AllOf(HasSubstr("\n  bf16/b1-h4x2-s17x1000-d64/"), HasSubstr("bf16 ulp of"),
                              HasSubstr("kappa")));
}

TEST_F(DiffCommand, JsonHasBothSidesAndTheMap) {
  const auto run = plumbline("diff cpu/flash cpu/split_kv s.toml -q --case '*fp16*' --format json");
  ASSERT_EQ(run.code, 0) << run.text;
  const auto json = nlohmann::json::parse(run.text)["data"];
  EXPECT_EQ(json["answer"], "ROUNDING");
  ASSERT_EQ(json["diffs"].size(), 1U);
  EXPECT_EQ(json["diffs"][0]["a"]["label"], "cpu/flash");
  EXPECT_EQ(json["diffs"][0]["map"].size(), 4U);
}

TEST_F(DiffCommand, NamesWrongKernel) {
  const auto run =
      plumbline("diff test/ok test/leave_unwritten s.toml -q --case '*bf16*'" + test_provider());
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("BUG: b (test/leave_unwritten) is wrong"),
                              HasSubstr("a keeps its limits")));
  const auto both = plumbline("diff cpu/flash cpu/split_kv s.toml -q --case '*bf16*' --provider '" +
                              test::cpu_provider("drop_last_key=1") + "'");
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.text, AllOf(HasSubstr("both are wrong"), HasSubstr("last")));
}

TEST_F(DiffCommand, ReportsCrash) {
  const auto run =
      plumbline("diff test/ok test/crash_null s.toml -q --case '*bf16*'" + test_provider());
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("crashed"));
}

TEST_F(DiffCommand, ExitFourIfNothingCompared) {
  EXPECT_EQ(plumbline("diff cpu/flash cpu/split_kv s.toml -q --case '*fp32*'").code, 4);
  EXPECT_EQ(plumbline("diff cpu/flash cpu/split_kv s.toml -q --case nothing").code, 4);
}

TEST_F(DiffCommand, ComparesTwoSavedFailures) {
  // Saved failures of one problem by two kernels are dumps of the same inputs.
  const auto run =
      plumbline("run s.toml --no-store -q --match '*/bf16/*' --save-failures saved --provider '" +
                test::cpu_provider("drop_last_key=1") + "'");
  ASSERT_EQ(run.code, 1) << run.text;
  ASSERT_EQ(shell("mv saved/*flash*.safetensors a.safetensors && mv saved/*split_kv*.safetensors "
                  "b.safetensors")
                .code,
            0);
  const auto diff = plumbline("diff a.safetensors b.safetensors");
  EXPECT_EQ(diff.code, 1) << diff.text;
  EXPECT_THAT(diff.text, AllOf(HasSubstr("both are wrong"), HasSubstr("the sample's last key"),
                               HasSubstr("as the stated spec")));
  const auto json = plumbline("diff a.safetensors b.safetensors --format json");
  EXPECT_EQ(nlohmann::json::parse(json.text)["data"]["diffs"][0]["a"]["label"], "a.safetensors");
}

TEST_F(DiffCommand, UsageErrors) {
  const auto unknown = plumbline("diff cpu/flash cpu/flsh s.toml");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text,
              AllOf(HasSubstr("there is no kernel cpu/flsh"), HasSubstr("cpu/split_kv")));
  EXPECT_EQ(plumbline("diff cpu/flash").code, 2);
  EXPECT_EQ(plumbline("diff cpu/flash cpu/split_kv").code, 2);
  EXPECT_EQ(plumbline("diff a.safetensors cpu/flash s.toml").code, 2);
  const auto missing = plumbline("diff a.safetensors b.safetensors");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.text, AllOf(HasSubstr("a.safetensors"), HasSubstr("b.safetensors")));
  EXPECT_EQ(plumbline("diff cpu/flash cpu/split_kv s.toml --tier none").code, 2);
  EXPECT_EQ(plumbline("diff cpu/flash cpu/split_kv s.toml --mask none").code, 2);
  const auto help = plumbline("diff --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.text, HasSubstr("Examples"));
}

}  // namespace
}  // namespace plumbline
