// Where the level of a series changes, for display and for cutting the past there.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumbline {

// Ascending indices from which on another level holds; none is 0. Binary segmentation: the split
// whose two sides differ most, in units of their noise, is kept where it beats chance, and both
// sides are split again. The noise is that of the whole series, from differences of neighbours and
// of the sides themselves; spikes count up to a limit. A level lasts at least 5 values, except the
// last, which is known from 4 on.
std::vector<std::size_t> level_changes(std::span<const double> values);

}  // namespace plumbline
