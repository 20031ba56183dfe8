// ci/gpu.sh where there is no GPU, and with programs in place of those that need one: what it runs, counts as failed and writes down.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const char* const passing_test = "echo '[  PASSED  ] 7 tests.'\n";

class GpuScript : public test::CommandTest {
 protected:
  std::string script() const { return "'" + (test::source_directory / "ci" / "gpu.sh").string() + "'"; }

  void write_program(const std::string& name, const std::string& body) const {
    write(name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  // A build of stand-ins, and a machine that has a GPU.
  void make_stand_ins() const {
    for (const char* library : {"cpu", "emulated", "cuda", "reference_cuda"}) {
      write("b/lib/plumbline/plumbline_" + std::string(library) + ".so", "");
    }
    write_program("b/bin/plumbline",
                  "echo \"$@\" >>\"$STAND_IN_CALLS\"\n"
                  "case \"$*\" in *pr.toml*cuda:0*) while [ ! -e \"$STAND_IN_CALLS.sampled\" ]; do sleep 0.01; done ;; esac\n"
                  "[ \"$1\" = matrix ] && echo '| cuda:0 | emulated:sm\\_90 | on | 34 | 34 |'\necho 'run 1: 9 cases: 9 pass (1 s of "
                  "measuring), exit code 0'\n");
    write_program("b/bin/plumbline-worker", "");
    write_program("b/tests/gpu/hardware_speed",
                  "[ \"$1\" = --gpu ] && { printf 'Test GPU\\nsm_90\\nCUDA 13.0\\n13.0\\n0000:19:00.0\\n'; exit 0; }\n"
                  "while [ \"$1\" != --toml ]; do shift; done\nprintf '\\n[limits]\\ncopy_gb_per_s = 4000\\n' >\"$2\"\n"
                  "echo 'What this GPU does at most'\necho '| copy | 4000 GB/s |'\n");
    write("b/gpu_tests.txt", "tests/gpu/test_gpu_hardware_mma\ntests/kernels/test_kernels_cuda\ntests/reference_gpu/test_reference_cuda\n");
    write_program("b/tests/gpu/test_gpu_hardware_mma", "echo 'a fingerprint: 3f800004'\necho '[  PASSED  ] 18 tests.'\n");
    write_program("b/tests/kernels/test_kernels_cuda", passing_test);
    write_program("b/tests/reference_gpu/test_reference_cuda", passing_test);
    write_program("machine/nvidia-smi",
                  "case \"$*\" in\n  -L) echo 'GPU 0: Test GPU' ;;\n  *driver_version*) echo 580.82.07 ;;\n"
                  "  *utilization*) echo 40; echo 60; touch \"$STAND_IN_CALLS.sampled\" ;;\nesac\n");
    write_program("machine/compute-sanitizer",
                  "[ $2 = memcheck ] && echo '========= ERROR SUMMARY: 0 errors'\n"
                  "[ $2 = racecheck ] && echo '========= RACECHECK SUMMARY: 0 hazards displayed'\nshift 4\n\"$@\"\n");
  }
  test::CommandResult gpu(const std::string& arguments = "") const {
    return shell("env -u CUDA_VISIBLE_DEVICES PATH=\"$PWD/machine:$PATH\" STAND_IN_CALLS=\"$PWD/calls\" " + script() +
                 " --no-build --build b --out out " + arguments);
  }
};

TEST_F(GpuScript, RefusesWithoutAGpu) {
  const auto refused = shell("CUDA_VISIBLE_DEVICES=-1 " + script());
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.text, HasSubstr("ci/gpu.sh: there is no GPU here"));
}

TEST_F(GpuScript, Usage) {
  const auto help = shell(script() + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.text, AllOf(HasSubstr("--no-build"), HasSubstr("Exit codes: 0")));
  EXPECT_EQ(shell(script() + " --nonsense").code, 2);
  EXPECT_EQ(shell(script() + " --out").code, 2);
}

TEST_F(GpuScript, ScriptsAreShell) {
  const auto parsed = shell("for s in '" + test::source_directory.string() + "'/ci/*.sh; do bash -n \"$s\" || exit 1; done");
  EXPECT_EQ(parsed.code, 0) << parsed.text;
}

TEST_F(GpuScript, AllStepsPass) {
  make_stand_ins();
  const auto done = gpu();
  EXPECT_EQ(done.code, 0) << done.text;
  const std::string summary = read("out/summary.md"), figures = read("out/figures.toml"), calls = read("calls");
  EXPECT_THAT(summary, AllOf(HasSubstr("Test GPU (sm_90), driver 580.82.07, toolkit 13.0, 20"), HasSubstr("test_kernels_cuda: 7 passed"),
                             HasSubstr("34 of 34 cases have the same bits"), HasSubstr("busy for 50.0 %"),
                             HasSubstr("a fingerprint: 3f800004"), HasSubstr("| copy | 4000 GB/s |")));
  EXPECT_THAT(summary, Not(HasSubstr("FAILED")));
  EXPECT_THAT(figures, AllOf(HasSubstr("driver = \"580.82.07\"\ntoolkit = \"13.0\"\n"), HasSubstr("gpu_busy_share_of_pr_run = 0.500"),
                             HasSubstr("name = \"bits\"\nresult = \"pass\""), HasSubstr("[limits]\ncopy_gb_per_s = 4000")));
  EXPECT_THAT(calls, AllOf(HasSubstr("run cases/pr.toml --device cuda:0 --tier pr"), HasSubstr("run cases/pr.toml --device emulated:sm_90"),
                           HasSubstr("--expect-equal emulated:sm_90=cuda:0"), HasSubstr("run cases/gpu.toml --device cuda:0")));
  for (const char* log : {"mma", "tests", "reference", "pr_cuda", "pr_emulated", "bits", "s4", "speed", "memcheck", "racecheck"}) {
    EXPECT_THAT(read("out/" + std::string(log) + ".log"), HasSubstr("toolkit 13.0")) << log;
  }
  const auto parsed = shell("python3 -c 'import tomllib; print(len(tomllib.load(open(\"out/figures.toml\", \"rb\"))[\"step\"]))'");
  EXPECT_EQ(parsed.text, "10\n");
}

TEST_F(GpuScript, GoesOnAfterAFailureAndNamesIt) {
  make_stand_ins();
  write_program("b/tests/gpu/test_gpu_hardware_mma", "echo '[  FAILED  ] 1 test'\nexit 1\n");
  write_program("b/bin/plumbline", "[ \"$1\" = matrix ] && exit 1\necho 'run 1: 9 cases: 9 pass'\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: mma bits\n"));
  EXPECT_THAT(read("out/summary.md"), AllOf(HasSubstr("test_gpu_hardware_mma: exit code 1"), HasSubstr("test_kernels_cuda: 7 passed")));
  EXPECT_THAT(read("out/figures.toml"), HasSubstr("name = \"bits\"\nresult = \"FAILED\""));
}

TEST_F(GpuScript, ASkippedTestAndNoTestAtAllAreFailures) {
  make_stand_ins();
  write_program("b/tests/kernels/test_kernels_cuda", "echo '[  PASSED  ] 6 tests.'\necho '[  SKIPPED ] 1 test, listed below:'\n");
  write_program("b/tests/reference_gpu/test_reference_cuda", "echo '[  PASSED  ] 0 tests.'\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: tests reference memcheck racecheck\n"));
  EXPECT_THAT(read("out/summary.md"), HasSubstr("test_kernels_cuda: 1 skipped"));
}

// As one does that was kept from following the program.
TEST_F(GpuScript, ASanitizerThatSawNothingHasNotPassed) {
  make_stand_ins();
  write_program("machine/compute-sanitizer", "shift 4\n\"$@\"\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: memcheck racecheck\n"));
}

TEST_F(GpuScript, QuickSaysSo) {
  make_stand_ins();
  const auto done = gpu("--quick");
  EXPECT_EQ(done.code, 0) << done.text;
  EXPECT_THAT(read("out/summary.md"), AllOf(HasSubstr("--quick"), HasSubstr("compute-sanitizer racecheck | not run")));
  EXPECT_THAT(read("out/figures.toml"), HasSubstr("quick = true"));
  EXPECT_THAT(read("calls"), HasSubstr("--match pr/tile_edges/"));
}

TEST_F(GpuScript, NamesWhatIsMissing) {
  make_stand_ins();
  std::filesystem::remove(directory_ / "b/lib/plumbline/plumbline_cuda.so");
  const auto done = gpu();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.text, AllOf(HasSubstr("lacks lib/plumbline/plumbline_cuda.so:"), HasSubstr("--pack")));
  EXPECT_EQ(gpu("--pack p.tar.gz").code, 3);
}

// What was packed runs where it is unpacked.
TEST_F(GpuScript, PacksWhatItNeeds) {
  make_stand_ins();
  const auto packed = shell("CUDA_VISIBLE_DEVICES=-1 " + script() + " --no-build --build b --pack p.tar.gz");
  ASSERT_EQ(packed.code, 0) << packed.text;
  ASSERT_EQ(shell("mkdir there && tar -xzf p.tar.gz -C there && rm -r b && mv there b").code, 0);
  EXPECT_EQ(gpu().code, 0);
}

#ifdef PLUMBLINE_HARDWARE_SPEED
TEST_F(GpuScript, SpeedIsNotMeasuredWithoutAGpu) {
  const auto refused = shell("CUDA_VISIBLE_DEVICES=-1 '" PLUMBLINE_HARDWARE_SPEED "'");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.text, HasSubstr("no GPU: "));
  EXPECT_EQ(shell("'" PLUMBLINE_HARDWARE_SPEED "' --nonsense").code, 2);
}
#endif

}  // namespace
}  // namespace plumbline
