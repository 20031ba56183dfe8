// Recognises an output that lacks one key's V in some columns. Text for reports; no verdict depends
// on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "columns 0 to 7 of the output lack V of the last key, 95"; "" if adding p_k v_kj of one
// key in adjacent columns does not explain all rows.
std::string lost_columns(const FailingOutput& failing);

}  // namespace plumbline
