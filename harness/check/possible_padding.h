// Rows to which a mask of queries and keys leaves no key.
#pragma once

#include <cstdint>

#include "harness/problem/geometry.h"

namespace plumbline {

// Returns the number of rows, over all heads, that see no key, if all of them may be unstated
// padding: the key of the same index lies before or after all keys that rows of the sample see.
// Returns 0 if one of these rows cannot be padding, or if lengths are stated.
std::int64_t count_possible_padding(const Geometry& geometry);

}  // namespace plumbline
