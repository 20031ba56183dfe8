// The variance of the LSE's error. docs/judging-formulas.md, "Scale of the LSE".
#include "harness/reference/variance_terms.h"

namespace plumbline {
namespace {

// Returns sum p_k^2 sd_k^2 + excess of cells + (sum p_k beta_k)^2 + the floor.
double of_logits(BlockSums& sums, std::int64_t row) {
  const double floor = lse_floor(sums.block->lse.data()[row], sums.block->count(row));
  const LogitSums& of_row = sums.logits.sums.data()[row];
  const double variance = floor + square(of_row.bias);
  if (!of_row.are_bounds && !(of_row.excess <= negligible_share * variance))
    sums.logits.find_excess(row, sums.tied.data()[row]);
  return variance + (of_row.variance + of_row.excess);
}

// Overload for other weights p.
double of_logits(const BlockSums& sums, std::int64_t row, const double* p) {
  const auto [begin, end] = sums.block->keys_of(row);
  const float* sd = sums.logits.sd_of(row);
  std::vector<double> errors(static_cast<std::size_t>(end));
  double squares = 0;
  for (std::int64_t k = begin; k < end; ++k) squares += square(errors.data()[k] = p[k] * sd[k]);
  return lse_floor(sums.block->lse.data()[row], sums.block->count(row)) +
         square(sums.logits.mean_bias(row, p)) +
         (squares + cell_sums(sums.tied.data()[row].cells, errors.data()).excess());
}

// Returns u_P^2 times the sum over cells of (sum w_k)^2, with w_k = of_p.coherent(p_k). Random
// roundings are independent.
double of_rounded_denominator(const BlockSums& sums, std::int64_t row, const double* p,
                              const PWeights& of_p) {
  const auto [begin, end] = sums.block->keys_of(row);
  double squares = 0;
  for (std::int64_t k = begin; k < end && of_p.is_random; ++k) squares += of_p.independent(p[k]);
  if (of_p.is_random) return square(sums.model.u_p) * squares;
  std::vector<double> weights(static_cast<std::size_t>(end));
  for (std::int64_t k = begin; k < end; ++k)
    squares += square(weights.data()[k] = of_p.coherent(p[k]));
  const CellSums of_cells = cell_sums(sums.tied.data()[row].cells, weights.data());
  return square(sums.model.u_p) * (squares - of_cells.independent + of_cells.coherent);
}

}  // namespace

double lse_variance(BlockSums& sums, SharedRoundings& shared, std::int64_t row) {
  const RowBlock& block = *sums.block;
  const Model& model = sums.model;
  const Sink* sink = block.sink(row);
  const bool excludes = sink != nullptr && !model.lse_includes_sink;
  const double* p = block.p_of(row);
  std::vector<double> p_of_keys;  // P without the sink
  double total = block.total.data()[row];
  if (excludes) {
    p_of_keys.assign(static_cast<std::size_t>(block.stride), 0);
    block.for_seen(row, [&](std::int64_t k) {
      p_of_keys.data()[k] = std::exp(block.s_of(row)[k] - sink->lse_keys);
    });
    p = p_of_keys.data();
    total = sink->keys_total;
    sink = nullptr;
  }
  double variance = excludes ? of_logits(sums, row, p) : of_logits(sums, row);
  if (sink != nullptr) variance += square(sink->p * sink_sd(*sink));
  for (const QueryTie& tie : block.ties.data()[row]) {
    double shift = 0;
    block.for_seen(row, [&](std::int64_t k) { shift += p[k] * block.shift_by(tie, row, k); });
    variance += square(shift) / shared_slack;
  }
  if (model.product_error > 0) {
    block.for_seen(
        row, [&](std::int64_t k) { variance += p[k] * sums.logits.product_variance(row, k); });
  }
  shared.add_to_lse(sums, row, p, sink, variance);
  if (model.denominator_from_rounded_p) {
    const RowRounding& rounding = sums.rounding.data()[row];
    const double keys = total / block.total.data()[row];  // keys' share; 1 if no sink is excluded
    variance += at_least_shared(
                    of_rounded_denominator(sums, row, p, p_weights(model, total, rounding, keys)),
                    rounding.error_sum / keys) +
                square(truncated_share(model) * (sink != nullptr ? 1 - sink->p : 1));
  }
  const double row_bias = block.row_bias(model, row);
  return with_stored_lse(model, block.lse.data()[row] + row_bias,
                         variance + square(4 * u32 * row_bias));
}

}  // namespace plumbline
