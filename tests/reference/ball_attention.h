// Attention in ball arithmetic (FLINT's arb), which encloses the exact result. It follows from the
// definitions in harness/problem/problem.h and docs/judging-formulas.md, without code of
// harness/reference.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

// An interval [middle - radius, middle + radius].
struct Ball {
  double middle = 0, radius = 0;
};

struct BallInputs {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
};

struct BallRow {
  std::vector<Ball> o;   // [head_dim_vo]
  Ball lse;              // natural units
  double largest_s = 0;  // max |logit|, sinks included
  double largest_v = 0;  // max |v| over the visible keys
};

// Computes a row that sees a key, rounding outward to `bits` bits after each operation. Of the
// spec, only roundings that the reference makes itself matter: those of Q, K and V, and
// lse_includes_sink.
BallRow ball_attention(const Geometry& geometry, const BallInputs& inputs, const RoundingSpec& spec,
                       std::int64_t sample, std::int64_t head, std::int64_t row, int bits);

}  // namespace plumbline
