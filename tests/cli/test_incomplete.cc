// A run that did not finish is incomplete in every report, however it ended.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Incomplete : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write_suite(100);
  }

  // Writes four cases per seed. A run of 400 cases takes long enough to be interrupted.
  void write_suite(int seeds) const {
    std::string list;
    for (int seed = 1; seed <= seeds; ++seed)
      list += fmt::format("{}{}", seed > 1 ? ", " : "", seed);
    write("s.toml", fmt::format(R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "many cases of one size"
kernels = ["cpu/flash"]
set = {{ heads_q = 2, heads_kv = 1, head_dim = 64, seq = 65 }}
product = {{ dtype = ["fp16", "bf16"], seed = [{}], mask = ["none", "causal_top_left"] }}
)",
                                list));
  }

  // Starts a run, sends it the signal after a few outcomes, and returns its wait status.
  int end_run(int signal, const std::string& more = "") const {
    const std::string command = "cd '" + directory_.string() + "' && exec '" + program().string() +
                                "' run s.toml -q -j1 --db h.db --markdown m.md --junit j.xml " +
                                more + " >out.txt 2>err.txt";
    const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(
        posix_spawn(&pid, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(words), environ),
        0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (outcomes() < 5 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(pid, signal);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  int outcomes() const {
    if (!std::filesystem::exists(directory_ / "h.db")) return 0;
    const auto result =
        plumbline("query --db h.db \"SELECT count(*) AS n FROM v_history\" --format csv");
    return result.code == 0 ? std::atoi(result.text.substr(result.text.find('\n') + 1).c_str()) : 0;
  }

  std::string last_line(const std::string& file) const {
    std::string text = read(file);
    while (text.ends_with('\n')) text.pop_back();
    const std::size_t begin = text.rfind("\nIncomplete");
    return begin == std::string::npos ? text.substr(text.rfind('\n') + 1) : text.substr(begin + 1);
  }

  // Checks the reports that later commands make of the stored run.
  void expect_incomplete_when_read() const {
    const auto shown = plumbline("show latest --db h.db");
    EXPECT_EQ(shown.code, 3) << shown.text;
    EXPECT_THAT(shown.text, AllOf(HasSubstr("Incomplete: "), HasSubstr("of 400 cases not measured"),
                                  HasSubstr("exit code 3"), Not(HasSubstr("Fine"))));
    const auto markdown = plumbline("show latest --db h.db --format markdown");
    EXPECT_EQ(markdown.code, 3);
    EXPECT_THAT(markdown.text, StartsWith("## plumbline: Incomplete: "));
    const json answer = json::parse(plumbline("show latest --db h.db --format json").text);
    EXPECT_EQ(answer["data"]["state"], "incomplete");
    EXPECT_EQ(answer["exit_code"], 3);
    EXPECT_GT(answer["data"]["missing_cases"], 0);
    EXPECT_THAT(plumbline("show latest --db h.db --format junit").text,
                AllOf(HasSubstr("<error type=\"incomplete\""), HasSubstr("of 400 cases")));
    EXPECT_THAT(plumbline("show latest --db h.db --format prometheus").text,
                AllOf(HasSubstr("plumbline_run_exit_code 3"),
                      HasSubstr("plumbline_run_state{state=\"incomplete\"} 1")));
    const auto page = plumbline("report latest --data -o page.json --db h.db");
    EXPECT_EQ(page.code, 3) << page.text;
    EXPECT_THAT(page.text, HasSubstr("Incomplete: "));
    EXPECT_EQ(json::parse(read("page.json"))["state"], "incomplete");
    EXPECT_THAT(plumbline("history '*' --cases 1 --db h.db").text, HasSubstr("incomplete: "));
    EXPECT_THAT(plumbline("query --db h.db \"SELECT state, planned_cases FROM v_runs ORDER BY "
                          "run_order DESC LIMIT 1\" --format csv")
                    .text,
                HasSubstr("incomplete,400"));
    EXPECT_EQ(plumbline("judge latest --db h.db").code, 3);
  }
};

class IncompleteBySignal : public Incomplete, public testing::WithParamInterface<int> {};

TEST_P(IncompleteBySignal, ReportsStartWithIncomplete) {
  ASSERT_EQ(plumbline("night open --id n1 --db h.db").code, 0);
  const int status = end_run(GetParam(), "--night n1");
  ASSERT_TRUE(WIFEXITED(status)) << "it ends by itself, with a message";
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(read("err.txt"), AllOf(HasSubstr("the run is incomplete"), HasSubstr("--resume")));
  EXPECT_THAT(last_line("out.txt"), StartsWith("Incomplete: "));
  EXPECT_THAT(read("out.txt"), AllOf(HasSubstr("exit code 3"), Not(HasSubstr("exit code 0")),
                                     Not(HasSubstr("Fine"))));
  EXPECT_THAT(read("m.md"), StartsWith("## plumbline: Incomplete: "));
  EXPECT_THAT(read("j.xml"), HasSubstr("<error type=\"incomplete\""));
  expect_incomplete_when_read();
  const auto night = plumbline("night show n1 --db h.db");
  EXPECT_EQ(night.code, 3) << night.text;
  EXPECT_THAT(night.text, StartsWith("Incomplete night n1"));
  EXPECT_EQ(plumbline("night close n1 --db h.db").code, 3) << "it stays open";
  EXPECT_THAT(plumbline("night list --db h.db").text, HasSubstr("incomplete"));
  // After the rest is measured, the run is complete.
  const auto resumed = plumbline("run s.toml -q -j1 --db h.db --night n1 --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, Not(HasSubstr("ncomplete")));
  EXPECT_EQ(plumbline("show latest --db h.db").code, 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, IncompleteBySignal, testing::Values(SIGTERM, SIGINT, SIGHUP));

TEST_F(Incomplete, KilledRunIsReportedIncomplete) {
  const int status = end_run(SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_incomplete_when_read();
  // A comparison with a complete run has a warning, and exit code 5.
  ASSERT_EQ(plumbline("run s.toml -q --db h.db").code, 0);
  const auto compared = plumbline("compare latest latest~1 --db h.db");
  EXPECT_EQ(compared.code, 5) << compared.text;
  EXPECT_THAT(compared.text, StartsWith("Incomplete: "));
}

TEST_F(Incomplete, RunStopsWhenPipeCloses) {
  const auto piped = shell("('" + program().string() +
                           "' run s.toml -j1 --db h.db; echo code $? >code.txt) 2>err.txt | true");
  EXPECT_EQ(read("code.txt"), "code 3\n") << piped.text;
  EXPECT_LT(outcomes(), 400) << "it goes on measuring";
  EXPECT_THAT(read("err.txt"), HasSubstr("incomplete"));
}

TEST_F(Incomplete, TruncatedLogIsNotStored) {
  // The log is cut short during the run: SQLite may accept every write.
  const auto cut = shell(
      "'" + program().string() +
      "' run s.toml -q -j1 --db h.db & pid=$!; for i in $(seq 1000); do sleep 0.01; [ $(stat -c %s "
      "h.db-wal 2>/dev/null || echo 0) -gt 400000 ] && break; done; truncate -s 100000 h.db-wal; "
      "wait $pid; echo code $?");
  EXPECT_THAT(cut.text, AllOf(HasSubstr("code 3"), Not(HasSubstr("stored in"))));
}

TEST_F(Incomplete, TruncatedDatabaseIsNamed) {
  // SQLite maps the file: a read after its new end causes SIGBUS.
  const auto cut =
      shell("'" + program().string() +
            "' run s.toml -q -j1 --db h.db & pid=$!; for i in $(seq 1000); do sleep 0.01; [ $(stat "
            "-c %s h.db-wal 2>/dev/null || echo 0) -gt 400000 ] && break; done; truncate -s 4096 "
            "h.db; wait $pid; echo code $?");
  EXPECT_THAT(cut.text, AllOf(HasSubstr("code 3"), HasSubstr("/h.db was cut short"),
                              Not(HasSubstr("stored in"))));
}

TEST_F(Incomplete, FullDiskOnStdoutFailsCommands) {
  ASSERT_EQ(plumbline("run s.toml -q --match '*seed=9*' --db h.db").code, 0);
  std::vector<std::string> commands = {"--help",
                                       "--version",
                                       "--cmake-dir",
                                       "--include-dir",
                                       "list s.toml",
                                       "list s.toml --format json",
                                       "run s.toml -q --match '*seed=9*' --no-store",
                                       "run s.toml -q --match '*seed=9*' --db h.db --format json",
                                       "show --db h.db",
                                       "show --db h.db --format json",
                                       "show --db h.db --format junit",
                                       "compare --db h.db",
                                       "history '*' --db h.db",
                                       "night list --db h.db",
                                       "query --db h.db 'SELECT 1'",
                                       "judge latest --db h.db",
                                       "doctor --quick",
                                       "completion bash"};
  // The help of each command that --help lists.
  const std::string help = plumbline("--help").text;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 2 && line[0] == ' ' && line[1] == ' ' && line[2] != ' ')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2) + " --help");
  }
  EXPECT_GT(commands.size(), 40u);
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const auto result = plumbline(command + " >/dev/full");
    EXPECT_EQ(result.code, 3) << result.text;
    EXPECT_THAT(result.text, HasSubstr("stdout: No space left on device"));
  }
}

TEST_F(Incomplete, ClockBehindNewestRunIsOpen) {
  ASSERT_EQ(plumbline("run s.toml -q --match '*seed=9*' --db h.db").code, 0);
  // The first run is dated 2099, later than the second.
  raw_sql(directory_ / "h.db",
          "UPDATE run SET started_at = '2099-01-01T00:00:00Z', run_order = '2099' || "
          "substr(run_order, 5)");
  const auto behind = plumbline("run s.toml -q --match '*seed=9*' --db h.db");
  EXPECT_EQ(behind.code, 5) << behind.text;
  EXPECT_THAT(behind.text, AllOf(HasSubstr("the clock of"), HasSubstr("days behind")));
  const auto latest = plumbline("show latest --db h.db");
  EXPECT_THAT(latest.text, HasSubstr("the clock of")) << "the newest run is the last one recorded";
}

TEST_F(Incomplete, LostCoverageIsOpenInCompare) {
  ASSERT_EQ(plumbline("run s.toml -q --db h.db").code, 0);
  ASSERT_EQ(plumbline("run s.toml -q --match '*seed=9*' --db h.db").code, 0);
  EXPECT_EQ(plumbline("compare --db h.db").code, 0) << "a filter loses nothing";
  write_suite(99);
  ASSERT_EQ(plumbline("run s.toml -q --db h.db").code, 0);
  const auto lost = plumbline("compare latest~2 latest --db h.db");
  EXPECT_EQ(lost.code, 5) << lost.text;
  EXPECT_THAT(lost.text, HasSubstr("lost coverage: 4 cases"));
}

}  // namespace
}  // namespace plumbline
