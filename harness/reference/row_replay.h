// Recomputes single rows that share K and V, for diagnosis.
#pragma once

#include <span>
#include <vector>

#include "harness/reference/row_block.h"

namespace plumbline {

// Returns sum_k p_k s_k.
double mean_logit(const RowDetail& row);

// K and V of one (sample, key head), and its rows in fp64. Not thread-safe: rows share buffers.
class RowReplay {
 public:
  // `keys` must contain the visible keys of every row that row() gets. `context` must outlive this.
  RowReplay(const ReferenceContext& context, std::int64_t sample, std::int64_t head_kv,
            KeyRange keys);
  // Gathers the visible keys of one row.
  RowReplay(const ReferenceContext& context, const RowId& id);

  // Returns a row of this sample and key head, equal to reference_row().
  RowDetail row(const RowId& id);
  // Returns V of a key in `keys` as the products see it, [head_dim_vo].
  std::span<const double> value(std::int64_t key) const {
    return std::span(head_.v).subspan(
        static_cast<std::size_t>((key - head_.first_key) * head_.dim_vo),
        static_cast<std::size_t>(head_.dim_vo));
  }
  // Returns sum_n weights[n] v_n over the keys from `first_key` on, [head_dim_vo].
  std::vector<double> weighted_sum(std::int64_t first_key, std::span<const double> weights) const;

  // Returns d o / d log scale = sum_k p_k (s_k - mean s) v_k of a row of this object.
  std::vector<double> gradient(const RowDetail& row) const;

  // <z, d> and <d, d> of d_j = p (v_j - o_j) / sigma_j, the direction in which the row moves if a
  // key of weight p gains weight, in units of sigma.
  struct Projection {
    double zd = 0, dd = 0;
  };
  Projection project(std::int64_t key, double p, std::span<const double> o,
                     std::span<const double> inverse_sigma, std::span<const float> z) const;

 private:
  const ReferenceContext& context_;
  HeadData head_;
  RowBlock block_;
};

}  // namespace plumbline
