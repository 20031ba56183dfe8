// The shape of an output's error: a common factor, truncation, some heads right and others wrong.
// The factor may be one for all rows, or one for each. Words for people; nothing here decides.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// "the output is cut off instead of rounded to bf16"; "" where it is not.
std::string truncation(const FailingOutput& failing);
// "the output is rounded to bf16 before it is stored in fp32" where it holds numbers of a narrower
// dtype only and nothing but that rounding is wrong with it; "" else.
std::string narrowed(const FailingOutput& failing);
// "the LSE is rounded to bf16 before it is stored" where each is such a number, and right but for
// that; "" else.
std::string narrowed_lse(const FailingOutput& failing);
// Whether outputs are within their limits, and LSEs are not.
bool only_lse_fails(const FailingOutput& failing);
// "the softmax denominator is too small, by up to 12 %: …" where a factor for each row leaves
// nothing but rounding, and the LSE agrees where there is one; "the outputs are 0.2 % too small: …"
// where one factor for all rows does. "" where neither does.
std::string wrong_factor(const FailingOutput& failing);
// The words of the denominator where most LSE that are off are so in one direction, and the outputs
// in the other; "" else.
std::string denominator_by_lse(const FailingOutput& failing);
// The same words where the location says denominator and no factor explains all: what is most of
// it.
std::string nearest_factor(const FailingOutput& failing);
// "head 2 of sample 0 is wrong, the others are right"; "heads 1, 3 of 4 are wrong, the others are
// right"; "" where the error is everywhere or where it is not clear which are right.
std::string wrong_heads_only(const FailingOutput& failing);

}  // namespace plumbline
