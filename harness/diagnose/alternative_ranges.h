// Other keys that each query may have seen: lengths, masks and tiles of keys. Text for reports; no
// verdict depends on it.
#pragma once

#include <vector>

#include "harness/diagnose/alternative_problems.h"

namespace plumbline {

// Returns alternatives in which rows see other keys than the problem states, the likeliest first.
std::vector<AlternativeProblem> alternative_ranges(const FailingOutput& failing);

}  // namespace plumbline
