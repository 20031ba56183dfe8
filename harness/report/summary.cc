// Writes the headline that every report shows, and its counts of verdicts.
#include "harness/report/summary.h"

#include <fmt/format.h>

#include <cctype>

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

namespace {

std::string span_text(std::int64_t seconds) {
  constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  for (const auto& [unit, noun] : {std::pair{day, "day"}, {hour, "hour"}, {minute, "minute"}}) {
    if (seconds >= unit) return plural(static_cast<std::size_t>(seconds / unit), noun);
  }
  return plural(static_cast<std::size_t>(seconds), "second");
}

std::string failures_in_words(const RunReport& report) {
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

}  // namespace

std::string missing_text(const IncompleteRuns& runs) {
  if (runs.missing_cases == 0) return "the run did not finish";
  return fmt::format("{} of {} not measured", runs.missing_cases,
                     plural(runs.planned_cases, "case"));
}

std::string headline(const RunReport& report) {
  const std::string failures = failures_in_words(report);
  if (report.state() != RunState::incomplete) return failures;
  return fmt::format("{}: {}; {} so far", name(RunState::incomplete),
                     missing_text(report.incomplete), failures);
}

std::string incomplete_sentence(const RunReport& report) {
  std::string failures = failures_in_words(report);
  failures[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(failures[0])));
  return fmt::format("Incomplete: {}. {} so far", missing_text(report.incomplete), failures);
}

std::vector<std::string> unsettled_of(const std::vector<RunInfo>& runs) {
  std::vector<std::string> sentences;
  for (const RunInfo& run : runs) {
    if (!has_wrong_clock(run)) continue;
    sentences.push_back(fmt::format(
        "run {}: the clock of {} was {} behind the newest run of the database, so that dates and "
        "expiries are wrong; set the clock and run again",
        run.run_id.substr(0, 8), run.host, span_text(run.clock_behind_s)));
  }
  return sentences;
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
  if (counts.invariances.not_judged > 0)
    text += fmt::format(" ({} not judged)", counts.invariances.not_judged);
  std::string statistics;
  const std::size_t passed = counts.statistics - counts.statistics_failed;
  if (passed > 0) add(statistics, ", ", fmt::format("{} pass", passed));
  if (counts.statistics_failed > 0)
    add(statistics, ", ", fmt::format("{} fail", counts.statistics_failed));
  if (!statistics.empty()) add(text, "; ", "suite statistics: " + statistics);
  if (counts.changes_failed > 0)
    add(text, "; ", fmt::format("since the last run: {} fail", counts.changes_failed));
  if (counts.changes_open > 0)
    add(text, "; ", fmt::format("{} vanished", plural(counts.changes_open, "case")));
  return text.empty() ? "nothing measured" : text;
}

std::string night_times_sentence(const NightTimes& row) {
  std::string text = fmt::format("times on {}: ", describe(row.machine));
  if (row.suspect)
    return text + fmt::format("the night is suspect, and they were set aside: {}", row.why);
  text += fmt::format("{} gated",
                      row.series == 1 ? "1 series" : std::to_string(row.series) + " series");
  if (row.candidates > 0) {
    text += fmt::format(", {} measured again in {} fresh processes each, {} confirmed as slower",
                        plural(static_cast<std::size_t>(row.candidates), "candidate"), row.fresh,
                        row.confirmed);
  }
  text += fmt::format("; {:.2g} false alerts expected", row.expected_false_alerts);
  if (row.second_pairs > 0) {
    text +=
        fmt::format("; cases measured twice: {}, of which {} would have been {}", row.second_pairs,
                    row.second_alarms, row.second_alarms == 1 ? "a candidate" : "candidates");
  }
  if (!row.why.empty()) text += "; " + row.why;
  return text;
}

}  // namespace plumbline
