// Checks if a failing output would be right if fp8 numbers were multiplied by another factor. Text
// for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "K and V are half as large: e4m3 read as e4m3fnuz or the reverse, or a scale off by 2" if
// such a factor of Q, K or V explains all informative rows; otherwise "".
std::string other_fp8_encoding(const FailingOutput& failing);
// Returns "Q K^T is 0.7 times and V 1.3 times as large: their fp8 scales are wrong" if two fitted
// factors explain all informative rows and both are needed; otherwise "".
std::string other_fp8_factors(const FailingOutput& failing);

}  // namespace plumbline
