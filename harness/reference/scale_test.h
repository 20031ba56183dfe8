// Tests if one whole output is too small, or its softmax too sharp or too flat. Such faults stay
// within every element's limit but have one direction: docs/judging-formulas.md, "Scale of one
// output".
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "harness/reference/reference.h"

namespace plumbline {

// A relative effect: the output, or the softmax scale, is multiplied by (1 + effect). Rounding
// alone stays within `limit`. Not judged if no row can show an effect.
struct ScaleTest {
  double effect = 0, limit = 0;
  bool judged = false;
  double percent_of_limit() const { return judged ? 100 * std::abs(effect) / limit : 0; }
};

struct ScaleTests {
  ScaleTest shrink;       // of the output
  ScaleTest temperature;  // softmax scale, by the error's component orthogonal to the output
  ScaleTest lse;          // softmax scale, by the LSE
  std::int64_t rows = 0;  // number of rows used
};

// `z` is e / sigma of the reference's rows, [R, D], as in Comparison. `lse_errors` are errors of
// the LSE, [R], in natural units; empty without an LSE. Tests evenly spaced rows whose total cost
// (visible keys times head_dim_vo) is at most `cost_limit`. NaN in z makes the effect NaN.
ScaleTests test_scale(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                      const Reference& reference, std::span<const float> z,
                      std::span<const double> lse_errors, double cost_limit = 4e8);

}  // namespace plumbline
