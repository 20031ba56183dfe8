// Slips in writing a dump or calling a kernel: the other layout, two tensors exchanged, samples or
// heads permuted. Text for reports; no verdict depends on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/examine.h"

namespace plumbline {

// Returns sentences about a wrong output that solves the problem under another reading of its
// tensors: "would be explained if the layout were padded_bhsd, not padded_bshd", and what to state
// or do. Empty if no reading explains the output. Costs a few references of few rows each.
std::vector<std::string> other_readings(const Dump& dump, const RoundingSpec& spec);

// Returns "the output does not match these inputs at all …" if output and reference do not
// correlate; otherwise "". The examination must have its reference.
std::string unrelated(const Dump& dump, const Examination& judged);

}  // namespace plumbline
