// How strongly the softmax of a row turns errors of its logits into errors of its output.
//
// With o_j = sum_k p_k v_kj and p = softmax(s): d o_j / d s_k = p_k (v_kj - o_j). Independent logit
// errors of standard deviation delta therefore move o_j by delta sqrt(sum_k p_k^2 (v_kj - o_j)^2),
// and
//   kappa_i = sqrt(mean_j sum_k p_ik^2 (v_kj - o_ij)^2) / rms_j(o_ij)
// is the relative rms change of output row i per unit of independent rms logit error. It is small
// if one key has all the weight (p_k is 0 or v_k is o) or many keys share it evenly (p_k^2 sums to
// 1/n), and large if few keys of different v compete or o cancels.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/reference/reference.h"

namespace plumbline {

// A row, and how much two outputs differ in it: rms_j(a - b) / rms_j(o).
struct RowDifference {
  RowId row;
  double relative = 0;
};

struct Amplification {
  std::int64_t rows = 0;  // examined, for median and correlation
  double median = 0, largest = 0;
  RowId largest_row;
  // Spearman's rank correlation of kappa with RowDifference::relative; > 0 if rows that differ more
  // have the larger kappa. NaN if there are fewer than 8 rows or one of the two does not vary.
  double correlation = 0;
  // |correlation| > 3 / sqrt(rows - 1): three standard deviations for unrelated numbers.
  bool significant = false;
};

// Returns kappa of one row; 0 if no key is visible, infinity if only the denominator, rms_j(o_ij),
// is 0.
double softmax_amplification(const Geometry& geometry, const InputView& inputs,
                             const RoundingSpec& spec, RowId row);

// Examines all rows if they cost at most about `cost_limit` multiply-adds, otherwise evenly spaced
// ones. The row that differs most is always added for `largest`.
Amplification softmax_amplification(const Geometry& geometry, const InputView& inputs,
                                    const RoundingSpec& spec,
                                    const std::vector<RowDifference>& differences,
                                    double cost_limit = 2e8);

// Returns Spearman's rank correlation, with ties at their mean rank; NaN if it is undefined.
double rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace plumbline
