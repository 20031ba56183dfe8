// Renders `plumbline check`: the answer first, then the evidence.
#pragma once

#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/report/layout.h"

namespace plumbline {

// Returns the verdict whose colour the answer has.
Verdict verdict_like(Answer answer);

// Returns problem, rounding model and figures; unless the answer is rounding, also the three worst
// elements, the location of the error and suggestions. A verbose style adds the rounding models
// tried, their percent of the limit, all findings, five worst elements and sigma's variance terms.
OutputReport report_of(const CheckReport& report, const Style& style);
// Returns the end of line 2: "; not judged: 192 of 256 rows (padding by the mask of valid keys);
// not judged: dk, dq (nothing judges gradients yet)", or "". A style that is not verbose names only
// the first few tensors.
std::string not_judged_text(const std::vector<NotJudged>& not_judged, const Style& style);
bool some_rows_not_judged(const std::vector<NotJudged>& not_judged);
std::string render_check(const CheckReport& report, const Style& style);

// Returns the data of `plumbline check --format json`: an object with the list of dumps.
std::string json_of_checks(const std::vector<CheckReport>& reports);

}  // namespace plumbline
