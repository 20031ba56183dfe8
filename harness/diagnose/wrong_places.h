// Checks if a failing output would be right if rows, vectors or elements were exchanged, repeated,
// cut off or left at 0. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns a sentence such as "each row has the output of the next row" if one explanation explains
// all informative rows; otherwise "".
std::string wrong_places(const FailingOutput& failing);

}  // namespace plumbline
