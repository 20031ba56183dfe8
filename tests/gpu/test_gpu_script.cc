// ci/gpu.sh without a GPU: the steps that it runs, counts as failed, cuts off, skips and reports.
// Stand-ins replace the build's programs and those that need a GPU; tests/gpu/rehearsal.sh runs
// ci/gpu.sh with a real build.
#include <gmock/gmock.h>

#include <chrono>
#include <sstream>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const char* const passing_test = "echo '[  PASSED  ] 7 tests.'\n";

class GpuScript : public test::CommandTest {
 protected:
  std::string script() const {
    return "'" + (test::source_directory / "ci" / "gpu.sh").string() + "'";
  }

  void write_program(const std::string& name, const std::string& body) const {
    write(name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  // Creates a build of stand-ins, and a machine that has a GPU.
  void make_stand_ins() const {
    for (const char* library : {"cpu", "emulated", "cuda", "reference_cuda", "compiled_cutlass",
                                "compiled_cutlass_cuda"}) {
      write("b/lib/plumbline/plumbline_" + std::string(library) + ".so", "");
    }
    write_program("b/bin/plumbline",
                  "echo \"$@\" >>\"$STAND_IN_CALLS\"\n"
                  "case \"$*\" in *pr.toml*cuda:0*) while [ ! -e \"$STAND_IN_CALLS.sampled\" ]; do "
                  "sleep 0.01; done ;; esac\n"
                  "[ \"$1\" = matrix ] && echo '| emulated:sm\\_90 | cuda:0 | on | 34 | 34 |'\n"
                  "[ \"$1\" = merge ] && { cat \"$3\" >>\"$2\"; exit 0; }\n"
                  "while [ $# -gt 1 ]; do [ \"$1\" = --db ] && [ ! -s \"$2\" ] && echo \"runs of "
                  "$2\" >\"$2\"; shift; done\n"
                  "echo 'run 01ab01ab: 9 cases: 9 pass (1 s of measuring), exit code 0'\n");
    write_program("b/bin/plumbline-worker", "");
    write_program("b/tests/gpu/hardware_speed",
                  "[ \"$1\" = --gpu ] && { printf 'Test GPU\\nsm_90\\nCUDA "
                  "13.0\\n13.0\\n0000:19:00.0\\n'; exit 0; }\n"
                  "while [ \"$1\" != --toml ]; do shift; done\nprintf '\\n[limits]\\ncopy_gb_per_s "
                  "= 4000\\n' >\"$2\"\n"
                  "echo 'What this GPU does at most'\necho '| copy | 4000 GB/s |'\n");
    write("b/gpu_tests.txt",
          "tests/gpu/test_gpu_hardware_mma\ntests/gpu/test_gpu_special_functions\n"
          "tests/kernels/test_kernels_cuda\ntests/reference_gpu/test_reference_cuda\n");
    write_program("b/tests/gpu/test_gpu_hardware_mma",
                  "echo 'a fingerprint: 3f800004'\necho '[  PASSED  ] 18 tests.'\n");
    write_program("b/tests/gpu/record_mma",
                  "mkdir -p \"$2\"\nfor i in bf16_f32_k16 f16_f32_k8; do\n"
                  "  echo rows >\"$2/sm_90-$i.csv.gz\"\n"
                  "  echo \"sm_90-$i: 1000 rows, 0 differ from the model\"\ndone\n"
                  "exit \"${RECORD_CODE:-0}\"\n");
    write_program("b/tests/gpu/test_gpu_special_functions",
                  "echo \"special $@\" >>\"$STAND_IN_CALLS\"\n"
                  "if [ -n \"$PLUMBLINE_SPECIAL_DUMP\" ]; then mkdir \"$PLUMBLINE_SPECIAL_DUMP\"\n"
                  "echo small >\"$PLUMBLINE_SPECIAL_DUMP/special_results.gz\"\n"
                  "${SPECIAL_IS_LARGE:-false} && head -c 9000000 /dev/zero "
                  ">\"$PLUMBLINE_SPECIAL_DUMP/special_ex2.gz\"; fi\n"
                  "echo 'ex2.approx.f32: 64 operands, 0 differ'\necho '[  PASSED  ] 19 tests.'\n");
    write_program("b/tests/kernels/test_kernels_cuda", passing_test);
    write_program("b/tests/reference_gpu/test_reference_cuda", passing_test);
    write_program(
        "machine/nvidia-smi",
        "case \"$*\" in\n  -L) echo 'GPU 0: Test GPU' ;;\n  *driver_version*) echo 580.82.07 ;;\n"
        "  *=name*) echo 'Test GPU' ;;\n  *compute_cap*) echo 9.0 ;;\n  *pci.bus_id*) echo "
        "0000:19:00.0 ;;\n"
        "  *utilization*) echo 40; echo 60; touch \"$STAND_IN_CALLS.sampled\" ;;\nesac\n");
    write_program("machine/compute-sanitizer",
                  "[ $2 = memcheck ] && echo '========= ERROR SUMMARY: 0 errors'\n"
                  "[ $2 = racecheck ] && echo '========= RACECHECK SUMMARY: 0 hazards "
                  "displayed'\nshift 4\n\"$@\"\n");
    // A Python interpreter with the packages numpy, torch and a broken xformers.
    write_program("machine/python",
                  "case \"$2\" in numpy) echo 2.3.5 ;; torch) echo 2.13.0 ;; xformers) echo 'does "
                  "not load: ImportError' ;;\n"
                  "  *) echo absent ;; esac\n");
  }
  test::CommandResult gpu(const std::string& arguments = "") const {
    return shell(gpu_command(arguments));
  }
  std::string gpu_command(const std::string& arguments) const {
    return "env -u CUDA_VISIBLE_DEVICES PATH=\"$PWD/machine:$PATH\" "
           "PLUMBLINE_PYTHON=\"$PWD/machine/python\" PLUMBLINE_COMMIT=" +
           commit + " STAND_IN_CALLS=\"$PWD/calls\" " + script() +
           " --no-build --build b --out out " + arguments;
  }
  std::string archived(const std::string& name) const {
    return shell("tar -xzOf out/results.tar.gz ./" + name).text;
  }
  // Makes the test independent of the checkout's state.
  void SetUp() override {
    CommandTest::SetUp();
    write("b/commit", commit + "\n");
  }
  std::string commit = "0123456789abcdef";
};

TEST_F(GpuScript, RefusesWithoutGpu) {
  const auto refused = shell("CUDA_VISIBLE_DEVICES=-1 " + script());
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.text, HasSubstr("ci/gpu.sh: there is no GPU here"));
}

TEST_F(GpuScript, Usage) {
  const auto help = shell(script() + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.text, AllOf(HasSubstr("--no-build"), HasSubstr("--deadline SECONDS"),
                               HasSubstr("Exit codes: 0")));
  for (const char* wrong : {" --nonsense", " --out", " --deadline soon", " --deadline 3", " --only",
                            " --only mma nonsense", " --arch 90a"}) {
    EXPECT_EQ(shell(script() + wrong).code, 2) << wrong;
  }
  EXPECT_THAT(shell(script() + " --only list").text,
              AllOf(HasSubstr("pr_emulated "), HasSubstr("racecheck ")));
}

TEST_F(GpuScript, ScriptsAreValidShell) {
  const auto parsed =
      shell("for s in '" + test::source_directory.string() + "'/ci/*.sh '" +
            test::source_directory.string() + "'/ci/*/*.sh; do bash -n \"$s\" || exit 1; done");
  EXPECT_EQ(parsed.code, 0) << parsed.text;
}

// The stand-in below accepts any option, so this checks that the program knows the purposes of runs
// in the scripts.
TEST_F(GpuScript, ProgramKnowsPurposes) {
  const auto purposes = shell("cat '" + test::source_directory.string() + "'/ci/*.sh '" +
                              test::source_directory.string() +
                              "'/ci/gpu/*.sh | grep -oE -- '--purpose [a-z]+' | sort -u");
  EXPECT_THAT(purposes.text, AllOf(HasSubstr("--purpose gpu\n"), HasSubstr("--purpose nightly\n")));
  std::istringstream lines(purposes.text);
  for (std::string line; std::getline(lines, line);) {
    const auto run = plumbline("run " + suite("smoke.toml") +
                               " -q --db a.db --match '*/naive/fp32/b1-*' " + line);
    EXPECT_NE(run.code, 2) << line << "\n" << run.text;
  }
}

TEST_F(GpuScript, AllStepsPass) {
  make_stand_ins();
  const auto done = gpu("--history night.db");
  EXPECT_EQ(done.code, 0) << done.text;
  const std::string summary = read("out/summary.md"), figures = archived("figures.toml"),
                    calls = read("calls");
  EXPECT_THAT(summary,
              testing::StartsWith("## GPU: 22 steps passed, 0 failed, 0 cut off, 0 not run\n"));
  EXPECT_THAT(summary, AllOf(HasSubstr("Test GPU (sm_90), driver 580.82.07, toolkit 13.0, 20"),
                             HasSubstr("test_kernels_cuda: 7 passed"),
                             HasSubstr("34 of 34 cases have the same bits"),
                             HasSubstr("busy for 50.0 %"), HasSubstr("a fingerprint: 3f800004"),
                             HasSubstr("```\nex2.approx.f32: 64 operands, 0 differ\n```"),
                             HasSubstr("| copy | 4000 GB/s |")));
  EXPECT_THAT(summary, HasSubstr("not measured: transformers (absent), xformers (does not load: "
                                 "ImportError), flashinfer (absent)"));
  EXPECT_THAT(summary, HasSubstr("measured: torch 2.13.0"));
  EXPECT_THAT(figures, AllOf(HasSubstr("driver = \"580.82.07\"\ntoolkit = \"13.0\"\n"),
                             HasSubstr("gpu_busy_share_of_pr_run = 0.500"),
                             HasSubstr("name = \"bits\"\nresult = \"pass\""),
                             HasSubstr("[limits]\ncopy_gb_per_s = 4000")));
  EXPECT_THAT(
      calls,
      AllOf(HasSubstr("run cases/pr.toml --tier pr --device cuda:0"),
            HasSubstr("run cases/pr.toml --tier pr --reference cpu -j "),
            HasSubstr("--device emulated:sm_90"), HasSubstr("--expect-equal emulated:sm_90=cuda:0"),
            HasSubstr("run cases/gpu.toml"),
            HasSubstr("cutlass.toml --provider compiled_cutlass_cuda --memory-limit 0 --device "
                      "cuda:0"),
            HasSubstr("cutlass.toml --provider compiled_cutlass --reference cpu -j "),
            HasSubstr("s5_cutlass.toml cases/compiled/gpu.toml --tier full --provider "
                      "compiled_cutlass_cuda"),
            HasSubstr("run cases/foreign.toml --tier nightly --provider torch_kernels.py -j 4"),
            HasSubstr("stories/s5_unsupported_dtype.toml --tier full --match *device=cuda:0* "
                      "--provider torch_kernels.py"),
            HasSubstr("run cases/lent_gpu.toml --tier nightly --memory-limit 0 --device cuda:0"),
            HasSubstr("run cases/nightly.toml")));
  EXPECT_THAT(calls, Not(HasSubstr("xformers_kernels")));
  // Two result files, the log, and the history.
  EXPECT_EQ(shell("ls -A out").text, "log.txt\nresults.tar.gz\nsummary.md\n");
  for (const char* log : {"facts", "mma", "record", "special", "tests", "reference", "pr_cuda",
                          "pr_emulated", "bits", "real", "s4", "speed", "memcheck"}) {
    EXPECT_THAT(archived(std::string(log) + ".log"), HasSubstr("toolkit 13.0")) << log;
  }
  EXPECT_THAT(archived("gpu.db"),
              AllOf(HasSubstr("pr_cuda.db"), HasSubstr("pr_emulated.db"), HasSubstr("s4.db")));
  EXPECT_EQ(read("night.db"), archived("gpu.db"));
  EXPECT_EQ(archived("recordings/sm_90-f16_f32_k8.csv.gz"), "rows\n");
  EXPECT_THAT(summary, AllOf(HasSubstr("2 files in recordings/"),
                             HasSubstr("sm_90-bf16_f32_k16: 1000 rows, 0 differ from the model")));
  const auto parsed = shell(
      "tar -xzf out/results.tar.gz ./figures.toml && "
      "python3 -c 'import tomllib; print(len(tomllib.load(open(\"figures.toml\", "
      "\"rb\"))[\"step\"]))'");
  EXPECT_EQ(parsed.text, "22\n");
}

TEST_F(GpuScript, ContinuesAfterFailureAndNamesStep) {
  make_stand_ins();
  write_program("b/tests/gpu/test_gpu_hardware_mma", "echo '[  FAILED  ] 1 test'\nexit 1\n");
  write_program("b/bin/plumbline",
                "[ \"$1\" = matrix ] && exit 1\necho 'run 01ab01ab: 9 cases: 9 pass'\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: mma bits compiled_bits\n"));
  EXPECT_THAT(read("out/summary.md"), AllOf(HasSubstr("19 steps passed, 3 failed"),
                                            HasSubstr("test_gpu_hardware_mma: exit code 1"),
                                            HasSubstr("test_kernels_cuda: 7 passed")));
  EXPECT_THAT(archived("figures.toml"), HasSubstr("name = \"bits\"\nresult = \"FAILED\""));
}

TEST_F(GpuScript, SkippedAndMissingTestsFail) {
  make_stand_ins();
  write_program("b/tests/kernels/test_kernels_cuda",
                "echo '[  PASSED  ] 6 tests.'\necho '[  SKIPPED ] 1 test, listed below:'\n");
  write_program("b/tests/reference_gpu/test_reference_cuda", "echo '[  PASSED  ] 0 tests.'\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: reference tests memcheck racecheck\n"));
  EXPECT_THAT(read("out/summary.md"), HasSubstr("test_kernels_cuda: 1 skipped"));
}

// The sanitizer prints no summary, as if it could not follow the program.
TEST_F(GpuScript, SanitizerWithoutCoverageFails) {
  make_stand_ins();
  write_program("machine/compute-sanitizer", "shift 4\n\"$@\"\n");
  const auto done = gpu();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: failed: memcheck racecheck\n"));
}

// A step that could not run is listed with its reason, and the summary is not green.
TEST_F(GpuScript, MissingProgramsAreNotGreen) {
  make_stand_ins();
  std::filesystem::remove(directory_ / "b/tests/gpu/test_gpu_hardware_mma");
  std::filesystem::remove(directory_ / "b/tests/gpu/hardware_speed");
  write_program("machine/python", "echo absent\n");
  const auto done = gpu("--only mma real speed s4");
  EXPECT_EQ(done.code, 5) << done.text;
  EXPECT_THAT(done.text, HasSubstr("ci/gpu.sh: 1 steps passed, 0 failed, 0 cut off, 3 not "
                                   "run\nci/gpu.sh: not run: mma real speed\n"));
  EXPECT_THAT(
      read("out/summary.md"),
      // by nvidia-smi
      AllOf(HasSubstr("Test GPU (sm_90), driver 580.82.07, toolkit unknown"),
            ContainsRegex("not run \\| [0-9]+ \\| tests/gpu/test_gpu_hardware_mma is not in this "
                          "build"),
            ContainsRegex("not run \\| [0-9]+ \\| not measured: every Python provider needs numpy "
                          "\\(absent\\)")));
}

TEST_F(GpuScript, QuickIsReported) {
  make_stand_ins();
  const auto done = gpu("--quick");
  EXPECT_EQ(done.code, 0) << done.text;
  EXPECT_THAT(read("out/summary.md"), AllOf(HasSubstr("--quick"), HasSubstr("17 steps passed"),
                                            Not(HasSubstr("racecheck"))));
  EXPECT_THAT(archived("figures.toml"), HasSubstr("quick = true"));
  EXPECT_THAT(read("calls"),
              AllOf(HasSubstr("--match pr/tile_edges/"),
                    HasSubstr("lent_gpu.toml --tier nightly --match reach_emulated/"),
                    HasSubstr("special --gtest_filter=SpecialFunctions.Every64th")));
}

// Result files of special functions that are too large for the archive are next to it.
TEST_F(GpuScript, LargeSpecialResultsStayOutsideArchive) {
  make_stand_ins();
  EXPECT_EQ(gpu("--only special").code, 0);
  EXPECT_EQ(archived("special/special_results.gz"), "small\n");
  EXPECT_EQ(shell("ls -A out").text, "log.txt\nresults.tar.gz\nsummary.md\n");
  const auto large = shell("export SPECIAL_IS_LARGE=true; " + gpu_command("--only special"));
  EXPECT_EQ(large.code, 0) << large.text;
  EXPECT_EQ(archived("special/special_results.gz"), "small\n");
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/special_ex2.gz"), 9'000'000U);
  EXPECT_THAT(read("out/summary.md"), HasSubstr("special_ex2.gz is beside results.tar.gz"));
}

// A second call runs only the steps without a result. It lists the others as skipped and keeps them
// in the table.
TEST_F(GpuScript, SkipsFinishedSteps) {
  make_stand_ins();
  write_program("b/tests/reference_gpu/test_reference_cuda", "exit 1\n");
  EXPECT_EQ(gpu("--only mma reference").code, 1);
  const auto second = gpu("--only speed");
  EXPECT_EQ(second.code, 1) << "the failure of before counts";
  const auto all = gpu();
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.text, HasSubstr("skipped: pass on 20"));
  EXPECT_THAT(all.text, HasSubstr("skipped: FAILED on 20"));
  EXPECT_THAT(read("out/summary.md"),
              HasSubstr("## GPU: 21 steps passed, 1 failed, 0 cut off, 0 not run"));
  EXPECT_THAT(archived("mma.log"), HasSubstr("3f800004"));
  write_program("b/tests/reference_gpu/test_reference_cuda", passing_test);
  EXPECT_EQ(gpu("--only reference").code, 0);

  write("b/commit", "fedcba9876543210\n");
  const auto other = gpu("--only mma");
  EXPECT_EQ(other.code, 0) << other.text;
  EXPECT_THAT(other.text,
              HasSubstr("earlier results are for another GPU, commit or --quick setting: kept as"));
  EXPECT_THAT(read("out/summary.md"), HasSubstr("## GPU: 1 steps passed"));
}

TEST_F(GpuScript, DeadlineCutsStepAndStopsRun) {
  make_stand_ins();
  write_program(
      "b/tests/gpu/test_gpu_hardware_mma",
      "echo 'a fingerprint: 3f800004'\nsleep 60 &\necho $! >\"$STAND_IN_CALLS.pid\"\nwait\n");
  const auto begin = std::chrono::steady_clock::now();
  const auto done = gpu("--deadline 20 --only facts mma reference");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(done.code, 5) << done.text;
  const std::string summary = read("out/summary.md");
  EXPECT_THAT(summary,
              AllOf(HasSubstr("1 steps passed, 0 failed, 1 cut off, 1 not run"),
                    HasSubstr("by the deadline of 20 s"), HasSubstr("a fingerprint: 3f800004"),
                    HasSubstr("s are left before the deadline; needs 5 s")));
  EXPECT_EQ(shell("grep -c sleep /proc/$(cat calls.pid)/cmdline").code == 0, false)
      << "what the step started is gone";
}

// However the script ends, its results so far are on disk.
TEST_F(GpuScript, KilledScriptKeepsResults) {
  make_stand_ins();
  write_program("b/tests/reference_gpu/test_reference_cuda", "echo begun\nsleep 60\n");
  const auto kill_it = [&](const std::string& steps, const std::string& signal) {
    return shell("rm -rf out; export PATH=\"$PWD/machine:$PATH\" STAND_IN_CALLS=\"$PWD/calls\"; " +
                 script() + " --no-build --build b --out out --only " + steps +
                 " >said 2>&1 & for i in $(seq 300); do ! grep -q begun out/log.txt || break; "
                 "sleep 0.1; done 2>/dev/null; kill -" +
                 signal + " $!; wait $!");
  };
  for (const char* signal : {"TERM", "KILL"}) {
    EXPECT_NE(kill_it("mma reference speed", signal).code, 0);
    EXPECT_THAT(read("out/summary.md"), HasSubstr("a fingerprint: 3f800004")) << signal;
    EXPECT_THAT(archived("mma.log"), HasSubstr("18 tests")) << signal;
    EXPECT_THAT(read("out/log.txt"), HasSubstr("begun")) << signal;
  }
  kill_it("reference", "TERM");
  EXPECT_THAT(read("out/summary.md"), HasSubstr("| cut off | "));
}

// There is a GPU, but the library that computes references on it does not load. The run is correct
// and reports that the CPU computes them.
TEST_F(GpuScript, ReportsCpuReferenceFallback) {
  make_stand_ins();
  for (const char* file :
       {"bin/plumbline", "bin/plumbline-worker", "lib/plumbline/plumbline_cpu.so"}) {
    std::filesystem::create_directories((directory_ / "own" / file).parent_path());
    std::filesystem::copy_file(test::build_directory / file, directory_ / "own" / file);
  }
  write("own/lib/plumbline/plumbline_reference_cuda.so", "no library");
  const std::string run = " own/bin/plumbline run -q --case cpu/flash/bf16/b1-h1-s9-d32";
  const auto with_gpu = shell("env -u CUDA_VISIBLE_DEVICES PATH=\"$PWD/machine:$PATH\"" + run);
  EXPECT_EQ(with_gpu.code, 0) << with_gpu.text;
  EXPECT_THAT(with_gpu.text,
              HasSubstr("references are computed on the CPU: cannot load the reference library"));
  EXPECT_THAT(shell("CUDA_VISIBLE_DEVICES=-1" + run).text,
              Not(HasSubstr("references are computed")));
}

// Results that differ from the model are kept, and the step fails.
TEST_F(GpuScript, DifferingRecordingFailsAndIsKept) {
  make_stand_ins();
  const auto differs = shell("export RECORD_CODE=1; " + gpu_command("--only record"));
  EXPECT_EQ(differs.code, 1) << differs.text;
  EXPECT_THAT(differs.text, HasSubstr("ci/gpu.sh: failed: record\n"));
  EXPECT_EQ(archived("recordings/sm_90-f16_f32_k8.csv.gz"), "rows\n");
  const auto unknown = shell("export RECORD_CODE=4; " + gpu_command("--only record"));
  EXPECT_EQ(unknown.code, 5) << unknown.text;
  EXPECT_THAT(unknown.text, HasSubstr("has no model of sm_90"));
  std::filesystem::remove(directory_ / "b/tests/gpu/record_mma");
  EXPECT_EQ(gpu("--only record").code, 5);
}

TEST_F(GpuScript, IncompleteBuildNamesMissingFile) {
  make_stand_ins();
  std::filesystem::remove(directory_ / "b/lib/plumbline/plumbline_cuda.so");
  const auto done = gpu();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.text,
              AllOf(HasSubstr("lacks lib/plumbline/plumbline_cuda.so:"), HasSubstr("--pack")));
}

#ifdef PLUMBLINE_HARDWARE_SPEED
TEST_F(GpuScript, SpeedNeedsGpu) {
  const auto refused = shell("CUDA_VISIBLE_DEVICES=-1 '" PLUMBLINE_HARDWARE_SPEED "'");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.text, HasSubstr("no GPU: "));
  EXPECT_EQ(shell("'" PLUMBLINE_HARDWARE_SPEED "' --nonsense").code, 2);
}

TEST_F(GpuScript, RecordingNeedsGpu) {
  const auto refused = shell("CUDA_VISIBLE_DEVICES=-1 '" PLUMBLINE_RECORD_MMA "' --out recorded");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.text, HasSubstr("no GPU: "));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "recorded"));
  EXPECT_EQ(shell("'" PLUMBLINE_RECORD_MMA "' --nonsense").code, 2);
}
#endif

}  // namespace
}  // namespace plumbline
