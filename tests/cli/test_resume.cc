// Runs that are killed (kill -9) at any moment, and resumed.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

const char* const suite_text = R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "quick cases, two kernels for each problem"
kernels = ["cpu/flash", "cpu/flash_p32"]
set = { heads_q = 2, heads_kv = 1, head_dim = 32 }
product = { dtype = ["fp16", "bf16"], seq = [3, 9, 16, 33, 65, 80, 100], mask = ["none", "causal_top_left"] }
[[diff]]
name = "d"
reason = "sides that are no cases of the group"
set = { heads_q = 2, heads_kv = 1, head_dim = 32 }
product = { seq = [17, 24] }
a = { kernel = "cpu/flash" }
b = { kernel = "cpu/flash_p32" }
)";

// Columns that differ even between two undisturbed runs.
const std::set<std::string> volatile_columns{
    "run_id", "run_order", "started_at", "finished_at", "wall_ms", "versions_json", "command_line"};

std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> found;
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return found;
}

class Resume : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", suite_text);
    // Adds a past, so that verdicts depend on baselines.
    ASSERT_EQ(plumbline(run_arguments("past.db")).code, 0);
  }

  std::string run_arguments(const std::string& database) const {
    return "run s.toml -q -j2 --no-default-provider --provider '" + test::cpu_provider() +
           "' --db " + database + more_;
  }
  std::filesystem::path fresh(const std::string& database) const {
    const auto path = directory_ / database;
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
    std::filesystem::copy_file(directory_ / "past.db", path);
    return path;
  }

  // Kills the command after `delay`. Unless `with_workers`, its workers survive and have to notice.
  // Returns false if the command had already ended.
  bool start_and_kill(const std::string& arguments, steady_clock::duration delay,
                      bool with_workers) const {
    const std::string command = "cd '" + directory_.string() + "' && exec '" + program().string() +
                                "' " + arguments + " >/dev/null 2>&1";
    const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(
        posix_spawn(&pid, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(words), environ),
        0);
    std::this_thread::sleep_for(delay);
    // The parent first: if a worker died alone, the parent would rightly report that the kernel
    // died.
    const auto workers = children(pid);
    ::kill(pid, SIGKILL);
    if (with_workers) {
      for (const pid_t worker : workers) ::kill(worker, SIGKILL);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status);
  }

  // Reads from a copy what a killed process left, so that the resumed run finds the original
  // unchanged.
  Rows left_behind(const std::string& database, const std::string& sql) const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      const auto from = directory_ / (database + suffix),
                 to = directory_ / (std::string("copy.db") + suffix);
      std::filesystem::remove(to);
      if (std::string_view(suffix) != "-shm" && std::filesystem::exists(from))
        std::filesystem::copy_file(from, to);
    }
    return raw_sql(directory_ / "copy.db", sql);
  }

  // Resumes the run, or starts it again if it was killed before it was stored.
  void finish(const std::string& database, std::size_t runs_before) const {
    if (left_behind(database, "SELECT run_id FROM run").size() == runs_before) {
      EXPECT_THAT(plumbline(run_arguments(database) + " --resume").text,
                  HasSubstr("there is no unfinished run to resume"));
      EXPECT_EQ(plumbline(run_arguments(database)).code, 0);
    } else if (left_behind(database, "SELECT run_id FROM run WHERE finished_at IS NULL").size() ==
               1) {
      const auto resumed = plumbline(run_arguments(database) + " --resume");
      EXPECT_EQ(resumed.code, 0) << resumed.text;
    }
  }

  // Returns every view's rows of the newest run, without the volatile columns.
  Rows contents(const std::string& database) const {
    Rows all;
    const auto path = directory_ / database;
    for (const char* view : {"v_runs", "v_history", "v_diffs", "v_suite_scores", "v_invariances",
                             "v_support", "v_coverage"}) {
      std::string columns;
      bool of_run = false;
      for (const auto& row :
           raw_sql(path, std::string("SELECT name FROM pragma_table_info('") + view + "')")) {
        of_run = of_run || row[0] == "run_id";
        if (!volatile_columns.contains(row[0]) && row[0] != "last_started_at")
          columns += (columns.empty() ? "" : ", ") + row[0];
      }
      const std::string where =
          of_run ? " WHERE run_id = (SELECT run_id FROM v_runs ORDER BY run_order DESC LIMIT 1)"
                 : "";
      Rows rows = raw_sql(path, "SELECT " + columns + " FROM " + view + where);
      std::sort(rows.begin(), rows.end());
      all.push_back({view});
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }

  std::string more_;  // further arguments
};

const char* const newest_outcomes =
    "SELECT suite, case_id, wall_ms FROM v_history WHERE run_id = (SELECT run_id FROM v_runs ORDER "
    "BY run_order DESC LIMIT 1)";

// 100 kills at random moments of a run, two in each history. The assumed duration of a run follows
// the machine's load: it shrinks if a run ended before the kill, otherwise it grows.
TEST_F(Resume, HundredKillsLoseNothing) {
  fresh("undisturbed.db");
  const auto start = steady_clock::now();
  ASSERT_EQ(plumbline(run_arguments("undisturbed.db")).code, 0);
  double duration = std::chrono::duration<double>(steady_clock::now() - start).count();
  const auto expected = contents("undisturbed.db");
  const auto cases = raw_sql(directory_ / "undisturbed.db", newest_outcomes).size();
  ASSERT_EQ(cases, 60U);

  std::mt19937 random(20260);
  std::uniform_real_distribution<double> moment(0, 1);
  int killed = 0, in_the_middle = 0;
  for (int history = 0; killed < 100 && history < 200; ++history) {
    fresh("killed.db");
    Rows stored;
    for (int kill = 0; kill < 2; ++kill) {
      const bool begun = left_behind("killed.db", "SELECT 1 FROM run").size() > 1;
      const auto delay = std::chrono::duration<double>(duration * moment(random));
      const bool lived = start_and_kill(run_arguments("killed.db") + (begun ? " --resume" : ""),
                                        std::chrono::duration_cast<steady_clock::duration>(delay),
                                        history % 2 == 0);
      killed += lived ? 1 : 0;
      duration *= lived ? 1.02 : 0.9;
      if (left_behind("killed.db", "SELECT 1 FROM run").size() < 2) continue;
      const Rows now = left_behind("killed.db", newest_outcomes);
      in_the_middle += !now.empty() && now.size() < cases ? 1 : 0;
      for (const auto& row : stored)
        EXPECT_THAT(now, testing::Contains(row)) << "measured again or lost";
      stored = now;
    }
    finish("killed.db", 1);
    const Rows now = raw_sql(directory_ / "killed.db", newest_outcomes);
    for (const auto& row : stored)
      EXPECT_THAT(now, testing::Contains(row)) << "measured again or lost";
    EXPECT_EQ(now.size(), cases);
    EXPECT_EQ(raw_sql(directory_ / "killed.db", "SELECT count(*) FROM v_runs")[0][0], "2");
    EXPECT_EQ(raw_sql(directory_ / "killed.db", "PRAGMA integrity_check")[0][0], "ok");
    EXPECT_EQ(contents("killed.db"), expected) << "history " << history;
    if (HasFailure()) break;
  }
  RecordProperty("killed", killed);
  RecordProperty("in_the_middle", in_the_middle);
  RecordProperty("duration_ms", static_cast<int>(duration * 1000));
  EXPECT_GE(killed, 100);
  EXPECT_GT(in_the_middle, 0) << "some come between the first case and the last";
}

TEST_F(Resume, InvariancesAreMeasuredOnce) {
  more_ = " --invariances --match '*s16*'";
  fresh("undisturbed.db");
  const auto start = steady_clock::now();
  ASSERT_EQ(plumbline(run_arguments("undisturbed.db")).code, 0);
  const auto duration = steady_clock::now() - start;
  const auto expected = contents("undisturbed.db");
  for (int part = 2; part < 8; ++part) {
    fresh("killed.db");
    start_and_kill(run_arguments("killed.db"), duration * part / 8, true);
    finish("killed.db", 1);
    EXPECT_EQ(contents("killed.db"), expected);
  }
}

TEST_F(Resume, ChangedOptionsAreRefusedWithRemedy) {
  EXPECT_THAT(plumbline("run s.toml --db none.db --resume").text,
              HasSubstr("there is no run to resume: the file does not exist"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "none.db"));
  const auto none = plumbline(run_arguments("past.db") + " --resume");
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.text, HasSubstr("there is no unfinished run to resume"));

  raw_sql(directory_ / "past.db",
          "UPDATE run SET finished_at = NULL, complete = NULL, exit_code = NULL");
  const auto refused =
      plumbline(run_arguments("past.db") + " --resume --timeout 61 --match '*fp16*'");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.text, HasSubstr("--timeout: derived from the work then, 61000 ms now"));
  EXPECT_THAT(refused.text, HasSubstr("plan: 56 cases and 2 diffs"));
  EXPECT_THAT(refused.text, HasSubstr("repeat its command ("));
  const auto provider = std::filesystem::path(test::cpu_provider());
  std::filesystem::copy_file(provider, directory_ / "plumbline_cpu.so");
  const auto other = plumbline(
      "run s.toml -q --no-default-provider --provider ./plumbline_cpu.so --db past.db --resume");
  EXPECT_THAT(other.text, HasSubstr("provider ./plumbline_cpu.so: none then"));
  EXPECT_EQ(plumbline("run s.toml --resume --no-store").code, 2);

  const auto resumed = plumbline(run_arguments("past.db") + " --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_EQ(raw_sql(directory_ / "past.db",
                    "SELECT finished_at IS NOT NULL, complete, exit_code FROM run"),
            (Rows{{"1", "1", "0"}}));
}

// SIGTERM ends a run in order, and the run is resumed like a killed one. No other process takes
// over a run that is still being measured.
TEST_F(Resume, SecondProcessIsRefused) {
  write("slow.toml", R"(
schema = 1
name = "slow"
[[group]]
name = "g"
reason = "long enough to be met while it runs"
kernels = ["cpu/naive", "cpu/flash"]
set = { heads_q = 8, head_dim = 64 }
product = { dtype = ["fp32", "bf16"], seq = [700, 701, 702, 703, 704, 705] }
)");
  const auto result = shell(
      "'" + program().string() +
      "' run slow.toml -q -j1 --db slow.db >/dev/null 2>first.txt & pid=$!; " +
      "for i in $(seq 400); do [ \"$(sqlite3 slow.db 'SELECT count(*) > 0 FROM outcome' 2>&1)\" = "
      "1 ] && break; sleep 0.05; done; '" +
      program().string() +
      "' run slow.toml -q -j1 --db slow.db --resume >/dev/null; echo second $?; kill -TERM $pid; " +
      "wait $pid; echo first $?; cat first.txt");
  EXPECT_THAT(result.text, HasSubstr("is still being measured by another process"));
  EXPECT_THAT(result.text, HasSubstr("second 3"));
  EXPECT_THAT(result.text, HasSubstr("first 3"));
  EXPECT_THAT(result.text, HasSubstr("the same command with --resume measures the rest"));
  EXPECT_EQ(plumbline("run slow.toml -q --db slow.db --resume").code, 0);
  EXPECT_EQ(raw_sql(directory_ / "slow.db", "SELECT outcomes, finished, complete FROM v_runs"),
            (Rows{{"24", "1", "1"}}));
}

}  // namespace
}  // namespace plumbline
