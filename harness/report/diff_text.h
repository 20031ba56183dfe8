// Renderers of `plumbline diff`.
#pragma once

#include <string>
#include <vector>

#include "harness/check/diff.h"
#include "harness/report/layout.h"

namespace plumbline {

// One comparison, in the layout of all reports (layout.h): the answer with its sentence, both sides
// against fp64, the largest differences with their elements, equal bits. A verbose style adds the
// softmax's amplification and the map over (sample, head).
OutputReport report_of(const DiffReport& report, const Style& style);
std::string render_diff(const DiffReport& report, const Style& style);

// Several problems of two kernels: a table, a report of each that is not ROUNDING (the first five)
// and of the largest difference that is, then the totals.
std::string render_diffs(const std::vector<DiffReport>& reports, const Style& style);

// A legend and a line for each sample, with one character a head: '.' equal bits, ':' up to 1 of
// the difference's standard deviations, 'o' up to 3, 'O' up to the limit, 'X' beyond. Where there
// are more samples than 32 or more heads than fit the style's width, a character is the worst of
// several.
std::vector<std::string> difference_map(const DiffReport& report, const Style& style);

// For programs: an object with the overall answer and a list of the comparisons.
std::string json_of_diffs(const std::vector<DiffReport>& reports, Answer answer);

// bug if any is, else undecided if any is, else rounding. Comparisons in which a side is
// unsupported do not count; none left: undecided.
Answer overall_answer(const std::vector<DiffReport>& reports);
// Comparisons in which both sides ran or one ended badly: not unsupported.
std::size_t compared(const std::vector<DiffReport>& reports);

}  // namespace plumbline
