// A run for the summary page of a CI job.
#include <fmt/format.h>

#include <algorithm>

#include "harness/report/arch_matrix.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/markdown_table.h"
#include "harness/report/tally.h"

namespace plumbline {
namespace {

// GitHub takes 1 MiB of summary.
constexpr std::size_t most_details = 50;
constexpr Style plain{false, 0};

std::string headline(const RunReport& report) {
  const auto counts = verdict_counts(report);
  std::size_t failed = 0, total = 0;
  for (const auto& [verdict, count] : counts) {
    total += count;
    if (is_failure(verdict)) failed += count;
  }
  for (const SuiteScore& score : *report.scores) failed += score.status == "fail" ? 1 : 0;
  if (report.invariances != nullptr) failed += failed_invariances(*report.invariances);
  const std::string what = total == 0 ? "nothing measured" : failed == 0 ? "no failure" : plural(failed, "failure");
  const RunInfo& run = *report.run;
  std::string text = fmt::format("## plumbline: {} in {}\n\n{}.\n\n", what, plural(total, "case"), counts_text(counts));
  text +=
      fmt::format("Run `{}` on {} ({}){}, exit code {}.\n\n", run.run_id, markdown_cell(run.machine.model), markdown_cell(run.machine.arch),
                  run.commit.empty() ? "" : fmt::format(", commit `{}`", run.commit), report.exit_code);
  return text;
}

std::string suites(const RunReport& report) {
  std::map<std::string, std::vector<Tally>> by_suite;
  for (const Tally& tally : tallies(*report.outcomes)) by_suite[tally.suite].push_back(tally);
  std::string text;
  for (const auto& [suite, of_suite] : by_suite) {
    const TallyTable content = tally_table(of_suite, false);
    text += fmt::format("### {}\n\n{}", markdown_cell(suite), markdown_table(content.columns, content.rows, 1));
  }
  return text;
}

std::string details(const std::string& verdict, const std::string& title, const std::string& body) {
  return fmt::format("<details><summary>{}: {}</summary>\n\n{}\n</details>\n\n", verdict, html(title), markdown_fenced(body));
}

std::string failures(const RunReport& report) {
  std::string text;
  std::size_t count = 0;
  const auto add = [&](Verdict verdict, const std::string& title, auto&& body) {
    if (!is_failure(verdict) && verdict != Verdict::ambiguous) return;
    if (count++ < most_details) text += details(std::string(name(verdict)), title, body());
  };
  for (const auto& stored : *report.outcomes) {
    add(stored.judgement.verdict, stored.outcome.case_id, [&] { return render_case(stored, report.reproduce_command, plain); });
  }
  for (const auto& stored : *report.diffs) {
    add(stored.judgement.verdict, stored.outcome.suite + "/" + stored.outcome.name, [&] { return render_diff(stored, plain); });
  }
  for (const auto& stored : report.invariances != nullptr ? *report.invariances : std::vector<StoredInvariance>{}) {
    add(stored.judgement.verdict, fmt::format("{} of {}", name(stored.outcome.invariance), stored.outcome.case_id),
        [&] { return render_invariance(stored, report.reproduce_command, plain); });
  }
  if (count > most_details) text += fmt::format("{} more are not shown.\n\n", count - most_details);
  return text.empty() ? "" : "### Failures and regressions\n\n" + text;
}

std::string changed(const RunReport& report) {
  std::string text;
  for (const auto& [kernel, count] : changed_cases(*report.outcomes))
    text += fmt::format("- other bits in {} of {}\n", plural(count, "case"), markdown_cell(kernel));
  return text.empty() ? "" : "### Changed\n\n" + text + "\n";
}

std::string expected_failures(const RunReport& report) {
  const TallyTable table = expected_failures_table(*report.outcomes);
  return table.rows.empty() ? "" : "### Expected failures\n\n" + markdown_table(table.columns, table.rows, table.columns.size());
}

std::string diffs(const RunReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [diff, judgement] : *report.diffs) {
    const bool ran = diff.status == Status::ok;
    const auto shown = [&](double value) { return ran ? number(value) : std::string(); };
    rows.push_back({diff.suite + "/" + diff.name, std::string(name(judgement.verdict)), why(judgement), shown(diff.max_abs),
                    shown(diff.max_ulp), shown(diff.max_sigma), shown(diff.max_rel), shown(diff.max_rel_expected)});
  }
  if (rows.empty()) return "";
  return "### Diffs\n\n" + markdown_table({"diff", "verdict", "why", "max abs", "ulp", "sigma", "max rel", "at |expected|"}, rows, 3);
}

std::string scores(const RunReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const SuiteScore& score : *report.scores) {
    rows.push_back({score.suite, score.kernel, score.dtype, score.statistic, score.status, std::to_string(score.cases), number(score.value),
                    number(score.limit)});
  }
  if (rows.empty()) return "";
  return "### Over suites\n\n" + markdown_table({"suite", "kernel", "dtype", "statistic", "verdict", "cases", "value", "limit"}, rows, 5);
}

std::string invariances(const RunReport& report) {
  if (report.invariances == nullptr || report.invariances->empty()) return "";
  return "### Invariances\n\n" + invariance_totals(*report.invariances) + ".\n\n" + render_invariances_markdown(*report.invariances);
}

// Where the run has more than one architecture.
std::string architectures(const RunReport& report) {
  const ArchMatrix matrix = arch_matrix(*report.outcomes);
  return matrix.columns.size() < 2 ? "" : "### Architectures\n\n" + render_matrix_markdown(matrix, report.reproduce_command);
}

}  // namespace

std::string render_markdown(const RunReport& report) {
  return headline(report) + failures(report) + expected_failures(report) + changed(report) + suites(report) + architectures(report) +
         invariances(report) + diffs(report) + scores(report);
}

}  // namespace plumbline
