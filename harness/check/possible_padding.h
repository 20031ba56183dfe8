// Rows that a mask of queries and keys leaves no key.
#pragma once

#include <cstdint>

#include "harness/problem/geometry.h"

namespace plumbline {

// Of a problem whose lengths are full: how many rows, of all heads, see no key, where all of them
// may be padding that no lengths state: the key of the same index is seen by no row of the sample,
// and lies before or behind all that are. 0 where some may not, or lengths are stated.
std::int64_t rows_of_possible_padding(const Geometry& geometry);

}  // namespace plumbline
