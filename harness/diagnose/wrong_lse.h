// Finds what the LSE is if it alone is wrong. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns a sentence such as "only the LSE is wrong: it is the maximum alone, without ln l" if one
// explanation predicts the LSEs of all informative rows within their limit; otherwise "". Returns
// "" if outputs fail as well.
std::string wrong_lse(const FailingOutput& failing);

}  // namespace plumbline
