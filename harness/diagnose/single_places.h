// Names single wrong elements and rows that lack an answer. Text for reports; no verdict depends on
// it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "one element is wrong, all others are right: column 3 of row 1, head 0, sample 0" if at
// most eight elements, and at most 1 % of all, are beyond their limits, all statistics of the
// others are within theirs, and the rest of the same rows and columns looks like rounding;
// otherwise "". No other cause can explain such an error. If rows are sampled, the sentence says
// "all others of 900 compared ones".
std::string few_elements(const FailingOutput& failing);
// Returns "one row is wrong, all others are right: row 2, head 1, sample 0" if at most eight rows,
// and at most 5 % of all, have clearly wrong outputs and all other rows, with or without a
// reference, are within the limits; otherwise "".
std::string few_rows(const FailingOutput& failing);
// Returns "rows 0, 1, 2 of sample 0 answer as if they saw no key: …" if rows with visible keys hold
// zeros and an LSE of -infinity; otherwise "".
std::string rows_without_answer(const FailingOutput& failing);

}  // namespace plumbline
