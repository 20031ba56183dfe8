// A second, literal reference in quad precision, to check the first one. It computes attention of
// one row, and the scales of legal error in plain double loops, from the formulas of
// docs/judging-formulas.md, without blocking, matrix products or code of harness/reference. Slow on
// purpose.
#pragma once

#include <array>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

struct QuadInputs {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
};

struct QuadRow {
  double lse = 0, lse_sigma = 0;
  double max_logit = 0, max_logit_sigma = 0;  // 0 for merges
  double shrink_variance = 0, temperature_variance = 0;
  double largest_v = 0;  // max |v| over the visible keys
  // Per column. `terms` are TP, TL, TS, TE, TA, TR.
  std::vector<double> o, spre, sigma, gradient;
  std::vector<std::array<double, 6>> terms;
};

QuadRow quad_attention(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
                       std::int64_t sample, std::int64_t head, std::int64_t row);

}  // namespace plumbline
