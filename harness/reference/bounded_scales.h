// The scales of legal error of a block of rows: what exact_scales.h has for one, by matrix products
// and passes in fp32, with bounds in the place of what matters little (docs/judging-formulas.md,
// "Bounded scales").
#pragma once

#include <array>

#include "harness/reference/reference.h"
#include "harness/reference/terms.h"

namespace plumbline {

// Reused for many blocks, to keep its memory.
class BoundedScales {
 public:
  explicit BoundedScales(const Model& model) : sums_(model) {}

  // start(), add_row() of each row once its S and P stand, finish() once O does: rows are taken
  // while they lie in the cache.
  void start(const RowBlock& block);
  void add_row(std::int64_t row);
  void finish();

  // Variance of O's error from one kind of rounding, and from all of them but that of the output,
  // which is the caller's.
  double variance(Rounding rounding, std::int64_t row, std::int64_t column) const;
  double variance(std::int64_t row, std::int64_t column) const;
  // Worst case of |error| before output rounding.
  double worst_case(std::int64_t row, std::int64_t column) const {
    return worst_case_.data()[row * block().head->ld + column];
  }
  double lse_variance(std::int64_t row) const { return lse_variance_.data()[row]; }
  // The largest standard deviation of a visible key's logit.
  double largest_logit_error(std::int64_t row) const {
    return double{sums_.logits.sums.data()[row].largest};
  }
  // T_j of a flat row, else 0.
  std::optional<double> shared_error(std::int64_t row, std::int64_t column) const {
    if (!sums_.rounding.data()[row].is_flat) return std::nullopt;
    return sums_.shared_error.data()[row * block().head->ld + column] * block().head->v_unit;
  }
  const RowRounding& rounding(std::int64_t row) const { return sums_.rounding.data()[row]; }

  const Model& model() const { return sums_.model; }
  const RowBlock& block() const { return *sums_.block; }
  // only those of several keys
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
