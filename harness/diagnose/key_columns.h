// Finds columns of K that weigh too much or too little. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "columns 48 to 63 of K (or Q) weigh 10 % too much" if one factor of a block of dimensions
// explains the output; otherwise "". Blocks begin or end at an end of the head, or are tiles of 64.
std::string larger_key_columns(const FailingOutput& failing);

}  // namespace plumbline
