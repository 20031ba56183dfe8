// Runs are found by night or commit, and acknowledged regressions belong to a case's past but are
// not baselines.
#include "harness/store/machine.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Nights : public StoreTest {
 protected:
  static RunInfo run_of(int number, const std::string& night, const std::string& commit) {
    RunInfo run = run_info(number);
    run.night_id = night;
    run.commit = commit;
    return run;
  }
  static std::string id(int number) { return run_info(number).run_id; }
};

TEST_F(Nights, RunsAreFoundByNight) {
  const auto store = open();
  store_run(*store, run_of(1, "2026-01-01", "aaaa1111"), {passing()});
  store_run(*store, run_of(3, "2026-01-02", "bbbb2222"), {passing()});
  store_run(*store, run_of(2, "2026-01-02", "aaaa1111"), {passing()});
  store_run(*store, run_of(4, "", "aabb3333"), {passing()});
  RunInfo compiled = run_of(5, "2026-01-03", "cccc4444");
  compiled.purpose = "resources";
  store_run(*store, compiled, {});

  const auto latest = value_of(store->resolve_runs("latest-night"));
  EXPECT_EQ(latest.label, "night 2026-01-02");
  EXPECT_THAT(latest.run_ids, ElementsAre(id(2), id(3))) << "the oldest first";
  EXPECT_THAT(value_of(store->resolve_runs("latest-night~1")).run_ids, ElementsAre(id(1)));
  EXPECT_THAT(value_of(store->resolve_runs("night:2026-01-01")).run_ids, ElementsAre(id(1)));
  EXPECT_EQ(value_of(store->resolve_runs("latest")).label, "run " + id(4).substr(0, 8));
  EXPECT_THAT(value_of(store->resolve_runs(id(3))).run_ids, ElementsAre(id(3)));

  EXPECT_THAT(error_of(store->resolve_runs("latest-night~2")), HasSubstr("the 2 nights"));
  EXPECT_THAT(error_of(store->resolve_runs("latest-nights")), HasSubstr("names no night"));
  EXPECT_THAT(error_of(store->resolve_runs("night:2027")), HasSubstr("no night's id begins with"));
  EXPECT_THAT(error_of(store->resolve_runs("night:2026-01-0")),
              HasSubstr("several nights' ids begin with '2026-01-0': 2026-01-01, 2026-01-02"));
}

TEST_F(Nights, RunsAreFoundByCommit) {
  const auto store = open();
  store_run(*store, run_of(1, "", "aaaa1111"), {passing()});
  store_run(*store, run_of(2, "", "aabb3333"), {passing()});
  store_run(*store, run_of(3, "", "aaaa1111"), {passing()});
  EXPECT_THAT(value_of(store->resolve_runs("commit:aaaa")).run_ids, ElementsAre(id(1), id(3)));
  EXPECT_EQ(value_of(store->resolve_runs("AABB")).label, "commit aabb333");
  EXPECT_THAT(error_of(store->resolve_runs("0000")), HasSubstr("several runs' ids"))
      << "a run id's prefix takes precedence over a commit's";
  EXPECT_THAT(error_of(store->resolve_runs("commit:aa")), HasSubstr("at least four"));
  EXPECT_THAT(error_of(store->resolve_runs("commit:dddd")),
              HasSubstr("no run has a commit that begins with 'dddd'"));
  EXPECT_THAT(error_of(store->resolve_runs("zzzz")), HasSubstr("no run's id begins with 'zzzz'"));
}

TEST_F(Nights, AcknowledgementEndsWhenCaseIsFine) {
  const auto store = open();
  StoredOutcome slow = with_verdict(passing(), Verdict::regressed);
  slow.outcome.timed = true;
  slow.outcome.time_ratio = 6.5;
  slow.outcome.output_digest = std::string(32, 'b');
  store_run(*store, run_info(1), {passing()});
  store_run(*store, run_info(2), {slow});
  const SeriesName series = series_of(slow.outcome, machine_of());
  EXPECT_FALSE(value_of(store->past(series, "", true)).acknowledged);

  EXPECT_THAT(error_of(store->acknowledge(id(1), "*", "ada", "why", "")),
              AllOf(HasSubstr("no regression or failure"), HasSubstr("plumbline show")));
  EXPECT_EQ(value_of(store->acknowledge(id(2), "cpu/*", "ada", "driver 600", "2027-02-01")), 1);
  Past past = value_of(store->past(series, "", true));
  ASSERT_TRUE(past.acknowledged);
  EXPECT_EQ(past.acknowledged->who, "ada");
  EXPECT_EQ(past.acknowledged->why, "driver 600");
  EXPECT_EQ(past.acknowledged->until, "2027-02-01");
  EXPECT_EQ(past.acknowledged->time_ratio, 6.5);
  EXPECT_EQ(past.acknowledged->rms, 0.8);
  EXPECT_EQ(past.acknowledged->output_digest, std::string(32, 'b'));
  ASSERT_TRUE(past.baseline);
  EXPECT_EQ(past.baseline->run_id, id(1)) << "an acknowledged run is no baseline";
  EXPECT_FALSE(value_of(store->past(series, id(2), true)).acknowledged)
      << "run 2's past does not hold its own acknowledgement";

  store_run(*store, run_info(3), {with_verdict(slow, Verdict::acknowledged)});
  past = value_of(store->past(series, "", true));
  EXPECT_TRUE(past.acknowledged);
  EXPECT_EQ(past.baseline->run_id, id(1));
  EXPECT_EQ(value_of(store->acknowledge(id(3), "*", "bob", "longer", "")), 1) << "and again";
  EXPECT_EQ(value_of(store->past(series, "", true)).acknowledged->who, "bob");
  EXPECT_EQ(value_of(store->pasts({{series, true}, {series, false}}, "")).at(1).acknowledged->who,
            "bob");

  store_run(*store, run_info(4), {passing()});
  EXPECT_FALSE(value_of(store->past(series, "", true)).acknowledged) << "run 4 passed";
  EXPECT_EQ(raw_sql(path_,
                    "SELECT acknowledged_by, until, case_id FROM v_acknowledged ORDER BY "
                    "acknowledged_at, acknowledged_by")
                .size(),
            2U);
}

}  // namespace
}  // namespace plumbline
