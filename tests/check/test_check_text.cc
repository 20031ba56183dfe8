// Tests the text that `plumbline check` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/report/check_text.h"
#include "harness/report/format.h"
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
    trial.outcome.reference_rows = trial.outcome.rows_total = 64;
    trial.outcome.errors.peak = percent / 100 * 6.5;
    trial.outcome.location = {LocationKind::edge,
                              "edge: the last visible key weighs too little (z = 57.0)", 57};
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

TEST(CheckText, AnswerAndCauseComeFirst) {
  EXPECT_THAT(
      render_check(sample(Answer::rounding), {}),
      StartsWith("ROUNDING: a sentence\n  dump.safetensors: all 64 rows compared with fp64\n"));
  EXPECT_THAT(render_check(sample(Answer::bug), {}),
              StartsWith("BUG: off by one\n  dump.safetensors: all 64 rows"));
  const std::string undecided = render_check(sample(Answer::undecided), {});
  EXPECT_THAT(undecided, StartsWith("UNDECIDED: a sentence\n"));
  EXPECT_THAT(undecided, HasSubstr("\n  next      off by one\n            and more\n"));

  CheckReport report = sample(Answer::bug);
  report.suggestions.clear();
  report.trials[0].outcome.reference_rows = 10;
  report.unused_tensors = {"rope_cos", "rope_sin"};
  EXPECT_THAT(render_check(report, {.width = 0}),
              StartsWith("BUG: a sentence\n  dump.safetensors: 10 of 64 rows compared with fp64 (a "
                         "sample), faults looked for in all; unused: rope_cos, "
                         "rope_sin\n"));
}

TEST(CheckText, RoundingIsShortUnlessVerbose) {
  const std::string rounding = render_check(sample(Answer::rounding), {});
  EXPECT_THAT(rounding, HasSubstr("spec      FlashAttention-2, which rounds P to bf16\n"));
  EXPECT_THAT(rounding, HasSubstr("figures   68 % of the limit (peak): peak 4.42"));
  EXPECT_THAT(rounding, Not(HasSubstr("worst")));
  EXPECT_THAT(rounding, EndsWith("\nin full: plumbline check dump.safetensors -v\n"));

  const std::string bug = render_check(sample(Answer::bug), {});
  EXPECT_THAT(bug, HasSubstr("worst     sample 0 head 1 row 2 column 3: 1.5, not 1 (5 sigma)\n"));
  EXPECT_THAT(bug, HasSubstr("where     edge: the last visible key weighs too little"));
  EXPECT_THAT(bug, HasSubstr("also      and more\n"));
  for (const char* detail : {"ladder", "example.org", "P rounding"})
    EXPECT_THAT(bug, Not(HasSubstr(detail)));

  const Style verbose{.verbose = true};
  EXPECT_THAT(render_check(sample(Answer::rounding), verbose), HasSubstr("worst"));
  const std::string full = render_check(sample(Answer::bug), verbose);
  EXPECT_THAT(full, HasSubstr("answer    a sentence\n"));
  EXPECT_THAT(full, HasSubstr("source    https://example.org\n"));
  EXPECT_THAT(full, HasSubstr("ladder    percent of the limit: FlashInfer decode 4031 %, "
                              "FlashAttention-2 68 % (explains)"));
  EXPECT_THAT(full, HasSubstr("sigma     0.1 at the worst element, with 7 visible keys: P rounding "
                              "75 %, output rounding 25 %\n"));
  EXPECT_THAT(full, Not(HasSubstr("in full:")));
}

TEST(CheckText, ThreeWorstElementsOrFiveVerbose) {
  CheckReport report = sample(Answer::bug);
  for (int row = 3; row < 7; ++row) {
    report.worst.push_back(report.worst.front());
    report.worst.back().element.row = row;
  }
  EXPECT_THAT(render_check(report, {}), HasSubstr("row 4"));
  EXPECT_THAT(render_check(report, {}), Not(HasSubstr("row 5")));
  EXPECT_THAT(render_check(report, {.verbose = true}), HasSubstr("row 6"));
}

TEST(CheckText, LinesFitWidth) {
  CheckReport report = sample(Answer::bug);
  report.sentence = std::string(60, 'x') + " " + std::string(60, 'y');
  report.name = std::string(200, 'n') + ".safetensors";
  for (const std::size_t width : {60U, 80U, 90U, 100U, 120U}) {
    const std::string text = render_check(report, {.width = static_cast<int>(width)});
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12) << text;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(display_width(text.substr(at, end - at)), width) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(CheckText, JsonHasNullForMissingNumbers) {
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
  EXPECT_EQ(dump["unused_tensors"], Json::array());
}

}  // namespace
}  // namespace plumbline
