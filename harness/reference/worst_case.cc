// The bound of O's error: every rounding at its largest and all of one sign.
// docs/judging-formulas.md, "Worst case".
#include <cmath>

#include "harness/reference/variance_terms.h"

namespace plumbline {
namespace {

// Returns the largest error of a logit that sd_k omits: roundings of S, tanh and products, and ties
// of Q. If a kernel may skip the key, also its whole weight over the weight that is kept, which is
// p_k times `of_skipped`.
double omitted_error(const BlockSums& sums, std::int64_t row, std::int64_t key, double of_skipped) {
  const RowBlock& block = *sums.block;
  const Model& model = sums.model;
  const std::int64_t at = row * block.stride + key;
  double error = 0;
  if (model.product_error > 0) {
    error += std::sqrt(3 * static_cast<double>(block.head->dim_qk) *
                       sums.logits.product_variance(row, key));
  }
  if (is_made(SharedRounding::tanh, model, block.cap()))
    error += model.tanh_error * std::abs(block.capped.data()[at]);
  if (model.u_s > 0) error += model.s_roundings * model.u_s * block.rounded_size(model, row, key);
  for (const QueryTie& tie : block.ties.data()[row])
    error += std::abs(block.shift_by(tie, row, key));
  if (block.may_be_skipped(model, row, key)) error += of_skipped;
  return error;
}

// Returns 1 / (the weight that remains if a kernel skips all keys that it may skip).
double error_of_skipping(const BlockSums& sums, std::int64_t row) {
  double skipped = 0;
  if (sums.model.skipped_below > 0) {
    sums.block->for_skipped(sums.model, row,
                            [&](std::int64_t k) { skipped += sums.block->p_of(row)[k]; });
  }
  return 1 / kept_weight(skipped);
}

// Adds omitted_error() to the logit errors in place. No later step needs the errors alone.
void add_omitted_errors(BlockSums& sums) {
  const RowBlock& block = *sums.block;
  const Model& model = sums.model;
  const bool in_all_rows = is_made(SharedRounding::tanh, model, block.cap()) || model.u_s > 0 ||
                           model.product_error > 0 || model.skipped_below > 0;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (!in_all_rows && block.ties.data()[r].empty()) continue;
    LogitSums& of_row = sums.logits.sums.data()[r];
    const float* p = sums.logits.p_of(r);
    double p_sd = 0, sd_sum = 0, sd_squared = 0;
    const double of_skipped = error_of_skipping(sums, r);
    block.for_seen(r, [&](std::int64_t k) {
      double sd = omitted_error(sums, r, k, of_skipped);
      // A row with bounds has no sd_k.
      if (!of_row.are_bounds) {
        float& stored = sums.logits.sd_of(r)[k];
        stored += static_cast<float>(sd);
        sd = double{stored};
      }
      p_sd += double{p[k]} * sd;
      sd_sum += sd;
      sd_squared += sd * sd;
    });
    if (of_row.are_bounds) {  // Minkowski's inequality, for the sum of squares
      p_sd += double{of_row.p_sd};
      sd_sum += double{of_row.sd};
      sd_squared = square(std::sqrt(sd_squared) + std::sqrt(double{of_row.sd_squared}));
    }
    of_row.p_sd = static_cast<float>(p_sd);
    of_row.sd = static_cast<float>(sd_sum);
    of_row.sd_squared = static_cast<float>(sd_squared);
  }
}

// Sums over keys: p_k e_k and e_k^2, with e_k the relative error of p_k v_kj, and the roundings of
// P near zero. `of_o` is the relative error of the denominator.
struct WorstSums {
  double weighted, squares, near_zero, of_o;
};

WorstSums worst_sums(const BlockSums& sums, std::int64_t row, double of_product) {
  const Model& model = sums.model;
  const RowBlock& block = *sums.block;
  const LogitSums& of_logits = sums.logits.sums.data()[row];
  const double of_all = model.exp2_error + of_product;
  const KeyRange keys = block.keys_of(row);
  const PWeights weights = p_weights(model, block.total.data()[row], sums.rounding.data()[row]);
  double near_zero = 0;
  for (std::int64_t k = keys.begin; k < keys.end && model.eta_p > 0; ++k)
    near_zero += weights.largest_near_zero(block.p_of(row)[k]);
  WorstSums worst{of_logits.p_sd + of_all * of_logits.p,
                  of_logits.sd_squared +
                      of_all * (2 * of_logits.sd + of_all * static_cast<double>(keys.size())),
                  model.u_p * near_zero, of_logits.p_sd + model.exp2_error * of_logits.p};
  if (model.denominator_from_rounded_p) worst.of_o += model.largest_p * model.u_p + worst.near_zero;
  if (const Sink* sink = block.sink(row)) {
    worst.of_o +=
        sink->p * (sink_sd(*sink) + model.s_roundings * model.u_s * rounded_size(model, *sink) +
                   model.exp2_error);
  }
  return worst;
}

}  // namespace

// In long rows sum_k p_k e_k |v_kj| is bounded by the product of the 2-norms of e and of p v_j, and
// by max |v_j| sum p_k e_k.
void worst_case(BlockSums& sums, Moments& moments, Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  const Model& model = sums.model;
  const HeadData& head = *block.head;
  add_omitted_errors(sums);
  const auto of_product = [&](std::int64_t r) {
    return max_product_error(model, block.count(r), head.scaled_outside);
  };
  std::vector<double> seen_max;  // max |v_kj| / v_unit over the row's keys, for ring updates
  std::vector<std::int64_t> short_rows;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (!block.is_long(r)) short_rows.push_back(r);
  }
  if (!short_rows.empty()) {
    set_weights(block, short_rows, sums.logits.weights, [&](std::int64_t r) {
      return [&model, p = block.p_of(r), sd = sums.logits.sd_of(r),
              of_all = model.exp2_error + of_product(r),
              weights = p_weights(model, block.total.data()[r], sums.rounding.data()[r])](
                 std::int64_t k) {
        return p[k] * (sd[k] + of_all) + model.u_p * weights.largest_near_zero(p[k]);
      };
    });
    product(block, sums.logits.weights, head.v_abs, moments.first);
  }
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const WorstSums worst = worst_sums(sums, r, of_product(r));
    const double tiles = std::ceil(static_cast<double>(block.count(r)) / smallest_tile),
                 stored = (model.eta_split + tiles * model.eta_tile) / head.v_unit +
                          static_cast<double>(block.count(r)) *
                              smallest_sum(model, block.total.data()[r],
                                           head.v_unit / head.factor_of_sums);
    if (model.ring_update) find_seen_max(block, r, seen_max);
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const std::int64_t at = r * head.ld + j;
      const double largest = head.column_max.data()[j];
      const double products =
          !block.is_long(r)
              ? double{moments.first.data()[at]}
              : (1 + 1e-4) * std::min(std::sqrt(worst.squares * sums.p_squared.data()[at]),
                                      worst.weighted * largest) +
                    worst.near_zero * largest;
      const double of_updates = model.ring_update ? tiles * u32 * seen_max.data()[j] : 0;
      result.data()[at] = products + std::abs(block.o_of(r, j)) * worst.of_o + stored + of_updates;
    }
  }
}

}  // namespace plumbline
