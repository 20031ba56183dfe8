// Renderers: stored results to text. They return strings and decide nothing; the command prints.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/store/store.h"

namespace plumbline {

struct Style {
  bool colour = false;
  int width = 120;       // of a line in columns; 0 = unlimited
  bool unicode = false;  // may draw with block elements
  bool verbose = false;  // everything, instead of what fits a screen
  bool piped = false;    // no width is known: `width` is for tables alone
};

// A run with all that was concluded from it. The pointers are not owned; only those that say so may
// be null.
struct RunReport {
  const RunInfo* run = nullptr;
  const std::vector<StoredOutcome>* outcomes = nullptr;
  const std::vector<StoredDiff>* diffs = nullptr;
  const std::vector<SuiteScore>* scores = nullptr;
  int exit_code = 0;
  // "plumbline run --provider ./mine.so": the start of each reproduce line
  std::string reproduce_command;
  const std::vector<StoredInvariance>* invariances = nullptr;  // null: none were measured
  const std::vector<RunChange>* changes = nullptr;             // null: none
  // what its suites want and this machine cannot ask, a sentence each
  std::vector<std::string> absent = {};
  const std::vector<NightTimes>* night_times = nullptr;  // null or empty: nothing was gated
  // Why the run is open beside its cases, a sentence each.
  std::vector<std::string> unsettled = {};
  IncompleteRuns incomplete = {};
  RunState state() const { return state_of_exit(exit_code); }
};

// Sentences on runs whose clock was behind the newest run of their database.
std::vector<std::string> unsettled_of(const std::vector<RunInfo>& runs);

// One --format of a command: its name, and what writes it, a text or the text of a JSON document
// without the envelope that the command puts around it (docs/json.md).
template <class Content>
struct Format {
  std::string_view name;
  std::string (*text)(const Content& content, const Style& style) = nullptr;
  std::string (*json)(const Content& content) = nullptr;
};

// Columns side by side, two blanks apart. A column of numbers is right-aligned; where the table is
// wider than the style, text is broken at '/' and blanks. Cells of a column "verdict" are coloured.
std::string render_table(const std::vector<std::string>& columns,
                         const std::vector<std::vector<std::string>>& rows, const Style& style);

// One outcome in the layout of all reports (layout.h): findings, figures, the worst element, where
// the fault sits; the last line says how to repeat it. A verbose style adds the roundings that
// explain sigma and what was launched.
std::string render_case(const StoredOutcome& stored, const std::string& reproduce_command,
                        const Style& style);
// A picture of its errors: their histogram with the curve that the declared roundings lead to, and
// a map of the largest by row and column. "" where nothing was compared.
std::string render_errors(const StoredOutcome& stored, const Style& style);
// The report of one diff, in the same layout.
std::string render_diff(const StoredDiff& stored, const Style& style);

// For a terminal: failures by cause (a verbose style: each of them), then diffs, timed cases, the
// table of suites and kernels, why cases are unsupported, suite statistics, totals.
std::string render_text(const RunReport& report, const Style& style);
// For the summary page of a CI job: headline, a table per suite, what failed, regressed or changed.
// GitHub-flavoured Markdown.
std::string render_markdown(const RunReport& report);
// JUnit XML: a test suite per suite, a test case per case, diff and judged suite statistic.
// Unsupported and tolerated cases are skipped; an open case is an error.
std::string render_junit(const RunReport& report);
// Prometheus text format: cases by verdict, the worst share of a limit, times.
std::string render_prometheus(const RunReport& report);
// Everything, for programs. Numbers that JSON lacks are null.
std::string json_of_run(const RunReport& report);

// All of them.
inline constexpr std::array run_formats{
    Format<RunReport>{"text", render_text},
    Format<RunReport>{"json", nullptr, json_of_run},
    Format<RunReport>{
        "markdown", [](const RunReport& report, const Style&) { return render_markdown(report); }},
    Format<RunReport>{"junit",
                      [](const RunReport& report, const Style&) { return render_junit(report); }},
    Format<RunReport>{"prometheus", [](const RunReport& report,
                                       const Style&) { return render_prometheus(report); }},
};

// A result of SQL as a table, as JSON ({"rows": […]}, an object a row with SQLite's own types:
// numbers, texts, null), as CSV (RFC 4180; null is an empty cell).
std::string render_query(const Store::Table& table, const Style& style);
std::string json_of_table(const Store::Table& table);
std::string render_query_csv(const Store::Table& table);

}  // namespace plumbline
