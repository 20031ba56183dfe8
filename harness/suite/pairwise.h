// Finds few combinations of values that together contain every pair.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace plumbline {

using Combination = std::vector<std::size_t>;  // index of each dimension's value

// Returns allowed combinations over dimensions with `sizes` values. Every pair of values of two
// dimensions that an allowed combination can contain is in at least one returned combination. With
// one dimension, returns every value. Greedy, after AETG (Cohen, Dalal, Fredman, Patton, IEEE TSE
// 23(7), 1997); the same result on every machine.
// A pair counts as impossible if no allowed combination with it is found among all fillings of the
// other dimensions (up to 4096) or among 4096 random ones. `tries_left` counts down the fillings
// that are checked. At 0 the search ends with the rows that it has.
std::vector<Combination> all_pairs(std::span<const std::size_t> sizes,
                                   const std::function<bool(const Combination&)>& allowed,
                                   std::size_t& tries_left);

}  // namespace plumbline
