// Walks every verdict through every report. expected_of() fails to compile without a new verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/judge/exit_code.h"
#include "harness/report/news.h"
#include "harness/report/page_data.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The report of a run with one case of this verdict.
struct Expected {
  Verdict verdict;
  Standing standing;
  int exit_code;
  RunState state;
  const char* colour;  // of a terminal
  const char* junit;   // the element in the test case, "" for one that passed
  bool has_command;    // a line that measures the case again
};

constexpr char red[] = "\x1b[31m", green[] = "\x1b[32m", yellow[] = "\x1b[33m";

Expected expected_of(Verdict verdict) {
  const auto fine = [&](const char* colour, const char* junit, bool has_command) {
    return Expected{verdict, Standing::fine, exit_fine, RunState::fine, colour, junit, has_command};
  };
  const auto failure = [&](const char* junit) {
    return Expected{verdict, Standing::failure, exit_failure, RunState::not_fine, red, junit, true};
  };
  switch (verdict) {
    case Verdict::pass:
    case Verdict::improved:
    case Verdict::first_seen:
      return fine(green, "", false);
    case Verdict::changed:
      return fine(yellow, "", false);
    case Verdict::expected_failure:
    case Verdict::acknowledged:
      return fine(yellow, "skipped", true);
    case Verdict::unsupported:
      return {verdict,      Standing::unmeasured,
              exit_nothing, RunState::nothing_measured,
              yellow,       "skipped",
              false};
    case Verdict::fail:
    case Verdict::regressed:
    case Verdict::support_mismatch:
    case Verdict::mistrusted:
    case Verdict::unexpected_pass:
      return failure("failure");
    case Verdict::crashed:
    case Verdict::timeout:
    case Verdict::out_of_memory:
    case Verdict::error:
      return failure("error");
    case Verdict::ambiguous:
    case Verdict::unconfirmed:
      return {verdict, Standing::open, exit_ambiguous, RunState::open, yellow, "error", true};
  }
  __builtin_unreachable();
}

class EveryVerdict : public testing::TestWithParam<Verdict> {
 protected:
  EveryVerdict() {
    sample_.outcomes = {passing_outcome()};
    StoredOutcome& stored = sample_.outcomes[0];
    stored.judgement.verdict = GetParam();
    if (expected_.standing == Standing::unmeasured) stored.outcome.status = Status::unsupported;
  }
  RunReport report() const { return sample_.report(expected_.exit_code); }

  const Expected expected_ = expected_of(GetParam());
  SampleRun sample_;
};

TEST_P(EveryVerdict, HasOneStandingAndOneExitCode) {
  EXPECT_EQ(standing_of(GetParam()), expected_.standing);
  EXPECT_EQ(is_failure(GetParam()), expected_.standing == Standing::failure);
  EXPECT_EQ(is_open(GetParam()), expected_.standing == Standing::open);
  EXPECT_EQ(exit_code({GetParam()}, {}), expected_.exit_code);
}

TEST_P(EveryVerdict, IsGreenOnlyIfFine) {
  const std::string text = render_case(sample_.outcomes[0], "plumbline run", Style{true, 0});
  EXPECT_THAT(text, StartsWith(expected_.colour));
  EXPECT_EQ(text.find("plumbline run --case") != std::string::npos, expected_.has_command) << text;
}

TEST_P(EveryVerdict, IsOneElementOfJunit) {
  // Only the suite of the case: a suite "plumbline" about the whole run may follow.
  const std::string all = render_junit(report());
  const std::string xml = all.substr(0, all.find("</testsuite>"));
  for (const std::string tag : {"failure", "error", "skipped"})
    EXPECT_EQ(xml.find("<" + tag + " ") != std::string::npos, tag == expected_.junit) << xml;
}

TEST_P(EveryVerdict, DecidesTheStateOfARun) {
  EXPECT_EQ(state_of(report()), expected_.state);
  const std::string sentence = sentence_of(report(), news_of(report(), {}));
  EXPECT_EQ(sentence.starts_with("Fine"), expected_.state == RunState::fine) << sentence;
  EXPECT_EQ(sentence.starts_with("Open"), expected_.state == RunState::open) << sentence;
  EXPECT_THAT(render_markdown(report()), HasSubstr(sentence.substr(0, sentence.find(':'))));
}

TEST_P(EveryVerdict, IsOneOutlookOfThePage) {
  const RunReport run = report();
  PageInput input;
  input.report = &run;
  input.machine_of = {"cpu"};
  input.news = news_of(run, {});
  const auto page = nlohmann::json::parse(json_of_page(input));
  for (const auto& [key, standing] : {std::pair{"fine", Standing::fine},
                                      {"failures", Standing::failure},
                                      {"open", Standing::open},
                                      {"unmeasured", Standing::unmeasured}})
    EXPECT_EQ(page["counts"][key], expected_.standing == standing ? 1 : 0) << key;
}

INSTANTIATE_TEST_SUITE_P(Verdicts, EveryVerdict, testing::ValuesIn(all<Verdict>()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace plumbline
