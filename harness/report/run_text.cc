// Renders a run for a terminal. The most important text comes last, next to the prompt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/judge.h"
#include "harness/report/changes.h"
#include "harness/report/failure_groups.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/summary.h"
#include "harness/report/tally.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// A verbose report shows this many failures in full and lists the rest.
constexpr std::size_t max_full_failures = 20;
// Other reports show one failure for each of the first causes, list further causes in one row each,
// and count the rest: about 90 lines.
constexpr std::size_t max_causes_shown = 5, max_causes_listed = 12;
constexpr std::size_t max_reasons = 8;  // for unsupported cases, if anything was measured

std::string each_failure(const RunReport& report, const Style& style) {
  std::string text;
  std::vector<std::vector<std::string>> rest;
  std::size_t shown = 0;
  for (const StoredOutcome& stored : *report.outcomes) {
    if (!needs_attention(stored.judgement.verdict)) continue;
    if (shown++ < max_full_failures) {
      text += render_case(stored, report.reproduce_command, style);
    } else {
      rest.push_back({std::string(in_words(stored.judgement.verdict)), stored.outcome.cause,
                      stored.outcome.case_id});
    }
  }
  if (!rest.empty())
    text += fmt::format("and {} more:\n{}\n", rest.size(),
                        render_table({"verdict", "cause", "case"}, rest, style));
  return text;
}

// Diffs and invariances have tables of their own, so only cases are shown here.
std::string failures(const RunReport& report, const Style& style) {
  if (style.verbose) return each_failure(report, style);
  const RunReport cases_alone = [&] {
    static const std::vector<StoredDiff> no_diffs;
    RunReport some = report;
    some.diffs = &no_diffs, some.invariances = nullptr;
    return some;
  }();
  const std::vector<FailureGroup> groups = failure_groups(cases_alone);
  std::string text;
  std::vector<std::vector<std::string>> listed;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const FailureGroup& group = groups[i];
    if (i < max_causes_shown) {
      text += render_case(*group.outcome, report.reproduce_command, style);
      if (group.names.size() == 1) continue;
      text.pop_back();  // the blank line at its end
      text += wrapped(fmt::format("the same cause in {}\n\n", members_text(group)), 0, style);
    } else if (listed.size() < max_causes_listed) {
      listed.push_back({std::string(in_words(group.verdict)), members_text(group),
                        group.cause.substr(0, group.cause.find('\n'))});
    } else {
      ++left_out;
    }
  }
  if (!listed.empty()) text += render_table({"verdict", "cases", "cause"}, listed, style) + "\n";
  if (left_out > 0) text += fmt::format("and {}\n\n", plural(left_out, "more cause"));
  return text;
}

// Diffs over several shapes share a name, so the shape in the id of case a ("b4-h4-s64-d64") is
// added.
std::string diff_label(const DiffOutcome& diff, const std::vector<StoredDiff>& diffs) {
  const auto twins = std::count_if(diffs.begin(), diffs.end(), [&](const StoredDiff& other) {
    return other.outcome.suite == diff.suite && other.outcome.name == diff.name;
  });
  const Result<Case> a = parse_case_id(diff.case_a);
  if (twins == 1 || !a) return diff.name;
  const std::string id = problem_id(a->problem);
  const auto begin = id.find('/') + 1;
  return diff.name + " " + id.substr(begin, id.find('/', begin) - begin);
}

std::vector<std::string> diff_row(const DiffOutcome& diff, const Judgement& judgement,
                                  const std::string& label) {
  const std::string verdict(in_words(judgement.verdict));
  if (diff.status != Status::ok) return {label, verdict, "", "", "", "", "", "", "", "", ""};
  const bool timed = diff.time_ns_a > 0 && diff.time_ns_b > 0;
  return {label,
          verdict,
          number(diff.max_abs),
          number(diff.mean_abs),
          number(diff.max_sigma),
          number(diff.max_rel),
          number(diff.max_rel_expected),
          fmt::format("{} of {}", diff.heads_bit_equal, diff.heads),
          number(diff.rms_a),
          number(diff.rms_b),
          timed ? number(diff.time_ns_a / diff.time_ns_b) : ""};
}

// Returns a table per suite, each followed by its conclusions.
std::string diff_section(const std::vector<StoredDiff>& diffs, const Style& style) {
  std::string text;
  for (auto first = diffs.begin(); first != diffs.end();) {
    const std::string& suite = first->outcome.suite;
    const auto last = std::find_if(first, diffs.end(), [&](const StoredDiff& stored) {
      return stored.outcome.suite != suite;
    });
    std::vector<std::vector<std::string>> rows;
    std::string sentences;
    for (; first != last; ++first) {
      const std::string label = diff_label(first->outcome, diffs);
      rows.push_back(diff_row(first->outcome, first->judgement, label));
      if (const std::string reason = why(first->judgement); !reason.empty())
        sentences += fmt::format("  {}: {}\n", label, wrapped(reason, 4, style));
    }
    text += fmt::format("diffs of {}\n", suite) +
            render_table({"a : b", "verdict", "max abs", "mean abs", "sigma", "max rel", "at |o|",
                          "equal heads", "rms a", "rms b", "time a/b"},
                         rows, style) +
            sentences + "\n";
  }
  return text;
}

std::string timed_section(const std::vector<StoredOutcome>& outcomes, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  std::map<std::string_view, std::size_t> unjudged;
  for (const auto& [outcome, judgement] : outcomes) {
    if (!outcome.timed || outcome.status != Status::ok) continue;
    const std::string_view reason = unjudged_time(judgement);
    if (!reason.empty()) ++unjudged[reason];
    rows.push_back({outcome.case_id, duration(outcome.time_ns), duration(outcome.time_mad_ns),
                    number(outcome.time_ratio) + (reason.empty() ? "" : " ~")});
  }
  if (rows.empty()) return "";
  std::string text = render_table({"timed case", "median", "MAD", "/ sentinel"}, rows, style);
  for (const auto& [reason, count] : unjudged)
    text += fmt::format("~ not judged ({}): {}\n", count, reason);
  return text + "\n";
}

// Returns a table of the judged scores that do not pass, and one line for those that pass.
std::string score_section(const std::vector<SuiteScore>& scores, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  std::size_t passed = 0;
  double nearest = 0;
  for (const SuiteScore& score : scores) {
    if (score.status == "pass") {
      ++passed;
      nearest = std::max(nearest, 100 * std::abs(score.value) / score.limit);
    } else if (!score.status.starts_with("not judged")) {
      rows.push_back({score.suite, score.kernel, score.dtype, score.statistic,
                      std::to_string(score.cases), number(score.value), number(score.limit),
                      score.status});
    }
  }
  std::string text;
  if (!rows.empty())
    text = render_table(
        {"suite", "kernel", "dtype", "statistic", "cases", "value", "limit", "verdict"}, rows,
        style);
  if (passed > 0)
    text += fmt::format("{} passed, at most {} of the limit\n", plural(passed, "suite statistic"),
                        percent(nearest));
  return text.empty() ? "" : text + "\n";
}

// Returns "" if no statistic was judged, as in a partial suite, unless verbose.
std::string not_judged_line(const RunReport& report, const Style& style) {
  const RunCounts counts = counts_of(report);
  if (counts.statistics_not_judged == 0 || (counts.statistics == 0 && !style.verbose)) return "";
  std::map<std::string, std::size_t> reasons;
  constexpr std::string_view prefix = "not judged: ";
  for (const SuiteScore& score : *report.scores) {
    if (score.status.starts_with(prefix)) ++reasons[score.status.substr(prefix.size())];
  }
  std::string why;
  for (const auto& [reason, count] : reasons)
    why += fmt::format("{}{} ({})", why.empty() ? "" : ", ", reason, count);
  return wrapped(fmt::format("{} not judged: {}",
                             plural(counts.statistics_not_judged, "suite statistic"), why),
                 0, style) +
         "\n";
}

// Returns one line per reason: max_reasons at most, or all if verbose or nothing was measured.
std::string refusals_section(const RunReport& report, const Style& style) {
  const TallyTable table = refusals_table(*report.outcomes);
  if (table.rows.empty()) return "";
  const std::size_t most =
      style.verbose || nothing_measured(report) ? table.rows.size() : max_reasons;
  std::string text = "unsupported\n";
  for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
    const auto& row = table.rows[i];
    text += "  " + wrapped(fmt::format("{} of {}: {}", row[0], row[1], row[2]), 4, style) + "\n";
  }
  if (table.rows.size() > most)
    text += fmt::format("  and {}\n", plural(table.rows.size() - most, "more reason"));
  return text + "\n";
}

// A new build may change the bits of every case, so there is one line per kernel.
std::string changed_section(const std::vector<StoredOutcome>& outcomes) {
  std::string text;
  for (const auto& [kernel, count] : changed_cases(outcomes))
    text += fmt::format("changed: other bits in {} of {}\n", plural(count, "case"), kernel);
  return text;
}

// Returns "" if the table has no rows.
std::string section(std::string_view title, const TallyTable& table, const Style& style) {
  if (table.rows.empty()) return "";
  return fmt::format("{}{}\n", title, render_table(table.columns, table.rows, style));
}

std::string changes_section(const RunReport& report, const Style& style) {
  if (report.changes == nullptr) return "";
  return section("since the last run\n", changes_table(*report.changes, max_full_failures), style);
}

// One table per suite keeps the lines within a terminal.
std::string tally_section(const std::vector<StoredOutcome>& outcomes, const Style& style) {
  std::vector<std::pair<std::string, std::vector<Tally>>> suites;
  for (const Tally& tally : tallies(outcomes)) {
    if (suites.empty() || suites.back().first != tally.suite) suites.push_back({tally.suite, {}});
    suites.back().second.push_back(tally);
  }
  std::string text;
  for (const auto& [suite, of_suite] : suites) {
    text += section("suite " + suite + "\n", tally_table(of_suite), style);
  }
  return text;
}

std::string gated_section(const RunReport& report, const Style& style) {
  if (report.night_times == nullptr) return "";
  std::string text;
  for (const NightTimes& row : *report.night_times)
    text += wrapped(night_times_sentence(row), 2, style) + "\n";
  return text;
}

std::string totals(const RunReport& report, const Style& style) {
  double wall_ms = 0;
  for (const StoredOutcome& stored : *report.outcomes) wall_ms += stored.outcome.wall_ms;
  const std::string counts = verdicts_text(counts_of(report));
  if (report.state() == RunState::incomplete) {
    // Readers of a log look at its last line, so the state is there.
    const std::string text =
        fmt::format("{}. Run {}, exit code {} ({} of measuring)", incomplete_sentence(report),
                    report.run->run_id.substr(0, 8), report.exit_code, duration(wall_ms * 1e6));
    return wrapped(counts, 2, style) + "\n" + wrapped(text, 2, style) + "\n";
  }
  std::string text =
      fmt::format("run {}: {}, exit code {} ({} of measuring)", report.run->run_id.substr(0, 8),
                  headline(report), report.exit_code, duration(wall_ms * 1e6));
  return wrapped(text, 0, style) + "\n  " + wrapped(counts, 2, style) + "\n";
}

}  // namespace

std::string render_text(const RunReport& report, const Style& style) {
  std::string text = failures(report, style) + diff_section(*report.diffs, style) +
                     timed_section(*report.outcomes, style) + score_section(*report.scores, style);
  if (report.invariances != nullptr)
    text += render_invariances(*report.invariances, report.reproduce_command, style);
  text += section("expected failures\n", expected_failures_table(*report.outcomes), style) +
          section("", acknowledged_table(*report.outcomes), style) + changes_section(report, style);
  text += tally_section(*report.outcomes, style) + refusals_section(report, style);
  text += gated_section(report, style) + changed_section(*report.outcomes);
  for (const std::string& sentence : report.unsettled) text += wrapped(sentence, 2, style) + "\n";
  const std::string ends[] = {totals(report, style), not_judged_line(report, style)};
  const bool incomplete = report.state() == RunState::incomplete;
  return text + ends[incomplete ? 1 : 0] + ends[incomplete ? 0 : 1];
}

}  // namespace plumbline
