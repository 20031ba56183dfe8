// A simulated legal kernel: one row of attention with exactly the roundings a spec declares. It
// takes a hundred lines, and starts from exact logits. What a spec leaves open (tiles, their order,
// how far the running maximum lags behind, splits, the signs of fp32 errors) is drawn at random, so
// that many draws are many legal kernels. Shares no code with the kernels, and none of the
// reference's formulas but the size of a logit's error.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "harness/reference/reference.h"

namespace plumbline::test {

inline constexpr int simulated_columns = 32;  // head_dim_vo of simulated problems
using Columns = std::array<float, simulated_columns>;

// What a row sees; all vectors over its visible keys.
struct ExactRow {
  std::vector<double> x;  // scaled q . k, natural units: the logits, but for softcap and ALiBi
  // of its fp32 error: independent standard deviation; systematic part, with its sign
  std::vector<double> sd, drift;
  std::vector<std::size_t> twin;  // first key with the same K: both have the same error
  std::vector<Columns> v;         // as the products see them
  float v_scale = 1;              // multiplies the output
  // of V's tokens: multiplies P before its rounding, or behind it where P is near the largest
  // number of its dtype; empty = none
  std::vector<float> p_scale;
  double scale = 1;  // of the softmax
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
