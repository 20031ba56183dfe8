// Whether one output is too small, or its softmax too sharp or too flat, as a whole: faults that
// stay within every element's limit but have one direction. docs/judging-formulas.md, "Scale of one
// output".
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "harness/reference/reference.h"

namespace plumbline {

// A relative effect: an output times (1 + effect), or a softmax scale times that. Rounding alone
// stays within `limit`. Not judged where no row tells of it.
struct ScaleTest {
  double effect = 0, limit = 0;
  bool judged = false;
  double percent_of_limit() const { return judged ? 100 * std::abs(effect) / limit : 0; }
};

struct ScaleTests {
  ScaleTest shrink;       // of the output
  ScaleTest temperature;  // of the softmax scale, by what of the output's error no factor imitates
  ScaleTest lse;          // of the softmax scale, by the LSE
  std::int64_t rows = 0;  // that these were made from
};

// `z`: e / sigma of the reference's rows, [R, D], as Comparison has them. `lse_errors`: those of
// the LSE, [R], natural units; empty without an LSE. Takes evenly spaced rows whose cost (visible
// keys times head_dim_vo) is at most `cost_limit` in sum. NaN in z makes the effect NaN.
ScaleTests test_scale(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                      const Reference& reference, std::span<const float> z,
                      std::span<const double> lse_errors, double cost_limit = 4e8);

}  // namespace plumbline
