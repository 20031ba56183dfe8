// Counts a run's verdicts and failures once, and words the headline that every report shows.
#include "harness/report/summary.h"

#include <fmt/format.h>

#include "harness/judge/judge.h"
#include "harness/report/changes.h"
#include "harness/report/format.h"
#include "harness/report/tally.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

template <class Stored>
VerdictCounts count(const std::vector<Stored>& all) {
  VerdictCounts counts;
  for (const Stored& stored : all) {
    ++counts.total;
    ++counts.verdicts[stored.judgement.verdict];
    counts.failures += is_failure(stored.judgement.verdict) ? 1 : 0;
  }
  return counts;
}

void add(std::string& text, std::string_view separator, const std::string& part) {
  if (part.empty()) return;
  if (!text.empty()) text += separator;
  text += part;
}

}  // namespace

RunCounts counts_of(const RunReport& report) {
  RunCounts counts{
      count(*report.outcomes), count(*report.diffs), {}, report.scores->size(), 0, 0, 0};
  if (report.invariances != nullptr) counts.invariances = count(*report.invariances);
  for (const SuiteScore& score : *report.scores) {
    counts.statistics_failed += score.status == "fail" ? 1 : 0;
    counts.statistics_not_judged += score.status.starts_with("not judged") ? 1 : 0;
  }
  for (const RunChange& change :
       report.changes != nullptr ? *report.changes : std::vector<RunChange>{}) {
    counts.changes_failed += change.change.is_failure ? 1 : 0;
  }
  return counts;
}

std::string headline(const RunReport& report) {
  const RunCounts counts = counts_of(report);
  std::vector<std::string> kinds{plural(counts.cases.total, "case")};
  if (counts.diffs.total > 0) kinds.push_back(plural(counts.diffs.total, "diff"));
  if (counts.invariances.total > 0) kinds.push_back(plural(counts.invariances.total, "invariance"));
  if (counts.statistics > 0) kinds.push_back(plural(counts.statistics, "suite statistic"));
  std::string of;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    of += (i == 0 ? "" : i + 1 < kinds.size() ? ", " : " and ") + kinds[i];
  const std::size_t failures = counts.failures();
  const std::string what = nothing_measured(report) ? "nothing measured"
                           : failures == 0          ? "no failure"
                                                    : plural(failures, "failure");
  return fmt::format("{} in {}", what, of);
}

std::string verdicts_text(const RunCounts& counts) {
  std::string text;
  const auto add_kind = [&](std::string_view kind, const VerdictCounts& of_kind) {
    if (of_kind.total > 0)
      add(text, "; ", fmt::format("{}: {}", kind, counts_text(of_kind.verdicts)));
  };
  add_kind("cases", counts.cases);
  add_kind("diffs", counts.diffs);
  add_kind("invariances", counts.invariances);
  std::string statistics;
  const std::size_t passed =
      counts.statistics - counts.statistics_failed - counts.statistics_not_judged;
  if (passed > 0) add(statistics, ", ", fmt::format("{} pass", passed));
  if (counts.statistics_failed > 0)
    add(statistics, ", ", fmt::format("{} fail", counts.statistics_failed));
  if (counts.statistics_not_judged > 0)
    add(statistics, ", ", fmt::format("{} not judged", counts.statistics_not_judged));
  if (!statistics.empty()) add(text, "; ", "suite statistics: " + statistics);
  if (counts.changes_failed > 0)
    add(text, "; ", fmt::format("since the last run: {} fail", counts.changes_failed));
  return text.empty() ? "nothing measured" : text;
}

}  // namespace plumbline
