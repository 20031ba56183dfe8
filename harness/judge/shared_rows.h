// Variance of a sum of suite scores whose cases share rows. Cases of one seed have the same Q, K
// and V at the same positions, and so have cases of one recording. A sweep over lengths or masks
// repeats the rounding errors of its rows. So does a sweep over head_dim_vo, which shares P and the
// first columns of V. docs/judging-comparisons.md, "Over a suite".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/problem/geometry.h"

namespace plumbline {

class SharedRows {
 public:
  // Adds a case whose score has variance 1. All its rows that see keys have the same weight.
  void add(const Problem& problem);
  // Returns the variance of the sum of the scores added: their number if no row is shared, its
  // square if all cases have the same rows. Two occurrences of a row that see n and m keys, k of
  // them in common, have the correlation k / sqrt(n m).
  double variance() const;

 private:
  struct Row {
    std::string values;  // problem_id(without_shape(problem))
    std::int64_t sample, head_q, head_kv, position;
    bool operator<(const Row& other) const {
      return std::tie(values, sample, head_q, head_kv, position) <
             std::tie(other.values, other.sample, other.head_q, other.head_kv, other.position);
    }
  };
  using Keys = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // first, last + 1, visible
  // Returns the rows that see keys. Recorded samples count as full, because the file with their
  // lengths may be missing where a stored run is judged. A whole recording without a digest counts
  // as one row, because nothing shows which rows its cases share.
  static std::vector<std::pair<Row, Keys>> rows_of(const Problem& problem);

  struct Weight {
    double sum = 0, squares = 0;  // over the cases, of 1 / sqrt(rows of the case)
  };
  std::map<Row, std::map<Keys, Weight>> weights_;
  double cases_ = 0;
};

}  // namespace plumbline
