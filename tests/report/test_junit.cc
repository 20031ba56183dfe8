// JUnit reports count each verdict as one kind, and stay valid XML with any kernel text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "harness/judge/verdict.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

TEST(RenderJunit, MixedRun) {
  const SampleRun sample = mixed_run();
  EXPECT_EQ(render_junit(sample.report(1)),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="plumbline 7d3f0a52-0000-4000-8000-000000000001: 1 failure in 3 cases, 1 diff and 1 suite statistic" tests="5" failures="1" errors="0" time="0.020">
  <testsuite name="smoke" tests="3" failures="1" errors="0" skipped="0" time="0.020" timestamp="2030-01-02T03:04:05Z" hostname="builder">
    <testcase classname="smoke.causal" name="cpu/flash/bf16/b1-h4-s128-d64/mask=causal_top_left" time="0.013"/>
    <testcase classname="smoke.causal" name="mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left" time="0.007">
      <failure type="fail" message="the sums are kept in bf16; peak is 9.3, its limit 6.5">the sums are kept in bf16; peak is 9.3, its limit 6.5

)" +
                render_case(sample.outcomes[1], "plumbline run", Style{.width = 0, .verbose = true})
                    .replace(render_case(sample.outcomes[1], "plumbline run",
                                         Style{.width = 0, .verbose = true})
                                 .find("flash<64, 64>"),
                             13, "flash&lt;64, 64&gt;") +
                R"(</failure>
    </testcase>
    <testcase classname="smoke.statistics" name="shrink cpu/flash bf16" time="0.000"/>
  </testsuite>
  <testsuite name="stories" tests="2" failures="0" errors="0" skipped="1" time="0.000" timestamp="2030-01-02T03:04:05Z" hostname="builder">
    <testcase classname="stories.S5" name="cpu/flash/fp32/b1-h1-s1-d64" time="0.000">
      <skipped message="unsupported: only fp16 and bf16 are supported">unsupported: only fp16 and bf16 are supported</skipped>
    </testcase>
    <testcase classname="stories.diff" name="S4" time="0.000"/>
  </testsuite>
</testsuites>
)");
}

// Runs Python on a report. Returns its output and exit code.
std::pair<std::string, int> python(const std::string& arguments, const std::string& xml) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) /
                                     ("plumbline_junit_" + std::to_string(::getpid()) + ".xml");
  std::ofstream(file, std::ios::binary) << xml;
  std::FILE* pipe =
      ::popen(("python3 " + arguments + " '" + file.string() + "' 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  const int status = ::pclose(pipe);
  std::filesystem::remove(file);
  return {output, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

// Parses a report with Python's expat. Returns "failures,errors,skipped" as counted in the tree,
// then each message and the start of each text, escaped by ascii().
std::string read_by_python(const std::string& xml) {
  const std::string script =
      "import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); "
      "print(','.join(str(len(r.findall('.//' + t))) for t in ('failure', 'error', 'skipped'))); "
      "[print(ascii(x.get('message')), ascii((x.text or '')[:20])) for x in r.iter() if 'message' "
      "in x.attrib]";
  const auto [output, code] = python("-c \"" + script + "\"", xml);
  EXPECT_EQ(code, 0);
  return output;
}

std::pair<std::string, int> breaches(const std::string& xml) {
  return python(PLUMBLINE_SOURCE_DIRECTORY "/tests/report/junit_rules.py", xml);
}

TEST(RenderJunit, FollowsJenkinsSchema) {
  SampleRun sample = mixed_run();
  sample.outcomes.push_back(crashed_outcome());
  sample.outcomes.back().outcome.case_id += "/seed=1";
  sample.outcomes.push_back(expected_outcome());
  sample.outcomes.back().outcome.case_id += "/seed=2";
  const std::string xml = render_junit(sample.report(1));
  EXPECT_EQ(breaches(xml), std::make_pair(std::string(), 0)) << xml;

  const auto broken = [&](const std::string& what, const std::string& by) {
    std::string other = xml;
    return breaches(other.replace(other.find(what), what.size(), by)).first;
  };
  EXPECT_THAT(broken("errors=\"1\" time", "errors=\"1\" skipped=\"2\" time"),
              HasSubstr("there is no attribute skipped"));
  EXPECT_THAT(broken("failures=\"1\"", "failures=\"2\""), HasSubstr("failures=2, not 1"));
  EXPECT_THAT(broken(">the sums are kept", ">fail: the sums"),
              HasSubstr("its text does not begin with its message"));
  EXPECT_THAT(broken("/seed=2", ""), HasSubstr("two tests are smoke.causal mutants"));
}

TEST(RenderJunit, MessageIsOneLineCauseFirst) {
  SampleRun sample;
  sample.outcomes = {failing_outcome()};
  auto& findings = sample.outcomes[0].judgement.findings;
  findings.resize(3, findings.front());
  EXPECT_THAT(
      render_junit(sample.report(1)),
      HasSubstr("message=\"the sums are kept in bf16; peak is 9.3, its limit 6.5; and 2 more\">"));
}

TEST(RenderJunit, ExpectedFailureHasExpiryAndIssue) {
  SampleRun sample;
  sample.outcomes = {expected_outcome()};
  EXPECT_THAT(render_junit(sample.report(0)),
              HasSubstr("<skipped message=\"expected failure until 2027-01-31, "
                        "https://example.com/7: peak is 9.3, its limit 6.5\">"));
}

TEST(RenderJunit, ParsesWithAnyKernelText) {
  SampleRun sample = mixed_run();
  sample.outcomes.push_back(crashed_outcome());
  sample.outcomes.back().judgement.findings[0].text =
      "]]> <a&b> \"q\" 'p'\nline\x01\x1b[31m \xFF \xC3\xA4 \xED\xA0\x80 \xF0\x9F\x98\x80 \xC3";
  EXPECT_EQ(
      read_by_python(render_junit(sample.report(1))),
      "1,1,1\n"
      "'the sums are kept in bf16; peak is 9.3, its limit 6.5' 'the sums are kept in'\n"
      "'unsupported: only fp16 and bf16 are supported' 'unsupported: only fp'\n"
      R"(']]> <a&b> "q" \'p\'\nline\ufffd\ufffd[31m \ufffd \xe4 \ufffd\ufffd\ufffd \U0001f600 \ufffd' ']]> <a&b> "q" \'p\'\nli')"
      "\n");
}

TEST(RenderJunit, OmitsUnjudgedStatistics) {
  SampleRun sample;
  sample.scores = {
      {"smoke", "cpu/flash", "bf16", "shrink", 12, 4.25, 3.5, "fail"},
      {"smoke", "cpu/flash", "bf16", "temperature", 1, 0, 3.5, "not judged: too few cases"}};
  const std::string xml = render_junit(sample.report(1));
  EXPECT_THAT(
      xml, HasSubstr(R"(<failure type="fail" message="fail: 4.25 of 3.5, shrink over 12 cases">)"));
  EXPECT_THAT(xml, testing::Not(HasSubstr("temperature")));
  EXPECT_THAT(xml, HasSubstr(R"(tests="1" failures="1" errors="0" skipped="0")"));
}

TEST(RenderJunit, KindOfEveryVerdict) {
  const auto tag_of = [](Verdict verdict) -> std::string {
    SampleRun sample;
    sample.outcomes = {passing_outcome()};
    sample.outcomes[0].judgement.verdict = verdict;
    const std::string xml = render_junit(sample.report(0));
    for (const char* tag : {"failure", "error", "skipped"}) {
      if (xml.find(std::string("<") + tag + " ") != std::string::npos) return tag;
    }
    return "passed";
  };
  for (const Verdict v : {Verdict::pass, Verdict::improved, Verdict::first_seen, Verdict::changed})
    EXPECT_EQ(tag_of(v), "passed") << name(v);
  for (const Verdict v : {Verdict::fail, Verdict::regressed, Verdict::support_mismatch,
                          Verdict::mistrusted, Verdict::unexpected_pass})
    EXPECT_EQ(tag_of(v), "failure") << name(v);
  for (const Verdict v : {Verdict::crashed, Verdict::timeout, Verdict::out_of_memory,
                          Verdict::error, Verdict::ambiguous, Verdict::unconfirmed})
    EXPECT_EQ(tag_of(v), "error") << name(v);
  for (const Verdict v : {Verdict::unsupported, Verdict::expected_failure, Verdict::acknowledged})
    EXPECT_EQ(tag_of(v), "skipped") << name(v);
}

}  // namespace
}  // namespace plumbline
