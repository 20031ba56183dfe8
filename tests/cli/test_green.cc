// A run is green only if every case was measured: vanished, unconfirmed and unmeasured cases are
// not green. Fresh processes confirm regressions.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class Green : public test::CommandTest {
 protected:
  // Writes the problems of `seqs`. Each of two shards gets some of them.
  void write_suite(const std::string& seqs = "64, 72, 80, 88, 96, 104",
                   const std::string& more = "timed = true") const {
    write("s.toml",
          "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"short\"\nkernels = "
          "[\"cpu/flash\"]\n" +
              more +
              "\nset = { heads_q = 2, heads_kv = 1, dtype = \"bf16\" }\nproduct = { seq = [" +
              seqs + "] }\n");
  }
  test::CommandResult run(const std::string& arguments, const std::string& options = "") const {
    return plumbline("run s.toml -q --repetitions 3 --no-default-provider --provider '" +
                         test::planted_cpu_provider() + "' " + arguments,
                     test::planted(options));
  }
  // Returns the rows of a query without the header, each with its line break.
  std::string rows(const std::string& database, const std::string& sql) const {
    std::string text = plumbline("query \"" + sql + "\" --format csv --db " + database).text;
    std::erase(text, '\r');
    return text.substr(text.find('\n') + 1);
  }
  void write_history(const std::string& options, int runs = 11,
                     const std::string& more = "") const {
    for (int i = 0; i < runs; ++i) {
      const auto done = run("--db h.db " + more, options);
      // other work on this machine may look like a regression
      ASSERT_THAT(done.code, AnyOf(0, 1, 5)) << done.text;
    }
  }
  std::string merged_run(const std::string& shard) const {
    const std::string id =
        rows("all.db", "SELECT run_id FROM v_runs WHERE shard = '" + shard + "'");
    return id.substr(0, id.find('\n'));
  }
};

// Shards with files of their own have no past, so their cases are first seen there and must not
// become a baseline.
TEST_F(Green, RegressionInShardsWithoutPastFails) {
  write_suite();
  write_history("");
  for (const char* shard : {"1", "2"}) {
    const std::string number(shard);
    // Only two of the six are slow: a slowdown of most would be attributed to the machine.
    EXPECT_EQ(run("--shard " + number + "/2 --db shard-" + number + ".db", "slow=20,part=2/3").code,
              0);
  }
  ASSERT_EQ(plumbline("merge all.db h.db shard-1.db shard-2.db").code, 0);
  const std::string judge = "judge " + merged_run("1/2") + " " + merged_run("2/2") + " --db all.db";
  const std::string slow_runs = "shard <> '1/1')",
                    slow = "run_id IN (SELECT run_id FROM v_runs WHERE " + slow_runs;
  EXPECT_EQ(rows("all.db", "SELECT count(*) FROM v_history WHERE accepted AND " + slow), "0\n")
      << "not even before they are judged";

  // On a busy machine the past may be too noisy to find every slow case.
  const auto judged = plumbline(judge);
  EXPECT_THAT(judged.code, AnyOf(1, 5)) << judged.text;
  EXPECT_THAT(judged.text,
              AllOf(HasSubstr("unconfirmed"), HasSubstr("no fresh process gave a time")));
  const std::string found =
      "SELECT count(*), sum(accepted) FROM v_history WHERE verdict = 'unconfirmed' AND " + slow;
  const std::string of_judge = rows("all.db", found);
  EXPECT_THAT(of_judge, AllOf(Not(testing::StartsWith("0")), testing::EndsWith(",0\n")));
  EXPECT_EQ(plumbline(judge).code, judged.code) << "judged again";
  EXPECT_EQ(rows("all.db", found), of_judge);

  ASSERT_EQ(plumbline("merge all.db shard-1.db shard-2.db").code, 0);
  EXPECT_EQ(rows("all.db", found), of_judge) << "the copies that know nothing of it change nothing";

  // The user may accept the regression.
  ASSERT_EQ(plumbline("baseline accept " + merged_run("1/2") +
                      " --who me --why 'slower, and right' --db all.db")
                .code,
            0);
  EXPECT_NE(rows("all.db", "SELECT count(*) FROM v_history WHERE accepted AND " + slow), "0\n");
}

TEST_F(Green, ShardReadsGivenPast) {
  write_suite("64, 96");
  write_history("");
  const std::string before = read("h.db");
  const auto slow = run("--shard 1/2 --db shard.db --past h.db", "slow=20");
  const auto other = run("--shard 2/2 --db shard.db --past h.db", "slow=20");
  EXPECT_TRUE(slow.code == 1 || other.code == 1) << slow.text << other.text;
  EXPECT_EQ(rows("shard.db", "SELECT DISTINCT verdict, confirmation FROM v_history"),
            "regressed,confirmed\n");
  EXPECT_EQ(read("h.db"), before) << "only read";
  const auto missing = run("--db shard.db --past typo.db");
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.text,
              AllOf(HasSubstr("typo.db"), HasSubstr("there is no database of runs here")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "typo.db"));

  // Without the past, a confirmed regression stays one.
  const auto judged = plumbline("judge latest --db shard.db");
  EXPECT_EQ(judged.code, 1) << judged.text;
}

TEST_F(Green, MuchFasterKernelIsListed) {
  write_suite("96");
  write_history("slow=8");
  const auto fast = run("--db h.db --markdown m.md --format json");
  EXPECT_EQ(fast.code, 0) << fast.text;
  EXPECT_EQ(rows("h.db", "SELECT verdict FROM v_latest"), "improved\n");
  EXPECT_THAT(
      rows("h.db", "SELECT kind, explanation FROM v_changes ORDER BY run_order DESC LIMIT 1"),
      AllOf(HasSubstr("faster"), HasSubstr("times faster")));
  EXPECT_THAT(read("m.md"), HasSubstr("faster"));
  EXPECT_THAT(fast.text, AllOf(HasSubstr("\"kind\": \"faster\""), HasSubstr("\"changes\"")));
  // The line may be broken between the two words, depending on the figures before them.
  EXPECT_THAT(plumbline("show --db h.db").text, testing::ContainsRegex("times[ \n]+faster"));
}

TEST_F(Green, UnjudgedTimeIsReportedWithRatio) {
  write_suite("96");
  write_history("", 3);
  const auto like = run("--db h.db --format json");
  EXPECT_EQ(like.code, 0) << like.text;
  EXPECT_THAT(like.text, HasSubstr("time not judged yet (3 of 10 nights): "));
  // A kernel that is twenty times slower fails even before ten nights are stored.
  const auto slow = run("--db h.db", "slow=20");
  EXPECT_EQ(slow.code, 1) << slow.text;
  EXPECT_THAT(slow.text, HasSubstr("times slower than its usual"));
  const auto compared = plumbline("compare latest~1 latest --db h.db");
  EXPECT_THAT(compared.text, AllOf(HasSubstr("1 slower and 0 faster"), HasSubstr("cpu/flash/bf16"),
                                   HasSubstr("ms")));
  const auto history = plumbline("history '*' --db h.db");
  EXPECT_THAT(history.text, HasSubstr(" ms "));
  const auto newest =
      rows("h.db", "SELECT substr(run_id, 1, 8) FROM v_runs ORDER BY run_order DESC LIMIT 1");
  const auto rule = history.text.find("----\n") + 5;  // after the case's id and the header
  const auto first_line = history.text.substr(rule, history.text.find('\n', rule) - rule);
  EXPECT_THAT(first_line, HasSubstr(newest.substr(0, 8)))
      << history.text << "runs of one second, newest first";
}

TEST_F(Green, VanishedCaseStaysOpenUntilAccepted) {
  write_suite("64, 72, 80", "");
  ASSERT_EQ(run("--db h.db --purpose nightly").code, 0);
  write_suite("64, 72", "");
  const auto lost = run("--db h.db --purpose nightly --markdown m.md --junit j.xml");
  EXPECT_EQ(lost.code, 5) << lost.text;
  EXPECT_THAT(lost.text, AllOf(HasSubstr("vanished"), HasSubstr("cpu/flash/bf16/b1-h2x1-s80")));
  EXPECT_THAT(read("m.md"), AllOf(HasSubstr("vanished"), HasSubstr("s80")));
  EXPECT_THAT(read("j.xml"),
              AllOf(HasSubstr("vanished cpu/flash"), HasSubstr("<error type=\"vanished\"")));
  EXPECT_EQ(run("--db h.db --purpose nightly").code, 5) << "still";
  EXPECT_EQ(plumbline("show --db h.db --format json").text.find("\"kind\": \"vanished\"") ==
                std::string::npos,
            false);
  const auto accepted = plumbline(
      "baseline accept latest --cases '*s80*' --who me --why 'too like the others' --db h.db");
  EXPECT_EQ(accepted.code, 0) << accepted.text;
  EXPECT_THAT(accepted.text, HasSubstr("1 vanished case"));
  const auto night = run("--db h.db --purpose nightly");
  EXPECT_EQ(night.code, 0) << night.text;
  EXPECT_THAT(night.text, Not(HasSubstr("vanished")));

  // Outside of nights, vanished cases are reported but do not fail the run. Cases that a filter
  // leaves out have not vanished.
  ASSERT_EQ(run("--db desk.db").code, 0);
  EXPECT_THAT(run("--db desk.db --match '*s64*'").text, Not(HasSubstr("vanished")));
  write_suite("64", "");
  const auto desk = run("--db desk.db");
  EXPECT_EQ(desk.code, 0) << desk.text;
  EXPECT_THAT(desk.text, HasSubstr("vanished"));
}

TEST_F(Green, OnlyRefusedCasesMeanNothingMeasured) {
  write("s.toml",
        "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"refused\"\nkernels = "
        "[\"cpu/flash\"]\n"
        "set = { heads_q = 2, dtype = \"fp32\" }\nproduct = { seq = [8, 9] }\n");
  const auto refused = run("--db r.db --markdown m.md --junit j.xml");
  EXPECT_EQ(refused.code, 4) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("nothing measured"));
  EXPECT_THAT(read("m.md"), HasSubstr("Nothing measured: no result of 2 cases."));
  EXPECT_THAT(read("j.xml"), AllOf(HasSubstr("nothing measured"), HasSubstr("errors=\"1\"")));
  const auto json = plumbline("show --db r.db --format json");
  EXPECT_THAT(json.text, HasSubstr("\"nothing_measured\": true"));
  EXPECT_EQ(plumbline("judge --db r.db").code, 4);
  // If one case runs, the refused ones only show what the kernel does not support.
  write("s.toml", read("s.toml") +
                      "[[group]]\nname = \"h\"\nreason = \"taken\"\nkernels = [\"cpu/flash\"]\n"
                      "set = { heads_q = 2, dtype = \"bf16\", seq = 8 }\n");
  EXPECT_EQ(run("--db r.db").code, 0);
}

// Commands that read or judge stored runs create no file for a mistyped name.
TEST_F(Green, MistypedDatabaseIsRefused) {
  for (const char* command :
       {"judge", "compare", "show", "history '*'", "query failing-since", "matrix", "baseline list",
        "baseline accept latest --who me --why x", "baseline pin latest --who me --why x"}) {
    const auto result = plumbline(std::string(command) + " --db typo.db");
    EXPECT_EQ(result.code, 3) << command << ": " << result.text;
    EXPECT_THAT(result.text,
                AllOf(HasSubstr("typo.db"), HasSubstr("there is no database of runs here")))
        << command;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "typo.db")) << command;
  }
}

TEST_F(Green, DecisionsAreListedWithReason) {
  write_suite("64", "");
  ASSERT_EQ(run("--db h.db").code, 0);
  EXPECT_EQ(plumbline("baseline pin latest --db h.db --who Ada --why 'release 1'").code, 0);
  EXPECT_EQ(plumbline("baseline accept latest --db h.db --who Grace --why 'reviewed'").code, 0);
  const auto list = plumbline("baseline list --db h.db");
  EXPECT_THAT(list.text, AllOf(HasSubstr("pin"), HasSubstr("Ada"), HasSubstr("release 1"),
                               HasSubstr("accept"), HasSubstr("Grace")));
  EXPECT_EQ(plumbline("baseline pin latest --db h.db --who Ada").code, 2) << "without a reason";
  const auto nothing =
      plumbline("baseline pin latest --db h.db --who Ada --why x --cases 'no/such*'");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.text, HasSubstr("may serve as a baseline"));
}

TEST_F(Green, CommitUnderTestIsStored) {
  write_suite("64", "");
  const auto commit = [&] {
    return rows("h.db", "SELECT code_commit FROM v_runs ORDER BY run_order DESC LIMIT 1");
  };
  ASSERT_EQ(run("--db h.db --commit abc123").code, 0);
  EXPECT_EQ(commit(), "abc123\n");
  ASSERT_EQ(shell("GITHUB_SHA=of-github PLUMBLINE_COMMIT= '" + program().string() +
                  "' run s.toml -q --db h.db")
                .code,
            0);
  EXPECT_EQ(commit(), "of-github\n");
  EXPECT_THAT(plumbline("run --help").text,
              AllOf(HasSubstr("--commit"), HasSubstr("PLUMBLINE_COMMIT"), HasSubstr("GITHUB_SHA")));
}

}  // namespace
}  // namespace plumbline
