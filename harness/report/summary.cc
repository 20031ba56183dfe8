// Words the headline that every report shows, and its verdicts.
#include "harness/report/summary.h"

#include <fmt/format.h>

#include "harness/report/format.h"
#include "harness/store/machine.h"
#include "harness/store/night.h"

namespace plumbline {
namespace {

void add(std::string& text, std::string_view separator, const std::string& part) {
  if (part.empty()) return;
  if (!text.empty()) text += separator;
  text += part;
}

}  // namespace

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
  const std::size_t passed = counts.statistics - counts.statistics_failed;
  if (passed > 0) add(statistics, ", ", fmt::format("{} pass", passed));
  if (counts.statistics_failed > 0)
    add(statistics, ", ", fmt::format("{} fail", counts.statistics_failed));
  if (!statistics.empty()) add(text, "; ", "suite statistics: " + statistics);
  if (counts.changes_failed > 0)
    add(text, "; ", fmt::format("since the last run: {} fail", counts.changes_failed));
  return text.empty() ? "nothing measured" : text;
}

std::string night_times_sentence(const NightTimes& row) {
  std::string text = fmt::format("times on {}: ", describe(row.machine));
  if (row.suspect)
    return text + fmt::format("the night is suspect, and they were set aside: {}", row.why);
  text += fmt::format("{} gated",
                      row.series == 1 ? "1 series" : std::to_string(row.series) + " series");
  if (row.candidates > 0) {
    text += fmt::format(", {} asked in {} fresh processes each, {} confirmed as slower",
                        plural(static_cast<std::size_t>(row.candidates), "candidate"), row.fresh,
                        row.confirmed);
  }
  text += fmt::format("; {:.2g} false alerts expected", row.expected_false_alerts);
  if (row.second_pairs > 0) {
    text += fmt::format("; measured twice: {}, of which {} would have been {}", row.second_pairs,
                        row.second_alarms, row.second_alarms == 1 ? "a candidate" : "candidates");
  }
  if (!row.why.empty()) text += "; " + row.why;
  return text;
}

}  // namespace plumbline
