// Checks every verdict and every state of a run in every report. expected_of() does not compile if
// an enumerator is missing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/judge/exit_code.h"
#include "harness/report/annotations.h"
#include "harness/report/issues.h"
#include "harness/report/night_text.h"
#include "harness/report/page_data.h"
#include "harness/run/night.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Expected reports of a run with one case of this verdict.
struct Expected {
  Verdict verdict;
  Standing standing;
  int exit_code;
  RunState state;
  const char* colour;  // in a terminal
  const char* junit;   // element in the test case; "" if it passed
  bool has_command;    // has a reproduce line
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

TEST_P(EveryVerdict, HasStandingAndExitCode) {
  EXPECT_EQ(standing_of(GetParam()), expected_.standing);
  EXPECT_EQ(is_failure(GetParam()), expected_.standing == Standing::failure);
  EXPECT_EQ(is_open(GetParam()), expected_.standing == Standing::open);
  EXPECT_EQ(exit_code_of(run_state({GetParam()}, {})), expected_.exit_code);
}

TEST_P(EveryVerdict, IsGreenOnlyIfFine) {
  const std::string text = render_case(sample_.outcomes[0], "plumbline run", Style{true, 0});
  EXPECT_THAT(text, StartsWith(expected_.colour));
  EXPECT_EQ(text.find("plumbline run --case") != std::string::npos, expected_.has_command) << text;
}

TEST_P(EveryVerdict, HasOneJunitElement) {
  // Use only the case's suite: a suite "plumbline" for the whole run may follow.
  const std::string all = render_junit(report());
  const std::string xml = all.substr(0, all.find("</testsuite>"));
  for (const std::string tag : {"failure", "error", "skipped"})
    EXPECT_EQ(xml.find("<" + tag + " ") != std::string::npos, tag == expected_.junit) << xml;
}

TEST_P(EveryVerdict, DecidesRunState) {
  EXPECT_EQ(report().state(), expected_.state);
  const std::string sentence = sentence_of(report(), find_issues(report(), {}));
  EXPECT_EQ(sentence.starts_with("Fine"), expected_.state == RunState::fine) << sentence;
  EXPECT_EQ(sentence.starts_with("Open"), expected_.state == RunState::open) << sentence;
  EXPECT_THAT(render_markdown(report()), HasSubstr(sentence.substr(0, sentence.find(':'))));
}

TEST_P(EveryVerdict, HasOneOutlookOnPage) {
  const RunReport run = report();
  PageInput input;
  input.report = &run;
  input.machine_of = {"cpu"};
  input.news = find_issues(run, {});
  const auto page = nlohmann::json::parse(json_of_page(input));
  for (const auto& [key, standing] : {std::pair{"fine", Standing::fine},
                                      {"failures", Standing::failure},
                                      {"open", Standing::open},
                                      {"unmeasured", Standing::unmeasured}})
    EXPECT_EQ(page["counts"][key], expected_.standing == standing ? 1 : 0) << key;
}

// Expected reports of a run in this state.
struct ExpectedState {
  int exit_code;
  const char* first_word;  // in Markdown and on the page
  const char* text;        // in the terminal's totals
  const char* junit;       // name of a test case with an error; "" if none
};

ExpectedState expected_of(RunState state) {
  switch (state) {
    case RunState::incomplete:
      return {3, "Incomplete: 178 of 374 cases not measured. ",
              "Incomplete: 178 of 374 cases not measured. ", "incomplete"};
    case RunState::nothing_measured:
      return {4, "Nothing measured: ", "nothing measured in", "nothing measured"};
    case RunState::not_fine:
      return {1, "Not fine: ", "1 failure in", ""};
    case RunState::open:
      return {5, "Open: ", "exit code 5", ""};
    case RunState::fine:
      return {0, "Fine: ", "no failure in", ""};
  }
  __builtin_unreachable();
}

class EveryRunState : public testing::TestWithParam<RunState> {
 protected:
  EveryRunState() {
    sample_.outcomes = {passing_outcome()};
    StoredOutcome& stored = sample_.outcomes[0];
    if (GetParam() == RunState::not_fine) stored.judgement.verdict = Verdict::fail;
    if (GetParam() == RunState::open) stored.judgement.verdict = Verdict::unconfirmed;
    if (GetParam() == RunState::nothing_measured) {
      stored.outcome.status = Status::unsupported;
      stored.judgement.verdict = Verdict::unsupported;
    }
  }
  RunReport report() const {
    RunReport report = sample_.report(expected_.exit_code);
    if (GetParam() == RunState::incomplete) report.incomplete = {true, 374, 178};
    return report;
  }
  bool is_fine() const { return GetParam() == RunState::fine; }

  const ExpectedState expected_ = expected_of(GetParam());
  SampleRun sample_;
};

TEST_P(EveryRunState, HasOneExitCode) {
  EXPECT_EQ(exit_code_of(GetParam()), expected_.exit_code);
  EXPECT_EQ(report().state(), GetParam());
}

TEST_P(EveryRunState, IsInLastTerminalLine) {
  const std::string text = render_text(report(), Style{});
  const std::size_t last = text.rfind('\n', text.size() - 2);
  EXPECT_THAT(text, HasSubstr(expected_.text));
  EXPECT_THAT(text, HasSubstr(fmt::format("exit code {}", expected_.exit_code)));
  if (GetParam() != RunState::incomplete) return;
  EXPECT_NE(text.find("Incomplete", text.rfind('\n', last - 1)), std::string::npos) << text;
}

TEST_P(EveryRunState, OpensMarkdownAndPage) {
  EXPECT_THAT(render_markdown(report()),
              StartsWith(std::string("## plumbline: ") + expected_.first_word));
  const RunReport run = report();
  PageInput input;
  input.report = &run;
  input.machine_of = {"cpu"};
  input.nights = {{.name = "2027-01-02", .run_ids = {run.run->run_id}, .state = GetParam()}};
  const auto page = nlohmann::json::parse(json_of_page(input));
  EXPECT_EQ(page["state"], name(GetParam()));
  EXPECT_EQ(page["subject"]["exit_code"], expected_.exit_code);
  EXPECT_THAT(page["sentence"].get<std::string>(), StartsWith(expected_.first_word));
  EXPECT_EQ(page["nights"][0]["state"], name(GetParam()));
}

TEST_P(EveryRunState, IsInMachineReadableReports) {
  const auto json = nlohmann::json::parse(json_of_run(report()));
  EXPECT_EQ(json["state"], name(GetParam()));
  EXPECT_EQ(json["exit_code"], expected_.exit_code);
  const std::string prometheus = render_prometheus(report());
  for (const RunState state : all<RunState>()) {
    EXPECT_THAT(prometheus, HasSubstr(fmt::format("plumbline_run_state{{state=\"{}\"}} {}\n",
                                                  name(state), state == GetParam() ? 1 : 0)));
  }
  const std::string junit = render_junit(report());
  const std::string root = junit.substr(0, junit.find("<testsuite "));
  EXPECT_EQ(root.find("failures=\"0\" errors=\"0\"") != std::string::npos, is_fine()) << root;
  if (*expected_.junit != 0) {
    EXPECT_THAT(junit, HasSubstr(fmt::format("name=\"{}\"", expected_.junit)));
  }
  const std::string annotations = render_annotations(report(), {});
  EXPECT_EQ(annotations.starts_with("::error title=plumbline::Incomplete"),
            GetParam() == RunState::incomplete);
}

TEST_P(EveryRunState, IsReportedForNight) {
  NightSummary summary;
  summary.night.night_id = "2027-01-02";
  summary.night.runs = {{sample_.run, GetParam() != RunState::incomplete, true}};
  summary.states = {GetParam()};
  summary.state = GetParam();
  summary.incomplete = {true, 374, 178};
  const bool is_incomplete = GetParam() == RunState::incomplete;
  for (const std::string& text :
       {render_night(summary, Style{.width = 0}), render_night_markdown(summary)}) {
    EXPECT_EQ(text.find("Incomplete night") != std::string::npos, is_incomplete) << text;
    EXPECT_EQ(text.find("178 of 374 cases not measured") != std::string::npos, is_incomplete);
    EXPECT_EQ(text.find("no alert") != std::string::npos, is_fine()) << text;
  }
  const auto json = nlohmann::json::parse(json_of_night(summary));
  EXPECT_EQ(json["state"], name(GetParam()));
  EXPECT_EQ(json["exit_code"], expected_.exit_code);
}

INSTANTIATE_TEST_SUITE_P(States, EveryRunState, testing::ValuesIn(all<RunState>()),
                         [](const auto& test) {
                           std::string word(name(test.param));
                           std::replace(word.begin(), word.end(), ' ', '_');
                           return word;
                         });

INSTANTIATE_TEST_SUITE_P(Verdicts, EveryVerdict, testing::ValuesIn(all<Verdict>()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace plumbline
