// The scales of legal error of a block of rows, computed by matrix products and passes in fp32.
// exact_scales.h has the formulas of one row. Cheaper bounds replace terms that matter little
// (evidence/bounded-scales.md).
#pragma once

#include <array>

#include "harness/reference/reference.h"
#include "harness/reference/variance_terms.h"

namespace plumbline {

// Reuse an object for many blocks to keep its memory.
class BoundedScales {
 public:
  explicit BoundedScales(const Model& model) : sums_(model) {}

  // Call start(), then add_row() for each row after its S and P, then finish() after O. Rows are
  // processed while they are in the cache.
  void start(const RowBlock& block);
  void add_row(std::int64_t row);
  void finish();

  // Return the variance of O's error from one kind of rounding, and from all kinds except output
  // rounding, which the caller adds.
  double variance(Rounding rounding, std::int64_t row, std::int64_t column) const;
  double variance(std::int64_t row, std::int64_t column) const;
  // Returns the worst-case |error| before output rounding.
  double worst_case(std::int64_t row, std::int64_t column) const {
    return worst_case_.data()[row * block().head->ld + column];
  }
  double lse_variance(std::int64_t row) const { return lse_variance_.data()[row]; }
  // Returns the largest standard deviation of a visible key's logit error.
  double largest_logit_error(std::int64_t row) const {
    return double{sums_.logits.sums.data()[row].largest};
  }
  // Returns the variance of a visible key's logit from the spec's product_rel_error.
  double product_variance(std::int64_t row, std::int64_t key) const {
    return sums_.logits.product_variance(row, key);
  }
  // Returns T_j of a flat row, otherwise nullopt.
  std::optional<double> shared_error(std::int64_t row, std::int64_t column) const {
    if (!sums_.rounding.data()[row].is_flat) return std::nullopt;
    return sums_.shared_error.data()[row * block().head->ld + column] * block().head->v_unit;
  }
  const RowRounding& rounding(std::int64_t row) const { return sums_.rounding.data()[row]; }

  const Model& model() const { return sums_.model; }
  const RowBlock& block() const { return *sums_.block; }
  // Returns the cells of P that have several keys.
  const Cells& p_cells(std::int64_t row) const { return sums_.tied.data()[row].cells; }

 private:
  Buffer<double>& of(Rounding rounding) { return variance_[static_cast<std::size_t>(rounding)]; }

  BlockSums sums_;
  RowCells row_cells_;
  RowRoundings row_roundings_;
  SharedRoundings shared_;
  Moments moments_;
  std::array<Buffer<double>, rounding_count> variance_;  // [R, ld]
  Buffer<double> worst_case_;                            // [R, ld]
  std::vector<double> lse_variance_;                     // [R]
};

}  // namespace plumbline
