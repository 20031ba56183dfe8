// Rows to which a mask of queries and keys leaves no key.
#pragma once

#include <cstdint>

#include "harness/problem/geometry.h"

namespace plumbline {

// Returns how many rows of all heads see no key, if all of them may be padding that no lengths
// state: no row of the sample sees the key of the same index, which is before or after all visible
// ones. Returns 0 if some cannot be padding, or if lengths are stated.
std::int64_t count_possible_padding(const Geometry& geometry);

}  // namespace plumbline
