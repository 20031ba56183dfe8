// Builds the workflow commands: their place, level and text, with escapes.
#include "harness/report/annotations.h"

#include <fmt/format.h>

#include "harness/report/format.h"
#include "harness/report/issues.h"
#include "harness/report/layout.h"
#include "harness/report/summary.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

constexpr std::size_t max_per_level = 10;

// Escapes a message or, with more reserved characters, the value of a property.
std::string escape_command(const std::string& text, bool is_property) {
  return escaped(text, [&](char c) {
    const bool is_reserved =
        c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    return is_reserved ? fmt::format("%{:02X}", c) : "";
  });
}

std::string_view level_of(IssueKind kind) {
  return kind == IssueKind::broken || kind == IssueKind::slower ? "error" : "warning";
}

std::string place_of(const Issue& news, const RunReport& report, const SuitePlaces& places) {
  SuitePlaces::const_iterator found = places.end();
  if (!news.cases.empty()) {
    const Outcome& lead = (*report.outcomes)[news.cases.front()].outcome;
    found = places.find({lead.suite, lead.case_id});
  } else {
    for (const StoredDiff& diff : *report.diffs) {
      const bool is_lead =
          !news.names.empty() && news.names.front().find(diff.outcome.name) != std::string::npos;
      if (is_lead && found == places.end())
        found = places.find({diff.outcome.suite, diff.outcome.name});
    }
  }
  if (found == places.end() || found->second.file.empty()) return "";
  std::string text = "file=" + escape_command(found->second.file, true) + ",";
  if (found->second.line > 0) text += fmt::format("line={},", found->second.line);
  return text;
}

std::string annotation(const Issue& news, const RunReport& report, const SuitePlaces& places) {
  const std::string title =
      fmt::format("{}: {} {}", news.kernel, plural(news.size(), "case"), news.verdict);
  std::string message = news.title;
  if (!news.text.empty() && news.text != news.title) message += "\n" + news.text;
  if (!news.cases.empty()) {
    const Outcome& lead = (*report.outcomes)[news.cases.front()].outcome;
    message += "\nreproduce: " + reproduce_line(report.reproduce_command, lead);
  }
  return fmt::format("::{} {}title={}::{}\n", level_of(news.kind), place_of(news, report, places),
                     escape_command(title, true), escape_command(message, false));
}

}  // namespace

SuitePlaces places_of(const Plan& plan, const std::filesystem::path& root) {
  SuitePlaces places;
  const auto place = [&](const PlannedCase& c) {
    return SuitePlace{c.file.empty() ? "" : std::filesystem::proximate(c.file, root).string(),
                      c.line};
  };
  for (const PlannedCase& c : plan.cases) places.try_emplace({c.suite, c.case_id}, place(c));
  for (const PlannedDiff& diff : plan.diffs) {
    places.try_emplace({diff.suite, diff.name}, place(diff.a));
    for (const PlannedCase* side : {&diff.a, &diff.b})
      places.try_emplace({diff.suite, side->case_id}, place(*side));
  }
  return places;
}

std::string render_annotations(const RunReport& report, const SuitePlaces& places) {
  std::string text;
  if (report.state() == RunState::incomplete) {
    text += fmt::format("::error title=plumbline::{}\n",
                        escape_command(incomplete_sentence(report), false));
  }
  for (const std::string& sentence : report.unsettled)
    text += fmt::format("::warning title=plumbline::{}\n", escape_command(sentence, false));
  std::map<std::string_view, std::size_t> shown, left_out;
  for (const Issue& news : find_issues(report, {})) {
    if (news.kind == IssueKind::faster) continue;
    const std::string_view level = level_of(news.kind);
    if (++shown[level] <= max_per_level)
      text += annotation(news, report, places);
    else
      ++left_out[level];
  }
  for (const auto& [level, count] : left_out)
    text += fmt::format("::notice title=plumbline::{} more {}s; `plumbline show` has them\n", count,
                        level);
  return text;
}

}  // namespace plumbline
