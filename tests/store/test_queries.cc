// The queries of commands return the right rows, and treat user text as data.
#include "harness/base/enumeration.h"
#include "harness/store/queries/case_history.h"
#include "harness/store/queries/nights.h"
#include "harness/store/queries/rows.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Queries : public StoreTest {};

TEST_F(Queries, HistoryColumnsMatchEnum) {
  const auto store = open();
  const auto table = value_of(history_of_series(*store, "x", {"", ""}, 1));
  std::vector<std::string> names;
  for (const HistoryColumn column : all<HistoryColumn>()) names.emplace_back(name(column));
  EXPECT_EQ(table.columns, names);
}

TEST_F(Queries, UserTextIsNeverSql) {
  EXPECT_EQ(sql_literal("it's; DROP TABLE run"), "'it''s; DROP TABLE run'");
  EXPECT_EQ(sql_array({"a'b", "\""}), R"('["a''b","\""]')");
  const auto store = open();
  store_run(*store, run_info(1), {passing()});
  EXPECT_THAT(value_of(case_ids_matching(*store, "' OR 1 = 1; --")), IsEmpty());
  EXPECT_THAT(value_of(nights_of_case(*store, "' OR 1 = 1; --")), IsEmpty());
  EXPECT_THAT(value_of(decisions_about_runs(*store, {"' OR 1 = 1; --"})), IsEmpty());
  EXPECT_THAT(value_of(events_of_nights(*store, {"'"})), IsEmpty());
}

TEST_F(Queries, CaseNightsNewestFirst) {
  const auto store = open();
  StoredOutcome failing = with_verdict(passing(), Verdict::fail);
  failing.outcome.errors.rms = 2.5;
  failing.outcome.timed = false;
  store_run(*store, run_info(1), {passing()});
  store_run(*store, run_info(2), {failing});
  const auto nights = value_of(nights_of_case(*store, passing().outcome.case_id));
  ASSERT_EQ(nights.size(), 2U);
  EXPECT_EQ(nights[0].run_id, run_info(2).run_id);
  EXPECT_TRUE(nights[0].is_failure);
  EXPECT_EQ(nights[0].rms, 2.5);
  EXPECT_FALSE(nights[1].is_failure);
  EXPECT_EQ(nights[0].time_ratio, 0) << "it was not timed";
  EXPECT_EQ(nights[1].time_ratio, passing().outcome.time_ratio);
}

TEST_F(Queries, UnfinishedRunHasNoExitCode) {
  const auto store = open();
  store_run(*store, run_info(1), {passing()});
  RunInfo second = run_info(2);
  value_of(store->begin_run(second));
  value_of(store->add(second.run_id, passing()));
  const auto rows = value_of(verdicts_of_nights(*store, second, 60));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].exit_code, 0);
  EXPECT_EQ(rows[0].verdict, "pass");
  EXPECT_EQ(rows[0].count, 1U);
  EXPECT_EQ(rows[1].run_id, second.run_id);
  EXPECT_EQ(rows[1].exit_code, std::nullopt);
}

TEST_F(Queries, PointsKeepPlaceAndSeries) {
  const auto store = open();
  const StoredOutcome one = passing(), other = passing("bf16/b1-h4-s256-d64");
  store_run(*store, run_info(1), {one, other});
  store_run(*store, run_info(2), {one});
  const auto points = value_of(
      points_since(*store, {{7, run_info(2).run_id, one.outcome.suite, one.outcome.case_id}},
                   run_info(1).run_id));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].place, 7U);
  EXPECT_EQ(points[0].run_id, run_info(1).run_id);
  EXPECT_EQ(points[1].run_id, run_info(2).run_id);
  EXPECT_FALSE(points[1].is_set_aside);
}

TEST_F(Queries, MillisecondsOfNewestRun) {
  const auto store = open();
  StoredOutcome slow = passing();
  slow.outcome.wall_ms = 40;
  store_run(*store, run_info(1), {passing()});
  store_run(*store, run_info(2), {slow});
  EXPECT_THAT(value_of(recorded_milliseconds(*store)),
              ElementsAre(std::pair(passing().outcome.case_id, 40.0)));
}

}  // namespace
}  // namespace plumbline
