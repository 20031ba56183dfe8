// Tests that MLX, Keras and OpenVINO pass their suite under their contracts, and that their
// findings in docs/findings.md still occur. Skipped if `ci/thirdparty.sh --check` finds no
// environment.
#include <gmock/gmock.h>

#include <string>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class Thirdparty : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    const auto missing = script("--check");
    if (missing.code != 0) GTEST_SKIP() << missing.text;
  }
  test::CommandResult script(const std::string& options) const {
    return shell("'" + (test::source_directory / "ci" / "thirdparty.sh").string() + "' " + options);
  }
  static std::string python() {
    return "'" + (test::source_directory / ".venv-thirdparty/bin/python").string() + "'";
  }
  // One thread, because tests run in parallel; 300 s, because TensorFlow takes long to import.
  test::CommandResult run(const std::string& arguments) const {
    return shell("OMP_NUM_THREADS=1 PLUMBLINE_PYTHON=" + python() + " '" + program().string() +
                 "' run " + arguments + " --no-default-provider -q --timeout 300");
  }
  // All providers, because the suite names kernels of each.
  test::CommandResult run_suite(const std::string& name) const {
    return run(suite("thirdparty.toml") + " --match '" + name +
               "/*' --db a.db --provider mlx --provider keras --provider openvino");
  }
  std::string measured_kernels() const {
    return plumbline(
               "query \"SELECT DISTINCT kernel FROM v_latest WHERE status = 'ok' ORDER BY 1\" --db "
               "a.db --format csv")
        .text;
  }
  // Empty contracts and support tables, so that the strict default applies.
  std::string strict() const {
    write("strict/contracts.toml", "schema = 1\n");
    write("strict/support.toml", "schema = 1\n");
    return " --baselines strict ";
  }
};

TEST_F(Thirdparty, MlxPassesSuite) {
  const auto result = run_suite("mlx");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(measured_kernels(), HasSubstr("mlx/sdpa"));
}

TEST_F(Thirdparty, KerasPassesSuite) {
  const auto result = run_suite("keras");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(measured_kernels(), HasSubstr("keras/dpa"));
}

TEST_F(Thirdparty, OpenVinoPassesSuite) {
  const auto result = run_suite("openvino");
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* kernel : {"openvino/sdpa\r", "openvino/sdpa_bf16", "openvino/sdpa_f16"})
    EXPECT_THAT(measured_kernels(), HasSubstr(kernel));
}

TEST_F(Thirdparty, MlxRoundsScale) {
  for (const auto& [head_dim, code] : {std::pair{59, 1}, std::pair{64, 0}}) {
    const std::string dump = std::to_string(head_dim) + ".safetensors";
    const auto written = shell(
        python() + " -c 'import mlx.core as mx; mx.random.seed(1)\n" +
        "q, k, v = (mx.random.normal((2, 8, 128, " + std::to_string(head_dim) +
        ")).astype(mx.bfloat16) for _ in range(3))\n" +
        "out = mx.fast.scaled_dot_product_attention(q, k, v, scale=" + std::to_string(head_dim) +
        " ** -0.5)\nmx.save_safetensors(\"" + dump +
        "\", {\"q\": q, \"k\": k, \"v\": v, \"out\": out}, {\"layout\": \"padded_bhsd\"})'");
    ASSERT_EQ(written.code, 0) << written.text;
    const auto result = plumbline("check " + dump +
                                  " --spec 'q_prescaled=input q_prescaled_without_log2e=true "
                                  "s_rounded=input p_normalized=true'");
    EXPECT_EQ(result.code, code) << result.text;
    if (code == 0) continue;
    EXPECT_THAT(result.text,
                AllOf(HasSubstr("BUG"), ContainsRegex("softmax scale.* 0\\.2[0-9] %")));
  }
}

TEST_F(Thirdparty, OpenVinoRoundsScaleToFp16) {
  const auto result =
      run("--case openvino/sdpa/fp16/b1-h8x2-s17x100-d59 --provider openvino --format json");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(result.text, ContainsRegex("the softmax scale is 0\\.04[0-9]* % too large"));
}

TEST_F(Thirdparty, OpenVinoBf16IgnoresHint) {
  const auto result =
      run("--case openvino/sdpa_bf16/bf16/b1-h8x2-s1x33-d64/law=peaky --provider "
          "openvino --format json" +
          strict());
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("s_rounded: rounded to bf16"), HasSubstr("hint f32")));
}

TEST_F(Thirdparty, OpenVinoF16GivesNanPadding) {
  const std::string of_case =
      "--case openvino/sdpa_f16/fp16/b3-h8x2-s40-d64/lengths=random --provider openvino";
  const auto result = run(of_case);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("NaN"));
}

TEST_F(Thirdparty, OpenVinoDefaultsToBf16) {
  const auto result =
      run("--case openvino/sdpa/fp32/b1-h8x2-s17x100-d64 --provider openvino:raw --format json");
  if (result.text.find("hint bf16") == std::string::npos)
    GTEST_SKIP() << "this processor has no bf16: the default is fp32";
  EXPECT_EQ(result.code, 1) << result.text;
}

TEST_F(Thirdparty, KerasOverflowsFp16BeforeScaling) {
  const auto result = run("--case keras/dpa/fp16/b1-h8x2-s17x257-d64/law=extreme --provider keras");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("NaN"));
}

TEST_F(Thirdparty, KerasRaisesForOneKeyHead) {
  const auto result = run(
      "--case keras/dpa/bf16/b1-h8x1-s17x100-d64 --provider keras:raw --format json" + strict());
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("Expected dimension 8 at axis 2"));
}

}  // namespace
}  // namespace plumbline
