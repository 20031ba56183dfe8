// Renders `plumbline diff`.
#pragma once

#include <string>
#include <vector>

#include "harness/check/diff.h"
#include "harness/report/layout.h"

namespace plumbline {

// Returns one comparison: the answer with its sentence, the errors of both sides against fp64, the
// elements that differ most, and how many bits are equal. A verbose style adds the amplification by
// the softmax and the map over (sample, head).
OutputReport report_of(const DiffReport& report, const Style& style);
std::string render_diff(const DiffReport& report, const Style& style);

// Renders several problems of two kernels: a table, some reports, and the totals. The reports are
// of the first five problems that are not ROUNDING, and of the ROUNDING one that differs most.
std::string render_diffs(const std::vector<DiffReport>& reports, const Style& style);

// Returns a legend and one line per sample, with one character per head: '.' equal bits, ':' up to
// 1 standard deviation of the difference, 'o' up to 3, 'O' up to the limit, 'X' above it. If there
// are more than 32 samples, or more heads than fit the width, a character shows the worst of
// several.
std::vector<std::string> difference_map(const DiffReport& report, const Style& style);

// Returns a JSON object with the overall answer and the list of comparisons.
std::string json_of_diffs(const std::vector<DiffReport>& reports, Answer answer);

// Returns the worst answer of the comparisons: bug, otherwise undecided, otherwise rounding.
// Unsupported comparisons do not count; if all are unsupported, the answer is undecided.
Answer overall_answer(const std::vector<DiffReport>& reports);
// Counts the comparisons that are not unsupported: both sides ran, or one ended with an error.
std::size_t compared(const std::vector<DiffReport>& reports);

}  // namespace plumbline
