// Slips of whoever writes a dump or calls a kernel: the other layout, two tensors exchanged,
// samples or heads permuted. Words for people; nothing here decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/examine.h"

namespace plumbline {

// Sentences about a wrong output that answers the question, had its tensors been meant otherwise:
// "would be explained if the layout were padded_bhsd, not padded_bshd", and what to state or do
// then. Empty where no reading explains the output. Costs a few references of few rows each.
std::vector<std::string> other_readings(const Dump& dump, const RoundingSpec& spec);

// "the output has nothing to do with this question …" where output and reference do not correlate;
// else "". The examination has its reference.
std::string unrelated(const Dump& dump, const Examination& judged);

}  // namespace plumbline
