// Checks if an output's error comes from a rounding that its spec lacks, or from K or V read at a
// wrong address. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns the sentence of the likeliest cause if it explains the output and beats every cause of
// another kind; otherwise "". Examples: "S is rounded to bf16 after the softmax scale"; "each key's
// weight is multiplied by V of the next key"; "a wrong page is read: K of page 2 of sample 0 from
// page 5 of sample 1".
std::string likeliest_change(const FailingOutput& failing);

}  // namespace plumbline
