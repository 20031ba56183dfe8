// Few combinations of values that together contain every pair of them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace plumbline {

using Combination = std::vector<std::size_t>;  // index of the value of each dimension

// Combinations over dimensions with `sizes` values such that every pair of values of two dimensions
// that any allowed combination contains is in at least one of them, and all of them are allowed.
// With one dimension: every value. Greedy, after AETG (Cohen, Dalal, Fredman, Patton, IEEE TSE
// 23(7), 1997); the same result on every machine. A pair is given up as impossible when no allowed
// combination with it is found among all (to 4096) or 4096 random fillings of the other dimensions.
// `tries_left` counts down the fillings that are looked at; at 0 the search ends with the rows that
// it has.
std::vector<Combination> all_pairs(std::span<const std::size_t> sizes,
                                   const std::function<bool(const Combination&)>& allowed,
                                   std::size_t& tries_left);

}  // namespace plumbline
