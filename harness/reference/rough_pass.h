// A check of every row of an output, for references that sample rows, so that one wrong row is
// found in any place. O and LSE are computed in fp64; the scale of errors and its limit are rough:
// docs/judging-formulas.md, "Rows without a reference".
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "harness/reference/reference.h"

namespace plumbline {

struct RoughPass {
  std::int64_t rows = 0;  // rows that were checked: with visible keys, without a reference
  // The largest |e| in units of W tau, a rough upper bound of sigma. The rows with a reference
  // determine W. The limit is Limits::elsewhere. NaN if an output is NaN.
  double largest = 0;
  RowId row;                // the row of `largest`
  std::int64_t column = 0;  // -1: the LSE
  double got = 0, expected = 0;
};

// Reads the results of a kernel.
struct RowReader {
  // Writes the output of a row, [head_dim_vo], and returns its LSE in natural units. Called from
  // several threads.
  std::function<double(const RowId& row, std::span<double> output)> read;
  bool has_lse = false;
  double lse_unit = 1;  // LSE error that counts like an output error of 1, both in sigma
};

// `reference` has some of the rows, computed with the same spec. Runs in the calling oneTBB arena.
// If all rows would cost (visible keys times both head dims) more than `cost_limit`, takes every
// n-th row. reference.selection.rotation decides which rows these are.
RoughPass compare_unreferenced_rows(const Geometry& geometry, const InputView& inputs,
                                    const RoundingSpec& spec, const Reference& reference,
                                    const RowReader& output, double cost_limit = 2e12);

}  // namespace plumbline
