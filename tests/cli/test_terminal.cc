// Output for a terminal: errors of at most a screen, help in 80 columns, a plausible time left, and
// the text of unexpected exceptions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <new>
#include <system_error>

#include "harness/base/text.h"
#include "harness/cli/errors.h"
#include "harness/cli/outputs.h"
#include "harness/cli/program.h"
#include "harness/cli/progress.h"
#include "tests/cli/command.h"

namespace plumbline::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t lines_of(const std::string& text) { return split(text, '\n').size(); }

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto bytes_inside = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    });
    longest = std::max(longest, line.size() - static_cast<std::size_t>(bytes_inside));
  }
  return longest;
}

TEST(ErrorText, OneErrorIsPrintedWhole) {
  EXPECT_EQ(error_text({{"s.toml", 7, "\"dtyp\" is not known", "did you mean dtype?"}}, 0),
            "s.toml:7: \"dtyp\" is not known\n  remedy: did you mean dtype?");
}

TEST(ErrorText, RepeatedErrorIsPrintedOnce) {
  Errors errors;
  for (int line = 3; line < 40; ++line)
    errors.push_back({"s.toml", line, "no kernel matches \"cpu/flsh\"", "did you mean cpu/flash?"});
  const std::string text = error_text(errors, 0);
  EXPECT_EQ(lines_of(text), 2U) << text;
  EXPECT_THAT(text, HasSubstr("s.toml:3: "));
  EXPECT_THAT(text, HasSubstr("(and at 36 more places)"));
}

TEST(ErrorText, ManyErrorsAreCountedWithinScreen) {
  Errors errors;
  for (int line = 1; line <= 300; ++line)
    errors.push_back({"s.toml", line, "message " + std::to_string(line), "remedy"});
  for (const int width : {0, 80, 40}) {
    const std::string text = error_text(errors, width);
    EXPECT_LE(lines_of(text), 20U) << text;
    EXPECT_THAT(text, HasSubstr("message 1"));
    EXPECT_THAT(text, HasSubstr("more errors: correct these first"));
  }
}

TEST(ErrorText, LongMessageIsCutInMiddle) {
  const std::string text =
      error_text({{"", 0, std::string(50'000, 'x') + " the end", std::string(50'000, 'y')}}, 80);
  EXPECT_LE(lines_of(text), 20U);
  EXPECT_LE(longest_line(text), 80U);
  EXPECT_THAT(text, HasSubstr(" …"));
  EXPECT_THAT(text, HasSubstr("the end"));
  std::string traceback = "first line";
  for (int i = 0; i < 60; ++i) traceback += "\n  frame " + std::to_string(i);
  EXPECT_LE(lines_of(error_text({{"", 0, traceback, "mend it"}}, 0)), 20U);
  EXPECT_THAT(error_text({{"", 0, traceback, "mend it"}}, 0), HasSubstr("frame 59"));
}

TEST(ErrorText, WrapsAtTerminalWidth) {
  const std::string text = error_text(
      {{"", 0,
        "a message of many words that goes on beyond the eightieth column of the terminal, and on",
        "a remedy that is just as long as the message before it, if not a little longer still"}},
      80);
  EXPECT_LE(longest_line(text), 80U) << text;
  EXPECT_THAT(text, HasSubstr("\n"));
}

TEST(Help, DescriptionsWrapIndented) {
  const std::string help =
      "Options:\n  --option TEXT               A description that does not fit into what is left "
      "of the eighty columns here\n"
      "Examples:\n  plumbline run cases/nightly.toml --match '*bf16*' --junit out/junit.xml "
      "--save-failures out/failures\n";
  const std::string text = wrapped_help(help, 80);
  EXPECT_LE(longest_line(text), 80U) << text;
  EXPECT_THAT(text, HasSubstr("\n                              "));
  EXPECT_THAT(text, HasSubstr(" \\\n"));
}

class HelpCommand : public test::CommandTest {};

TEST_F(HelpCommand, EveryHelpFitsEightyColumns) {
  for (const char* command : {"",
                              "list",
                              "run",
                              "check",
                              "audit",
                              "judge",
                              "merge",
                              "show",
                              "compare",
                              "matrix",
                              "reduce",
                              "diff",
                              "history",
                              "baseline",
                              "baseline accept",
                              "baseline list",
                              "support",
                              "support suggest",
                              "resources",
                              "query",
                              "datasette-metadata",
                              "doctor",
                              "init",
                              "completion",
                              "manual"}) {
    const auto help = plumbline(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_LE(longest_line(help.text), 80U) << help.text;
  }
}

// Runs a program with one command, "fail", that throws. Returns what it printed to stderr.
std::string printed_for(const std::function<void()>& fail) {
  const std::array<const char*, 2> arguments{"plumbline", "fail"};
  testing::internal::CaptureStderr();
  const int code = run_program(2, arguments.data(), {"A program.", "", "1"},
                               [&](const CommandLine& app, int& /*exit_code*/) {
                                 app.add_subcommand("fail", "Fails.").callback(fail);
                               });
  EXPECT_EQ(code, 3);
  return testing::internal::GetCapturedStderr();
}

TEST(UnexpectedExceptions, ShortageNamesRemedy) {
  EXPECT_EQ(printed_for([] { throw std::bad_alloc(); }),
            "plumbline ran out of memory\n  remedy: free memory, remove the limit on it "
            "(ulimit -v), or use fewer --jobs\n");
  EXPECT_THAT(printed_for([] {
                throw std::system_error(EAGAIN, std::generic_category(), "cannot start a thread");
              }),
              HasSubstr("cannot start a thread: Resource temporarily unavailable\n  remedy: allow "
                        "more processes (ulimit -u)"));
  EXPECT_THAT(printed_for([] {
                throw std::filesystem::filesystem_error("", "runs.db",
                                                        std::make_error_code(std::errc(EMFILE)));
              }),
              HasSubstr("more open files (ulimit -n)"));
}

TEST(UnexpectedExceptions, OthersAreBugsOrPaths) {
  EXPECT_THAT(printed_for([] { throw std::logic_error("no row"); }),
              HasSubstr("internal error: no row\n  remedy: this is a bug in plumbline"));
  EXPECT_THAT(printed_for([] {
                throw std::filesystem::filesystem_error("", "runs.db",
                                                        std::make_error_code(std::errc(EACCES)));
              }),
              HasSubstr("runs.db: Permission denied\n  remedy: name a file"));
}

TEST(UnexpectedExceptions, PathIsPrintedEvenIfStdoutIsFull) {
  const int usual = ::dup(STDOUT_FILENO);
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  std::fflush(stdout);
  const std::string printed = printed_for([&] {
    ::dup2(full, STDOUT_FILENO);
    std::puts("lost");
    std::fflush(stdout);
    throw std::filesystem::filesystem_error("", "runs.db", std::make_error_code(std::errc(EACCES)));
  });
  ::dup2(usual, STDOUT_FILENO);
  ::close(usual);
  ::close(full);
  std::clearerr(stdout);
  EXPECT_THAT(printed, HasSubstr("runs.db: Permission denied"));
}

TEST(TimeLeft, IncludesTimedStepsFromStart) {
  RemainingTime remaining(100, {2, 3, 5});
  for (int i = 1; i <= 50; ++i) remaining.step(i * 0.1);
  EXPECT_EQ(remaining.total(), 103U);
  // 50 steps at 0.1 s, and the assumed seconds of the timed ones
  EXPECT_NEAR(remaining.seconds_left(), 5 + 10, 1e-9);
}

TEST(TimeLeft, TimedStepsScaleWithCosts) {
  RemainingTime remaining(2, {1, 1, 8});
  remaining.step(1);
  remaining.step(2);
  EXPECT_NEAR(remaining.seconds_left(), 10, 1e-9);
  remaining.step(4);  // twice as slow as assumed
  EXPECT_NEAR(remaining.seconds_left(), 18, 1e-9);
  remaining.step(6);
  EXPECT_NEAR(remaining.seconds_left(), 16, 1e-9);
  remaining.step(22);
  EXPECT_NEAR(remaining.seconds_left(), 0, 1e-9);
}

TEST(TimeLeft, PlanCountsDiffsAndTimedCases) {
  Plan plan;
  plan.cases.resize(3);
  plan.cases[1].timed = true;
  plan.diffs.resize(2);
  plan.diffs[0].a.timed = true;
  RemainingTime remaining = remaining_time(plan, 10);
  EXPECT_EQ(remaining.total(), 3u + 7u * 2u) << "a timed case and a timed diff in seven rounds";
  for (int i = 1; i <= 3; ++i) remaining.step(i);
  EXPECT_GT(remaining.seconds_left(), 0.5);  // a timed case and a timed diff are left
}

}  // namespace
}  // namespace plumbline::cli
