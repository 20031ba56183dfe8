// Describes infinite LSEs. Text for reports; no verdict depends on it.
#pragma once

#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "LSE of -infinity where keys are visible: rows 0, 1 of sample 0; O is right" if infinite
// LSEs are the only faults, and outputs and all finite LSEs are within their limits; otherwise "".
// If O of a row without a reference may be wrong, the sentence lacks its last part.
std::string infinite_lse(const FailingOutput& failing);

// Returns one sentence for each sign of infinite LSEs where keys are visible, and one if rows
// without keys have an LSE of +infinity. Removes these faults from `faults`.
std::vector<std::string> causes_of_lse_faults(const FailingOutput& failing, Faults& faults);

}  // namespace plumbline
