// Would a failing output be right, had a row read another key head, fp8 scale or sink? Words for
// people; nothing here decides.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// "query head 2 reads key head 1 instead of 0" where that explains every head that is wrong; else
// "".
std::string other_key_heads(const FailingOutput& failing);
// "would be explained if K's fp8 scale were not applied"; "" where the problem has no fp8 K and V
// or no such change explains.
std::string other_fp8_scales(const FailingOutput& failing);
// "would be explained if the attention sinks were multiplied by ln 2: log2(e) is missing"; ""
// without sinks, or where none explains.
std::string other_sinks(const FailingOutput& failing);

}  // namespace plumbline
