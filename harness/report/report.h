// Renderers of stored results. They return strings, judge nothing and print nothing.
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
  int width = 120;       // columns of a line; 0 = unlimited
  bool unicode = false;  // may use block elements
  bool verbose = false;  // show everything, not only what fits a screen
  bool piped = false;    // the width is unknown; `width` applies only to tables
};

// A run and all results judged for it. Pointers are not owned. A comment says if one may be null.
struct RunReport {
  const RunInfo* run = nullptr;
  const std::vector<StoredOutcome>* outcomes = nullptr;
  const std::vector<StoredDiff>* diffs = nullptr;
  const std::vector<SuiteScore>* scores = nullptr;
  int exit_code = 0;
  // The start of each reproduce line: "plumbline run --provider ./mine.so".
  std::string reproduce_command;
  const std::vector<StoredInvariance>* invariances = nullptr;  // null: not measured
  const std::vector<RunChange>* changes = nullptr;             // null: none
  // Cases that the suites require and this machine cannot measure, one sentence each.
  std::vector<std::string> absent = {};
  const std::vector<NightTimes>* night_times = nullptr;  // null or empty: no time was gated
  // Further reasons for which the run is open, besides its cases; one sentence each.
  std::vector<std::string> unsettled = {};
  IncompleteRuns incomplete = {};
  RunState state() const { return state_of_exit(exit_code); }
};

// Returns one sentence for each run that started, by its host's clock, more than max_clock_skew_s
// before the newest run of the database.
std::vector<std::string> unsettled_of(const std::vector<RunInfo>& runs);

// A --format of a command and its writer: `text` for plain text, `json` for the text of a document,
// which the command puts into the envelope of docs/json.md.
template <class Content>
struct Format {
  std::string_view name;
  std::string (*text)(const Content& content, const Style& style) = nullptr;
  std::string (*json)(const Content& content) = nullptr;
};

// Lays out columns two blanks apart, numbers right-aligned. If the table is wider than the style,
// text is broken at '/' and blanks. If it still does not fit and the style is narrower than 120,
// the last columns are left out. Cells of the column "verdict" are coloured.
std::string render_table(const std::vector<std::string>& columns,
                         const std::vector<std::vector<std::string>>& rows, const Style& style);

// Renders one outcome: findings, figures, the worst element, the fault's location, and the
// reproduce line last. A verbose style adds the variance terms of sigma and the launch.
std::string render_case(const StoredOutcome& stored, const std::string& reproduce_command,
                        const Style& style);
// Draws the error histogram with the curve expected from the declared roundings, and a map of the
// largest errors by row and column. Returns "" if nothing was compared.
std::string render_errors(const StoredOutcome& stored, const Style& style);
// Renders one diff in the layout of render_case().
std::string render_diff(const StoredDiff& stored, const Style& style);

// Renders a run for a terminal: failures by cause (all if verbose), diffs, timed cases, suite
// statistics, invariances, changes, suite tables, unsupported cases, totals.
std::string render_text(const RunReport& report, const Style& style);
// Returns GitHub-flavoured Markdown for a CI job's summary: headline, failures, suite statistics,
// changes, and a table per suite unless all is well.
std::string render_markdown(const RunReport& report);
// Returns JUnit XML with a test suite per suite and a test case per case, diff, invariance and
// judged suite statistic. Unsupported and tolerated cases are skipped; an open case is an error.
std::string render_junit(const RunReport& report);
// Returns Prometheus' text format: cases by verdict, the worst share of a limit, and times.
std::string render_prometheus(const RunReport& report);
// Returns all results, for programs. NaN and infinities are null.
std::string json_of_run(const RunReport& report);

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

// Render an SQL result: as a table, as JSON ({"rows": […]} with SQLite's types: number, text,
// null), and as CSV (RFC 4180; null is an empty cell).
std::string render_query(const Store::Table& table, const Style& style);
std::string json_of_table(const Store::Table& table);
std::string render_query_csv(const Store::Table& table);

}  // namespace plumbline
