// Python kernels that misbehave: each misbehaviour becomes that case's status, and the run goes on.
#include <cmath>

#include "tests/python_worker/python_fixture.h"

namespace plumbline {
namespace {

using test::python_worker;
using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Every test of this fixture ends by showing that the same Worker still runs a correct kernel.
class PythonMisbehaviour : public test::PythonTest {
 protected:
  void use(std::unique_ptr<Worker> worker) { worker_ = std::move(worker); }
  Worker& worker() {
    if (worker_ == nullptr) worker_ = python_worker("misbehaved.py");
    return *worker_;
  }
  RunReply run(const std::string& kernel) {
    PlacedCase c(worker(), mean_problem());
    return c.run("misbehaved/" + kernel);
  }
  // Identifies the worker process, which `ok` reports.
  std::string process() { return run("ok").description.launched; }
  void TearDown() override {
    if (IsSkipped()) return;
    PlacedCase c(worker(), mean_problem());
    const RunReply reply = c.run("misbehaved/ok");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_LE(c.error(), 1e-5);
  }

 private:
  std::unique_ptr<Worker> worker_;
};

// ---- Death ----

TEST_F(PythonMisbehaviour, AbortQuotesPythonStack) {
  const RunReply reply = run("abort");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("SIGABRT in run; it last wrote: "),
                                  HasSubstr("misbehaved.py\", line "), HasSubstr("in abort")));
  EXPECT_THAT(worker().log_tail(),
              AllOf(HasSubstr("tile > 0 does not hold"), Not(HasSubstr("plumbline_worker.py"))));
}

TEST_F(PythonMisbehaviour, NullPointerInC) {
  const RunReply reply = run("null_pointer");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("SIGSEGV in run: read through a null pointer"),
                                  HasSubstr("in null_pointer")));
}

TEST_F(PythonMisbehaviour, CrashNamesPhase) {
  const RunReply reply = run("dies_in_prepare");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, StartsWith("SIGSEGV in prepare: "));
}

TEST_F(PythonMisbehaviour, ExitingProcessIsACrash) {
  const RunReply reply = run("leaves");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason,
              StartsWith("ended itself with exit status 3 in the middle of a request"));
}

TEST_F(PythonMisbehaviour, ClosedChannelIsACrash) {
  EXPECT_EQ(run("closes_everything").status, Status::crashed);
}

TEST_F(PythonMisbehaviour, ForkRepliesOnce) {
  EXPECT_EQ(run("forks").status, Status::ok);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run("ok").status, Status::ok) << "no second reply came between";
}

// ---- Exceptions ----

TEST_F(PythonMisbehaviour, SysExitFailsOnlyCase) {
  const std::string before = process();
  const RunReply reply = run("exits");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("SystemExit: no licence, at "),
                                  HasSubstr("misbehaved.py:"), EndsWith(" in exits")));
  EXPECT_EQ(process(), before);
}

TEST_F(PythonMisbehaviour, ExceptionNamesFileAndLine) {
  const RunReply reply = run("raises");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("ValueError: no plan fits, at "),
                                  HasSubstr("misbehaved.py:"), EndsWith(" in helper")));
  EXPECT_THAT(worker().log_tail(), AllOf(HasSubstr("in raises"), HasSubstr("helper()")))
      << "the whole stack";
  EXPECT_THAT(run("raises_deep_in_numpy").reason,
              AllOf(StartsWith("ValueError: "), EndsWith(" in raises_deep_in_numpy")));
  EXPECT_THAT(run("raises_in_prepare").reason,
              AllOf(StartsWith("AttributeError: "), EndsWith(" in raises_in_prepare")));
}

TEST_F(PythonMisbehaviour, ReasonMayContainAnyText) {
  const RunReply reply = run("raises_what_is_no_unicode");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, StartsWith("ValueError: ?"));
  EXPECT_LT(reply.reason.size(), 1000u);
}

TEST_F(PythonMisbehaviour, InvalidSpecIsAnError) {
  const RunReply reply = run("spec_is_no_spec");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "the spec function of spec_is_no_spec returned a dict, not a Spec");
}

TEST_F(PythonMisbehaviour, UnknownKernel) {
  EXPECT_EQ(run("no_such").reason, "provider misbehaved has no kernel \"no_such\"");
}

// ---- Hangs ----

TEST_F(PythonMisbehaviour, HangIsTimeoutWithPlace) {
  use(python_worker("misbehaved.py", std::chrono::seconds(3)));
  const RunReply reply = run("hangs");
  EXPECT_EQ(reply.status, Status::timeout);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("no answer within 3000 ms"),
                                  HasSubstr("misbehaved.py:"), HasSubstr("in hangs")));
}

TEST_F(PythonMisbehaviour, HangHoldingGilIsTimeout) {
  use(python_worker("misbehaved.py", std::chrono::seconds(3)));
  EXPECT_EQ(run("hangs_in_c").status, Status::timeout);
}

// ---- Output ----

TEST_F(PythonMisbehaviour, PrintedTextIsNotAReply) {
  PlacedCase c(worker(), mean_problem());
  const RunReply reply = c.run("misbehaved/prints");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_LE(c.error(), 1e-5);
  EXPECT_THAT(worker().log_tail(), AllOf(SizeIs(4096), EndsWith("the last word\n")));
}

TEST_F(PythonMisbehaviour, RequestsCannotBeStolen) { EXPECT_EQ(run("reads").status, Status::ok); }

// ---- Memory ----

TEST_F(PythonMisbehaviour, LeakHitsLimitAndRestartsProcess) {
  for (const char* kernel : {"leaks", "leaks_small_objects"}) {
    use(python_worker("misbehaved.py", std::chrono::seconds(60), std::uint64_t{256} << 20));
    const std::string before = process();
    const RunReply reply = run(kernel);
    EXPECT_EQ(reply.status, Status::out_of_memory) << reply.reason;
    EXPECT_THAT(reply.reason,
                AllOf(HasSubstr("MemoryError"), HasSubstr(std::string("in ") + kernel)));
    EXPECT_NE(process(), before);
    EXPECT_EQ(run("ok").status, Status::ok);
  }
}

TEST_F(PythonMisbehaviour, LeakOverCasesHitsLimit) {
  use(python_worker("misbehaved.py", std::chrono::seconds(60), std::uint64_t{350} << 20));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run("leaks_a_little").status, Status::ok) << i;
  EXPECT_EQ(run("leaks_a_little").status, Status::out_of_memory);
  EXPECT_EQ(run("leaks_a_little").status, Status::ok) << "the process was replaced";
}

// ---- Wrong results ----

TEST_F(PythonMisbehaviour, WrongShapeOrDtypeIsNamed) {
  EXPECT_EQ(run("wrong_shape").reason,
            "wrong_shape returned out with shape [2, 1, 2, 7] and dtype float32, expected shape "
            "[2, 3, 2, 7] and dtype float32");
  EXPECT_EQ(run("wrong_dtype").reason,
            "wrong_dtype returned out with shape [2, 3, 2, 7] and dtype float64, expected shape "
            "[2, 3, 2, 7] and dtype float32");
  EXPECT_EQ(run("lse_in_fp64").reason,
            "lse_in_fp64 returned lse with shape [2, 3, 2] and dtype float64, expected shape [2, "
            "3, 2] and dtype float32");
  for (const char* kernel : {"wrong_shape", "wrong_dtype", "lse_in_fp64"})
    EXPECT_EQ(run(kernel).status, Status::error);
}

TEST_F(PythonMisbehaviour, NonArrayResultIsNamed) {
  EXPECT_EQ(run("a_list").reason, "a_list returned a list as out, not an array of numpy");
  EXPECT_EQ(run("nothing").reason, "nothing returned None as out, not an array of numpy");
  EXPECT_EQ(run("nothing_at_all").reason,
            "nothing_at_all returned None as out, not an array of numpy");
  EXPECT_EQ(run("a_triple").reason, "a_triple returned a tuple of 3, not out or (out, lse)");
  EXPECT_EQ(run("no_lse").reason,
            "no_lse is declared with lse=True and returned no LSE; return (out, lse), or declare "
            "lse=False");
  for (const char* kernel : {"a_list", "nothing", "nothing_at_all", "a_triple", "no_lse"})
    EXPECT_EQ(run(kernel).status, Status::error);
}

TEST_F(PythonMisbehaviour, UnwrittenRowStaysPoison) {
  PlacedCase c(worker(), mean_problem());
  EXPECT_EQ(c.run("misbehaved/a_row_too_few").status, Status::ok);
  EXPECT_FALSE(c.error() <= 1e-5);
}

// ---- Stray writes ----

TEST_F(PythonMisbehaviour, WriteToInputIsReported) {
  const RunReply refused = run("writes_to_an_input");
  EXPECT_EQ(refused.status, Status::error);
  EXPECT_THAT(refused.reason, StartsWith("ValueError: assignment destination is read-only"));
  const RunReply forced = run("writes_to_an_input_by_force");
  EXPECT_EQ(forced.status, Status::crashed);
  EXPECT_THAT(forced.reason, AllOf(StartsWith("SIGSEGV in run: write to read-only input q, byte 4"),
                                   HasSubstr("in writes_to_an_input_by_force")));
}

TEST_F(PythonMisbehaviour, TorchWriteToInputIsReported) {
  const RunReply reply = run("writes_to_an_input_in_torch");
  PLUMBLINE_SKIP_WITHOUT_LIBRARY(reply);
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason,
              AllOf(StartsWith("SIGSEGV in prepare: write to read-only input q, byte "),
                    EndsWith("in writes_to_an_input_in_torch"), Not(HasSubstr("threading.py"))));
}

TEST_F(PythonMisbehaviour, RewrittenInputFailsCase) {
  const RunReply reply = run("rewrites_v");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "input v was written to: a kernel must not change what it is given");
}

TEST_F(PythonMisbehaviour, ArenaLengthIsSealed) {
  const RunReply reply = run("shortens_arena");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, StartsWith("PermissionError: "));
}

// ---- State of the process ----

TEST_F(PythonMisbehaviour, ProcessStateIsRestored) {
  EXPECT_EQ(run("ok").status, Status::ok) << "the first call of the process";
  for (const auto& [kernel, change] :
       {std::pair{"rounds_up", "the rounding mode (upward)"},
        std::pair{"changes_directory", "the working directory (/), the umask (777)"},
        std::pair{"blocks_a_signal", "whether SIGUSR1 is blocked"},
        std::pair{"changes_a_variable", "the variable PATH"},
        std::pair{"ignores_interrupts", "the handler of SIGINT"}}) {
    const RunReply reply = run(kernel);
    EXPECT_EQ(reply.status, Status::error) << kernel;
    EXPECT_THAT(reply.reason, AllOf(StartsWith("the call changed state"), HasSubstr(change)));
    EXPECT_EQ(run("looks").description.launched, "seen: ") << kernel;
  }
}

TEST_F(PythonMisbehaviour, FirstCallMayChangeEnvironmentAndHandlers) {
  EXPECT_EQ(run("changes_a_variable").status, Status::ok);
  EXPECT_EQ(run("changes_a_variable").status, Status::ok);
  EXPECT_EQ(run("looks").description.launched, "seen: PATH");
}

TEST_F(PythonMisbehaviour, FirstCallHandlerChangeIsRestored) {
  EXPECT_EQ(run("ok").status, Status::ok);
  EXPECT_EQ(run("replaces_a_handler_of_c").status, Status::ok);
  EXPECT_EQ(run("reads_a_handler_of_c").description.launched, "handled");
  EXPECT_THAT(run("replaces_a_handler_of_c").reason, HasSubstr("the handler of SIGINT"));
  EXPECT_EQ(run("reads_a_handler_of_c").description.launched, "handled");
}

TEST_F(PythonMisbehaviour, NewKernelMayAddVariables) {
  EXPECT_EQ(run("ok").status, Status::ok);
  EXPECT_EQ(run("adds_a_variable").status, Status::ok);
  EXPECT_EQ(run("looks").description.launched, "seen: variable");
  EXPECT_THAT(run("adds_a_variable").reason, HasSubstr("the variable MISBEHAVED_NEW"));
}

}  // namespace
}  // namespace plumbline
