// Lays out what `check`, `diff`, `run` and pytest print about an output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/judge/verdict.h"
#include "harness/outcome/error_statistics.h"
#include "harness/report/report.h"

namespace plumbline {

struct Outcome;

// One labelled paragraph of a report, or a list. If there is no room, lines of the detail with the
// smallest `weight` are removed first.
struct Detail {
  std::string label;  // at most 9 columns
  std::vector<std::string> lines;
  int weight = 0;
};

// The content of a report, before it is laid out for a width.
struct OutputReport {
  std::string verdict;  // "BUG", "fail"
  Verdict colour_of = Verdict::pass;
  std::string cause;            // in words
  std::string subject;          // the file or case
  std::string judged;           // "all 512 rows compared with fp64"
  std::vector<Detail> details;  // in the order shown
  std::vector<Detail> more;     // only for a verbose style
  std::string command_label;    // "reproduce"
  std::string command;          // for a shell; "" if none

  // Adds a detail of one line, unless the line is empty.
  void add(std::string label, std::string line, int weight) {
    if (!line.empty()) details.push_back({std::move(label), {std::move(line)}, weight});
  }
};

// Returns "plumbline run --row-seed 7 --case 'cpu/flash/…'".
std::string reproduce_line(const std::string& command, const Outcome& outcome);

// Maximum lines of a report that is not verbose. Only a very long command exceeds them.
inline constexpr std::size_t max_report_lines = 12;

//   BUG: the softmax scale is 0.8 % too large
//     wrong.safetensors: all 1024 rows compared with fp64
//     problem   bf16, batch 2, …
//     …
//   in full: plumbline check wrong.safetensors -v
//
// Line 1 is the verdict with its cause, line 2 what was judged, the last line a command to paste. A
// verbose style shows everything. Otherwise details are shortened ("…"), smallest weight first, to
// at most max_report_lines lines. No line exceeds the style's width: a command continues after a
// backslash, as in a shell. A style without a known width (Style::piped) keeps the command on one
// line. `taken`: columns of line 1 that the caller fills, such as pytest's "AssertionError: ".
std::string render(const OutputReport& report, const Style& style, std::size_t taken = 0);

// Returns "all 512 rows compared with fp64", or "128 of 4096 rows compared with fp64 (a sample),
// faults looked for in all". `are_all` is false if further rows were given and not judged: then
// "all" is left out.
std::string rows_judged(std::int64_t compared, std::int64_t total, bool are_all = true);
// Returns "; unused: rope_cos, rope_sin" for tensors that were not used, or "".
std::string unused_tensors_text(const std::vector<std::string>& names, const Style& style = {});
// Returns "sample 0 head 3 row 17 column 5: 0.5156, not 0.5 (9.3 sigma)", which fits 80 columns.
std::string element_in_words(const WorstElement& worst);

// Converts a report to JSON and back, for the Python package, which lays it out for pytest's
// terminal.
std::string json_of(const OutputReport& report);
Result<OutputReport> report_from_json(const std::string& json);

}  // namespace plumbline
