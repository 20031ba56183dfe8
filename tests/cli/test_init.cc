// plumbline init writes a starter project whose printed commands lead to a verdict.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Init : public test::CommandTest {
 protected:
  // Returns the lines after "next:", as a script that stops at the first failure.
  static std::string next_commands(const std::string& printed) {
    std::istringstream text(printed.substr(printed.find("next:\n") + 6));
    std::string script = "set -e\n";
    int count = 0;
    for (std::string line; std::getline(text, line); ++count) script += line + "\n";
    EXPECT_EQ(count, 3) << printed;
    return script;
  }
  void follow(const std::string& arguments, const std::string& verdict) const {
    const auto begun = plumbline("init " + arguments);
    ASSERT_EQ(begun.code, 0) << begun.text;
    write("next.sh", next_commands(begun.text));
    const auto done = shell("CMAKE_GENERATOR='" GENERATOR "' sh next.sh");
    if (done.text.find("no usable numpy") != std::string::npos ||
        done.text.find("No module named 'torch'") != std::string::npos)
      GTEST_SKIP() << done.text;
    EXPECT_EQ(done.code, 0) << done.text;
    EXPECT_THAT(done.text, AllOf(HasSubstr("settings of plumbline.toml: --provider "),
                                 HasSubstr("suite start"), HasSubstr(verdict)));
  }
};

TEST_F(Init, PythonProjectRuns) {
  follow("'my kernels'", "no failure in 14 cases");
  EXPECT_THAT(read("my kernels/out/summary.md"), HasSubstr("start"));
}
TEST_F(Init, TorchProjectRuns) {
  follow("--torch 'my kernels'", "no failure in 14 cases");
  EXPECT_THAT(read("my kernels/out/summary.md"), HasSubstr("start"));
}
TEST_F(Init, TorchFlagEqualsProviderTorch) {
  ASSERT_EQ(plumbline("init flag --torch").code, 0);
  ASSERT_EQ(plumbline("init word --provider torch").code, 0);
  EXPECT_EQ(shell("diff -r flag word").text, "");
  const auto both = plumbline("init both --torch --provider cpp");
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.text, AllOf(HasSubstr("--torch"), HasSubstr("--provider")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "both"));
}

// The option off_by_one plants an error, with which the docs show a failure.
TEST_F(Init, PlantedErrorFailsPythonKernel) {
  for (const std::string how : {"", "--torch"}) {
    const std::string folder = "start" + how;
    ASSERT_EQ(plumbline("init " + folder + " " + how).code, 0);
    const auto run = shell("cd " + folder + " && '" + program().string() +
                           "' run --provider mine.py:off_by_one --match '*s40-d64/mask=causal*'");
    if (run.text.find("no usable numpy") != std::string::npos ||
        run.text.find("No module named 'torch'") != std::string::npos)
      continue;
    EXPECT_EQ(run.code, 1) << run.text;
    EXPECT_THAT(run.text, HasSubstr("each query saw one key after its last one"));
  }
}

TEST_F(Init, CommentsMarkKernelPlace) {
  for (const std::string language : {"python", "torch"}) {
    ASSERT_EQ(plumbline("init " + language + " --provider " + language).code, 0);
    const std::string kernel = read(language + "/mine.py");
    EXPECT_THAT(kernel, AllOf(HasSubstr("# 1. State which problems"), HasSubstr("    # 2. Prepare"),
                              HasSubstr("    # 3. Call your kernel in run()")));
  }
  ASSERT_EQ(plumbline("init c --provider c").code, 0);
  EXPECT_THAT(read("c/mine.c"), HasSubstr("replace `attend_row`"));
  ASSERT_EQ(plumbline("init cpp --provider cpp").code, 0);
  EXPECT_THAT(read("cpp/mine.cc"), HasSubstr("replace `two_pass`"));
}

TEST_F(Init, CppProjectRuns) { follow("new/mine --provider cpp", "no failure in 28 cases"); }
TEST_F(Init, CProjectRuns) { follow(". --provider c", "no failure in 14 cases"); }

// The project's contract is applied: a kernel fails if it declares looser rounding.
TEST_F(Init, LooserSpecThanContractFails) {
  ASSERT_EQ(plumbline("init . --provider c").code, 0);
  std::string kernel = read("mine.c");
  const std::string spec = "d->spec.p_dtype = PLUMBLINE_F32;";
  ASSERT_THAT(kernel, AllOf(HasSubstr(spec), HasSubstr("mine/naive"), Not(HasSubstr("sample/"))));
  kernel.replace(kernel.find(spec), spec.size(), "d->spec.p_dtype = PLUMBLINE_BF16;");
  write("mine.c", kernel);
  ASSERT_EQ(shell("cmake -S . -B build -G '" GENERATOR "' -Dplumbline_DIR=\"$('" +
                  program().string() + "' --cmake-dir)\" && cmake --build build")
                .code,
            0);
  const auto run = plumbline("run");
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("p_dtype"));
}

TEST_F(Init, NothingIsOverwritten) {
  write("there/suite.toml", "mine");
  write("there/mine.py", "mine");
  const auto refused = plumbline("init there");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr("nothing was written"), HasSubstr("mine.py, suite.toml"),
                    HasSubstr("remedy: name another folder")));
  EXPECT_EQ(read("there/suite.toml"), "mine");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "there/plumbline.toml"));
  EXPECT_EQ(plumbline("init there --provider c").code, 2) << "the suite is still there";
  ASSERT_EQ(plumbline("init twice").code, 0);
  EXPECT_EQ(plumbline("init twice").code, 2);
}

TEST_F(Init, BadArgumentsAreReported) {
  write("file", "");
  EXPECT_THAT(plumbline("init file").text, HasSubstr("is not a folder"));
  EXPECT_EQ(plumbline("init file").code, 2);
  const auto language = plumbline("init x --provider rust");
  EXPECT_EQ(language.code, 2);
  EXPECT_THAT(language.text, AllOf(HasSubstr("rust"), HasSubstr("python")));
  EXPECT_EQ(plumbline("init a b").code, 2);
  const auto proc = plumbline("init /proc/nowhere");
  EXPECT_EQ(proc.code, 3) << proc.text;
}

}  // namespace
}  // namespace plumbline
