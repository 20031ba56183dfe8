// The input laws: what the rows of Q, K and V contain, as numbers before rounding. Private to
// harness/problem; the contract is inputs.h.
//
// Every law is noise, scaled and shifted per dimension: row[d] = gain[d] * noise[d] + offset[d].
// Some laws have special keys, whose vector is given instead.
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
// Writes scale * (gain * noise + offset): one fma, one product, each rounded to fp32. A scale of 0
// gives +0 everywhere. `per_position` times the address's position is added to the offset, by one
// fma; empty = 0.
void generate_row(const AffineRow& law, const RowAddress& address, float scale,
                  std::span<float> values, std::span<const float> per_position = {});

// Keys that carry `vector` (padded_dims elements) instead of noise: those with position % period ==
// first.
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
  std::vector<float> k_per_position;  // K of key j has j times this beside its noise; empty = 0
  bool v_alternates = false;          // V of odd keys has the offset of the other sign
};
// Of a merge K is one number a part, and every Q is 1 (inputs.h).
// `length_kv` is the sample's number of keys: sink and needle set their logit by it, so that the
// other keys keep a visible share.
HeadLaw head_law(const Problem& problem, std::int64_t sample, std::int64_t head_kv,
                 std::int64_t length_kv);

}  // namespace plumbline
