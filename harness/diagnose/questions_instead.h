// The questions that a failing output may answer instead of its own. Words for people; nothing here
// decides.
#pragma once

#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// A problem that the kernel may have solved instead, and how to say so: "if the mask were causal".
struct OtherQuestion {
  std::string sentence;
  Problem problem;
  StatedLayout layout;
  int lse_base = 0;  // of the LSE returned, as OutputView has it
};

// The likeliest first.
std::vector<OtherQuestion> questions_instead(const FailingOutput& failing);

}  // namespace plumbline
