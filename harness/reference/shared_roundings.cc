// Variances from roundings that whole cells of keys share: of S, of a softcap's tanh and of exp2.
#include "harness/reference/variance_terms.h"

namespace plumbline {

void SharedRoundings::weigh(SharedRounding rounding, const BlockSums& sums, std::int64_t row,
                            const double* p, const Sink* sink) {
  const RowBlock& block = *sums.block;
  row_cells_.find(rounding, sums.model, block, row, sink, cells_);
  weights_.resize(static_cast<std::size_t>(block.stride + 1));
  const auto [begin, end] = block.keys_of(row);
  const double* s = block.s_of(row);
  const double* capped =
      rounding == SharedRounding::tanh ? block.capped.data() + row * block.stride : s;
  for (std::int64_t k = begin; k < end; ++k)
    weights_.data()[k] = shared_weight(rounding, p[k], s[k], capped[k]);
  if (sink != nullptr) weights_.back() = shared_weight(rounding, sink->p, sink->s, 0);
}

void SharedRoundings::find(const BlockSums& sums, Buffer<double>& of_s, Buffer<double>& of_exp2) {
  const RowBlock& block = *sums.block;
  const std::int64_t ld = block.head->ld;
  for (auto* per_column : {&coherent_, &independent_})
    per_column->assign(static_cast<std::size_t>(ld), 0);
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, sums.model, block.cap())) continue;
    Buffer<double>& variance = rounding == SharedRounding::exp2 ? of_exp2 : of_s;
    if (rounding != SharedRounding::tanh || sums.model.u_s == 0)
      variance.assign(sums.elements(), 0);
    for (std::int64_t r = 0; r < block.rows; ++r) {
      weigh(rounding, sums, r, block.p_of(r), block.sink(r));
      weights32_.assign(weights_.begin(), weights_.end());
      shift_by_o(block, std::span(&r, 1), shift_);
      cell_moments(cells_, weights32_.data(), block, shift_, coherent_.data(), independent_.data());
      double* result = variance.data() + r * ld;
      for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
        result[j] +=
            shared_variance(rounding, sums.model, coherent_.data()[j], independent_.data()[j]);
      }
    }
  }
}

void SharedRoundings::add_to_lse(const BlockSums& sums, std::int64_t row, const double* p,
                                 const Sink* sink, double& variance) {
  const RowBlock& block = *sums.block;
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, sums.model, block.cap())) continue;
    weigh(rounding, sums, row, p, sink);
    const CellSums of_cells = cell_sums(cells_, weights_.data());
    double added = shared_variance(rounding, sums.model, of_cells.coherent, of_cells.independent);
    if (rounding == SharedRounding::s) {
      added = std::max(added, square(lse_shift(sums.model, block.s_of(row), p, block.keys_of(row),
                                               sink, block.lse.data()[row])));
    }
    variance += added;
  }
}

}  // namespace plumbline
