// Pruning keeps important outcomes of old nights, does not change queries about them, and is
// atomic.
#include <sqlite3.h>

#include <algorithm>
#include <set>

#include "harness/store/merge.h"
#include "harness/store/prune.h"
#include "tests/store/random_history.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

class Prune : public StoreTest {
 protected:
  // Stores one run with these outcomes in night `day`.
  void night(int day, const std::vector<StoredOutcome>& outcomes) {
    RunInfo run = run_info(day * 1440);
    run.night_id = fmt::format("night {}", day);
    store_run(*store_, run, outcomes);
  }
  static std::string id(int day) { return run_info(day * 1440).run_id; }
  static StoredOutcome took(double ratio) {
    StoredOutcome outcome = passing();
    outcome.outcome.errors.has_max_logit = true;
    outcome.outcome.time_ratio = ratio;
    return outcome;
  }
  PruneReport prune(int nights, bool dry_run = false) {
    PruneOptions options;
    options.nights = nights;
    options.dry_run = dry_run;
    return value_of(prune_database(path_, options));
  }
  // Returns the days that still have outcomes.
  std::vector<int> days() {
    std::vector<int> days;
    for (const auto& row :
         raw_sql(path_, "SELECT DISTINCT substr(started_at, 9, 2) - 1 FROM v_history ORDER BY 1"))
      days.push_back(std::stoi(row[0]));
    return days;
  }
  std::int64_t kept(const PruneReport& report, KeptFor reason) {
    return report.kept[static_cast<std::size_t>(reason)];
  }

  std::unique_ptr<Store> store_ = open();
};

TEST_F(Prune, KeepsNewestNightsAndSeriesEnds) {
  for (int day = 1; day <= 9; ++day) night(day, {took(2)});
  const auto told = prune(3, true);
  EXPECT_EQ(told.outcomes_deleted, 5);
  EXPECT_EQ(days().size(), 9U) << "a dry run";
  const auto report = prune(3);
  EXPECT_EQ(report.nights_before, 9);
  EXPECT_EQ(report.nights_whole, 3);
  EXPECT_EQ(report.since, "night 7");
  EXPECT_EQ(report.outcomes_before, 9);
  EXPECT_EQ(report.outcomes_deleted, 5);
  EXPECT_EQ(report.runs_deleted, 5);
  EXPECT_EQ(kept(report, KeptFor::end_of_series), 1);
  EXPECT_EQ(days(), (std::vector<int>{1, 7, 8, 9}));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM run")[0][0], "4");
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM outcome_output")[0][0], "4");
  EXPECT_TRUE(raw_sql(path_, "PRAGMA foreign_key_check").empty());
  EXPECT_EQ(prune(3).outcomes_deleted, 0) << "again";
}

TEST_F(Prune, KeepsFailuresDecisionsAndChanges) {
  for (int day = 1; day <= 28; ++day) {
    StoredOutcome outcome = took(2);
    if (day == 5) outcome.judgement.verdict = Verdict::fail;
    if (day >= 10) outcome.outcome.output_digest = std::string(32, 'e');
    night(day, {outcome});
  }
  value_of(store_->accept(id(13), "*", "Ada", "reviewed"));
  const auto report = prune(3);
  EXPECT_EQ(days(), (std::vector<int>{1, 4, 5, 6, 9, 10, 13, 26, 27, 28}));
  EXPECT_EQ(kept(report, KeptFor::failure), 1);
  EXPECT_EQ(kept(report, KeptFor::accepted), 1);
  EXPECT_EQ(kept(report, KeptFor::change), 4);
  EXPECT_THAT(raw_sql(path_, "SELECT previous_run_id FROM v_regressions"),
              testing::ElementsAre(testing::ElementsAre(id(4))));
}

TEST_F(Prune, KeepsPinAndNightsBefore) {
  for (int day = 1; day <= 28; ++day) night(day, {took(2 + 0.001 * day)});
  value_of(store_->pin(id(20), "*", "Ada", "release 1"));
  const auto before = value_of(store_->past({passing().outcome.case_id, machine_of()}, "", true));
  const auto report = prune(3);
  EXPECT_EQ(kept(report, KeptFor::pinned), 1);
  EXPECT_EQ(kept(report, KeptFor::before_a_pin), 14);
  EXPECT_EQ(days(), (std::vector<int>{1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 26,
                                      27, 28}));
  const auto after = value_of(store_->past({passing().outcome.case_id, machine_of()}, "", true));
  ASSERT_TRUE(after.pin);
  EXPECT_EQ(after.pin->outcome.run_id, id(20));
  EXPECT_EQ(after.pin->times.ratios, before.pin->times.ratios);
  EXPECT_EQ(after.baseline->run_id, before.baseline->run_id);
}

TEST_F(Prune, KeepsBothSidesOfLevelChange) {
  for (int day = 1; day <= 28; ++day)
    night(day, {took((day < 12 ? 2 : 3) * (1 + 0.001 * (day % 3)))});
  const auto report = prune(3);
  EXPECT_EQ(kept(report, KeptFor::level), 2);
  EXPECT_EQ(days(), (std::vector<int>{1, 11, 12, 26, 27, 28}));
}

// A weekly suite: its newest complete run defines the expected cases of the next one.
TEST_F(Prune, KeepsNewestCompleteRun) {
  RunInfo weekly = run_info(1440);
  weekly.purpose = "gpu";
  store_run(*store_, weekly, {took(2), passing("fp16/b1-h4-s128-d64")});
  for (int day = 2; day <= 9; ++day) night(day, {took(2), passing("fp16/b1-h4-s128-d64")});
  prune(2);
  RunInfo next = run_info(10 * 1440);
  next.purpose = "gpu";
  EXPECT_EQ(value_of(store_->expected_cases(next, {"smoke"})).size(), 2U);
}

// Kept outcomes stay accepted or not, keep their previous accepted run, and stay the newest of
// their series; new outcomes get the same baselines and pins.
TEST_F(Prune, KeptOutcomesHaveSameResults) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    store_.reset();
    path_ = directory_ / fmt::format("{}.db", seed);
    store_ = open();
    RandomHistory history(seed);
    for (int i = 0; i < 30; ++i) history.add_run(*store_, 1 + history.below(20000));
    const std::string accepted =
                          "SELECT case_id, run_id, suite, accepted FROM v_history ORDER BY 1, 2, 3",
                      failing =
                          "SELECT case_id, run_id, suite, previous_run_id FROM v_regressions "
                          "ORDER BY 1, 2, 3",
                      latest = "SELECT case_id, run_id, suite FROM v_latest ORDER BY 1, 2, 3";
    const Rows accepted_before = raw_sql(path_, accepted), failing_before = raw_sql(path_, failing),
               latest_before = raw_sql(path_, latest);
    std::vector<std::string> baselines;
    const auto baseline_runs = [&] {
      std::vector<std::string> runs;
      for (const char* model : {"EPYC", "Xeon"}) {
        for (const auto& row : raw_sql(path_, "SELECT case_id FROM attention_case ORDER BY 1")) {
          for (const char* options : {"", "tile=8"}) {
            const auto past =
                value_of(store_->past({row[0], machine_of(model), options}, "", true));
            runs.push_back(past.baseline ? past.baseline->run_id : "");
            runs.push_back(past.pin ? past.pin->outcome.run_id : "");
          }
        }
      }
      return runs;
    };
    const auto runs_before = baseline_runs();
    const auto report = prune(3);
    EXPECT_EQ(baseline_runs(), runs_before) << seed;
    EXPECT_EQ(raw_sql(path_, failing), failing_before) << seed;
    EXPECT_EQ(raw_sql(path_, latest), latest_before) << seed;
    const Rows accepted_now = raw_sql(path_, accepted);
    EXPECT_EQ(accepted_now.size() + static_cast<std::size_t>(report.outcomes_deleted),
              accepted_before.size());
    EXPECT_TRUE(std::includes(accepted_before.begin(), accepted_before.end(), accepted_now.begin(),
                              accepted_now.end()))
        << seed;
    EXPECT_TRUE(raw_sql(path_, "PRAGMA foreign_key_check").empty());
  }
}

TEST_F(Prune, MergeRestoresPrunedRows) {
  for (int day = 1; day <= 9; ++day) night(day, {took(2)});
  value_of(merge_databases(directory_ / "copy.db", {path_}));
  prune(3);
  value_of(merge_databases(path_, {directory_ / "copy.db"}));
  EXPECT_EQ(days().size(), 9U);
}

TEST_F(Prune, ErrorChangesNothing) {
  for (int day = 1; day <= 9; ++day) night(day, {took(2)});
  PruneOptions options;
  options.nights = 0;
  EXPECT_THAT(error_of(prune_database(path_, options)), HasSubstr("cannot keep 0 nights"));
  options.nights = 3;
  EXPECT_THAT(error_of(prune_database(directory_ / "missing.db", options)),
              HasSubstr("there is no database of runs here"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "missing.db"));
  // A row that cannot be deleted stands for any error.
  raw_sql(path_, "CREATE TRIGGER refuse BEFORE DELETE ON run BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_THAT(error_of(prune_database(path_, options)), HasSubstr("pruning"));
  EXPECT_EQ(days().size(), 9U);
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM run")[0][0], "9");
}

}  // namespace
}  // namespace plumbline
