// Tests plumbline check on the command line, on files of the run command, of NumPy and of PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto small_suite = R"(schema = 1
name = "small"
[[group]]
name = "one"
reason = "a failure to save"
kernels = ["cpu/flash"]
set = { dtype = "fp16", batch = 2, heads = 2, seq_q = 16, seq_kv = 64, mask = "causal_bottom_right", LAYOUT }
)";

class CheckCommand : public CommandTest {
 protected:
  CommandResult check(const std::string& arguments) const {
    return plumbline("check " + arguments);
  }

  // Writes the dumps of a framework into ./dumps. Returns the reason if it cannot, otherwise "".
  std::string write_dumps(const std::string& framework) const {
    const char* named = std::getenv("PLUMBLINE_PYTHON");
    const auto own = source_directory / ".venv" / "bin" / "python";
    const std::string python = named != nullptr               ? named
                               : std::filesystem::exists(own) ? own.string()
                                                              : "python3";
    const auto script = (source_directory / "tests" / "check" / "write_dumps.py").string();
    const auto written = shell("mkdir -p dumps && OMP_NUM_THREADS=2 '" + python + "' '" + script +
                               "' " + framework + " dumps");
    if (written.code == 0) return "";
    if (written.code == 77 || written.code == 127)
      return framework + " or safetensors is not installed for " + python + ": " + written.text;
    ADD_FAILURE() << written.text;
    return "failed";
  }

  void expect(const std::string& dump, int code, const std::string& answer, const std::string& part,
              const std::string& options = "") const {
    // The short form drops sentences and wraps lines, so use -v and a wide terminal.
    const auto result =
        plumbline("check -v dumps/" + dump + ".safetensors " + options, "COLUMNS=400 ");
    EXPECT_EQ(result.code, code) << dump << "\n" << result.text;
    EXPECT_THAT(result.text, StartsWith(answer)) << dump;
    EXPECT_THAT(result.text, HasSubstr(part)) << dump;
  }
};

class SavedFailure : public CheckCommand, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Layouts, SavedFailure,
                         testing::Values("padded_bshd", "padded_bhsd", "ragged", "paged_nhd",
                                         "paged_hnd"));

TEST_P(SavedFailure, CheckAgreesWithRun) {
  std::string text = small_suite;
  text.replace(text.find("LAYOUT"), 6, "lengths = \"random\", layout = \"" + GetParam() + "\"");
  write("s.toml", text);
  const auto run = plumbline("run s.toml --no-store -q --save-failures saved --provider '" +
                             cpu_provider("drop_last_key=1") + "'");
  ASSERT_EQ(run.code, 1) << run.text;
  const auto result = check("saved/*.safetensors");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(result.text, StartsWith("BUG"));
  EXPECT_THAT(result.text, HasSubstr("off by one"));
}

TEST_F(CheckCommand, SeveralFilesAndJson) {
  std::string text = small_suite;
  text.replace(text.find("LAYOUT"), 6, "layout = \"ragged\"");
  write("s.toml", text);
  ASSERT_EQ(plumbline("run s.toml --no-store -q --save-failures saved --provider '" +
                      cpu_provider("drop_last_key=1") + "'")
                .code,
            1);
  ASSERT_EQ(shell("mv saved/*.safetensors a.safetensors && echo damaged > b.safetensors").code, 0);
  const auto result = check("a.safetensors b.safetensors --format json");
  EXPECT_EQ(result.code, 1) << "a bug weighs more than a file that cannot be judged";
  const auto json = nlohmann::json::parse(result.text);
  const auto& data = json["data"];
  ASSERT_EQ(data["dumps"].size(), 1U);
  EXPECT_EQ(data["dumps"][0]["answer"], "BUG");
  EXPECT_GT(data["dumps"][0]["percent_of_limit"], 100);
  EXPECT_EQ(data["dumps"][0]["worst"].size(), 5U);
  EXPECT_FALSE(data["dumps"][0]["suggestions"].empty());
  ASSERT_EQ(json["errors"].size(), 1U);
  EXPECT_EQ(json["errors"][0]["file"], "b.safetensors");
}

TEST_F(CheckCommand, ErrorNamesUnjudgeableFile) {
  write("empty.safetensors", "");
  for (const char* file : {"empty.safetensors", "missing.safetensors", "."}) {
    const auto result = check(file);
    EXPECT_EQ(result.code, 2) << file;
    EXPECT_THAT(result.text, HasSubstr(file));
    EXPECT_THAT(result.text, HasSubstr("remedy"));
  }
  EXPECT_EQ(check("").code, 2);
}

TEST_F(CheckCommand, HelpHasExamplesAndEveryAttribute) {
  const auto help = check("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"--layout", "--mask", "--causal", "--window", "--scale", "--lse-base",
                           "--lse-layout", "--padding", "--padded-rows", "--page-size", "--dtype",
                           "--softcap", "--spec", "Examples:", "5 UNDECIDED"}) {
    EXPECT_THAT(help.text, HasSubstr(part));
  }
}

TEST_F(CheckCommand, DumpsOfNumPy) {
  if (const auto reason = write_dumps("numpy"); !reason.empty()) GTEST_SKIP() << reason;
  expect("padded", 0, "ROUNDING", "FlashAttention-2");
  expect("ragged", 0, "ROUNDING", "FlashAttention-2");
  expect("paged", 0, "ROUNDING", "FlashAttention-2");
  expect("padded", 1, "BUG", "if causal were bottom-right", "--mask causal_top_left");
  expect("padded_wrong_scale", 1, "BUG", "the logits are too large");
  expect("padded_wrong_scale", 1, "BUG", "the stated FlashAttention-2", "--spec FlashAttention-2");
  expect("padded", 1, "BUG", "if the scale were 0.125 (1/sqrt(head dim))", "--scale 0.25");
}

TEST_F(CheckCommand, DumpsOfPyTorch) {
  if (const auto reason = write_dumps("torch"); !reason.empty()) GTEST_SKIP() << reason;
  expect("padded", 0, "ROUNDING", "FlashAttention-2");
  expect("padded_math", 0, "ROUNDING", "FlashInfer decode");  // widened to fp32 since PyTorch 2.5
  expect("padded_as_fp32", 0, "ROUNDING", "FlashAttention-2");
  expect("padded_eager", 5, "UNDECIDED", "state spec = \"PyTorch math\"");
  expect("padded_eager_as_math", 0, "ROUNDING", "PyTorch math");
  expect("padded_eager_stated", 5, "UNDECIDED", "PyTorch math");
  expect("padded_not_causal", 1, "BUG", "would be explained if the mask were causal");
  expect("padded_mask", 0, "ROUNDING", "lengths differ");
  expect("ragged", 0, "ROUNDING", "FlashAttention-2");
  expect("paged", 0, "ROUNDING", "paged_hnd");
}

}  // namespace
}  // namespace plumbline::test
