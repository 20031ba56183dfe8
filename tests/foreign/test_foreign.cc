// Tests third-party kernels: they pass smoke under their contracts or are unsupported with a
// reason, and the faults in docs/findings.md still happen.
#include <gmock/gmock.h>

#include <string>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Foreign : public test::CommandTest {
 protected:
  // Returns true if Python or the library is not installed, so that the test is skipped with its
  // output.
  static bool is_absent(const test::CommandResult& result) {
    for (const char* module : {"torch", "transformers", "jax", "onnx", "onnxruntime"}) {
      if (result.text.find("No module named '" + std::string(module) + "'") != std::string::npos)
        return true;
    }
    for (const char* absent :
         {"no usable numpy", "no Python interpreter", "is not installed for"}) {
      if (result.text.find(absent) != std::string::npos) return true;
    }
    return false;
  }
  static std::string provider(const std::string& name, const std::string& options = "") {
    return "--provider '" + std::string(PLUMBLINE_PYTHON_FOLDER) + "/" + name + "_kernels.py" +
           options + "'";
  }
  // One thread, because the tests of a machine run in parallel.
  test::CommandResult run(const std::string& arguments) const {
    return shell("OMP_NUM_THREADS=1 '" + program().string() + "' run " + arguments +
                 " --no-default-provider -q");
  }
  test::CommandResult smoke(const std::string& provider_name,
                            const std::string& filters = "") const {
    return run(suite("smoke.toml") + " --kernel '" + provider_name + "/*' " + filters +
               " --db a.db " + provider(provider_name));
  }
  std::string kernels_that_ran() const {
    std::string csv = plumbline(
                          "query \"SELECT DISTINCT kernel FROM v_latest WHERE status = 'ok'\" --db "
                          "a.db --format csv")
                          .text;
    std::erase(csv, '\r');
    return csv;
  }
  // Returns options that replace plumbline's baselines by empty ones, so that the strict default
  // applies.
  std::string strict() const {
    write("strict/contracts.toml", "schema = 1\n");
    write("strict/support.toml", "schema = 1\n");
    return " --baselines strict ";
  }
};

TEST_F(Foreign, PyTorchPassesSmoke) {
  const auto result = smoke("torch");
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* name : {"flex", "sdpa_flash", "sdpa_flash_lse", "sdpa_flash_lse_fp32",
                           "sdpa_flash_varlen", "sdpa_math", "sdpa_math_varlen"}) {
    EXPECT_THAT(kernels_that_ran(), HasSubstr(std::string("torch/") + name + "\n"));
  }
}

TEST_F(Foreign, TransformersPassesSmoke) {
  const auto result = smoke("transformers");
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* name : {"eager", "sdpa", "sdpa_unpad"}) {
    EXPECT_THAT(kernels_that_ran(), HasSubstr(std::string("transformers/") + name + "\n"));
  }
}

// XLA compiles each problem, so only a part of smoke runs.
TEST_F(Foreign, JaxPassesPartOfSmoke) {
  const auto result = smoke("jax",
                            "--match 'smoke/dense/*/bf16/*' --match 'smoke/dense/*/fp32/*' --match "
                            "'smoke/padded/*' --match 'smoke/ragged/*'");
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* name : {"dpa", "dpa_lse", "dpa_seqlens"})
    EXPECT_THAT(kernels_that_ran(), HasSubstr(std::string("jax/") + name + "\n"));
}

TEST_F(Foreign, OnnxRuntimePassesSmoke) {
  const auto result = smoke("onnxruntime");
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* name : {"gqa", "mha"})
    EXPECT_THAT(kernels_that_ran(), HasSubstr(std::string("onnxruntime/") + name + "\n"));
}

TEST_F(Foreign, StoryProblemsPassOnAllProviders) {
  std::string arguments;
  for (const char* story : {"s1_prefill_vs_decode", "s2_bf16_ragged", "s3_padding_policy",
                            "s4_tensor_cores", "s5_unsupported_dtype"}) {
    arguments += suite(std::string("stories/") + story + ".toml") + " ";
  }
  for (const char* name : {"torch", "transformers", "jax", "onnxruntime"}) {
    arguments += "--kernel '" + std::string(name) + "/*' " + provider(name) + " ";
  }
  const auto result = run(arguments + "--tier smoke --db a.db");
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  for (const char* name :
       {"torch/sdpa_math", "torch/sdpa_flash", "torch/sdpa_math_varlen", "transformers/eager",
        "transformers/sdpa", "jax/dpa", "onnxruntime/mha"}) {
    EXPECT_THAT(kernels_that_ran(), HasSubstr(std::string(name) + "\n"));
  }
}

// The pairs of the stories on third-party kernels. v_crossover has S3's times and memory by length.
// Each timed side starts three processes that import PyTorch and Transformers, so two of four
// lengths run.
TEST_F(Foreign, StoryPairsAndCrossover) {
  const auto result = run(suite("foreign.toml") +
                          " --tier smoke --match 'foreign/s?_*' --exclude '*/b4-h4-s128-d64/*' "
                          "--exclude '*/b4-h4-s512-d64/*' --db a.db " +
                          provider("torch") + " " + provider("transformers") + " " +
                          provider("jax") + " " + provider("onnxruntime"));
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 0) << result.text;
  const auto rows = plumbline(
      "query \"SELECT name, count(*) AS lengths, count(peak_memory_bytes_a) AS with_memory, "
      "count(crossover_seq) AS with_crossover FROM "
      "v_crossover WHERE name LIKE 's3%' GROUP BY name ORDER BY name\" --db a.db --format csv");
  EXPECT_THAT(rows.text, ContainsRegex("s3_eager_valid_rows,2,[02],2"));
  EXPECT_THAT(rows.text, ContainsRegex("s3_valid_rows,2,[02],2"));
}

TEST_F(Foreign, GpuLibrariesAreUnsupportedWithoutGpu) {
  for (const char* name :
       {"flash_attn/dense", "flashinfer/ragged_prefill", "xformers/cutlass", "torch/sdpa_cudnn"}) {
    const std::string kernel = name;
    const std::string layout = kernel == "flashinfer/ragged_prefill" ? "/layout=ragged" : "";
    const auto result = run("--case " + kernel + "/bf16/b1-h8x2-s17x33-d64" + layout +
                            " --format json " + provider(kernel.substr(0, kernel.find('/'))));
    if (is_absent(result)) GTEST_SKIP() << result.text;
    EXPECT_THAT(result.text, HasSubstr("\"verdict\": \"unsupported\"")) << kernel;
    EXPECT_THAT(result.text,
                ContainsRegex("not measured: .* is not installed|runs on cuda, not on cpu"))
        << kernel;
  }
}

// These tests follow the order of docs/findings.md. `raw` turns off the refusals by which providers
// avoid the faults.
TEST_F(Foreign, FlashLseShowsCubicExponential) {
  const auto result =
      run("--case torch/sdpa_flash_lse/bf16/b1-h8x2-s48-d64/mask=causal_top_left --case " +
          std::string("torch/sdpa_flash/bf16/b1-h8x2-s48-d64/mask=causal_top_left --format json") +
          strict() + provider("torch"));
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("exp2_rel_error: 0.000113 is larger than 0"));
  EXPECT_THAT(result.text, ContainsRegex("lse is 1[0-9][0-9](\\.[0-9]+)?, its limit 6"));
  EXPECT_THAT(result.text, HasSubstr("\"verdict\": \"first_seen\""))
      << "without its LSE the strict default cannot see it";
}

TEST_F(Foreign, RawProvidersFailOnPoisonedPadding) {
  const auto result =
      run("--case torch/sdpa_flash/bf16/b3-h8x2-s40-d64/lengths=random/fill=nan --case " +
          std::string("torch/sdpa_math/bf16/b3-h8x2-s40-d64/lengths=random/fill=nan --case ") +
          "torch/sdpa_flash_lse/bf16/b1-h4x1-s60x25-d64/mask=causal_bottom_right --format json "
          "--jobs 1" +
          strict() + provider("torch", ":raw"));
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("peak is nan"));
  EXPECT_THAT(result.text, HasSubstr("LSE 0 in a row without visible keys"));
}

TEST_F(Foreign, EagerAveragesKeysInEmptyRows) {
  const auto result = run(
      "--case transformers/eager/bf16/b1-h4x1-s60x25-d64/mask=causal_bottom_right --format json" +
      strict() + provider("transformers", ":raw"));
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("in a row without visible keys"));
}

TEST_F(Foreign, JaxRoundsLseToInputDtype) {
  const std::string of_case = "--case jax/dpa_lse/bf16/b1-h8x2-s17x100-d64 --format json";
  const auto result = run(of_case + strict() + provider("jax"));
  if (is_absent(result)) GTEST_SKIP() << result.text;
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("lse_dtype: rounded to bf16"));
  EXPECT_THAT(result.text, HasSubstr("the LSE is rounded to bf16 before it is stored"));
  EXPECT_THAT(result.text, ContainsRegex("lse is [0-9.]+, its limit 6"));
  EXPECT_EQ(run(of_case + " " + provider("jax")).code, 0) << "its contract says so";
}

}  // namespace
}  // namespace plumbline
