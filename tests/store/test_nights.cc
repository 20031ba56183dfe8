// Nights in the database: events, runs, night times, and the time history of a series.
#include "harness/store/night.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Nights : public StoreTest {
 protected:
  static StoredOutcome timed(double ratio, Verdict verdict = Verdict::pass) {
    StoredOutcome stored = with_verdict(passing(), verdict);
    stored.outcome.timed = true;
    stored.outcome.time_ns = 1e6;
    stored.outcome.time_ratio = ratio;
    stored.judgement.gated_time = GatedTime{"quiet", 1, 1, 0, 0, 0, 0, 0};
    return stored;
  }
  RunInfo of_night(int number, const std::string& night) {
    RunInfo run = run_info(number);
    run.night_id = night;
    return run;
  }
  TimeHistory times(Store& store) {
    const SeriesName series{passing().outcome.case_id, machine_of()};
    return value_of(store.time_history(series, ""));
  }
};

TEST_F(Nights, HaveEventsAndRuns) {
  const auto store = open();
  EXPECT_THAT(value_of(store->nights(0)), IsEmpty());
  value_of(store->add(NightEvent{"n1", NightEventKind::opened, "2026-01-31T00:00:00Z", "me", ""}));
  store_run(*store, of_night(1, "n1"), {passing()});
  store_run(*store, of_night(2, "n2"), {passing()});
  store_run(*store, of_night(3, "n2"), {passing()});
  store_run(*store, run_info(4), {passing()});
  EXPECT_THAT(value_of(store->nights(0)), ElementsAre("n2", "n1"));
  EXPECT_THAT(value_of(store->nights(1)), ElementsAre("n2"));
  EXPECT_EQ(value_of(store->resolve_night("latest~1")), "n1");
  EXPECT_EQ(value_of(store->night("n2")).runs.size(), 2U);
  const NightEvent closed{"n1", NightEventKind::closed, "2026-02-01T00:00:00Z", "me", "code 0"};
  value_of(store->add(closed));
  value_of(store->add(closed));  // equal events are stored once
  const StoredNight night = value_of(store->night("n1"));
  ASSERT_EQ(night.events.size(), 2U);
  EXPECT_EQ(night.events[1], closed);
  for (const char* unknown : {"n3", "latest~2", "latest~x"}) {
    const auto refused = store->resolve_night(unknown);
    ASSERT_FALSE(refused) << unknown;
    EXPECT_THAT(to_string(refused.error()), HasSubstr("plumbline night list"));
  }
  EXPECT_FALSE(store->add(NightEvent{"", NightEventKind::opened, "", "", ""}));
  EXPECT_EQ(raw_sql(path_, "SELECT night_id, runs, failing_runs FROM v_nights ORDER BY night_id"),
            (std::vector<std::vector<std::string>>{{"n1", "1", "0"}, {"n2", "2", "0"}}));
}

TEST_F(Nights, NightTimesOfRunAreReplaced) {
  const auto store = open();
  store_run(*store, of_night(1, "n1"), {passing()});
  const NightTimes row{machine_of(), 37, 0.02, 1.5, true, "all moved", 3, 2, 1, 0.01, 4, 1, 0.5};
  NightTimes first;
  first.machine = machine_of();
  value_of(store->set_night_times(run_info(1).run_id, {first}));
  value_of(store->set_night_times(run_info(1).run_id, {row}));
  EXPECT_THAT(value_of(store->night_times(run_info(1).run_id)), ElementsAre(row));
}

// The history omits excluded times and has ambiguous ones. An accepted failure starts a level.
TEST_F(Nights, TimeHistoryOmitsExcludedTimes) {
  const auto store = open();
  store_run(*store, run_info(1), {timed(1)});
  StoredOutcome aside = timed(9);
  aside.judgement.gated_time->finding = "set aside";
  store_run(*store, run_info(2), {aside});
  StoredOutcome ambiguous = timed(2, Verdict::ambiguous);
  ambiguous.outcome.times.fresh_ratios = {1.5, 2.5};
  store_run(*store, run_info(3), {ambiguous});
  store_run(*store, run_info(4), {timed(3, Verdict::regressed)});
  store_run(*store, run_info(5), {timed(4, Verdict::unconfirmed)});
  StoredOutcome faster = timed(0.5, Verdict::improved);
  faster.judgement.gated_time->finding = "faster";
  faster.judgement.confirmation = Confirmation::confirmed;
  store_run(*store, run_info(6), {faster});
  TimeHistory history = times(*store);
  EXPECT_THAT(history.ratios, ElementsAre(0.5, 2, 1));
  EXPECT_THAT(history.fresh, ElementsAre(IsEmpty(), ElementsAre(1.5, 2.5), IsEmpty()));
  EXPECT_THAT(history.starts_level, ElementsAre(true, false, false));
  value_of(store->accept(run_info(4).run_id, "*", "me", "slower, and right"));
  history = times(*store);
  EXPECT_THAT(history.ratios, ElementsAre(0.5, 3, 2, 1));
  EXPECT_THAT(history.starts_level, ElementsAre(true, true, false, false));
}

TEST_F(Nights, SecondRatiosOfMachineClass) {
  const auto store = open();
  StoredOutcome twice = timed(2);
  twice.outcome.times.second_ratio = 2.5;
  store_run(*store, of_night(1, "n1"), {twice});
  EXPECT_THAT(value_of(store->second_ratios(machine_of())), ElementsAre(1.25));
  EXPECT_THAT(value_of(store->second_ratios(machine_of("Xeon"))), IsEmpty());
}

}  // namespace
}  // namespace plumbline
