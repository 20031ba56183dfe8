// The input distributions (laws): the rows of Q, K and V as numbers before rounding. Private to
// harness/problem; inputs.h has the contract.
//
// Every law is noise, scaled and shifted per dimension: row[d] = gain[d] * noise[d] + offset[d].
// Some laws have special keys with a given vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/problem/noise.h"
#include "harness/problem/problem.h"

namespace plumbline {

// gain and offset have padded_dims(dims) elements.
struct AffineRow {
  AffineRow(Noise noise_kind, std::int64_t dims, float all_gain, float all_offset = 0);

  Noise noise;
  std::vector<float> gain, offset;
};
// Writes scale * (gain * noise + offset): one fma and one product, each rounded to fp32. A scale of
// 0 gives +0 everywhere. The offset includes `per_position` times the address's position, added by
// an earlier fma; empty = 0.
void generate_row(const AffineRow& law, const RowAddress& address, float scale,
                  std::span<float> values, std::span<const float> per_position = {});

// The keys with position % period == first, which have `vector` (padded_dims elements) instead of
// noise.
struct SpecialKeys {
  std::int64_t period = 0;  // 0 = none
  std::int64_t first = 0;
  std::vector<float> vector;
  bool contains(std::int64_t position) const { return period > 0 && position % period == first; }
};

// The laws of one key head of one sample and of the query heads that share it.
struct HeadLaw {
  AffineRow q, k, v;
  SpecialKeys special;
  std::vector<float> k_per_position;  // added to K of key j, times j; empty = 0
  bool v_alternates = false;          // V of odd keys has the negated offset
};
// In a merge K is one number per part, and every Q is 1 (inputs.h).
// `length_kv` is the sample's number of keys. The laws sink and needle choose the logit of their
// special keys by it, so that the other keys keep a visible share.
HeadLaw head_law(const Problem& problem, std::int64_t sample, std::int64_t head_kv,
                 std::int64_t length_kv);

}  // namespace plumbline
