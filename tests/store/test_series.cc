// Finds the past outcome that a case is compared with: by machine, version, time and decisions.
#include <gtest/gtest-spi.h>

#include "harness/reference/version.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Series : public StoreTest {
 protected:
  // Stores run `number` with this one outcome.
  void add_run(int number, const StoredOutcome& outcome, const std::string& model = "EPYC") {
    store_run(*store_, run_info(number, model), {outcome});
  }
  // Returns the run of the baseline before `before`; "" if none.
  std::string baseline_run(const std::string& before = "", const std::string& model = "EPYC") {
    const auto baseline = value_of(store_->baseline({case_, machine_of(model)}, before));
    return baseline ? baseline->run_id : "";
  }
  std::string id(int number) { return run_info(number).run_id; }

  std::unique_ptr<Store> store_ = open();
  std::string case_ = passing().outcome.case_id;
};

TEST_F(Series, NoBaselineWithoutPast) {
  EXPECT_EQ(baseline_run(), "");
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios, IsEmpty());
}

TEST_F(Series, BaselineIsLastPassingOutcome) {
  add_run(1, passing());
  StoredOutcome second = with_verdict(passing(), Verdict::changed);
  second.outcome.errors.rms = 0.9;
  second.outcome.output_digest = std::string(32, 'e');
  second.outcome.description.build_id = "build-2";
  add_run(2, second);

  const auto baseline = value_of(store_->baseline({case_, machine_of()}, ""));
  ASSERT_TRUE(baseline);
  const auto& [run_id, verdict, digest, build_id, rms, elements, deterministic, run_order, timed,
               driver, runtime, spec, terms, judged] = *baseline;
  EXPECT_EQ(run_id, id(2));
  EXPECT_EQ(verdict, "changed");
  EXPECT_EQ(digest, std::string(32, 'e'));
  EXPECT_EQ(build_id, "build-2");
  EXPECT_EQ(rms, 0.9);
  EXPECT_EQ(elements, 32768);
  EXPECT_TRUE(deterministic);
}

TEST_F(Series, BaselineHasRowOutputLimits) {
  StoredOutcome outcome = passing();
  outcome.judgement.terms = ContractSnapshot{};
  outcome.judgement.terms->limits.max_logit = 7;
  const auto baseline_with = [&](int number, bool has_max_logit) {
    outcome.outcome.errors.has_max_logit = has_max_logit;
    add_run(number, outcome);
    return value_of(store_->baseline({case_, machine_of()}, "")).value();
  };
  const Baseline with = baseline_with(1, true);
  EXPECT_TRUE(with.judged[RowOutput::max_logit]);
  EXPECT_EQ(with.judged[RowOutput::lse], outcome.outcome.errors.has_lse);
  EXPECT_EQ(with.terms.value().limits.max_logit, 7);
  const Baseline without = baseline_with(2, false);
  EXPECT_FALSE(without.judged[RowOutput::max_logit]);
  EXPECT_EQ(without.terms.value().limits.max_logit, HUGE_VAL) << "no limit is looser than none";
}

TEST_F(Series, RejudgingStoresRowOutputLimit) {
  StoredOutcome outcome = passing();
  outcome.outcome.errors.has_max_logit = true;
  outcome.judgement.terms = ContractSnapshot{};
  add_run(1, outcome);
  outcome.judgement.terms->limits.max_logit = 7;
  ASSERT_TRUE(store_->update_judgements(
      {{id(1), outcome.outcome.suite, outcome.outcome.case_id, &outcome.judgement}}));
  EXPECT_EQ(raw_sql(path_, "SELECT limit_value FROM outcome_output")[0][0], "7.0");
  const auto stored = value_of(store_->outcomes(id(1)));
  EXPECT_EQ(stored.at(0).judgement.terms.value().limits.max_logit, 7);
}

// The past excludes outcomes with other provider options: their bits, times, pins and accepted
// refusals.
TEST_F(Series, ProviderOptionsSeparateSeries) {
  const auto past_with = [&](const std::string& options) {
    return value_of(store_->pasts({{{case_, machine_of(), options}, true}}, "")).at(0);
  };
  StoredOutcome tiled = with_verdict(passing(), Verdict::first_seen);
  tiled.outcome.provider_options = "tile_kv=24";
  tiled.outcome.time_ratio = 9;
  add_run(1, passing());
  add_run(2, tiled);
  EXPECT_EQ(past_with("").baseline->run_id, id(1));
  EXPECT_THAT(past_with("").times.ratios, ElementsAre(2));
  EXPECT_EQ(past_with("tile_kv=24").baseline->run_id, id(2));
  EXPECT_THAT(past_with("tile_kv=24").times.ratios, ElementsAre(9));
  EXPECT_FALSE(past_with("tile_kv=32").baseline);
  EXPECT_THAT(raw_sql(path_, "SELECT accepted FROM v_history ORDER BY run_order"),
              ElementsAre(ElementsAre("1"), ElementsAre("1")))
      << "the past of the second is not that of the first";
  EXPECT_THAT(raw_sql(path_, "SELECT provider_options FROM v_latest ORDER BY 1"),
              ElementsAre(ElementsAre(""), ElementsAre("tile_kv=24")));

  EXPECT_EQ(value_of(store_->pin(id(2), "*", "Ada", "tiles of 24")), 1);
  EXPECT_FALSE(past_with("").pin);
  EXPECT_EQ(past_with("tile_kv=24").pin->outcome.run_id, id(2));

  StoredOutcome refused =
      not_run(Status::unsupported, Verdict::unsupported, "no bf16", "bf16/b1-h4-s128-d64");
  refused.outcome.provider_options = "tile_kv=24";
  add_run(3, refused);
  value_of(store_->set_changes(
      id(3), {{"smoke", case_, {ChangeKind::refused, 0, 0, "is refused", Standing::failure}}}));
  EXPECT_EQ(value_of(store_->accept(id(3), "*", "Ada", "no more bf16")).refused, 1);
  EXPECT_TRUE(past_with("tile_kv=24").refusal_accepted);
  EXPECT_FALSE(past_with("").refusal_accepted);

  StoredOutcome failed = with_verdict(passing(), Verdict::fail);
  failed.outcome.provider_options = "tile_kv=32";
  add_run(4, failed);
  EXPECT_THAT(raw_sql(path_, "SELECT provider_options, previous_run_id FROM v_regressions"),
              ElementsAre(ElementsAre("tile_kv=32", "NULL")));
}

TEST_F(Series, DeterministicIfPromisedAndConfirmed) {
  const auto deterministic = [&] {
    return value_of(store_->baseline({case_, machine_of()}, ""))->deterministic;
  };
  StoredOutcome outcome = passing();
  outcome.outcome.description.promises.run_to_run = Promise::rounding;
  add_run(1, outcome);
  EXPECT_FALSE(deterministic()) << "not promised";
  outcome = passing();
  outcome.outcome.repeat_checked = outcome.outcome.repeat_equal = false;
  add_run(2, outcome);
  EXPECT_FALSE(deterministic()) << "not confirmed";
  outcome.outcome.repeat_checked = true;
  add_run(3, outcome);
  EXPECT_FALSE(deterministic()) << "refuted";
}

TEST_F(Series, OnlyFineVerdictsBecomeBaselines) {
  int runs = 0;
  for (const Verdict verdict : all<Verdict>()) {
    const bool fine = verdict == Verdict::pass || verdict == Verdict::improved ||
                      verdict == Verdict::first_seen || verdict == Verdict::changed;
    add_run(++runs, with_verdict(passing(), verdict), "machine " + std::string(name(verdict)));
    EXPECT_EQ(!baseline_run("", "machine " + std::string(name(verdict))).empty(), fine)
        << name(verdict);
  }
}

TEST_F(Series, BaselineSkipsFailures) {
  add_run(1, passing());
  add_run(2, with_verdict(passing(), Verdict::regressed));
  add_run(3, not_run(Status::crashed, Verdict::crashed, "signal 11", "bf16/b1-h4-s128-d64"));
  EXPECT_EQ(baseline_run(), id(1));
}

TEST_F(Series, BaselineSkipsUnfinishedRuns) {
  add_run(1, passing());
  value_of(store_->begin_run(run_info(2)));
  value_of(store_->add(id(2), passing()));
  value_of(store_->flush());
  EXPECT_EQ(baseline_run(), id(1));
  value_of(store_->finish_run(id(2), 0, true));
  EXPECT_EQ(baseline_run(), id(2));
}

TEST_F(Series, BaselineIsEarlierInTime) {
  for (int number : {3, 1, 5, 2}) add_run(number, passing());
  EXPECT_EQ(baseline_run(), id(5));
  EXPECT_EQ(baseline_run(id(5)), id(3));
  EXPECT_EQ(baseline_run(id(3)), id(2));
  EXPECT_EQ(baseline_run(id(1)), "");
}

TEST_F(Series, MachineCaseAndVersionSeparateSeries) {
  add_run(1, passing(), "Xeon");
  add_run(2, passing("fp16/b1-h4-s128-d64"));
  EXPECT_EQ(baseline_run(), "");
  add_run(3, passing());
  EXPECT_EQ(baseline_run(), id(3));
  for (const char* version : {"judge_version", "reference_version", "inputs_version"}) {
    raw_sql(path_, std::string("UPDATE outcome SET ") + version + " = " + version + " + 1");
    EXPECT_EQ(baseline_run(), "") << version;
    EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios, IsEmpty())
        << version;
    raw_sql(path_, std::string("UPDATE outcome SET ") + version + " = " + version + " - 1");
  }
  EXPECT_EQ(baseline_run(), id(3));
}

TEST_F(Series, AcceptedFailureIsBaseline) {
  add_run(1, passing());
  add_run(2, with_verdict(passing(), Verdict::regressed));
  add_run(3, with_verdict(passing(), Verdict::regressed));
  value_of(store_->accept(id(2), "cpu/flash/bf16/*", "Ada", "new tiling, reviewed in change 42"));
  EXPECT_EQ(baseline_run(), id(2)) << "run 3 was not accepted";
  EXPECT_EQ(baseline_run(id(2)), id(1)) << "what came before stays compared as it was";
  EXPECT_THAT(
      raw_sql(path_, "SELECT run_id, case_glob, accepted_by, reason, case_id FROM v_accepted"),
      ElementsAre(ElementsAre(id(2), "cpu/flash/bf16/*", "Ada", "new tiling, reviewed in change 42",
                              case_)));
  add_run(4, passing());
  EXPECT_EQ(baseline_run(), id(4));
}

TEST_F(Series, AcceptAppliesToGlobMatches) {
  const StoredOutcome bf16 = with_verdict(passing(), Verdict::fail),
                      fp16 = with_verdict(passing("fp16/b1-h4-s128-d64"), Verdict::fail);
  store_run(*store_, run_info(1), {bf16, fp16});
  value_of(store_->accept(id(1), "*/fp16/*", "Ada", "known"));
  EXPECT_EQ(baseline_run(), "");
  EXPECT_TRUE(value_of(store_->baseline({fp16.outcome.case_id, machine_of()}, "")).has_value());
}

TEST_F(Series, AcceptNeedsMatchNameAndReason) {
  store_run(*store_, run_info(1),
            {with_verdict(passing(), Verdict::fail),
             not_run(Status::crashed, Verdict::crashed, "signal 11")});
  EXPECT_THAT(error_of(store_->accept(id(1), "gpu/*", "Ada", "why")),
              HasSubstr("no outcome with a result whose case 'gpu/*' matches"));
  EXPECT_THAT(error_of(store_->accept(id(1), "*/fp32/*", "Ada", "why")), HasSubstr("status ok"))
      << "a crash has nothing to compare with";
  EXPECT_THAT(error_of(store_->accept(id(1), "*", "", "")),
              testing::AllOf(HasSubstr("name of who accepts is empty"), HasSubstr("reason")));
  EXPECT_THAT(error_of(store_->accept("nobody", "*", "Ada", "why")), HasSubstr("nobody"));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM accept")[0][0], "0");
}

TEST_F(Series, AcceptsAreAppendOnly) {
  add_run(1, with_verdict(passing(), Verdict::fail));
  value_of(store_->accept(id(1), "*", "Ada", "first"));
  value_of(store_->accept(id(1), "*", "Grace", "second thoughts"));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM accept")[0][0], "2");
  for (const char* change :
       {"UPDATE accept SET accepted_by = 'x'", "DELETE FROM accept", "DELETE FROM accepted_case",
        "UPDATE accepted_case SET run_id = 'x'"}) {
    EXPECT_NONFATAL_FAILURE(raw_sql(path_, change), "append-only");
  }
}

TEST_F(Series, TimeHistoryHasNewestSixty) {
  for (int i = 1; i <= 65; ++i) {
    StoredOutcome outcome = passing();
    outcome.outcome.time_ratio = i;
    if (i == 63) outcome.outcome.times.fresh_ratios = {63.5, 64.5};
    if (i == 64) outcome.judgement.verdict = Verdict::regressed;
    if (i == 62) outcome.outcome.timed = false;
    add_run(i, outcome);
  }
  const auto [ratios, run_orders, fresh, starts_level] =
      value_of(store_->time_history({case_, machine_of()}, ""));
  ASSERT_THAT(ratios, SizeIs(60));
  EXPECT_EQ(ratios[0], 65);
  EXPECT_EQ(ratios[1], 63);
  EXPECT_EQ(ratios[59], 4);
  EXPECT_THAT(fresh.at(1), ElementsAre(63.5, 64.5));
  EXPECT_THAT(fresh.at(0), IsEmpty());
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, id(4))).ratios,
              ElementsAre(3, 2, 1));
}

TEST_F(Series, CaseInTwoSuitesCountsOnce) {
  StoredOutcome smoke = passing(), pr = passing();
  smoke.outcome.time_ratio = 2;
  pr.outcome.suite = "pr";
  pr.outcome.time_ratio = 3;
  store_run(*store_, run_info(1), {smoke, pr});
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios, ElementsAre(3));
}

// A shard whose database had no past stored it as first_seen. It is not a baseline until it has
// been judged against the past in this database.
TEST_F(Series, FirstSeenWithPastNotBaseline) {
  add_run(1, with_verdict(passing(), Verdict::first_seen));
  add_run(2, passing());
  add_run(3, with_verdict(passing(), Verdict::first_seen));
  EXPECT_EQ(baseline_run(), id(2));
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios, SizeIs(2));
  EXPECT_THAT(raw_sql(path_, "SELECT accepted FROM v_history ORDER BY run_order"),
              ElementsAre(ElementsAre("1"), ElementsAre("1"), ElementsAre("0")));
  value_of(store_->update_judgement(id(3), "smoke", case_, passing().judgement));
  EXPECT_EQ(baseline_run(), id(3)) << "judged";
}

TEST_F(Series, NewestPinApplies) {
  const auto past = [&](const std::string& before) {
    return value_of(store_->past({case_, machine_of()}, before, true));
  };
  for (int i = 1; i <= 8; ++i) {
    StoredOutcome outcome = passing();
    outcome.outcome.time_ratio = i;
    add_run(i, i == 8 ? with_verdict(outcome, Verdict::regressed) : outcome);
  }
  EXPECT_FALSE(past("").pin);
  EXPECT_EQ(value_of(store_->pin(id(6), "cpu/flash/bf16/*", "Ada", "release 1")), 1);
  ASSERT_TRUE(past("").pin);
  EXPECT_EQ(past("").pin->outcome.run_id, id(6));
  EXPECT_THAT(past("").pin->times.ratios, ElementsAre(6, 5, 4, 3, 2));
  EXPECT_FALSE(past(id(6)).pin) << "what came before is not measured against what came later";
  EXPECT_EQ(past("").baseline->run_id, id(7));
  EXPECT_EQ(past("").times.ratios.front(), 7);
  EXPECT_THAT(error_of(store_->pin(id(8), "*", "Ada", "x")), HasSubstr("may serve as a baseline"))
      << "a failure is accepted first";
  EXPECT_THAT(error_of(store_->pin(id(6), "*", "", "")),
              testing::AllOf(HasSubstr("name of who pins"), HasSubstr("reason for pinning")));
  value_of(store_->pin(id(2), "*", "Grace", "release 0 was right"));
  EXPECT_EQ(past("").pin->outcome.run_id, id(2)) << "pinned last";
  for (const char* change : {"UPDATE pin SET pinned_by = 'x'", "DELETE FROM pin",
                             "DELETE FROM pinned_case", "UPDATE pinned_case SET run_id = 'x'"})
    EXPECT_NONFATAL_FAILURE(raw_sql(path_, change), "append-only");
}

TEST_F(Series, AcceptedFailureStartsLevel) {
  for (int i = 1; i <= 4; ++i) {
    StoredOutcome outcome = passing();
    outcome.outcome.time_ratio = i;
    add_run(i, i == 3 ? with_verdict(outcome, Verdict::regressed) : outcome);
  }
  value_of(store_->accept(id(2), "*", "Ada", "it was fine anyway"));
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios,
              ElementsAre(4, 2, 1));
  value_of(store_->accept(id(3), "*", "Ada", "slower, and right"));
  const auto history = value_of(store_->time_history({case_, machine_of()}, ""));
  EXPECT_THAT(history.ratios, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(history.starts_level, ElementsAre(false, true, false, false));
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, id(3))).ratios,
              ElementsAre(2, 1));
}

// Shards of another partition, and unsharded runs, are compared with the complete shard set of the
// earlier night.
TEST_F(Series, ExpectedCasesOfShardSet) {
  const StoredOutcome bf16 = passing(), fp16 = passing("fp16/b1-h4-s128-d64");
  const auto shard_of_night = [](int number, const char* shard, const char* partition) {
    RunInfo run = run_info(number);
    run.shard = shard;
    run.night_id = std::string("night of ") + partition;
    run.versions_json = std::string(R"({"shard": {"partition": ")") + partition + R"("}})";
    return run;
  };
  store_run(*store_, shard_of_night(1, "1/2", "a"), {bf16});
  const auto expected = [&](const RunInfo& run, const std::vector<std::string>& with) {
    return value_of(store_->expected_cases(run, {"smoke"}, with)).size();
  };
  EXPECT_EQ(expected(run_info(3), {}), 0U) << "the other shard of that night is missing";
  store_run(*store_, shard_of_night(2, "2/2", "a"), {fp16});
  EXPECT_EQ(expected(run_info(3), {}), 2U);
  const RunInfo third = shard_of_night(3, "1/3", "b");
  store_run(*store_, third, {bf16});
  EXPECT_EQ(expected(third, {id(3), id(4), id(5)}), 2U) << "divided otherwise";
}

TEST_F(Series, ExpectedCasesOfCompleteRun) {
  const StoredOutcome bf16 = passing(), fp16 = passing("fp16/b1-h4-s128-d64");
  const auto expected = [&](const RunInfo& run) {
    std::vector<std::string> cases;
    for (const auto& [suite, id] : value_of(store_->expected_cases(run, {"smoke"})))
      cases.push_back(id);
    return cases;
  };
  EXPECT_THAT(expected(run_info(1)), IsEmpty());
  store_run(*store_, run_info(1), {bf16, fp16});
  EXPECT_THAT(expected(run_info(2)),
              testing::UnorderedElementsAre(bf16.outcome.case_id, fp16.outcome.case_id));
  EXPECT_THAT(expected(run_info(2, "Xeon")), IsEmpty());
  RunInfo other = run_info(2);
  other.selection = "tier=pr";
  EXPECT_THAT(expected(other), IsEmpty());

  const Change gone{ChangeKind::vanished, 0, 0, "is gone", Standing::failure};
  store_run(*store_, run_info(2), {bf16});
  value_of(store_->set_changes(id(2), {{"smoke", fp16.outcome.case_id, gone}}));
  EXPECT_THAT(expected(run_info(3)),
              testing::UnorderedElementsAre(bf16.outcome.case_id, fp16.outcome.case_id))
      << "still missed";
  const auto changes = value_of(store_->changes(id(2)));
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].change.kind, ChangeKind::vanished);
  EXPECT_EQ(changes[0].change.standing, Standing::failure);
  EXPECT_EQ(value_of(store_->accept(id(2), "*fp16*", "Ada", "bf16 is enough")).vanished, 1);
  EXPECT_THAT(expected(run_info(3)), ElementsAre(bf16.outcome.case_id));
  EXPECT_THAT(raw_sql(path_, "SELECT kind, accepted FROM v_changes"),
              ElementsAre(ElementsAre("vanished", "1")));
}

// Later runs know of the accepted refusal, and so does the run itself when it is judged again.
TEST_F(Series, AcceptedRefusalIsKnown) {
  add_run(1, passing());
  StoredOutcome refused =
      not_run(Status::unsupported, Verdict::unsupported, "no bf16", "bf16/b1-h4-s128-d64");
  add_run(2, refused);
  value_of(store_->set_changes(
      id(2), {{"smoke", case_, {ChangeKind::refused, 0, 0, "is refused", Standing::failure}}}));
  const auto accepted = [&](const std::string& run) {
    return value_of(store_->pasts({{{case_, machine_of()}, false}}, run)).at(0).refusal_accepted;
  };
  EXPECT_FALSE(accepted(""));
  EXPECT_EQ(value_of(store_->accept(id(2), "*", "Ada", "no more bf16")).refused, 1);
  EXPECT_TRUE(accepted(""));
  EXPECT_TRUE(accepted(id(2)));
  add_run(3, passing());
  EXPECT_FALSE(accepted("")) << "it has a result again";
}

TEST_F(Series, ExcludedTimesDoNotCount) {
  for (int i = 1; i <= 3; ++i) {
    StoredOutcome outcome = passing();
    outcome.outcome.time_ratio = i;
    outcome.judgement.gated_time = GatedTime{};
    outcome.judgement.gated_time->finding = i == 2 ? "set aside" : "quiet";
    add_run(i, outcome);
  }
  EXPECT_THAT(value_of(store_->time_history({case_, machine_of()}, "")).ratios, ElementsAre(3, 1));
  EXPECT_EQ(baseline_run(id(3)), id(2)) << "its bits still count";
}

// A night looks up every case, so a lookup must not read the whole past.
TEST_F(Series, LookupsUseIndexes) {
  add_run(1, passing());
  for (const char* more : {"", " AND o.timed"}) {
    const auto plan = raw_sql(
        path_, std::string("EXPLAIN QUERY PLAN SELECT o.time_ratio FROM outcome AS o WHERE "
                           "o.series_key = x'00' AND o.machine_key = x'00' AND o.provider_options "
                           "= '' AND o.run_order < '~'") +
                   more + " ORDER BY o.run_order DESC, o.suite LIMIT 1");
    ASSERT_THAT(plan, SizeIs(1)) << "no sorting";
    EXPECT_THAT(plan[0][3], testing::StartsWith(*more == 0 ? "SEARCH" : "SEARCH o USING COVERING"));
  }
}

}  // namespace
}  // namespace plumbline
