// Timed cases are measured in interleaved rounds, each in a fresh process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/base/median.h"
#include "harness/contract/contract.h"
#include "harness/judge/judge.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/outcome/invariance_outcome.h"
#include "harness/outcome/outcome.h"
#include "harness/run/runner.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

PlannedCase timed(const std::string& kernel, std::int64_t seq) {
  PlannedCase planned;
  planned.suite = "s";
  planned.group = "g";
  planned.c.kernel = "timing/" + kernel;
  planned.c.problem.dtype = DType::f32;
  planned.c.problem.seq_q = planned.c.problem.seq_kv = seq;
  planned.c.problem.head_dim_qk = planned.c.problem.head_dim_vo = 16;
  planned.case_id = case_id(planned.c);
  planned.timed = true;
  return planned;
}

class TimedRounds : public testing::Test {
 protected:
  void SetUp() override {
    runs_ = std::filesystem::temp_directory_path() /
            ("timed_rounds_" + std::to_string(::getpid()) + ".txt");
    std::filesystem::remove(runs_);
    ::setenv("PLUMBLINE_TEST_RUNS", runs_.c_str(), 1);
    options_.providers = {PLUMBLINE_TIMING_PROVIDER};
    options_.worker_executable = PLUMBLINE_WORKER_PATH;
    options_.time_repetitions = 2 * time_rounds_on_cpu;
    auto found = discover(options_);
    ASSERT_TRUE(found) << to_string(found.error());
    providers_ = *found;
  }
  void TearDown() override {
    ::unsetenv("PLUMBLINE_TEST_RUNS");
    std::filesystem::remove(runs_);
  }

  void run(const Plan& plan) {
    runner().run(plan, {[&](Outcome o) { outcomes_.push_back(std::move(o)); },
                        [&](DiffOutcome d) { diffs_.push_back(std::move(d)); },
                        [&] {
                          ++steps_;
                          if (on_step_) on_step_();
                        },
                        [](InvarianceOutcome) {}});
  }
  Runner runner() { return {options_, providers_, contracts_, 1, &stop_}; }

  struct Call {
    int process = 0;
    std::string kernel;
    int seq = 0;
  };
  // Returns the first call of every process; this is the case that the process was started for.
  std::vector<Call> processes() const {
    std::ifstream file(runs_);
    std::vector<Call> calls;
    std::set<int> seen;
    Call call;
    while (file >> call.process >> call.kernel >> call.seq) {
      if (seen.insert(call.process).second) calls.push_back(call);
    }
    return calls;
  }
  std::vector<int> lengths_in_order() const {
    std::vector<int> lengths;
    for (const Call& call : processes()) lengths.push_back(call.seq);
    return lengths;
  }

  std::filesystem::path runs_;
  MeasureOptions options_;
  std::vector<ProviderInfo> providers_;
  Contracts contracts_;
  std::atomic<bool> stop_ = false;
  std::function<void()> on_step_;
  std::vector<Outcome> outcomes_;
  std::vector<DiffOutcome> diffs_;
  int steps_ = 0;
};

TEST_F(TimedRounds, RoundsInterleaveInFreshProcesses) {
  Plan plan;
  plan.cases = {timed("plain", 31), timed("plain", 32), timed("plain", 33)};
  run(plan);
  std::vector<int> order;
  for (int round = 1; round <= time_rounds_on_cpu; ++round) order.insert(order.end(), {31, 32, 33});
  EXPECT_THAT(lengths_in_order(), ElementsAreArray(order));
  EXPECT_EQ(steps_, 3 * time_rounds_on_cpu);
  ASSERT_THAT(outcomes_, SizeIs(3));
  for (const Outcome& outcome : outcomes_) {
    ASSERT_EQ(outcome.status, Status::ok) << outcome.reason;
    EXPECT_TRUE(outcome.timed);
    EXPECT_GT(outcome.errors.elements, 0) << "the output is judged, too";
    ASSERT_THAT(outcome.times.rounds, SizeIs(time_rounds_on_cpu));
    std::vector<double> all, quiet;
    for (const TimeRound& round : outcome.times.rounds) {
      for (const auto& samples :
           {round.kernel_ns, round.sentinel_ns, round.kernel_cpu_ns, round.sentinel_cpu_ns})
        EXPECT_THAT(samples, AllOf(SizeIs(2), Each(Gt(0)))) << "14 repetitions in 7 rounds";
      EXPECT_THAT(round.hot_ns, IsEmpty());
      EXPECT_GT(round.plan_ns, 0);
      all.push_back(round.ratio);
      if (round.quiet > 0) quiet.push_back(round.ratio);
    }
    if (quiet.empty()) {
      EXPECT_EQ(outcome.time_ratio, median(all));
    } else {  // pace over all rounds
      EXPECT_GE(outcome.time_ratio,
                *std::min_element(quiet.begin(), quiet.end()) / max_sentinel_slowdown);
      EXPECT_LE(outcome.time_ratio,
                *std::max_element(quiet.begin(), quiet.end()) * max_sentinel_slowdown);
    }
    EXPECT_GT(outcome.time_ratio, 0);
  }
}

TEST_F(TimedRounds, DiffSidesAreTimedAsCases) {
  PlannedDiff diff;
  diff.suite = "s";
  diff.name = "two_lengths";
  diff.expect = DiffExpect::report;
  diff.a = timed("plain", 32);
  diff.b = timed("sleeps", 32);
  Plan plan;
  plan.cases = {timed("plain", 32)};
  plan.diffs = {diff};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(3));
  EXPECT_EQ(outcomes_[0].case_id, outcomes_[1].case_id);
  EXPECT_EQ(outcomes_[0].times, outcomes_[1].times) << "the same case is timed once";
  ASSERT_THAT(outcomes_[2].times.rounds, SizeIs(time_rounds_on_cpu));
  ASSERT_THAT(diffs_, SizeIs(1));
  EXPECT_EQ(diffs_[0].time_ns_a, outcomes_[1].time_ns);
  EXPECT_EQ(diffs_[0].time_ns_b, outcomes_[2].time_ns);
  EXPECT_GT(diffs_[0].time_ns_b, 5e6);
}

TEST_F(TimedRounds, ProcessorTimeExcludesSleep) {
  Plan plan;
  plan.cases = {timed("plain", 16), timed("sleeps", 16)};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(2));
  EXPECT_GE(outcomes_[1].time_ns, 5e6) << "5 ms on the wall";
  EXPECT_LT(outcomes_[1].times.cpu_ns, 0.5 * outcomes_[1].time_ns);
  EXPECT_LT(outcomes_[1].time_ratio,
            0.5 * outcomes_[1].time_ns / std::max(outcomes_[1].times.sentinel_ns, 1.0))
      << "processor time gates, not the wall";
}

TEST_F(TimedRounds, CachedResultIsFasterThanPhysics) {
  Plan plan;
  plan.cases = {timed("plain", 192), timed("remembers", 192)};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(2));
  for (const Outcome& outcome : outcomes_) {
    ASSERT_EQ(outcome.status, Status::ok) << outcome.reason;
    const Judgement judgement = judge({.outcome = &outcome, .contracts = &contracts_});
    EXPECT_GT(outcome.times.flops_per_second, 0);
    EXPECT_GT(outcome.times.bytes_per_second, 0);
    EXPECT_GT(outcome.times.bytes_share, 0);
    const auto found =
        std::count_if(judgement.findings.begin(), judgement.findings.end(),
                      [](const Finding& f) { return f.kind == FindingKind::physics; });
    if (outcome.c.kernel == "timing/plain") {
      EXPECT_GT(outcome.times.flops_share, 0);
      EXPECT_LT(outcome.times.flops_share, 1);
      EXPECT_EQ(found, 0);
    } else {
      EXPECT_GT(outcome.times.physics, max_physics);
      EXPECT_EQ(found, 1);
      EXPECT_EQ(judgement.verdict, Verdict::mistrusted) << "its output is right";
    }
  }
}

TEST_F(TimedRounds, NanInTimedCallFails) {
  Plan plan;
  plan.cases = {timed("decays", 16)};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(1));
  const Outcome& outcome = outcomes_.front();
  EXPECT_EQ(outcome.faults.nan, 1);
  EXPECT_THAT(outcome.cause, StartsWith("the last timed call gave nan where the first gave "));
  EXPECT_EQ(judge({.outcome = &outcome, .contracts = &contracts_}).verdict, Verdict::fail);
}

TEST_F(TimedRounds, BrokenBitPromiseInTimedCallFails) {
  Plan plan;
  plan.cases = {timed("drifts", 16)};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(1));
  const Outcome& outcome = outcomes_.front();
  EXPECT_EQ(outcome.faults.total(), 0);
  EXPECT_FALSE(outcome.repeat_equal);
  const Judgement judgement = judge({.outcome = &outcome, .contracts = &contracts_});
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_THAT(judgement.findings[0].text, StartsWith("the last timed call gave "));
}

TEST_F(TimedRounds, StoppedPlanDropsUnfinishedCases) {
  Plan plan;
  plan.cases = {timed("plain", 31), timed("plain", 32)};
  on_step_ = [&] { stop_ = steps_ == 3; };
  run(plan);
  EXPECT_THAT(outcomes_, IsEmpty());
  EXPECT_THAT(lengths_in_order(), ElementsAre(31, 32, 31));
}

TEST_F(TimedRounds, FailedCaseIsReportedAtOnce) {
  Plan plan;
  plan.cases = {timed("plain", 31), timed("absent", 32)};
  run(plan);
  ASSERT_THAT(outcomes_, SizeIs(2));
  EXPECT_EQ(outcomes_[0].status, Status::error);
  EXPECT_EQ(outcomes_[1].status, Status::ok);
  EXPECT_EQ(steps_, 2 * time_rounds_on_cpu);
}

TEST_F(TimedRounds, SecondMeasurementUsesAllRounds) {
  const PlannedCase plain = timed("plain", 64);
  const double ratio = runner().time_fresh({&plain}).front().time_ratio;
  EXPECT_GT(ratio, 0);
  EXPECT_THAT(processes(), SizeIs(time_rounds_on_cpu));
  const Outcome again = runner().run_fresh(timed("plain", 64));
  ASSERT_EQ(again.status, Status::ok) << again.reason;
  EXPECT_THAT(again.times.rounds, SizeIs(time_rounds_on_cpu));
  EXPECT_LT(std::max(ratio, again.time_ratio) / std::min(ratio, again.time_ratio), 20);
}

TEST_F(TimedRounds, SecondMeasurementsInterleave) {
  const PlannedCase first = timed("plain", 31), second = timed("plain", 32),
                    absent = timed("absent", 33);
  std::vector<std::size_t> told;
  const auto outcomes =
      runner().time_fresh({&first, &absent, &second, &first},
                          [&](std::size_t done, std::size_t rounds, const PlannedCase&) {
                            told.push_back(done);
                            EXPECT_EQ(rounds, 4 * time_rounds_on_cpu);
                          });
  std::vector<int> order;
  for (int round = 1; round <= time_rounds_on_cpu; ++round) order.insert(order.end(), {31, 32, 31});
  EXPECT_THAT(lengths_in_order(), ElementsAreArray(order));
  EXPECT_THAT(told, SizeIs(3 * time_rounds_on_cpu + 1)) << "what failed is asked no more";
  ASSERT_THAT(outcomes, SizeIs(4));
  EXPECT_EQ(outcomes[1].status, Status::error);
  EXPECT_EQ(outcomes[1].time_ratio, 0);
  for (const std::size_t i : {0U, 2U, 3U}) {
    EXPECT_EQ(outcomes[i].status, Status::ok) << outcomes[i].reason;
    EXPECT_GT(outcomes[i].time_ratio, 0);
    EXPECT_THAT(outcomes[i].times.rounds, SizeIs(time_rounds_on_cpu));
  }
}

TEST_F(TimedRounds, StoppedSecondMeasurementsAreErrors) {
  const PlannedCase plain = timed("plain", 31);
  const auto outcomes = runner().time_fresh(
      {&plain, &plain},
      [&](std::size_t done, std::size_t, const PlannedCase&) { stop_ = done == 2; });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, Status::error);
    EXPECT_EQ(outcome.reason, "stopped");
    EXPECT_EQ(outcome.time_ratio, 0);
  }
}

}  // namespace
}  // namespace plumbline
