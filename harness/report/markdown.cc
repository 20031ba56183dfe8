// Renders a run for a CI job's summary or a pull-request comment: short if all is well, and
// always below GitHub's limit of 65,536 characters.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/judge.h"
#include "harness/report/arch_matrix.h"
#include "harness/report/changes.h"
#include "harness/report/failure_groups.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/issues.h"
#include "harness/report/markdown_table.h"
#include "harness/report/summary.h"
#include "harness/report/tally.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

constexpr std::size_t max_page_bytes =
    58'000;  // page size; GitHub allows a comment 65,536 characters
// Page bytes up to which failures are shown in full
constexpr std::size_t max_bytes_with_details = 40'000;
constexpr std::size_t max_body_bytes = 6'000;  // for one failure in full
constexpr std::size_t max_changes = 50;        // rows of changes since the last run
constexpr std::size_t max_named_cases = 5;     // ids of further cases in a group
constexpr Style plain{.width = 0, .verbose = true};

// Returns " of smoke, stories": the first few suites, in the order of the outcomes.
std::string suite_names(const RunReport& report) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (const Tally& tally : tallies(*report.outcomes)) {
    if (std::find(names.begin(), names.end(), tally.suite) == names.end())
      names.push_back(tally.suite);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? " of " : ", ") + markdown_cell(names[i]);
  return names.size() > most ? text + fmt::format(" and {} more suites", names.size() - most)
                             : text;
}

std::string head(const RunReport& report) {
  const RunInfo& run = *report.run;
  return fmt::format(
      "## plumbline: {}\n\n{}.\n\nRun `{}`{} on {} ({}){}, exit code {}.\n\n",
      markdown_cell(sentence_of(report, find_issues(report, {}))), verdicts_text(counts_of(report)),
      run.run_id, suite_names(report), markdown_cell(run.machine.model), run.machine.arch,
      run.commit.empty() ? "" : fmt::format(", commit `{}`", run.commit), report.exit_code);
}

// Lists why the run is open and what was not measured. The list comes first, because a reader must
// not take such a run for green.
std::string absent(const RunReport& report) {
  std::string text;
  for (const auto* lines : {&report.unsettled, &report.absent})
    for (const std::string& line : *lines) text += "- " + markdown_cell(line) + "\n";
  return text.empty() ? "" : text + "\n";
}

std::string cut_lines(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(text.rfind('\n', most) == std::string::npos ? most : text.rfind('\n', most) + 1);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U)
    text.pop_back();
  return text + "… (cut)\n";
}

std::string title(const FailureGroup& group) {
  return fmt::format("{}: {}{}", in_words(group.verdict), members_text(group),
                     group.cause.empty() ? "" : ": " + cut_lines(group.cause, 300));
}

std::string details(const FailureGroup& group, const std::string& reproduce_command) {
  const std::string body = render_first(group, reproduce_command, plain);
  std::string text = fmt::format("<details><summary>{}</summary>\n\n{}", html(title(group)),
                                 markdown_fenced(cut_lines(body, max_body_bytes)));
  if (group.names.size() > 1) {
    std::string others;
    for (std::size_t i = 1; i < std::min(group.names.size(), max_named_cases + 1); ++i)
      others += group.names[i] + "\n";
    if (group.names.size() > max_named_cases + 1)
      others += fmt::format("and {} more\n", group.names.size() - max_named_cases - 1);
    text += "\nAlso:\n\n" + markdown_fenced(others);
  }
  return text + "\n</details>\n\n";
}

// A page that accepts sections as long as there is room.
class Page {
 public:
  explicit Page(std::string head) : text_(std::move(head)) {}
  bool add(const std::string& section, std::size_t most = max_page_bytes) {
    if (text_.size() + section.size() > most) return false;
    text_ += section;
    return true;
  }
  void add_or_name(const std::string& section, std::string_view what) {
    if (!section.empty() && !add(section))
      left_out_ += fmt::format("{}{}", left_out_.empty() ? "" : ", ", what);
  }
  std::string text() && {
    if (!left_out_.empty())
      text_ +=
          fmt::format("Left out for want of room: {}. `plumbline show` has them.\n", left_out_);
    return std::move(text_);
  }

 private:
  std::string text_, left_out_;
};

// Adds groups in full, then as one line each, then as a count.
void add_failures(Page& page, const std::vector<FailureGroup>& groups,
                  const std::string& reproduce_command) {
  if (groups.empty()) return;
  page.add("### What fails\n\n");
  auto group = groups.begin();
  while (group != groups.end() &&
         page.add(details(*group, reproduce_command), max_bytes_with_details))
    ++group;
  bool is_list = false;
  for (; group != groups.end() &&
         page.add("- " + markdown_cell(title(*group)) + "\n", max_page_bytes - 8'000);
       ++group)
    is_list = true;
  std::size_t left_out = 0;
  for (auto rest = group; rest != groups.end(); ++rest) left_out += rest->names.size();
  if (left_out > 0) {
    page.add(
        fmt::format("{}{} more failures, of {} more causes, are left out. `plumbline "
                    "show` has them.\n",
                    is_list ? "\n" : "", left_out, groups.end() - group));
  }
  page.add("\n");
}

std::string suites(const RunReport& report) {
  std::map<std::string, std::vector<Tally>> by_suite;
  for (const Tally& tally : tallies(*report.outcomes)) by_suite[tally.suite].push_back(tally);
  std::string text;
  for (const auto& [suite, of_suite] : by_suite) {
    const TallyTable content = tally_table(of_suite);
    text += fmt::format("### {}\n\n{}", markdown_cell(suite),
                        markdown_table(content.columns, content.rows, 1));
  }
  return text;
}

std::string changes(const RunReport& report) {
  if (report.changes == nullptr) return "";
  const TallyTable table = changes_table(*report.changes, max_changes);
  return table.rows.empty() ? ""
                            : "### Since the last run\n\n" +
                                  markdown_table(table.columns, table.rows, table.columns.size());
}

// Changed bits are not failures, so a kernel gets only a count.
std::string changed(const RunReport& report) {
  std::string text;
  for (const auto& [kernel, count] : changed_cases(*report.outcomes))
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", plural(count, "case"),
                        markdown_cell(kernel));
  return text.empty() ? "" : "Changed: other bits in " + cut_lines(text, 2'000) + ".\n\n";
}

std::string expected_failures(const RunReport& report) {
  std::string text;
  for (const auto& row : expected_failures_table(*report.outcomes).rows) {
    text += fmt::format("{}{} until {} ({}: {})", text.empty() ? "" : ", ", row[0], row[1],
                        markdown_cell(row[2]), markdown_cell(row[3]));
  }
  return text.empty() ? "" : "Expected failures: " + cut_lines(text, 2'000) + ".\n\n";
}

std::string acknowledged(const RunReport& report) {
  std::string text;
  for (const auto& row : acknowledged_table(*report.outcomes).rows)
    text += fmt::format("- {}: {}\n", markdown_cell(row[0]), markdown_cell(row[1]));
  return text.empty() ? "" : "### Acknowledged regressions\n\n" + cut_lines(text, 4'000) + "\n";
}

std::string failed_scores(const RunReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const SuiteScore& score : *report.scores) {
    if (score.status != "fail") continue;
    rows.push_back({score.suite, score.kernel, score.dtype, score.statistic, score.status,
                    std::to_string(score.cases), number(score.value), number(score.limit)});
  }
  if (rows.empty()) return "";
  return "### Over suites\n\n" + markdown_table({"suite", "kernel", "dtype", "statistic", "verdict",
                                                 "cases", "value", "limit"},
                                                rows, 5);
}

std::string invariances(const RunReport& report) {
  if (report.invariances == nullptr || report.invariances->empty()) return "";
  return "### Invariances\n\n" + render_invariances_markdown(*report.invariances);
}

std::string gated_times(const RunReport& report) {
  if (report.night_times == nullptr) return "";
  std::string text;
  for (const NightTimes& row : *report.night_times)
    text += fmt::format("- {}\n", markdown_cell(night_times_sentence(row)));
  return text.empty() ? "" : "### Times\n\n" + text + "\n";
}

// Returns "" for a run with fewer than two devices.
std::string architectures(const RunReport& report) {
  const ArchMatrix matrix = arch_matrix(*report.outcomes);
  return matrix.columns.size() < 2
             ? ""
             : "### Architectures\n\n" + render_matrix_markdown(matrix, report.reproduce_command);
}

}  // namespace

std::string render_markdown(const RunReport& report) {
  Page page(head(report));
  const auto groups = failure_groups(report);
  const std::string scores = failed_scores(report);
  const std::string since = changes(report);
  const bool is_suspect = report.night_times != nullptr &&
                          std::any_of(report.night_times->begin(), report.night_times->end(),
                                      [](const NightTimes& row) { return row.suspect; });
  const bool is_well = groups.empty() && scores.empty() && since.empty() && !is_suspect;
  page.add_or_name(absent(report), "what was not measured");
  add_failures(page, groups, report.reproduce_command);
  page.add_or_name(scores, "suite statistics");
  page.add_or_name(since, "what changed since the last run");
  page.add_or_name(expected_failures(report), "expected failures");
  page.add_or_name(acknowledged(report), "acknowledged regressions");
  page.add_or_name(changed(report), "changed kernels");
  // Shown even if all is well: the table is the result of a run with invariances.
  page.add_or_name(invariances(report), "the table of invariances");
  if (is_well) return std::move(page).text();
  page.add_or_name(gated_times(report), "the gate of times");
  page.add_or_name(suites(report), "the tables of suites");
  page.add_or_name(architectures(report), "the matrix of architectures");
  return std::move(page).text();
}

}  // namespace plumbline
