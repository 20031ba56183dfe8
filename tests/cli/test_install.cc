// The installed command finds its suites, kernels, worker and Python from any folder. `cmake
// --install` installs what ci/quickstart.sh builds.
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
  // Runs the installed program in an empty folder, by its name.
  test::CommandResult installed(const std::string& arguments) const {
    return shell("cd empty && PATH='" + (directory_ / "prefix/bin").string() +
                 "':\"$PATH\" plumbline " + arguments);
  }
};

TEST_F(Installed, RunsBundledSuitesAndProviders) {
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

TEST_F(Installed, HasPtxCommand) {
  write("empty.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n");
  const auto census =
      shell("'" + (directory_ / "prefix/bin/plumbline-ptx").string() + "' census empty.ptx");
  EXPECT_EQ(census.code, 0) << census.text;
  EXPECT_THAT(census.text, HasSubstr("translated"));
}

TEST_F(Installed, RunsPythonKernels) {
  const std::string kernel =
      "import numpy as np\nfrom plumbline.kernels import kernel\n\n"
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
  EXPECT_EQ(run.code, 1) << run.text;  // the kernel ran, and ones are wrong
  EXPECT_THAT(run.text, AllOf(HasSubstr("fail: "), HasSubstr("\n  mine/ones")));
}

TEST_F(Installed, RemediesOfDoctorNeedNoCheckout) {
  std::filesystem::create_directories(directory_ / "empty");
  write("empty/bare", "#!/bin/sh\nexec python3 -S \"$@\"\n");
  const auto doctor =
      shell("cd empty && chmod +x bare && PLUMBLINE_PYTHON=\"$PWD/bare\" '" +
            (directory_ / "prefix/bin/plumbline").string() + "' doctor --quick --db none.db");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  EXPECT_THAT(doctor.text, HasSubstr("bare -m pip install numpy ml_dtypes"));
  EXPECT_THAT(doctor.text, Not(HasSubstr("ci/")));
}

TEST_F(Installed, DoctorChecksBundledProviders) {
  const auto doctor = installed("doctor --db none.db");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  for (const char* what :
       {"provider    cpu", "provider    emulated", "--provider mutants: mutants",
        "--provider mma_mutants: mma_mutants", "Python", "database", "contracts"}) {
    EXPECT_THAT(doctor.text, HasSubstr(what));
  }
  EXPECT_THAT(doctor.text, testing::ContainsRegex("--provider [^:]*torch"));
  EXPECT_THAT(doctor.text, Not(HasSubstr("MISSING")));
}

// Files are found relative to the program, so the whole installation can be moved.
TEST_F(Installed, CanBeMoved) {
  std::filesystem::create_directories(directory_ / "other place");
  std::filesystem::rename(directory_ / "prefix", directory_ / "other place/native");
  const std::string moved = (directory_ / "other place/native").string();
  const std::string program = "'" + moved + "/bin/plumbline'";
  EXPECT_EQ(shell(program + " --cmake-dir").text, moved + "/lib/cmake/plumbline\n");
  EXPECT_EQ(shell(program + " --include-dir").text, moved + "/include/plumbline\n");
#ifndef __SANITIZE_ADDRESS__  // its runtime would have to be loaded first
  // A program that is linked with the emulator's CUDA runtime finds a device.
  const auto on_emulator =
      shell("d=$(" + program +
            " --cudart-dir) && echo 'int cudaGetDeviceCount(int*); int main(void) "
            "{int n = 0; return cudaGetDeviceCount(&n) != 0 || n != 1;}' | cc -x c - -x none -o "
            "counts \"" +
            moved +
            "/lib/plumbline/emulated/13/libcudart.so.13\" && echo $d && "
            "LD_LIBRARY_PATH=\"$d\" ./counts");
  EXPECT_EQ(on_emulator.code, 0) << on_emulator.text;
  EXPECT_EQ(on_emulator.text,
            moved + "/lib/plumbline/emulated/12:" + moved + "/lib/plumbline/emulated/13\n");
#endif
  const auto built = shell(
      "cmake -S '" + (test::source_directory / "tests/sample_provider").string() +
      "' -B sample -Dplumbline_DIR=\"$(" + program + " --cmake-dir)\" && cmake --build sample");
  ASSERT_EQ(built.code, 0) << built.text;
  const auto include =
      shell("cc -fsyntax-only -I\"$(" + program + " --include-dir)\" '" +
            (test::source_directory / "tests/sample_provider").string() + "/sample_provider.c'");
  EXPECT_EQ(include.code, 0) << include.text;
  const auto run =
      shell("cd empty && " + program +
            " run cases/smoke.toml --provider ../sample/sample_provider.so --kernel 'sample/*' "
            "--match '*/fp32/*' --no-store -q");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("no failure in"));
  for (const char* question : {" list --kernels", " doctor", " list --suites"}) {
    const auto answer = shell("cd empty && " + program + question);
    EXPECT_EQ(answer.code, 0) << answer.text;
    EXPECT_THAT(answer.text, Not(HasSubstr(test::build_directory.string()))) << question;
    EXPECT_THAT(answer.text, Not(HasSubstr("/prefix/"))) << question;
  }
  const auto start = shell(program + " init mine --provider c");
  EXPECT_EQ(start.code, 0) << start.text;
  const auto manual = shell("ls '" + moved + "/share/man/man1/plumbline-run.1' '" + moved +
                            "/share/bash-completion/completions/plumbline'");
  EXPECT_EQ(manual.code, 0) << manual.text;
}

// The headers of providers install without the packages that plumbline needs.
TEST(ProviderAbi, InstallsFromSourcesAlone) {
  class Scratch : public test::CommandTest {
   public:
    using CommandTest::SetUp, CommandTest::TearDown, CommandTest::shell;
    void TestBody() override {}
  } scratch;
  scratch.SetUp();
  const auto done = scratch.shell(
      "\"" CMAKE_PROGRAM "\" -S '" + test::source_directory.string() +
      "' -B abi -DPLUMBLINE_ABI_ONLY=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON && "
      "\"" CMAKE_PROGRAM
      "\" --install abi --prefix here && "
      "ls here/include/plumbline/plumbline_provider.h "
      "here/lib/cmake/plumbline/plumblineConfig.cmake"
      " && \"" CMAKE_PROGRAM "\" -S '" +
      (test::source_directory / "tests/sample_provider").string() +
      "' -B sample -DCMAKE_PREFIX_PATH=\"$PWD/here\" && \"" CMAKE_PROGRAM "\" --build sample");
  EXPECT_EQ(done.code, 0) << done.text;
  scratch.TearDown();
}

// The command is in the same folder with nvcc and without.
TEST(BuildBin, HasProgram) {
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
