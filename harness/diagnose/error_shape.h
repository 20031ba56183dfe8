// Detects the shape of an output's error: a common factor or one per row, truncation, narrowing, or
// wrong heads. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns by how much a ratio above 1 exceeds it: "12 %", "3.5 times".
std::string text_above_one(double ratio);

// Returns "the output is cut off instead of rounded to bf16" if this explains the output and the
// spec does not permit it; otherwise "".
std::string truncation(const FailingOutput& failing);
// Returns "the output is rounded to bf16 before it is stored in fp32" if it holds only numbers of a
// narrower dtype and this rounding explains its error; otherwise "".
std::string narrowed(const FailingOutput& failing);
// Returns "the LSE is rounded to bf16 before it is stored" (or "cut off") if only the LSE fails,
// all LSEs are numbers of a 16-bit dtype, and this rounding explains their errors; otherwise "".
std::string narrowed_lse(const FailingOutput& failing);
// Returns true if outputs are within their limits and LSEs are not.
bool only_lse_fails(const FailingOutput& failing);
// Returns "the softmax denominator is too small, by up to 12 %: …" if a factor per row explains the
// output up to rounding and the LSEs agree. Returns "the outputs are 0.2 % too small: …" if one
// factor for all rows explains the output up to rounding and the LSE is right. Otherwise "".
std::string wrong_factor(const FailingOutput& failing);
// Returns "each row of the output has a factor of its own, up to 0.3 % off, and the LSE is right:
// …" if such factors explain the output up to rounding; otherwise "".
std::string factor_of_each_row(const FailingOutput& failing);
// Returns "the outputs of heads 2, 3 are 10 % too large, those of the other heads are right" if one
// factor explains the wrong heads up to rounding; otherwise "".
std::string factor_of_heads(const FailingOutput& failing);
// Returns "the outputs are 2 % too small (…)" if one factor for all rows explains three quarters of
// the squared error; otherwise "". This is the size of an error that is located in the denominator,
// not its cause.
std::string size_of_common_factor(const FailingOutput& failing);
// Returns "head 2 of sample 0 is wrong, the others are right" or "heads 1, 3 of 4 are wrong, the
// others are right"; "" if all heads are wrong or it is unclear which are right.
std::string wrong_heads_only(const FailingOutput& failing);

}  // namespace plumbline
