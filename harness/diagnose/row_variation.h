// Checks if a failing output would be right if rows had another head, fp8 scale, slope or sink.
// Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "query head 2 reads key head 1 instead of 0" if this explains every wrong head; otherwise
// "".
std::string other_key_heads(const FailingOutput& failing);
// Returns "would be explained if K's fp8 scale were not applied"; "" if the problem has no fp8 K
// and V or no such change explains the output.
std::string other_fp8_scales(const FailingOutput& failing);
// Returns "would be explained if the attention sinks were multiplied by ln 2: log2(e) is missing";
// "" if there are no sinks or no such change explains the output.
std::string other_sinks(const FailingOutput& failing);
// Returns "would be explained if each head had the ALiBi slope of the next head"; "" if there are
// no slopes or no such change explains the output.
std::string other_slopes(const FailingOutput& failing);
// Returns "heads are exchanged: query head 0 has the output of query head 1, …" if another head's
// result explains every wrong head and at least two heads are wrong; otherwise "".
std::string exchanged_heads(const FailingOutput& failing);

}  // namespace plumbline
