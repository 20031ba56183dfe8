// Commands that read stored runs: history, compare and show of nights and commits, acknowledged
// regressions.
#include <gmock/gmock.h>

#include "harness/store/stored.h"
#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HistoryCommands : public test::CommandTest {
 protected:
  static RunInfo run_of(int number, const std::string& model = "EPYC") {
    RunInfo run = run_info(number, model);
    run.night_id = "night-" + std::to_string(number / 10);
    run.commit = "c0ffee" + std::to_string(number / 10) + "0";
    return run;
  }
  void add_run(const RunInfo& run, const std::vector<StoredOutcome>& outcomes) const {
    const auto store = value_of(Store::open(directory_ / "h.db"));
    value_of(store->begin_run(run));
    for (const auto& outcome : outcomes) value_of(store->add(run.run_id, outcome));
    value_of(store->finish_run(run.run_id, 0, true));
  }
  static StoredOutcome timed(double ratio, const std::string& problem = "bf16/b1-h4-s128-d64") {
    StoredOutcome stored = passing(problem, "mine/flash");
    stored.outcome.timed = true;
    stored.outcome.time_ratio = ratio;
    stored.outcome.time_ns = 1e6 * ratio;
    return stored;
  }
  // Returns an outcome with `times` the usual error and, unless `times` is 1, other bits and a
  // regression. Its kernel has no contract.
  static StoredOutcome drifted(double times) {
    StoredOutcome stored = passing("bf16/b1-h4-s128-d64", "mine/flash");
    stored.outcome.errors.rms = 0.4;
    if (times == 1) return stored;
    stored.outcome.errors.rms *= times;
    stored.outcome.output_digest = std::string(32, times > 3 ? 'f' : 'e');
    stored.outcome.description.build_id = "build-2";
    stored.judgement.verdict = Verdict::regressed;
    stored.judgement.confirmation = Confirmation::confirmed;
    return stored;
  }
};

TEST_F(HistoryCommands, HistoryShowsLevelAndChange) {
  for (int night = 1; night <= 40; ++night) {
    const double noise = 0.002 * (night % 3);
    add_run(run_of(10 * night), {timed((night < 25 ? 4.0 : 4.6) * (1 + noise)),
                                 passing("fp16/b1-h4-s128-d64", "mine/flash")});
  }
  const auto text = plumbline("history 'mine/*' --db h.db --limit 2", "LC_ALL=C ");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.text,
              AllOf(HasSubstr("mine/flash/bf16/"), HasSubstr("mine/flash/fp16/"),
                    HasSubstr("slower by 15 %"), HasSubstr("at c0ffee2"), HasSubstr("; level 4.6"),
                    HasSubstr(", limit "), HasSubstr(" ms, ratio 4."), Not(HasSubstr("▁"))));
  EXPECT_THAT(plumbline("history 'mine/*' --db h.db", "LC_ALL=C.UTF-8 ").text, HasSubstr("▁"));
  EXPECT_THAT(plumbline("history 'mine/*' --db h.db --cases 1").text,
              AllOf(HasSubstr("mine/flash/bf16/"), Not(HasSubstr("mine/flash/fp16/")),
                    HasSubstr("1 of 2 cases that match: --cases 2 shows all")));
}

TEST_F(HistoryCommands, CompareUsesAllRunsOfNights) {
  const std::string other = "bf16/b1-h4-s256-d64";
  add_run(run_of(10), {timed(4.0)});
  add_run(run_of(11, "Xeon"), {timed(8.0, other)});
  add_run(run_of(20), {timed(4.2)});
  add_run(run_of(21, "Xeon"), {timed(12.0, other)});
  add_run(run_of(22), {timed(4.2)});
  const auto nights = plumbline("compare latest-night~1 latest-night --db h.db");
  EXPECT_EQ(nights.code, 0) << nights.text;
  EXPECT_THAT(nights.text,
              AllOf(HasSubstr("2 cases in both, 2 with equal bits; 0 only in night night-1"),
                    HasSubstr("1 slower and 0 faster"), HasSubstr("8 ms"), HasSubstr("12 ms"),
                    HasSubstr("1.500"), Not(HasSubstr("1.050"))));
  EXPECT_EQ(plumbline("compare night:night-1 night:night-2 --db h.db").text, nights.text);
  const auto commits = plumbline("compare c0ffee1 commit:c0ffee2 --db h.db --all");
  EXPECT_EQ(commits.code, 0);
  EXPECT_THAT(commits.text, AllOf(HasSubstr("only in commit c0ffee1"), HasSubstr("1.050")));
  EXPECT_EQ(plumbline("compare commit:dead latest --db h.db").code, 2);

  const auto shown = plumbline("show latest-night --db h.db");
  EXPECT_EQ(shown.code, 0) << shown.text;
  EXPECT_THAT(shown.text, AllOf(HasSubstr("night night-2: 3 runs, the newest outcome of each case"),
                                HasSubstr("s128"), HasSubstr("s256")));
  EXPECT_THAT(plumbline("show night:night-1 --db h.db --format json").text, HasSubstr("s256"));
}

// Cases are compared only within their machine class. If no case has a partner there, compare
// refuses.
TEST_F(HistoryCommands, CompareStaysWithinMachineClass) {
  add_run(run_of(10), {timed(4.0)});
  add_run(run_of(11, "Xeon"), {timed(8.0)});
  add_run(run_of(20), {timed(4.0)});
  const auto one_left = plumbline("compare latest-night~1 latest-night --db h.db");
  EXPECT_EQ(one_left.code, 0) << one_left.text;
  EXPECT_THAT(one_left.text, HasSubstr("1 case in both, 1 with equal bits; 1 only in"));
  add_run(run_of(30, "Xeon"), {timed(8.0)});
  EXPECT_EQ(plumbline("compare latest-night~1 latest-night --db h.db").code, 6);
  EXPECT_EQ(plumbline("compare latest-night~1 latest-night --db h.db --any-machine").code, 0);
}

TEST_F(HistoryCommands, AcknowledgedRegressionFailsOnlyIfWorse) {
  add_run(run_of(10), {drifted(1)});
  add_run(run_of(20), {drifted(2)});
  ASSERT_EQ(plumbline("judge latest --db h.db").code, 1);
  const auto refused = plumbline(
      "baseline acknowledge latest --who ada --why x --until 2026-01-01 "
      "--db h.db");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("has come"));
  EXPECT_EQ(plumbline("baseline acknowledge --why x --until tomorrow --db h.db").code, 2);
  EXPECT_EQ(plumbline("baseline acknowledge latest~1 --who ada --why x --db h.db").code, 2)
      << "nothing fails there";
  const auto seen = plumbline(
      "baseline acknowledge latest --cases 'mine/*' --who ada "
      "--why 'waits for #31' --until 2099-01-31 --db h.db");
  ASSERT_EQ(seen.code, 0) << seen.text;
  EXPECT_THAT(seen.text, HasSubstr("acknowledged mine/* (1 case) until 2099-01-31, run"));
  EXPECT_THAT(plumbline("baseline list --db h.db").text,
              AllOf(HasSubstr("acknowledge  ada, run "), HasSubstr("until 2099-01-31"),
                    HasSubstr("waits for #31"), HasSubstr("mine/flash/bf16")));

  add_run(run_of(30), {drifted(2)});
  const auto same = plumbline("judge latest --db h.db");
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_THAT(same.text, AllOf(HasSubstr("acknowledged case"), HasSubstr("ada, until 2099-01-31")));
  EXPECT_THAT(
      plumbline("query \"SELECT verdict, accepted FROM v_latest\" --db h.db --format csv").text,
      HasSubstr("acknowledged,0"))
      << "and it is no baseline";
  EXPECT_EQ(plumbline("judge latest --db h.db").code, 0) << "judged again";

  add_run(run_of(40), {drifted(3.3)});
  const auto worse = plumbline("judge latest --db h.db");
  EXPECT_EQ(worse.code, 1) << worse.text;
  EXPECT_THAT(plumbline("show latest '*' --db h.db").text,
              HasSubstr("worse than what was acknowledged"));
}

}  // namespace
}  // namespace plumbline
