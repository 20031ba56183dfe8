// Tests what a run stores of third-party kernels on a GPU, which stand_in_torch fakes.
#include <gmock/gmock.h>

#include <string>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ForeignOnGpu : public test::CommandTest {
 protected:
  static bool is_absent(const test::CommandResult& result) {
    for (const char* absent : {"is not installed for", "No module named 'torch'", "no usable numpy",
                               "no Python interpreter"}) {
      if (result.text.find(absent) != std::string::npos) return true;
    }
    return false;
  }
  static std::string provider(const std::string& name) {
    return " --provider '" + std::string(PLUMBLINE_PYTHON_FOLDER) + "/" + name + "_kernels.py'";
  }
  static std::string all_providers() {
    return provider("torch") + provider("transformers") + provider("jax") +
           provider("onnxruntime") + " --no-default-provider ";
  }
  test::CommandResult with_gpu(const std::string& command) const {
    return shell("OMP_NUM_THREADS=1 PYTHONPATH='" PLUMBLINE_SOURCE_DIRECTORY
                 "/tests/foreign/stand_in_torch' '" +
                 program().string() + "' " + command);
  }
  std::string stored(const std::string& sql) const {
    std::string csv = plumbline("query \"" + sql + "\" --db a.db --format csv").text;
    std::erase(csv, '\r');
    return csv;
  }
};

TEST_F(ForeignOnGpu, StoresArchitectureOfMeasuredDevice) {
  const auto result = with_gpu("run " + suite("foreign.toml") +
                               " --device cuda:0 --tier smoke --match '*/padded*' --match "
                               "'*/scales/*' --match '*/s4_*' --db a.db -q" +
                               all_providers());
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_THAT(result.text, Not(HasSubstr("TypeError"))) << "masks and checks on the host";
  EXPECT_EQ(
      stored("SELECT count(*) AS n FROM v_latest WHERE device LIKE 'cuda%' AND arch LIKE 'x86%'"),
      "n\n0\n");
  EXPECT_EQ(
      stored("SELECT count(*) AS n FROM v_latest WHERE device = 'cpu' AND arch NOT LIKE 'x86%'"),
      "n\n0\n");
  EXPECT_EQ(
      stored(
          "SELECT DISTINCT arch FROM v_latest WHERE device = 'cuda:0' AND kernel LIKE 'torch/%'"),
      "arch\nsm_90\n");
  EXPECT_EQ(
      stored("SELECT count(*) AS n FROM v_latest WHERE status IN ('error', 'crashed', 'timeout')"),
      "n\n0\n");
  // PyTorch and Transformers have a result for a padded case. Kernels that support only the CPU ran
  // on the CPU, and no other kernels did.
  EXPECT_EQ(stored("SELECT DISTINCT kernel FROM v_latest WHERE device = 'cuda:0' AND status = 'ok' "
                   "AND case_group = 'padded' ORDER BY 1"),
            "kernel\ntorch/flex\ntorch/sdpa_math\ntransformers/sdpa\ntransformers/sdpa_unpad\n");
  EXPECT_EQ(stored("SELECT DISTINCT device FROM v_latest WHERE kernel LIKE 'onnxruntime/%'"),
            "device\ncpu\n");
  EXPECT_EQ(stored("SELECT count(*) AS n FROM v_latest WHERE device = 'cpu' AND kernel NOT LIKE "
                   "'onnxruntime/%'"),
            "n\n0\n");
}

TEST_F(ForeignOnGpu, ListNamesDeviceOfEachCase) {
  const auto result = with_gpu("list " + suite("foreign.toml") +
                               " --device cuda:0 --match '*/padded/*'" + all_providers());
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_THAT(result.text, ContainsRegex("torch/flex/bf16[^\n]*/device=cuda:0"));
  EXPECT_THAT(result.text, ContainsRegex("onnxruntime/mha/bf16/[^\n]*lengths=random\n"));
  const auto kernels = with_gpu("list --kernels" + all_providers());
  EXPECT_THAT(kernels.text, HasSubstr("torch/sdpa_cudnn  (tensor cores on)  on cuda\n"));
  EXPECT_THAT(kernels.text, HasSubstr("onnxruntime/gqa  on cpu"));
}

TEST_F(ForeignOnGpu, ReportsGroupsNotMeasuredWithoutGpu) {
  const std::string stories =
      suite("stories/s2_bf16_ragged.toml") + " " + suite("stories/s5_unsupported_dtype.toml");
  const auto without = plumbline(
      "run " + stories + " --tier full --match '*/real*' --match '*/fp32_real*' --db a.db -q");
  EXPECT_EQ(without.code, 4) << without.text;  // nothing was measured: not green
  EXPECT_THAT(without.text, HasSubstr("not measured, for cuda:0 is not here: "));
  EXPECT_THAT(without.text, HasSubstr("s2_bf16_ragged/real_kernels (32)"));
}

TEST_F(ForeignOnGpu, ReportsMissingProvider) {
  write("mine.toml",
        "schema = 1\nname = \"mine\"\n[[group]]\nname = \"g\"\nreason = \"r\"\ndevices = "
        "[\"cuda:0\"]\n"
        "kernels = [\"flash_attn/dense\", \"torch/sdpa_math\"]\nset = { dtype = \"fp32\", seq = 16 "
        "}\n");
  const auto some = with_gpu("run mine.toml --db a.db -q" + provider("torch"));
  if (is_absent(some)) GTEST_SKIP() << some.text;
  EXPECT_EQ(some.code, 0) << some.text;
  EXPECT_THAT(
      some.text,
      HasSubstr("not measured, for the provider flash_attn is not loaded: 1 case: mine/g (1)"));
  EXPECT_EQ(stored("SELECT kernel, device, arch, status FROM v_latest"),
            "kernel,device,arch,status\ntorch/sdpa_math,cuda:0,sm_90,ok\n");
}

}  // namespace
}  // namespace plumbline
