// A simulated legal kernel: one row of attention with exactly the roundings that a spec declares,
// from exact logits. Random draws decide what a spec leaves open (tiles, their order, the lag of
// the running maximum, splits, the signs of fp32 errors), so each draw is another legal kernel.
// Shares no code with the kernels, and of the reference's formulas only the size of a logit's
// error.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "harness/reference/reference.h"

namespace plumbline::test {

inline constexpr int simulated_columns = 32;  // head_dim_vo of simulated problems
using Columns = std::array<float, simulated_columns>;

// The keys that a row sees. All vectors are over its visible keys.
struct ExactRow {
  std::vector<double> x;  // scaled q . k in natural units: the logits without softcap and ALiBi
  // fp32 error of x: independent standard deviation, and systematic part with its sign.
  std::vector<double> sd, drift;
  std::vector<std::size_t> twin;  // first key with the same K, and so the same error
  std::vector<Columns> v;         // as the products see them
  float v_scale = 1;              // multiplies the output
  // Scales of V's tokens. They multiply P before its rounding, or after it if P is near the largest
  // number of its dtype. Empty = none.
  std::vector<float> p_scale;
  double scale = 1;  // softmax scale
  double softcap = 0;
  std::vector<float> bias;  // ALiBi; empty = none
  std::optional<double> sink;
};
ExactRow exact_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                   const RowId& id);

struct SimulatedRow {
  Columns o{};  // before output rounding
  double lse = 0;
};
SimulatedRow simulate(const ExactRow& row, const RoundingSpec& spec, std::mt19937_64& random);

}  // namespace plumbline::test
