// Renderers of `plumbline check`: the answer first, then what it rests on.
#pragma once

#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/report/report.h"

namespace plumbline {

// The first line holds the answer, the dump and the reason, the second the likeliest cause. Then
// the problem, the rung judged by with its source, the ladder with the percent of the limit of each
// rung tried; unless all is well or `verbose`, the worst elements with the roundings that make
// their sigma, where the error sits and what else suggests itself.
std::string render_check(const CheckReport& report, const Style& style, bool verbose = false);

// What `plumbline check --format json` prints: an object with the list of dumps; `errors` are files
// that could not be judged.
std::string json_of_checks(const std::vector<CheckReport>& reports);

}  // namespace plumbline
