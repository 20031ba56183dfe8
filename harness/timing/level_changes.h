// Finds the changes of a series' level, for the gate, for display and for pruning.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumbline {

// Returns the ascending indices at which a new level begins; 0 is never one. Binary segmentation:
// the split whose sides differ most, in units of their noise, is kept if it is beyond chance, and
// both sides are split again. The noise is the scatter within both sides, after a median of three
// has removed single spikes. A level lasts at least 5 values; the last one may have 4.
std::vector<std::size_t> level_changes(std::span<const double> values);

}  // namespace plumbline
