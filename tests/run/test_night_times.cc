// Judges the times of a night together: which cases are measured again, and what happens if all
// times shifted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/run/night_times.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Twenty series with twenty undisturbed nights each, and the times of their kernels tonight.
class NightOfTwenty : public testing::Test {
 protected:
  static constexpr int series = 20;

  NightOfTwenty() : stored_(series), pasts_(series), planned_(series) {
    for (int i = 0; i < series; ++i) {
      Outcome& outcome = stored_[i].outcome;
      outcome.status = Status::ok;
      outcome.suite = "s";
      outcome.case_id = planned_[i].case_id = "case " + std::to_string(i);
      outcome.timed = true;
      outcome.time_ratio = usual(i, 0);
      outcome.times.rounds.push_back({});
      outcome.times.rounds.back().load = 0.25;
      stored_[i].judgement.verdict = Verdict::pass;
      for (int night = 1; night <= 20; ++night) {
        pasts_[i].times.ratios.push_back(usual(i, night));
        pasts_[i].times.run_orders.push_back(std::to_string(99 - night));
        pasts_[i].times.fresh.emplace_back();
        pasts_[i].times.starts_level.push_back(false);
      }
      takes_[outcome.case_id] = outcome.time_ratio;
    }
  }

  static double usual(int i, int night) {
    return (1 + i) * (1 + 0.01 * std::sin(2.4 * night + 1.7 * i));
  }

  NightTimes judge(bool can_measure = true) {
    NightTimesInput input;
    for (int i = 0; i < series; ++i)
      input.cases.push_back({&stored_[i], &pasts_[i], {}, &planned_[i]});
    input.draw = "night";
    input.min_spread = [](const MachineClass&) { return 0.005; };
    if (can_measure) {
      input.measure = [this](const std::vector<const PlannedCase*>& cases, std::string_view) {
        std::vector<std::optional<Outcome>> answers;
        for (const PlannedCase* planned : cases) {
          asked_.push_back(planned->case_id);
          Outcome outcome;
          outcome.timed = true;
          outcome.time_ratio = takes_.at(planned->case_id);
          if (disturbed_left_ > 0) {
            --disturbed_left_;
            outcome.times.rounds = disturbed_rounds();
          }
          answers.emplace_back(std::move(outcome));
        }
        return answers;
      };
    }
    input.event = [this](NightEventKind kind, const std::string&) { events_.push_back(kind); };
    input.settled = [this](const TimedCase&) { ++settled_; };
    const auto rows = judge_night_times(input);
    EXPECT_THAT(rows, SizeIs(1));
    return rows.front();
  }
  static std::vector<TimeRound> disturbed_rounds() {
    TimeRound round;
    round.sentinel_cpu_ns.assign(2, 1);
    return std::vector<TimeRound>(22, round);
  }
  // Slows down tonight's time and those of all fresh processes.
  void slow_down(int i, double factor) {
    stored_[i].outcome.time_ratio *= factor;
    takes_[stored_[i].outcome.case_id] *= factor;
  }

  std::vector<StoredOutcome> stored_;
  std::vector<Past> pasts_;
  std::vector<PlannedCase> planned_;
  std::map<std::string, double> takes_;
  std::vector<std::string> asked_;
  std::vector<NightEventKind> events_;
  int settled_ = 0;
  int disturbed_left_ = 0;  // number of coming measurements that are disturbed
};

TEST_F(NightOfTwenty, QuietNightRepeatsOnlyDrawnCases) {
  const NightTimes row = judge();
  EXPECT_EQ(row.series, series);
  EXPECT_FALSE(row.suspect);
  EXPECT_EQ(row.candidates, 0);
  EXPECT_THAT(asked_, SizeIs(series / cases_per_second_pair));
  EXPECT_EQ(row.second_pairs, series / static_cast<int>(cases_per_second_pair));
  EXPECT_EQ(row.second_alarms, 0);
  EXPECT_EQ(row.load, 0.25);
  EXPECT_EQ(settled_, series);
  EXPECT_THAT(events_, IsEmpty());
  const auto once = asked_;
  asked_.clear();
  for (StoredOutcome& stored : stored_) stored.outcome.times.second_ratio = 0;
  judge();
  EXPECT_EQ(asked_, once) << "the same night draws the same cases";
}

TEST_F(NightOfTwenty, FreshProcessesConfirmSlowdown) {
  slow_down(7, 1.1);
  const NightTimes row = judge();
  EXPECT_EQ(row.candidates, 1);
  EXPECT_EQ(row.confirmed, 1);
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::regressed);
  EXPECT_THAT(stored_[7].outcome.times.fresh_ratios, SizeIs(static_cast<std::size_t>(row.fresh)));
  for (int i = 0; i < series; ++i) {
    if (i != 7) {
      EXPECT_EQ(stored_[i].judgement.verdict, Verdict::pass) << i;
    }
  }
}

TEST_F(NightOfTwenty, DisturbedFreshProcessesRunAgain) {
  for (StoredOutcome& stored : stored_) stored.outcome.times.second_ratio = 1;  // already measured
  slow_down(7, 1.1);
  disturbed_left_ = 1;
  const NightTimes row = judge();
  EXPECT_THAT(asked_, SizeIs(static_cast<std::size_t>(row.fresh) + 1));
  EXPECT_THAT(stored_[7].outcome.times.fresh_ratios, SizeIs(static_cast<std::size_t>(row.fresh)));
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::regressed);
}

TEST_F(NightOfTwenty, UnconfirmedIfFreshProcessesStayDisturbed) {
  for (StoredOutcome& stored : stored_) stored.outcome.times.second_ratio = 1;
  slow_down(7, 1.1);
  disturbed_left_ = 100;
  const NightTimes row = judge();
  EXPECT_THAT(asked_, SizeIs(2 * static_cast<std::size_t>(row.fresh)));
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::unconfirmed);
}

TEST_F(NightOfTwenty, TransientSlowdownIsRefuted) {
  stored_[7].outcome.time_ratio *= 1.1;
  const NightTimes row = judge();
  EXPECT_EQ(row.candidates, 1);
  EXPECT_EQ(row.confirmed, 0);
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::pass);
  EXPECT_EQ(stored_[7].judgement.confirmation, Confirmation::refuted);
}

TEST_F(NightOfTwenty, UnconfirmedWithoutReruns) {
  slow_down(7, 1.1);
  const NightTimes row = judge(false);
  EXPECT_EQ(row.confirmed, 0);
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::unconfirmed);
  // A second job has stored the ratios of fresh processes, which is enough.
  stored_[7].judgement = {};
  stored_[7].judgement.verdict = Verdict::pass;
  stored_[7].outcome.times.fresh_ratios.assign(5, stored_[7].outcome.time_ratio);
  judge(false);
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::regressed);
}

TEST_F(NightOfTwenty, DisturbedCaseIsExcludedAlone) {
  stored_[7].outcome.times.rounds = disturbed_rounds();
  slow_down(7, 1.3);
  slow_down(8, 1.1);
  const NightTimes row = judge();
  EXPECT_FALSE(row.suspect);
  EXPECT_EQ(row.series, series - 1);
  EXPECT_THAT(row.why, HasSubstr("1 case was set aside:"));
  EXPECT_EQ(row.confirmed, 1) << "the other one";
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::unconfirmed) << "beyond twice its limit";
  EXPECT_EQ(stored_[7].judgement.gated_time->finding, "set aside");
  EXPECT_THAT(stored_[7].judgement.notes, testing::Contains(HasSubstr("used this core")));
  EXPECT_THAT(stored_[7].outcome.times.fresh_ratios, IsEmpty());
}

TEST_F(NightOfTwenty, TransientShiftIsMeasuredAgain) {
  for (StoredOutcome& stored : stored_) stored.outcome.time_ratio *= 1.08;
  const NightTimes row = judge();
  EXPECT_FALSE(row.suspect);
  EXPECT_THAT(events_, ElementsAre(NightEventKind::suspect, NightEventKind::measured_again));
  EXPECT_EQ(row.candidates, 0);
  EXPECT_NEAR(stored_[3].outcome.time_ratio, usual(3, 0), 1e-9);
}

TEST_F(NightOfTwenty, PersistentShiftExcludesNight) {
  for (int i = 0; i < series; ++i) slow_down(i, 1.08);
  const NightTimes row = judge();
  EXPECT_TRUE(row.suspect);
  EXPECT_THAT(row.why, HasSubstr("series"));
  EXPECT_THAT(events_, ElementsAre(NightEventKind::suspect, NightEventKind::set_aside));
  EXPECT_EQ(row.expected_false_alerts, 0);
  for (const StoredOutcome& stored : stored_) {
    EXPECT_EQ(stored.judgement.verdict, Verdict::pass);
    EXPECT_EQ(stored.judgement.gated_time->finding, "set aside");
  }
}

TEST_F(NightOfTwenty, CommonShiftIsSubtracted) {
  for (int i = 0; i < series; ++i) slow_down(i, 1.015);
  slow_down(7, 1.06);
  const NightTimes row = judge();
  EXPECT_FALSE(row.suspect);
  EXPECT_NEAR(row.common_shift, 0.015, 0.004);
  EXPECT_THAT(row.why, HasSubstr("subtracted from each"));
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(row.candidates, 1);
  EXPECT_EQ(row.confirmed, 1);
  EXPECT_EQ(stored_[7].judgement.verdict, Verdict::regressed);
  EXPECT_NEAR(stored_[7].judgement.gated_time->change, 0.06, 0.015);
  ASSERT_THAT(stored_[7].judgement.findings, SizeIs(1));
  EXPECT_THAT(stored_[7].judgement.findings[0].text, HasSubstr("slower) is subtracted"));
}

TEST(FloorOfSpread, IsSpreadOfOneMeasurement) {
  EXPECT_EQ(floor_of_spread(std::vector<double>(19, 1.5)), 0) << "too few";
  // The median of |ln| is 0.02: 0.02 * 1.4826 / sqrt(2).
  std::vector<double> ratios;
  for (int i = 0; i < 40; ++i) ratios.push_back(std::exp(i % 2 == 0 ? 0.02 : -0.02));
  EXPECT_NEAR(floor_of_spread(ratios), 0.020967, 1e-5);
}

}  // namespace
}  // namespace plumbline
