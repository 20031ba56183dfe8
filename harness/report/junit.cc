// Renders a run as JUnit XML for Jenkins, GitLab and GitHub reporters. Elements are testsuites /
// testsuite / testcase with failure, error or skipped; attributes are only those of Jenkins' schema
// (junit-10.xsd). Jenkins and GitHub reporters show a failure's message, GitLab its text, so both
// begin with the cause.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge.h"
#include "harness/report/changes.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/report.h"
#include "harness/report/summary.h"
#include "harness/store/stored.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";  // U+FFFD

// Escapes element text and keeps its line breaks. Characters that XML 1.0 forbids are replaced.
std::string xml_text(std::string_view text) {
  std::string allowed = storable_text(text);
  for (const std::string_view no_character : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at; (at = allowed.find(no_character)) != std::string::npos;)
      allowed.replace(at, no_character.size(), replacement);
  }
  return escaped(allowed, [](char c) {
    return c == '&'                               ? "&amp;"
           : c == '<'                             ? "&lt;"
           : c == '>'                             ? "&gt;"
           : c == '"'                             ? "&quot;"
           : c == '\r'                            ? "&#13;"
           : c == '\t'                            ? "&#9;"
           : c != '\n' && c >= '\0' && c < '\x20' ? replacement
                                                  : "";
  });
}

// Escapes a double-quoted attribute. Line breaks become references, because XML reads a plain one
// as a blank.
std::string xml(std::string_view text) {
  return escaped(xml_text(text), [](char c) { return c == '\n' ? "&#10;" : ""; });
}

enum class Kind { passed, failure, error, skipped };

// Returns true for a failure without an output. JUnit calls it an error, not a failure.
bool ended_early(Verdict verdict) {
  return verdict == Verdict::crashed || verdict == Verdict::timeout ||
         verdict == Verdict::out_of_memory || verdict == Verdict::error;
}

// An open verdict is an error: the case neither passed nor failed, and no reader may show it as
// fine.
Kind kind_of(Verdict verdict) {
  switch (standing_of(verdict)) {
    case Standing::fine:
      return is_tolerated(verdict) ? Kind::skipped : Kind::passed;
    case Standing::open:
      return Kind::error;
    case Standing::failure:
      return ended_early(verdict) ? Kind::error : Kind::failure;
    case Standing::unmeasured:
      return Kind::skipped;
  }
  __builtin_unreachable();
}

// Returns the one line that a list of tests shows: the cause, then the first finding. The element's
// text has the rest.
std::string headline_of(const std::string& cause, const Judgement& judgement) {
  if (judgement.findings.empty()) return cause.empty() ? why(judgement) : cause;
  std::string text = (cause.empty() ? "" : cause + "; ") + judgement.findings.front().text;
  if (const std::size_t more = judgement.findings.size() - 1; more > 0)
    text += fmt::format("; and {} more", more);
  return text;
}

// Readers show nothing but the message of a skipped case.
std::string message_of(const StoredOutcome& stored) {
  const auto& [outcome, judgement] = stored;
  if (is_failure(judgement.verdict)) return headline_of(outcome.cause, judgement);
  if (judgement.verdict != Verdict::expected_failure || !outcome.expected) return why(judgement);
  return fmt::format("expected failure until {}, {}: {}", outcome.expected->expires,
                     outcome.expected->issue, why(judgement));
}

struct TestCase {
  std::string suite, class_name, name;
  double seconds = 0;
  Kind kind = Kind::passed;
  std::string type, message, text;
};

std::vector<TestCase> test_cases(const RunReport& report) {
  const Style plain{.width = 0, .verbose = true};
  std::vector<TestCase> cases;
  for (const auto& stored : *report.outcomes) {
    const auto& [outcome, judgement] = stored;
    cases.push_back({outcome.suite, outcome.suite + "." + outcome.group, outcome.case_id,
                     outcome.wall_ms / 1e3, kind_of(judgement.verdict),
                     std::string(name(judgement.verdict)), message_of(stored),
                     render_case(stored, report.reproduce_command, plain)});
  }
  for (const auto& stored : *report.diffs) {
    const auto& [diff, judgement] = stored;
    cases.push_back({diff.suite, diff.suite + ".diff", diff.name, 0, kind_of(judgement.verdict),
                     std::string(name(judgement.verdict)), why(judgement),
                     render_diff(stored, plain)});
  }
  for (const auto& stored :
       report.invariances != nullptr ? *report.invariances : std::vector<StoredInvariance>{}) {
    const auto& [outcome, judgement] = stored;
    cases.push_back({outcome.suite, outcome.suite + ".invariances",
                     fmt::format("{} of {}", name(outcome.invariance), outcome.case_id),
                     outcome.wall_ms / 1e3, kind_of(judgement.verdict),
                     std::string(name(judgement.verdict)), why(judgement),
                     render_invariance(stored, report.reproduce_command, plain)});
  }
  // The text before the colon is the name of the test.
  const auto add_of_run = [&](Kind kind, const char* type, const std::string& message) {
    cases.push_back({"plumbline", "plumbline.run", message.substr(0, message.find(": ")), 0, kind,
                     type, message, message});
  };
  if (report.state() == RunState::incomplete)
    add_of_run(Kind::error, "incomplete", "incomplete: " + missing_text(report.incomplete));
  // If all tests are skipped, readers show the run as green.
  if (nothing_measured(report))
    add_of_run(Kind::error, "nothing_measured", "nothing measured: no kernel accepted a case");
  for (const std::string& line : report.absent) add_of_run(Kind::skipped, "not_measured", line);
  for (const std::string& line : report.unsettled) add_of_run(Kind::error, "unsettled", line);
  // Only changes that fail or are open become tests.
  for (const auto& [suite, case_id, change] :
       report.changes != nullptr ? *report.changes : std::vector<RunChange>{}) {
    if (change.standing != Standing::failure && change.standing != Standing::open) continue;
    cases.push_back({suite, suite + ".changes", fmt::format("{} {}", name(change.kind), case_id), 0,
                     change.standing == Standing::open ? Kind::error : Kind::failure,
                     std::string(name(change.kind)), change.text, change.text});
  }
  for (const SuiteScore& score : *report.scores) {
    if (score.status.starts_with("not judged")) continue;
    const std::string message = fmt::format(
        "{}: {} of {}, {} over {}", score.status, number(score.value), number(score.limit),
        score.statistic, plural(static_cast<std::size_t>(score.cases), "case"));
    const bool is_fine = score.status == "pass" || score.status == "improved";
    const Kind kind = is_fine ? Kind::passed : Kind::failure;
    cases.push_back({score.suite, score.suite + ".statistics",
                     fmt::format("{} {} {}", score.statistic, score.kernel, score.dtype), 0, kind,
                     "fail", message, message});
  }
  return cases;
}

std::string element(const TestCase& test) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                 xml(test.class_name), xml(test.name), test.seconds);
  if (test.kind == Kind::passed) return text + "/>\n";
  if (test.kind == Kind::skipped)
    return text + fmt::format(">\n      <skipped message=\"{}\">{}</skipped>\n    </testcase>\n",
                              xml(test.message), xml_text(test.message));
  const char* tag = test.kind == Kind::failure ? "failure" : "error";
  const bool begins_with_it = test.text.rfind(test.message, 0) == 0;
  return text + fmt::format(">\n      <{} type=\"{}\" message=\"{}\">{}{}</{}>\n    </testcase>\n",
                            tag, xml(test.type), xml(test.message),
                            begins_with_it ? "" : xml_text(test.message + "\n\n"),
                            xml_text(test.text), tag);
}

// Returns the attributes of a suite or of the root, which has no "skipped" in Jenkins' schema.
std::string attributes(const std::vector<TestCase>& cases, bool is_root) {
  const auto count = [&](Kind kind) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const TestCase& t) { return t.kind == kind; });
  };
  double seconds = 0;
  for (const TestCase& test : cases) seconds += test.seconds;
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"{} time=\"{:.3f}\"", cases.size(),
                     count(Kind::failure), count(Kind::error),
                     is_root ? "" : fmt::format(" skipped=\"{}\"", count(Kind::skipped)), seconds);
}

}  // namespace

std::string render_junit(const RunReport& report) {
  const std::vector<TestCase> all = test_cases(report);
  std::vector<std::string> suites;
  for (const TestCase& test : all) {
    if (std::find(suites.begin(), suites.end(), test.suite) == suites.end())
      suites.push_back(test.suite);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"plumbline {}: {}\" {}>\n", xml(report.run->run_id),
                      xml(headline(report)), attributes(all, true));
  for (const std::string& suite : suites) {
    std::vector<TestCase> cases;
    std::copy_if(all.begin(), all.end(), std::back_inserter(cases),
                 [&](const TestCase& test) { return test.suite == suite; });
    text +=
        fmt::format("  <testsuite name=\"{}\" {} timestamp=\"{}\" hostname=\"{}\">\n", xml(suite),
                    attributes(cases, false), xml(report.run->started_at), xml(report.run->host));
    for (const TestCase& test : cases) text += element(test);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace plumbline
