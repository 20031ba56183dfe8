// What `plumbline check` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/report/check_text.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

CheckReport sample(Answer answer) {
  CheckReport report;
  report.name = "dump.safetensors";
  report.answer = answer;
  report.sentence = "a sentence";
  for (const double percent : {4031.0, 68.0}) {
    RungTrial trial;
    trial.rung = {percent > 100 ? "FlashInfer decode" : "FlashAttention-2",
                  "P to bf16",
                  "https://example.org",
                  {}};
    trial.judgement.percent_of_limit = percent;
    trial.judgement.nearest_statistic = "peak";
    trial.explains = percent <= 100;
    trial.outcome.errors.elements = 100;
    trial.outcome.errors.peak = percent / 100 * 6.5;
    trial.outcome.location = {"edge", "edge: the last visible key weighs too little (z = 57.0)",
                              57};
    report.trials.push_back(trial);
  }
  report.judged = answer == Answer::bug ? 0 : 1;
  WorstElement worst;
  worst.element = {0, 1, 2, 3};
  worst.got = 1.5, worst.expected = 1, worst.sigma = 0.1, worst.ulp = 0.25, worst.visible_keys = 7;
  worst.share[static_cast<std::size_t>(Rounding::p)] = 0.75;
  worst.share[static_cast<std::size_t>(Rounding::output)] = 0.25;
  report.worst = {worst};
  if (answer != Answer::rounding) report.suggestions = {"off by one", "and more"};
  return report;
}

TEST(CheckText, TheFirstLineIsTheAnswerTheFileAndTheReason) {
  EXPECT_THAT(render_check(sample(Answer::rounding), {}),
              StartsWith("ROUNDING  dump.safetensors: a sentence\n"));
  EXPECT_THAT(render_check(sample(Answer::bug), {}),
              StartsWith("BUG  dump.safetensors: a sentence\n"));
  EXPECT_THAT(render_check(sample(Answer::undecided), {}),
              StartsWith("UNDECIDED  dump.safetensors: a sentence\n"));
}

TEST(CheckText, WhatIsRoundingIsShortAndWhatIsNotIsShownInFull) {
  const std::string rounding = render_check(sample(Answer::rounding), {});
  EXPECT_THAT(rounding, HasSubstr("ladder     percent of the limit: FlashInfer decode 4031 %, "
                                  "FlashAttention-2 68 % (explains)"));
  EXPECT_THAT(rounding, HasSubstr("judged by  FlashAttention-2, which rounds P to bf16"));
  EXPECT_THAT(rounding, HasSubstr("https://example.org"));
  EXPECT_THAT(rounding, Not(HasSubstr("worst")));
  EXPECT_THAT(render_check(sample(Answer::rounding), {}, true), HasSubstr("worst"));

  const std::string bug = render_check(sample(Answer::bug), {});
  EXPECT_THAT(bug, HasSubstr("worst      sample 0 head 1 row 2 column 3, 7 visible keys: got 1.5, "
                             "expected 1: 5 sigma, 2 ulp"));
  EXPECT_THAT(bug, HasSubstr("sigma      0.1 at the first: P rounding 75 %, output rounding 25 %"));
  EXPECT_THAT(bug, HasSubstr("where      edge: the last visible key weighs too little"));
  EXPECT_THAT(bug, HasSubstr("a sentence\n  off by one\n"));
  EXPECT_THAT(bug, EndsWith("  also       and more\n"));
}

TEST(CheckText, LinesKeepToTheWidth) {
  CheckReport report = sample(Answer::bug);
  report.sentence = std::string(60, 'x') + " " + std::string(60, 'y');
  const std::string text = render_check(report, {false, 90});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 90U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(CheckText, JsonHasEverythingAndNullWhereThereIsNoNumber) {
  CheckReport report = sample(Answer::bug);
  report.worst.front().got = std::numeric_limits<double>::quiet_NaN();
  report.trials.front().judgement.percent_of_limit = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(json_of_checks({report}));
  const auto& dump = json["dumps"][0];
  EXPECT_EQ(dump["answer"], "BUG");
  EXPECT_TRUE(dump["percent_of_limit"].is_null());
  EXPECT_TRUE(dump["worst"][0]["got"].is_null());
  EXPECT_EQ(dump["worst"][0]["share"]["P rounding"], 0.75);
  EXPECT_EQ(dump["ladder"].size(), 2U);
  EXPECT_EQ(dump["ladder"][1]["explains"], true);
  EXPECT_EQ(dump["suggestions"][0], "off by one");
  EXPECT_EQ(dump["cause"], "off by one");
}

}  // namespace
}  // namespace plumbline
