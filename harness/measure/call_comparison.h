// Two answers to one question, row by row: which bits differ, and by how many sigmas. Sigma is the
// standard deviation of the difference of two legal answers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/measure/variants.h"
#include "harness/outcome/error_statistics.h"
#include "harness/reference/reference.h"

namespace plumbline {

// What a call left, copied out of the arena.
struct CallOutputs {
  std::vector<std::byte> out, lse;  // lse empty: none was returned
  OutputView view(int lse_base) const {
    return {out.data(), lse.empty() ? nullptr : lse.data(), lse_base};
  }
};

struct RowPair {
  RowId of_case, of_call;
  // |a - b| of the outputs over the case's largest |a| of the row; infinite for NaN
  double largest = 0;
};

// The rows of the case that `call` repeats, compared bit by bit. NaN equals nothing, itself
// included. The LSE is compared where both have it.
struct BitComparison {
  std::int64_t elements = 0, other_bits = 0;
  std::vector<RowPair> rows;  // those with other bits
};
BitComparison compare_bits(const Geometry& base, const OutputView& a, const VariantCall& call,
                           const OutputView& b);

// The difference nearest to its limit.
struct LargestDifference {
  std::string statistic;  // "out" or "lse"
  ElementId element;      // of the case; column -1: the LSE
  double value_a = 0, value_b = 0;
  // |a - b| / sqrt(2 sigma^2): both answer the same question with the same roundings
  double sigmas = 0;
  double ulps = 0;  // of the dtype at the reference's value
};
struct DifferenceLimits {
  double out = 0, lse = 0;
};
// Over the rows of `reference`, which are rows of `pairs` (ordered alike).
LargestDifference largest_difference(const Geometry& base, const OutputView& a,
                                     const VariantCall& call, const OutputView& b,
                                     const std::vector<RowPair>& pairs, const Reference& reference,
                                     const DifferenceLimits& limits);

// Those of the pairs that the reference can afford, the largest differences first; ordered as a
// reference's rows are.
std::vector<RowPair> affordable(std::vector<RowPair> pairs, const Geometry& base,
                                double cost_limit);

}  // namespace plumbline
