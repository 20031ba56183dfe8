// The one layout of what `check`, `diff`, `run` and pytest print about an output.
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

// One labelled paragraph of a report, or a list. If there is no room, the detail of
// least `weight` loses its lines first.
struct Detail {
  std::string label;  // at most 9 columns
  std::vector<std::string> lines;
  int weight = 0;
};

// The content of a report before its layout for a width.
struct OutputReport {
  std::string verdict;  // "BUG", "fail"
  Verdict colour_of = Verdict::pass;
  std::string cause;            // why, in words
  std::string subject;          // the file or the case
  std::string judged;           // "all 512 rows compared with fp64"
  std::vector<Detail> details;  // in the order shown
  std::vector<Detail> more;     // shown in a verbose style alone
  std::string command_label;    // "reproduce"
  std::string command;          // for a shell; "" if there is none

  // A detail of one line, unless that is empty.
  void add(std::string label, std::string line, int weight) {
    if (!line.empty()) details.push_back({std::move(label), {std::move(line)}, weight});
  }
};

// "plumbline run --row-seed 7 --case 'cpu/flash/…'"
std::string reproduce_line(const std::string& command, const Outcome& outcome);

// The limit of lines of a report that is not verbose, at any width.
inline constexpr std::size_t max_report_lines = 12;

//   BUG: the softmax scale is 0.8 % too large
//     wrong.safetensors: all 1024 rows compared with fp64
//     problem   bf16, batch 2, …
//     …
//   in full: plumbline check wrong.safetensors -v
//
// Line 1 is the verdict with its cause, line 2 what was judged, the last one a command to paste. A
// verbose style shows everything; otherwise details are shortened ("…"), least weight first, until
// the report has at most max_report_lines lines. No line is wider than the style: a command goes
// on after a backslash, as a shell reads it. A style without a known width (Style::piped) keeps a
// command on one line, for whatever reads the pipe. `taken`: columns of line 1 that somebody else
// fills, such as pytest's "AssertionError: ".
std::string render(const OutputReport& report, const Style& style, std::size_t taken = 0);

// "all 512 rows compared with fp64", "128 of 4096 rows compared with fp64 (a sample), faults looked
// for in all". Without "all" where rows beside the total were given and not judged.
std::string rows_judged(std::int64_t compared, std::int64_t total, bool are_all = true);
// "; without a part in it: rope_cos, rope_sin", or "" without such tensors.
std::string tensors_without_a_part(const std::vector<std::string>& names, const Style& style = {});
// "sample 0 head 3 row 17 col 5: 0.5156, not 0.5 (9.3 sigma)": short enough for 80 columns
std::string element_in_words(const WorstElement& worst);

// For the Python package, which lays a report out when it knows pytest's terminal: the report as
// JSON, and back.
std::string json_of(const OutputReport& report);
Result<OutputReport> report_from_json(const std::string& json);

}  // namespace plumbline
