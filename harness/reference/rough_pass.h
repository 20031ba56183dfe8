// A look at every row of an output, where the reference takes a sample: one row that is wrong is
// found wherever it is. O and LSE are fp64's, the scale of error is rough, and so is its limit.
// docs/judging-formulas.md, "Rows without a reference".
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "harness/reference/reference.h"

namespace plumbline {

struct RoughPass {
  std::int64_t rows = 0;  // with visible keys and without a reference, that were looked at
  // The largest |e| in units of the largest error that these roundings could have, as the compared
  // rows tell: a legal kernel stays below the limit of |e| / sigma. NaN where an output is.
  double largest = 0;
  RowId row;                // where
  std::int64_t column = 0;  // -1: the LSE
  double got = 0, expected = 0;
};

// What a kernel gave.
struct RowReader {
  // Writes the output of a row, [head_dim_vo], and answers its LSE in natural units. Called from
  // several threads.
  std::function<double(const RowId& row, std::span<double> output)> read;
  bool has_lse = false;
  double lse_unit = 1;  // an LSE may err by this where an output may err by 1, both in sigma
};

// `reference`: of some rows, by the same spec. Runs in the calling oneTBB arena. Where all rows
// would cost (visible keys times both head dims) more than `cost_limit`, every n-th is taken, and
// others with another rotation of the reference's rows.
RoughPass look_at_other_rows(const Geometry& geometry, const InputView& inputs,
                             const RoundingSpec& spec, const Reference& reference,
                             const RowReader& output, double cost_limit = 2e12);

}  // namespace plumbline
