// Sums that add one number again and again. Each addition then makes the same rounding error until
// the sum's spacing (a step) grows: docs/judging-formulas.md, "TA: P V is accumulated".
#pragma once

#include <vector>

#include "harness/reference/row_block.h"

namespace plumbline {

// Shares are measured on at most this many keys, spread over the row.
inline constexpr std::int64_t max_sampled_keys = 128;

// Returns how many of n addends repeat an error, if this share of them lies within a step.
inline double repeated_addends(double n, double share) {
  return share > 0.25 ? n * (4 * share - 1) / 3 : 0;
}

// Returns S_t, the largest share of a row's keys whose t lie within two steps, 8 u32 l, of each
// other. Returns 0 if the share is at most 1/4. Keys with t below u32 l, which change no sum by a
// step, are not counted.
double repeated_share(const RowBlock& block, std::int64_t row);
// Returns S_vj by column: the largest share of a row's keys with v_kj within 4 u32 n |o_j| of one
// v_ij, tried for 16 keys i.
std::vector<double> repeated_shares(const RowBlock& block, std::int64_t row);

}  // namespace plumbline
