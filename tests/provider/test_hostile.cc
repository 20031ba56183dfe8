// A kernel that changes what is not its own fails its case; the next kernel sees nothing of it.
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "harness/provider/client/isolation.h"
#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Waits until a thread of a kernel has acted, however busy the machine is.
template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 3000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

class Hostile : public testing::Test {
 protected:
  Hostile() {
    auto worker = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_HOSTILE_PROVIDER});
    EXPECT_TRUE(worker) << to_string(worker.error());
    worker_ = std::move(*worker);
  }
  RunReply run(const std::string& kernel) {
    PlacedCase c(*worker_, mean_problem());
    return c.run("hostile/" + kernel);
  }
  // Calls a correct kernel, so that no later call is the first of the process.
  void begin() { EXPECT_EQ(run("ok").status, Status::ok); }
  // Checks the state that the next kernel sees.
  void expect_clean_state() {
    const RunReply reply = run("looks");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  }
  void expect_fault(const std::string& kernel, const std::string& change) {
    const RunReply reply = run(kernel);
    EXPECT_EQ(reply.status, Status::error) << kernel;
    EXPECT_THAT(reply.reason, AllOf(StartsWith("the call changed state"), HasSubstr(change)));
    expect_clean_state();
  }

  std::unique_ptr<Worker> worker_;
};

// ---- Inputs and arena ----

TEST_F(Hostile, RewrittenInputFailsCase) {
  const RunReply reply = run("rewrites_v");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "input v was written to: a kernel must not change what it is given");
  expect_clean_state();
}

TEST_F(Hostile, InputRewrittenAfterReplyIsDetected) {
  EXPECT_EQ(run("rewrites_v_late").status, Status::ok);
  EXPECT_EQ(worker_->changed_input(), "");
  EXPECT_TRUE(comes_true([&] { return worker_->changed_input() == "v"; }));
}

TEST_F(Hostile, ArenaLengthIsSealed) {
  EXPECT_EQ(run("shortens_arena").status, Status::ok) << "it was refused";
  EXPECT_EQ(run("lengthens_arena").status, Status::ok) << "it was refused";
  expect_clean_state();
}

// ---- State of the process ----

TEST_F(Hostile, FloatingPointStateIsRestored) {
  expect_fault("rounds_up", "the rounding mode (upward)");
  expect_fault("flushes", "flushing of subnormals (FTZ), zeroing of subnormal inputs (DAZ)");
  expect_fault("traps", "traps of floating-point exceptions");
}

TEST_F(Hostile, DirectoryUmaskAndSignalsAreRestored) {
  expect_fault("changes_directory", "the working directory (/)");
  expect_fault("changes_umask", "the umask (777)");
  expect_fault("blocks_a_signal", "whether SIGUSR1 is blocked");
}

TEST_F(Hostile, FirstCallMayChangeEnvironmentAndHandlers) {
  EXPECT_EQ(run("changes_a_variable").status, Status::ok);
  EXPECT_EQ(run("changes_a_variable").status, Status::ok) << "it stays, and changes no more";
}

TEST_F(Hostile, LaterVariableChangeIsRestored) {
  begin();
  expect_fault("changes_a_variable", "the variable PATH");
}

TEST_F(Hostile, NewKernelMayAddVariablesAndHandlers) {
  begin();
  EXPECT_EQ(run("adds_a_variable").status, Status::ok);
  EXPECT_EQ(run("handles_a_signal").status, Status::ok);
  EXPECT_THAT(run("looks").reason, EndsWith("seen: variable handler"));
}

TEST(HostileEnvironment, SecretsReachWorkersOnlyIfPassed) {
  setenv("HOSTILE_TOKEN", "abc", 1);
  for (const bool passed : {false, true}) {
    WorkerOptions options{PLUMBLINE_WORKER_PATH, PLUMBLINE_HOSTILE_PROVIDER};
    if (passed) options.pass_env = {"HOSTILE_TOKEN"};
    auto worker = Worker::create(options);
    ASSERT_TRUE(worker);
    PlacedCase c(**worker, mean_problem());
    EXPECT_EQ(c.run("hostile/looks").reason, passed ? "seen: secret abc" : "");
  }
  unsetenv("HOSTILE_TOKEN");
}

TEST(HostileEnvironment, MemoryIsHiddenUnlessPtraceAllowed) {
  // With these capabilities root can read every environment, so workers must lack them.
  for (const int capability : {CAP_SYS_ADMIN, CAP_PERFMON})
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  // Earlier tests may have removed CAP_SYS_PTRACE from the workers, but not from this process. Then
  // no worker can see this process, whatever is allowed.
  const bool can_see = prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 1;
  for (const bool allowed : {true, false}) {
    if (allowed && !can_see) continue;
    setenv("PLUMBLINE_ALLOW_PTRACE", allowed ? "1" : "0", 1);
    auto worker = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_HOSTILE_PROVIDER});
    ASSERT_TRUE(worker);
    PlacedCase c(**worker, mean_problem());
    const std::string seen = c.run("hostile/looks_at_plumbline").reason;
    if (allowed) {
      EXPECT_THAT(seen, StartsWith("seen of plumbline: environment")) << "the test can see it";
    } else {
      EXPECT_EQ(seen, "");
    }
  }
  unsetenv("PLUMBLINE_ALLOW_PTRACE");
}

// ---- After the call ----

TEST_F(Hostile, CrashBetweenRequestsIsReported) {
  EXPECT_EQ(worker_->process(), 0u);
  EXPECT_EQ(run("writes_late").status, Status::ok);
  EXPECT_EQ(worker_->process(), 1u);
  EXPECT_THAT(worker_->crash_between_requests(), IsEmpty());
  EXPECT_TRUE(comes_true([&] { return worker_->process() == 0; }));
  EXPECT_THAT(worker_->crash_between_requests(), StartsWith("SIGSEGV in idle: write "));
  EXPECT_THAT(worker_->crash_between_requests(), IsEmpty()) << "once";
  begin();
  EXPECT_EQ(worker_->process(), 2u);
}

TEST_F(Hostile, DaemonEndsWithWorker) {
  const std::size_t before = ended_orphans().size();
  auto other = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_HOSTILE_PROVIDER});
  ASSERT_TRUE(other);
  EXPECT_EQ(PlacedCase(**other, mean_problem()).run("hostile/ok").status, Status::ok);
  EXPECT_EQ(run("leaves_a_daemon").status, Status::ok);
  EXPECT_EQ(ended_orphans().size(), before) << "its worker lives";
  other->reset();
  EXPECT_EQ(ended_orphans().size(), before) << "it is no orphan of another worker";
  worker_.reset();
  ASSERT_EQ(ended_orphans().size(), before + 1);
  EXPECT_EQ(ended_orphans().back(), "sleep");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace plumbline
