// Sums of one number over and over. Each addition then makes the same rounding error, until the sum
// has grown by a step. docs/judging-formulas.md, "TA: P V is accumulated".
#pragma once

#include <vector>

#include "harness/reference/row_block.h"

namespace plumbline {

// Shares are those of at most this many keys, spread over all of them.
inline constexpr std::int64_t most_sampled_keys = 128;

// Of n addends of which this share lies within a step: those that repeat an error.
inline double repeated_addends(double n, double share) {
  return share > 0.25 ? n * (4 * share - 1) / 3 : 0;
}

// S_t: of a row's keys, by t within two steps of 4 u32 l; those of less than u32 l, which change no
// sum by a step, are not counted. 0 where it is below 1/4.
double repeated_share(const RowBlock& block, std::int64_t row);
// S_vj by column: of a row's keys, those that have v_kj within 4 u32 n |o_j| of that of one of 16
// keys.
std::vector<double> repeated_shares(const RowBlock& block, std::int64_t row);

}  // namespace plumbline
