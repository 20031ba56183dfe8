// Compares two outputs of one problem row by row: which bits differ, and by how many standard
// deviations of the difference of two correct outputs.
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
  // Largest |a - b| in the row, relative to the largest |a| of the case's row; infinite for NaN
  double largest = 0;
};

// A bitwise comparison of the rows that `call` repeats. NaN differs from everything, even from NaN.
// Row outputs are compared if both sides have them.
struct BitComparison {
  std::int64_t elements = 0, other_bits = 0;
  std::vector<RowPair> rows;  // rows that differ
};
BitComparison compare_bits(const Geometry& base, const OutputView& a, const VariantCall& call,
                           const OutputView& b);

// The difference that is largest in units of its limit.
struct LargestDifference {
  std::string statistic;  // "out" or a row output's name
  // The place in the case's output. For row outputs the column is column_of().
  ElementId element;
  double value_a = 0, value_b = 0;
  // |a - b| / sqrt(2 sigma^2): both sides have the same roundings
  double sigmas = 0;
  double ulps = 0;   // at the reference's value
  double limit = 0;  // of this statistic
};
// Returns the largest difference in units of its limit. Row r of `reference` belongs to pairs[r].
LargestDifference largest_difference(const Geometry& base, const OutputView& a,
                                     const VariantCall& call, const OutputView& b,
                                     const std::vector<RowPair>& pairs, const Reference& reference,
                                     const Limits& limits);

// Keeps the pairs with the largest differences: as many as `cost_limit` allows for their reference,
// at least one. The result is sorted as a reference's rows are.
std::vector<RowPair> affordable(std::vector<RowPair> pairs, const Geometry& base,
                                double cost_limit);

}  // namespace plumbline
