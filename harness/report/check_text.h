// Renderers of `plumbline check`: the answer first, then what it rests on.
#pragma once

#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/report/layout.h"

namespace plumbline {

// The verdict that looks like an answer: its colour.
Verdict verdict_like(Answer answer);

// In the layout of all reports (layout.h): problem, the rung judged by, figures and, unless all is
// well, three worst elements, where the error sits and what else suggests itself. A verbose style
// adds the ladder with the percent of the limit of each rung tried, all findings, five worst
// elements and the roundings that make sigma.
OutputReport report_of(const CheckReport& report, const Style& style);
// For line 2 of a report: "; not judged: 192 of 256 rows (padding by the mask of valid keys); not
// judged: dk, dq (nothing judges gradients yet)", or "". Of many tensors a style that is not
// verbose names the first.
std::string not_judged_text(const std::vector<NotJudged>& not_judged, const Style& style);
bool some_rows_not_judged(const std::vector<NotJudged>& not_judged);
std::string render_check(const CheckReport& report, const Style& style);

// What `plumbline check --format json` prints: an object with the list of dumps; `errors` are files
// that could not be judged.
std::string json_of_checks(const std::vector<CheckReport>& reports);

}  // namespace plumbline
