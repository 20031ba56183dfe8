// Computes the variance terms of a block in the order of their dependencies.
#include "harness/reference/bounded_scales.h"

namespace plumbline {

void BoundedScales::start(const RowBlock& block) {
  sums_.block = &block;
  sums_.logits.start(block);
  sums_.tied.resize(static_cast<std::size_t>(block.rows));
  sums_.rounding.resize(static_cast<std::size_t>(block.rows));
  sums_.repeated_p.resize(static_cast<std::size_t>(block.rows));
  // Variances of roundings that the spec does not make stay 0. The others are overwritten.
  for (auto& part : variance_) part.resize(sums_.elements());
  worst_case_.resize(sums_.elements());
  lse_variance_.resize(static_cast<std::size_t>(block.rows));
}

void BoundedScales::add_row(std::int64_t row) {
  TiedKeys& tied = sums_.tied.data()[row];
  row_cells_.find(model(), block(), row, tied.cells);
  row_roundings_.find(model(), block(), row, tied.cells, sums_.rounding.data()[row]);
  sums_.repeated_p.data()[row] = repeated_share(block(), row);
  sums_.logits.add_row(row, tied);
}

void BoundedScales::finish() {
  sums_.logits.finish(sums_.tied);
  sums_.repeated_v.assign(sums_.repeated_p.size(), {});
  for (std::size_t r = 0; r < sums_.repeated_p.size(); ++r) {
    if (sums_.repeated_p[r] > 0 || model().product_error > 0)
      sums_.repeated_v[r] = repeated_shares(block(), static_cast<std::int64_t>(r));
  }
  p_rounding(sums_, moments_, of(Rounding::p));
  logit_error(sums_, moments_, of(Rounding::p), of(Rounding::logit));
  shared_.find(sums_, of(Rounding::s), of(Rounding::exp2));
  find_ranges(sums_, of(Rounding::p));
  accumulation(sums_, of(Rounding::accumulation), of(Rounding::split_partials));
  for (std::int64_t r = 0; r < block().rows; ++r)
    lse_variance_.data()[r] = plumbline::lse_variance(sums_, shared_, r);
  plumbline::worst_case(sums_, moments_, worst_case_);
  const double unit = block().head->v_unit;
  for (auto& part : variance_) {
    for (double& variance : part) variance *= unit * unit;
  }
  for (double& bound : worst_case_) bound *= unit;
}

double BoundedScales::variance(Rounding rounding, std::int64_t row, std::int64_t column) const {
  return variance_[static_cast<std::size_t>(rounding)].data()[row * block().head->ld + column];
}

double BoundedScales::variance(std::int64_t row, std::int64_t column) const {
  double sum = 0;
  for (const auto& part : variance_) sum += part.data()[row * block().head->ld + column];
  return sum;
}

}  // namespace plumbline
