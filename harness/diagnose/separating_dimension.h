// Finds heads, columns or rows that are wrong while all others are right.
#pragma once

#include <string>

#include "harness/compare/statistics.h"
#include "harness/outcome/faults.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Tries heads, columns and rows. Returns the first of these dimensions in which some indices are
// clearly wrong and all others clearly right (error_parts.h), without a z; otherwise no location.
Location separating_dimension(const Reference& reference, const Comparison& comparison);

// Returns ", 98 % of the squared error in head 3 of sample 0" if most of it is in one head or one
// column; otherwise "".
std::string concentration(const Reference& reference, const Comparison& comparison);

}  // namespace plumbline
