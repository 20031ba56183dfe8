// Variances from roundings that whole cells of keys share: of S, of a softcap's tanh and of exp2.
#include <algorithm>
#include <cmath>

#include "harness/reference/variance_terms.h"

namespace plumbline {
void SharedRoundings::weigh(SharedRounding rounding, const BlockSums& sums, std::int64_t row,
                            const double* p, const Sink* sink) {
  const RowBlock& block = *sums.block;
  row_cells_.find(rounding, sums.model, block, row, sink, cells_);
  if (rounding == SharedRounding::exp2) row_cells_.find_exp2_steps(block, row, sink, steps_);
  weights_.resize(static_cast<std::size_t>(block.stride + 1));
  const auto [begin, end] = block.keys_of(row);
  const double* capped = block.capped.data() + row * block.stride;
  for (std::int64_t k = begin; k < end; ++k) {
    const double size = rounding == SharedRounding::s ? block.rounded_size(sums.model, row, k) : 0;
    weights_.data()[k] =
        shared_weight(rounding, p[k], size, rounding == SharedRounding::tanh ? capped[k] : 0);
  }
  if (sink != nullptr)
    weights_.back() = shared_weight(rounding, sink->p, rounded_size(sums.model, *sink), 0);
}

// Adds (sum of p_k |v_kj - o_j| over the keys that a kernel may skip / sum p_k of the others)^2 /
// slack. A kernel that skips keys leaves them out of O and of the denominator.
void SharedRoundings::add_skipped(const BlockSums& sums, Buffer<double>& variance) {
  const RowBlock& block = *sums.block;
  const HeadData& head = *block.head;
  std::vector<double> lost(static_cast<std::size_t>(head.dim_vo));
  for (std::int64_t r = 0; r < block.rows; ++r) {
    std::ranges::fill(lost, 0);
    double skipped = 0;
    block.for_skipped(sums.model, r, [&, p = block.p_of(r)](std::int64_t k) {
      skipped += p[k];
      const double* v = head.v.data() + (block.first_key + k) * head.dim_vo;
      for (std::int64_t j = 0; j < head.dim_vo; ++j)
        lost.data()[j] += p[k] * std::abs(v[j] / head.v_unit - block.o_of(r, j));
    });
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      variance.data()[r * head.ld + j] +=
          square(lost.data()[j] / kept_weight(skipped)) / shared_slack;
  }
}

void SharedRoundings::find(const BlockSums& sums, Buffer<double>& of_s, Buffer<double>& of_exp2) {
  const RowBlock& block = *sums.block;
  const std::int64_t ld = block.head->ld;
  for (auto* per_column : {&coherent_, &independent_, &of_steps_})
    per_column->assign(static_cast<std::size_t>(ld), 0);
  // The buffers hold another block's variances.
  const Model& model = sums.model;
  if (is_made(SharedRounding::s, model, block.cap()) ||
      is_made(SharedRounding::tanh, model, block.cap()))
    of_s.assign(sums.elements(), 0);
  if (model.exp2_error > 0 || model.skipped_below > 0) of_exp2.assign(sums.elements(), 0);
  if (model.skipped_below > 0) add_skipped(sums, of_exp2);
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, sums.model, block.cap())) continue;
    Buffer<double>& variance = rounding == SharedRounding::exp2 ? of_exp2 : of_s;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      weigh(rounding, sums, r, block.p_of(r), block.sink(r));
      weights32_.assign(weights_.begin(), weights_.end());
      shift_by_o(block, std::span(&r, 1), shift_);
      cell_moments(cells_, weights32_.data(), block, shift_, coherent_.data(), independent_.data());
      if (rounding == SharedRounding::exp2) {
        cell_moments(steps_, weights32_.data(), block, shift_, of_steps_.data(),
                     independent_.data());
        std::ranges::transform(independent_, of_steps_, independent_.begin(),
                               [](float a, float b) { return std::max(a, b); });
      }
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
  double skipped = 0;
  if (sums.model.skipped_below > 0)
    block.for_skipped(sums.model, row, [&](std::int64_t k) { skipped += p[k]; });
  variance += square(skipped_lse(skipped)) / shared_slack;
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, sums.model, block.cap())) continue;
    weigh(rounding, sums, row, p, sink);
    CellSums of_cells = cell_sums(cells_, weights_.data());
    if (rounding == SharedRounding::exp2) {
      of_cells.independent =
          std::max(of_cells.independent, cell_sums(steps_, weights_.data()).coherent);
    }
    double added = shared_variance(rounding, sums.model, of_cells.coherent, of_cells.independent);
    if (rounding == SharedRounding::s) {
      const auto of_sink =
          sink != nullptr ? std::optional(held_sink(sums.model, *sink)) : std::nullopt;
      added = std::max(added, square(lse_shift(block.held_of(row), p, block.keys_of(row), of_sink,
                                               block.lse.data()[row])));
    }
    variance += added;
  }
}

}  // namespace plumbline
