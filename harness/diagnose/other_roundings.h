// Does an output's error come from a rounding that its spec does not have, or from K or V that is
// read in the wrong place? Words for people; nothing here decides.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// "S is rounded to bf16 after the softmax scale"; "V of the next key is multiplied by each key's
// weight"; "a wrong page is read: K of page 2 of sample 0 where page 5 of sample 1 lies". The
// likeliest of all, where it explains the output and beats each of another kind (contest.h); else
// "".
std::string likeliest_change(const FailingOutput& failing);

}  // namespace plumbline
