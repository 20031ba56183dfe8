// The installed command finds its suites, kernels, worker and Python from any folder. It is
// installed by `cmake --install` of what ci/quickstart.sh builds.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

class Installed : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto installed = shell("\"" CMAKE_PROGRAM "\" --install '" +
                                 test::build_directory.string() + "' --prefix prefix");
    ASSERT_EQ(installed.code, 0) << installed.text;
    std::filesystem::create_directories(directory_ / "empty");
  }
  // The installed program in an empty folder, by its name.
  test::CommandResult installed(const std::string& arguments) const {
    return shell("cd empty && PATH='" + (directory_ / "prefix/bin").string() +
                 "':\"$PATH\" plumbline " + arguments);
  }
};

TEST_F(Installed, RunsBundledSuitesAndProvidersFromAnEmptyFolder) {
  const auto smoke = installed("run cases/smoke.toml --match '*/bf16/*' --no-store -q");
  EXPECT_EQ(smoke.code, 0) << smoke.text;
  const auto stories = installed("list 'cases/stories/*.toml' --count");
  EXPECT_EQ(stories.code, 0) << stories.text;
  const auto planted =
      installed("run --case cpu/flash/bf16/b1-h8x2-s1x300-d64 --provider cpu:drop_last_key=1");
  EXPECT_EQ(planted.code, 1) << planted.text;
  EXPECT_THAT(planted.text, HasSubstr("--provider 'cpu:drop_last_key=1'"));
  EXPECT_EQ(installed("list --kernels --no-default-provider --provider mutants").code, 0);
  for (const char* library : {"plumbline_mma_mutants.so", "plumbline_merge_mutants.so"}) {
    const auto listed =
        installed(std::string("list --kernels --no-default-provider --provider ") + library);
    EXPECT_EQ(listed.code, 0) << listed.text;
  }
}

TEST_F(Installed, RunsPythonKernels) {
  const std::string kernel =
      "import numpy as np\nfrom plumbline_provider import kernel\n\n"
      "@kernel(name='ones', dtypes=('fp32',), layouts=('padded_bshd',), masks=('none',))\n"
      "def ones(case):\n    out = case.new_out()\n    out[...] = 1\n    return out\n";
  std::filesystem::create_directories(directory_ / "empty");
  write("empty/mine.py", kernel);
  const std::string interpreter = (test::source_directory / ".venv/bin/python").string();
  const std::string with =
      std::filesystem::exists(interpreter) ? "PLUMBLINE_PYTHON='" + interpreter + "' " : "";
  const auto run =
      shell("cd empty && " + with + "'" + (directory_ / "prefix/bin/plumbline").string() +
            "' run --case mine/ones/fp32/b1-h1-s4-d8 --provider mine.py");
  if (run.text.find("no usable numpy") != std::string::npos) GTEST_SKIP() << run.text;
  EXPECT_EQ(run.code, 1) << run.text;  // it ran, and ones are wrong
  EXPECT_THAT(run.text, HasSubstr("fail  mine/ones"));
}

TEST_F(Installed, DoctorLooksAtEveryBundledProviderAndAtPython) {
  const auto doctor = installed("doctor --db none.db");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  for (const char* what : {"provider    cpu", "provider    emulated", "--provider mutants: mutants",
                           "--provider mma_mutants: mma_mutants", "--provider torch", "Python",
                           "database", "contracts"}) {
    EXPECT_THAT(doctor.text, HasSubstr(what));
  }
  EXPECT_THAT(doctor.text, Not(HasSubstr("MISSING")));
}

// The command is in one folder with nvcc and without.
TEST(BuildBin, IsTheProgramsFolder) {
  const auto link = test::source_directory / "build" / "bin";
  const std::string preset = test::build_directory.filename().string();
  if (test::build_directory.parent_path() != test::source_directory / "build" ||
      (preset != "host" && preset != "dev")) {
    GTEST_SKIP() << "build/bin belongs to the presets host and dev";
  }
  EXPECT_TRUE(std::filesystem::exists(link / "plumbline")) << link;
}

}  // namespace
}  // namespace plumbline
