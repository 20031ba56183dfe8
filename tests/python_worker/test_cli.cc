// Python kernels in a complete `plumbline run`.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

class PythonCommand : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto listed = plumbline("list --kernels --no-default-provider --provider '" +
                                  provider("behaved.py") + "'");
    if (test::is_python_missing(listed.text)) GTEST_SKIP() << listed.text;
    ASSERT_EQ(listed.code, 0) << listed.text;
  }
  static std::string provider(const std::string& file) {
    return std::string(PLUMBLINE_TEST_PROVIDERS) + "/" + file;
  }
};

TEST_F(PythonCommand, CorrectKernelPassesSmoke) {
  const auto run = plumbline("run " + suite("smoke.toml") +
                             " --db a.db -q --kernel 'behaved/attention' --provider '" +
                             provider("behaved.py") + "'");
  EXPECT_EQ(run.code, 0) << run.text;
  const auto verdicts = plumbline(
      "query \"SELECT DISTINCT verdict FROM v_latest ORDER BY 1\" --db a.db --format csv");
  EXPECT_THAT(verdicts.text, Not(HasSubstr("unsupported")))
      << "it takes every mask, layout and dtype of the suite";
}

// The command at the top of cases/nightly.toml.
TEST_F(PythonCommand, NightlyPlanWithoutEmulatedDevices) {
  const std::string all = "list " + suite("nightly.toml") +
                          " --count --kernel 'behaved/*' --provider '" + provider("behaved.py") +
                          "'";
  const auto refused = plumbline(all);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("no kernel that matches \"behaved/*\" runs on emulated:"));
  const auto listed = plumbline(all + " --exclude '*/device=emulated:*'");
  EXPECT_EQ(listed.code, 0) << listed.text;
  const auto total = listed.text.rfind("\ntotal ");
  ASSERT_NE(total, std::string::npos) << listed.text;
  EXPECT_GT(std::stoi(listed.text.substr(total + 7)), 1000) << listed.text;
}

TEST_F(PythonCommand, UndeclaredOptionEndsRun) {
  const auto run = plumbline("run " + suite("smoke.toml") + " --no-store -q --provider '" +
                             provider("behaved.py") + ":scael=1.01'");
  EXPECT_EQ(run.code, 2) << run.text;
  EXPECT_THAT(run.text, HasSubstr("behaved.py: unknown option 'scael' (known: scale, more)"));
  EXPECT_THAT(run.text, HasSubstr("did you mean scale?"));
  EXPECT_EQ(plumbline("list --kernels --provider '" + provider("misbehaved.py") + ":x'").code, 2);
}

TEST_F(PythonCommand, DeclarationsAreImportedOnce) {
  const auto file = write("imports.py", R"(
import plumbline.kernels
import plumbline_provider
from plumbline import kernels

assert plumbline_provider.declared is kernels.declared is plumbline.kernels.declared

@plumbline_provider.kernel
def zeros(case):
    case.out.fill(0)
)");
  std::filesystem::create_directories(directory_ / "folder/plumbline");
  // Without the package, with the build's package, and with an empty folder of the package's name.
  for (const std::string& path : {std::string(), (test::build_directory / "python").string(),
                                  (directory_ / "folder").string()}) {
    const auto listed =
        plumbline("list --kernels --no-default-provider --provider '" + file.string() + "'",
                  "PYTHONPATH='" + path + "' ");
    EXPECT_EQ(listed.code, 0) << path << listed.text;
    EXPECT_THAT(listed.text, HasSubstr("imports/zeros")) << path;
  }
}

TEST_F(PythonCommand, FileReadingOptionsTakesAny) {
  const auto file = write("reads.py", R"(
from plumbline.kernels import kernel

@kernel
def zeros(case):
    case.out.fill(1 if case.options == "ones" else 0)
)");
  EXPECT_EQ(plumbline("list --kernels --provider '" + file.string() + ":ones'").code, 0);
}

TEST_F(PythonCommand, OutputsAreJudgedWithoutLse) {
  const auto run = plumbline("run --case behaved/zeros/bf16/b2-h4x2-s17x100-d64 -q --provider '" +
                             provider("behaved.py") + "'");
  EXPECT_EQ(run.code, 0) << run.text;
}

TEST_F(PythonCommand, WrongScaleFailsAndReproduces) {
  write("mine.py", "");
  std::filesystem::copy_file(provider("behaved.py"), directory_ / "mine.py",
                             std::filesystem::copy_options::overwrite_existing);
  const auto run = plumbline(
      "run --case mine/attention/fp16/b2-h4x2-s17x100-d64 -q --provider mine.py:scale=1.01");
  EXPECT_EQ(run.code, 1) << run.text;
  const auto at = run.text.find("reproduce: ");
  ASSERT_NE(at, std::string::npos) << run.text;
  EXPECT_THAT(run.text.substr(at), HasSubstr("--provider 'mine.py:scale=1.01'"));
  EXPECT_EQ(shell(run.text.substr(at + 11, run.text.find('\n', at) - at - 11)).code, 1);
}

TEST_F(PythonCommand, RunContinuesAfterMisbehaviour) {
  const std::vector<std::pair<std::string, std::string>> statuses{{"abort", "crashed"},
                                                                  {"leaves", "crashed"},
                                                                  {"exits", "error"},
                                                                  {"raises", "error"},
                                                                  {"hangs", "timeout"},
                                                                  {"prints", "ok"},
                                                                  {"leaks", "out_of_memory"},
                                                                  {"wrong_shape", "error"},
                                                                  {"wrong_dtype", "error"},
                                                                  {"nothing", "error"},
                                                                  {"writes_to_an_input", "error"},
                                                                  {"ok", "ok"}};
  std::string kernels;
  for (const auto& [kernel, status] : statuses) kernels += "\"misbehaved/" + kernel + "\", ";
  write("s.toml", R"(
schema = 1
name = "bad"
[[group]]
name = "g"
reason = "one problem, many kernels"
set = { heads_q = 2, heads_kv = 1, seq_q = 3, seq_kv = 5, head_dim = 8, dtype = "fp32" }
kernels = [)" + kernels +
                      "]\n");
  const auto run = plumbline(
      "run s.toml --db a.db -q --timeout 6 --jobs 1 --memory-limit 256 --no-default-provider "
      "--provider '" +
      provider("misbehaved.py") + "'");
  EXPECT_EQ(run.code, 1) << run.text;
  const auto query =
      plumbline("query \"SELECT kernel, status FROM v_latest\" --db a.db --format csv");
  ASSERT_EQ(query.code, 0) << query.text;
  for (const auto& [kernel, status] : statuses)
    EXPECT_THAT(query.text, HasSubstr("misbehaved/" + kernel + "," + status));
}

TEST_F(PythonCommand, UnusableProviderIsInfrastructureError) {
  const auto run = plumbline("run " + suite("smoke.toml") + " --no-store -q --provider '" +
                             provider("unusable/syntax_error.py") + "'");
  EXPECT_EQ(run.code, 3) << run.text;
  EXPECT_THAT(run.text, HasSubstr("syntax_error.py:4"));
}

}  // namespace
}  // namespace plumbline
