// Two answers to one question, row by row: which bits differ, and by how many sigmas. Sigma is the
// standard deviation of the difference of two legal answers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/measure/call_outputs.h"
#include "harness/measure/variants.h"
#include "harness/outcome/error_statistics.h"
#include "harness/outcome/statistics_table.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct RowPair {
  RowId of_case, of_call;
  // |a - b| of the outputs over the case's largest |a| of the row; infinite for NaN
  double largest = 0;
};

// The rows of the case that `call` repeats, compared bit by bit. NaN equals nothing, itself
// included. Row outputs are compared where both have them.
struct BitComparison {
  std::int64_t elements = 0, other_bits = 0;
  std::vector<RowPair> rows;  // those with other bits
};
BitComparison compare_bits(const Geometry& base, const OutputView& a, const VariantCall& call,
                           const OutputView& b);

// The difference nearest to its limit.
struct LargestDifference {
  std::string statistic;  // "out" or a row output's name
  ElementId element;      // of the case; of row outputs the column is column_of()
  double value_a = 0, value_b = 0;
  // |a - b| / sqrt(2 sigma^2): both answer the same question with the same roundings
  double sigmas = 0;
  double ulps = 0;   // of the dtype at the reference's value
  double limit = 0;  // of the statistic that is nearest
};
// Over the rows of `reference`, which are rows of `pairs` (ordered alike).
LargestDifference largest_difference(const Geometry& base, const OutputView& a,
                                     const VariantCall& call, const OutputView& b,
                                     const std::vector<RowPair>& pairs, const Reference& reference,
                                     const Limits& limits);

// Those of the pairs that the reference can afford, the largest differences first; ordered as a
// reference's rows are.
std::vector<RowPair> affordable(std::vector<RowPair> pairs, const Geometry& base,
                                double cost_limit);

}  // namespace plumbline
