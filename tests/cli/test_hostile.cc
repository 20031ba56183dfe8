// Kernels that change memory or state that is not theirs fail their own cases only: the run goes
// on, and no other kernel is blamed.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostileRun : public test::CommandTest {
 protected:
  // Runs these kernels of the hostile provider on one problem, in this order.
  test::CommandResult run(const std::string& kernels, const std::string& before = "",
                          const std::string& settings = "", const std::string& options = "") const {
    write("s.toml",
          "schema = 1\nname = \"s\"\ntier = \"smoke\"\n[[group]]\nname = \"g\"\nreason = \"r\"\n"
          "kernels = [" +
              kernels + "]\nset = { seq = 40, dtype = \"fp32\" }\n" + settings);
    const auto folder = test::build_directory / "lib" / "plumbline";
    return plumbline("run s.toml -q -j1 --no-default-provider --provider '" +
                         (folder / "plumbline_hostile_provider.so").string() + "' --db a.db " +
                         options,
                     before);
  }
  // Returns rows such as "hostile/ok first_seen".
  std::string verdicts() const {
    return plumbline(
               "query \"SELECT kernel || ' ' || verdict FROM v_history ORDER BY kernel\" --db a.db "
               "--format csv")
        .text;
  }
  std::string reasons() const {
    return plumbline("query \"SELECT reason FROM outcome\" --db a.db --format csv").text;
  }
};

TEST_F(HostileRun, RewrittenInputFailsOnlyOneCase) {
  const auto result = run("'hostile/rewrites_v', 'hostile/ok'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(),
              AllOf(HasSubstr("hostile/rewrites_v error"), HasSubstr("hostile/ok first_seen")));
  EXPECT_THAT(reasons(), HasSubstr("input v was written to"));
}

TEST_F(HostileRun, ShortenedArenaDoesNotEndRun) {
  const auto result = run("'hostile/shortens_arena', 'hostile/ok'");
  EXPECT_EQ(result.code, 0) << result.text << "\nthe kernel is refused, and its answer is right";
  EXPECT_THAT(verdicts(), HasSubstr("hostile/ok first_seen"));
}

TEST_F(HostileRun, LeakedRoundingModeFailsOwner) {
  const auto result = run("'hostile/rounds_up', 'hostile/ok'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(),
              AllOf(HasSubstr("hostile/rounds_up error"), HasSubstr("hostile/ok first_seen")));
  EXPECT_THAT(reasons(), HasSubstr("the rounding mode (upward)"));
}

// The kernel's output is right, but it writes to V after its call, during the call of the slow
// kernel.
TEST_F(HostileRun, LateWriteFailsOwner) {
  const auto result = run("'hostile/ok', 'hostile/writes_late', 'hostile/slow'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(),
              AllOf(HasSubstr("hostile/ok first_seen"), HasSubstr("hostile/slow first_seen"),
                    HasSubstr("hostile/writes_late crashed")));
}

TEST_F(HostileRun, LateInputRewriteFailsOwner) {
  const auto result = run("'hostile/ok', 'hostile/rewrites_v_late', 'hostile/slow'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(),
              AllOf(HasSubstr("hostile/ok first_seen"), HasSubstr("hostile/slow first_seen"),
                    Not(HasSubstr("hostile/rewrites_v_late first_seen"))));
}

TEST_F(HostileRun, LateWriteAfterLastCaseFails) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a process later than plumbline waits after the last case";
#endif
  for (const char* timed : {"", "timed = true\n"}) {
    const auto result = run("'hostile/writes_late'", "", timed);
    EXPECT_EQ(result.code, 1) << timed << result.text;
    EXPECT_THAT(verdicts(), HasSubstr("hostile/writes_late crashed"));
  }
}

// A thread that works longer than plumbline waits for sleeping ones.
TEST_F(HostileRun, LateWriteAfterLongWorkFails) {
  const auto result = run("'hostile/works_then_writes_late'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(), HasSubstr("hostile/works_then_writes_late crashed"));
}

// The process ends while plumbline judges its output.
TEST_F(HostileRun, CrashDuringJudgingFails) {
  for (int i = 0; i < 4; ++i) {
    const auto result = run("'hostile/writes_soon', 'hostile/ok'");
    EXPECT_EQ(result.code, 1) << result.text;
    EXPECT_THAT(verdicts(), HasSubstr("hostile/writes_soon crashed"));
  }
}

TEST_F(HostileRun, LateExitIsDetected) {
  const auto result = run("'hostile/exits_late'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(), HasSubstr("hostile/exits_late crashed"));
  EXPECT_THAT(reasons(), HasSubstr("ended itself with exit status 7"));
}

TEST_F(HostileRun, UnrepeatedCrashStaysCrash) {
  const auto result = run("'hostile/ok', 'hostile/crashes_once'");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(), HasSubstr("hostile/crashes_once crashed"));
}

TEST_F(HostileRun, LateWriteBetweenTimedCasesFails) {
  const auto result =
      run("'hostile/writes_soon', 'hostile/ok'", "", "timed = true\n", "--repetitions 3");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(),
              AllOf(HasSubstr("hostile/writes_soon crashed"), HasSubstr("hostile/ok first_seen")));
}

TEST_F(HostileRun, LateWriteFailsDiff) {
  const auto result =
      run("'hostile/writes_late'", "",
          "[[diff]]\nname = \"d\"\nreason = \"r\"\na = { kernel = \"hostile/ok\" }\n"
          "b = { kernel = \"hostile/writes_late\" }\n"
          "set = { seq = 40, dtype = \"fp32\" }\nexpect = \"rounding\"\n");
  EXPECT_EQ(result.code, 1) << result.text;
  const std::string diffs =
      plumbline("query \"SELECT status FROM diff\" --db a.db --format csv").text;
  EXPECT_THAT(diffs, HasSubstr("crashed")) << result.text;
}

TEST_F(HostileRun, LateWriteInInvariancesFailsOwner) {
  const auto result = run("'hostile/writes_late', 'hostile/slow'", "", "", "--invariances");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(verdicts(), AllOf(HasSubstr("hostile/slow first_seen"),
                                HasSubstr("hostile/writes_late crashed")));
  const std::string slow =
      plumbline(
          "query \"SELECT status FROM v_invariances WHERE kernel = 'hostile/slow'\" --db a.db "
          "--format csv")
          .text;
  EXPECT_THAT(slow, AllOf(HasSubstr("ok"), Not(HasSubstr("crashed")))) << slow;
}

// ---- Files ----

TEST_F(HostileRun, ConfirmationsReplaceOnlyRegularFiles) {
  ASSERT_EQ(run("'hostile/ok'").code, 0);
  const auto result = shell(
      "ln -s linked.json link.json && mkfifo pipe && (cat pipe > piped.json &) && for place in "
      "link.json pipe; do '" +
      program().string() +
      "' merge all.db a.db --judge --confirmations $place || exit $?; done; sleep 0.2; test -L "
      "link.json && test -p pipe && cmp linked.json piped.json");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(read("linked.json"), HasSubstr("plumbline.open_cases"));
}

// ---- Too few resources for plumbline itself ----

// The sanitizers themselves need descriptors and address space.
#ifndef __SANITIZE_ADDRESS__
TEST_F(HostileRun, TooFewDescriptorsEndRun) {
  int ended_in_the_run = 0;
  for (int most = 8; most <= 24; most += 2) {
    std::filesystem::remove(directory_ / "a.db");
    const auto result =
        run("'hostile/ok', 'hostile/slow'", "ulimit -n " + std::to_string(most) + "; ");
    EXPECT_TRUE(result.code == 3 || result.code == 0) << most << ": " << result.text;
    EXPECT_THAT(result.text, Not(HasSubstr(" error "))) << most;
    if (result.code != 3) continue;
    const std::string stored = verdicts();
    EXPECT_THAT(stored, Not(HasSubstr(" error"))) << most;
    ended_in_the_run += result.text.find("ulimit -n") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(ended_in_the_run, 0);
}

#ifndef __SANITIZE_THREAD__
TEST_F(HostileRun, TooLittleAddressSpaceEndsCommand) {
  for (int most = 150000; most <= 300000; most += 10000) {  // kB; with less, a thread once hung
    const auto result =
        shell("ulimit -v " + std::to_string(most) + "; timeout 30 '" + program().string() +
              "' run " + suite("smoke.toml") + " -q --no-store");
    EXPECT_EQ(result.code, 3) << most << ": " << result.text;
    EXPECT_THAT(result.text, HasSubstr("ulimit -v")) << most;
  }
}
#endif
#endif

TEST_F(HostileRun, KernelDaemonsAreEndedAndReported) {
  const auto result = run("'hostile/leaves_a_daemon'");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("processes outlived the worker that started them and were "
                                     "ended: sleep\n"));
}

}  // namespace
}  // namespace plumbline
