// Lists inside a row, as JSON text that SQL can read with json_each. Numbers that JSON lacks are
// "Infinity", "-Infinity" or "NaN". The parsers throw nlohmann::json::exception on text that is not
// such JSON.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/judgement.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/outcome/times.h"

namespace plumbline {

// [{"statistic":…,"value":…,"limit":…,"text":…}, …]
std::string findings_text(const std::vector<Finding>& findings);
std::vector<Finding> parse_findings(const std::string& text);
std::string notes_text(const std::vector<std::string>& notes);  // ["…", …]
std::vector<std::string> parse_notes(const std::string& text);
// [[sample, head, mean_abs, max_abs, bit_equal], …]
std::string per_head_text(const std::vector<DiffHead>& heads);
std::vector<DiffHead> parse_per_head(const std::string& text);
// [1.25, …]
std::string numbers_text(const std::vector<double>& numbers);
std::vector<double> parse_numbers(const std::string& text);
// [{"kernel_ns": [1.25, …], "load": 0.5, …}, …], without members that are empty or 0
std::string rounds_text(const std::vector<TimeRound>& rounds);
std::vector<TimeRound> parse_rounds(const std::string& text);

}  // namespace plumbline
