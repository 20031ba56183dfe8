// Parses GitHub workflow commands as GitHub's runner does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "harness/report/annotations.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

struct Command {
  std::string level;
  std::map<std::string, std::string> properties;
  std::string message;
};

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> pairs[] = {
      {"%0D", "\r"}, {"%0A", "\n"}, {"%3A", ":"}, {"%2C", ","}, {"%25", "%"}};
  for (const auto& [code, character] : pairs)
    for (std::size_t at = 0; (at = text.find(code, at)) != std::string::npos; ++at)
      text.replace(at, 3, character);
  return text;
}

std::vector<Command> commands(const std::string& text) {
  std::vector<Command> list;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    static const std::regex command("::([a-z]+) ([^:]*)::(.*)");
    std::smatch parts;
    if (!std::regex_match(line, parts, command)) {
      ADD_FAILURE() << "no workflow command: " << line;
      continue;
    }
    Command& one = list.emplace_back(Command{parts[1], {}, unescaped(parts[3])});
    std::istringstream properties(parts[2]);
    for (std::string property; std::getline(properties, property, ',');) {
      const std::size_t at = property.find('=');
      one.properties[property.substr(0, at)] = unescaped(property.substr(at + 1));
    }
  }
  return list;
}

class Annotations : public testing::Test {
 protected:
  std::string text() const {
    const RunReport report{&run_, &outcomes_, &diffs_, &scores_, 1, "plumbline run"};
    return render_annotations(report, places_);
  }

  RunInfo run_;
  std::vector<StoredOutcome> outcomes_;
  std::vector<StoredDiff> diffs_;
  std::vector<SuiteScore> scores_;
  SuitePlaces places_;
};

TEST_F(Annotations, FailureNamesSuiteLine) {
  outcomes_ = {passing_outcome(), failing_outcome()};
  const Outcome& failing = outcomes_[1].outcome;
  places_[{failing.suite, failing.case_id}] = {"cases/smoke.toml", 12};
  const auto found = commands(text());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, "error");
  EXPECT_EQ(found[0].properties.at("file"), "cases/smoke.toml");
  EXPECT_EQ(found[0].properties.at("line"), "12");
  EXPECT_EQ(found[0].properties.at("title"), "mutants/bf16_accumulator: 1 case fail");
  EXPECT_THAT(found[0].message, testing::StartsWith("the sums are kept in bf16\n"));
  EXPECT_THAT(found[0].message,
              testing::HasSubstr("reproduce: plumbline run --case '" + failing.case_id + "'"));
}

TEST_F(Annotations, ReproduceLineHasTimedAndRowSeed) {
  outcomes_ = {failing_outcome()};
  outcomes_[0].outcome.timed = true;
  outcomes_[0].outcome.row_seed = 7;
  const auto found = commands(text());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message,
              testing::HasSubstr("reproduce: plumbline run --timed --row-seed 7 --case '"));
}

TEST_F(Annotations, NoneForPasses) {
  outcomes_ = {passing_outcome()};
  EXPECT_EQ(text(), "");
}

TEST_F(Annotations, SlowClockIsWarning) {
  outcomes_ = {passing_outcome()};
  run_.run_id = "7d3f0a52-0000-4000-8000-000000000001";
  run_.clock_behind_s = 7200;
  RunReport report{&run_, &outcomes_, &diffs_, &scores_, 5, "plumbline run"};
  report.unsettled = unsettled_of({run_});
  const auto found = commands(render_annotations(report, places_));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, "warning");
  EXPECT_THAT(found[0].message, testing::HasSubstr("set the clock and run again"));
}

TEST_F(Annotations, NamesAreEscaped) {
  outcomes_ = {failing_outcome()};
  Outcome& failing = outcomes_[0].outcome;
  failing.c.kernel = "mine/a,file=other.toml::b";
  failing.cause = "100 %\r\n::error::planted, 50%0A";
  places_[{failing.suite, failing.case_id}] = {"a,b:c %.toml", 1};
  const auto found = commands(text());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].properties.at("file"), "a,b:c %.toml");
  EXPECT_THAT(found[0].properties.at("title"), testing::StartsWith("mine/a,file=other.toml::b: "));
  EXPECT_THAT(found[0].message, testing::StartsWith("100 %\r\n::error::planted, 50%0A\n"));
}

TEST_F(Annotations, TenPerLevelAndCount) {
  for (int i = 0; i < 25; ++i) {
    outcomes_.push_back(failing_outcome());
    outcomes_.back().outcome.cause = "cause " + std::to_string(i);
  }
  const auto found = commands(text());
  ASSERT_EQ(found.size(), 11U);
  EXPECT_EQ(found.back().level, "notice");
  EXPECT_EQ(found.back().message, "15 more errors; `plumbline show` has them");
}

TEST_F(Annotations, OpenCaseIsWarning) {
  outcomes_ = {passing_outcome()};
  outcomes_[0].judgement.verdict = Verdict::ambiguous;
  const auto found = commands(text());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, "warning");
  EXPECT_FALSE(found[0].properties.contains("file")) << "its suite is not known";
}

}  // namespace
}  // namespace plumbline
