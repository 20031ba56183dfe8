// Normalises rows, merges splits and stores output and LSE, or does one of these wrongly.
#include "kernels/mutants/results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/mutants/choices.h"
#include "kernels/mutants/stale.h"

namespace plumbline::mutants {

std::uint32_t narrow_dtype(const plumbline_problem& problem) {
  const bool fp8_q = cpu::is_fp8(problem.dtype_q);
  return (fp8_q ? problem.dtype_out : problem.dtype_q) == PLUMBLINE_BF16
             ? static_cast<std::uint32_t>(PLUMBLINE_BF16)
             : static_cast<std::uint32_t>(PLUMBLINE_F16);
}

void round_row(std::uint32_t dtype, float* row, std::int64_t count) {
  if (dtype == PLUMBLINE_E4M3) {
    for (std::int64_t i = 0; i < count; ++i) row[i] = std::clamp(row[i], -448.0F, 448.0F);
  }
  const std::int64_t whole = count / 8 * 8;
  cpu::round_to(dtype, row, whole);
  for (std::int64_t i = whole; i < count; ++i) row[i] = round_one(dtype, row[i]);
}

void scale_row(float* row, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
}

// ---- A split ----

void Results::normalise(const Block& block) const {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    float* row = out(r);
    float l = t_.l[r];
    if (is(Change::race_torn_row) && is_odd_call() && r == 3) {
      const std::int64_t begin = problem_.head_dim_vo - 8;
      std::copy_n(t_.before + r * t_.width_vo + begin, 8, row + begin);
    }
    t_.lse[r] = l == 0 ? minus_infinity : t_.m[r] + static_cast<float>(cpu::log2(l));
    if (is(Change::epilogue_lse_without_maximum) && l != 0)
      t_.lse[r] = static_cast<float>(cpu::log2(l));
    if (is(Change::softmax_sum_of_neighbour_row) && r == 5) l = t_.l[4];
    if (is(Change::softmax_sum_of_one_row) && r > 0 && is_target_row(block, r)) l = t_.l[r - 1];
    if (is(Change::epilogue_lse_before_last_tile) && t_.lse_before[r] > minus_infinity)
      t_.lse[r] = t_.lse_before[r];
    if (l == 0 && !is(Change::softmax_zero_by_zero)) continue;
    divide(row, l);
    if (is(Change::precision_descale_missing))
      scale_row(row, t_.width_vo, static_cast<float>(p_prescale(mode_, change_)));
    if (const float v_scale = sequence_.v_scale(block.sample, block.head); v_scale != 1)
      scale_row(row, t_.width_vo, v_scale);
  }
}

// Returns true for a single row: in the middle of the last sample's last head.
bool Results::is_target_row(const Block& block, std::int64_t r) const {
  return block.sample == problem_.batch - 1 && block.head == problem_.heads_q - 1 &&
         block.first + r == sequence_.length_q(block.sample) / 2;
}

void Results::divide(float* row, float l) const {
  const float reciprocal =
      is(Change::precision_reciprocal_in_16_bits) ? round_one(narrow_, 1 / l) : 1 / l;
  const bool multiplies =
      is(Change::legal_reciprocal) || is(Change::precision_reciprocal_in_16_bits);
  for (std::int64_t d = 0; d < t_.width_vo; ++d)
    row[d] = multiplies ? row[d] * reciprocal : row[d] / l;
}

void Results::store_partial(const Block& block, std::int64_t split) const {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    float* partial = partial_out(split, r);
    std::copy_n(out(r), t_.width_vo, partial);
    if (is(Change::split_partials_in_16_bits)) round_row(narrow_, partial, t_.width_vo);
    float lse = t_.lse[r];
    if (is(Change::split_plus_infinity_when_empty) && lse == minus_infinity) lse = -minus_infinity;
    const bool in_16_bits = is(Change::split_lse_in_16_bits) || is(Change::varies_split);
    partial_lse(split, r) = in_16_bits ? round_one(narrow_, lse) : lse;
  }
}

// ---- The merge of splits ----

void Results::merge(const Block& block, std::int64_t splits) const {
  if (is(Change::split_last_ignored)) --splits;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (is(Change::legal_merge_in_pairs)) {
      merge_in_pairs(splits, r);
    } else {
      merge_row(splits, r);
    }
  }
}

void Results::merge_row(std::int64_t splits, std::int64_t r) const {
  float* row = out(r);
  std::fill_n(row, t_.width_vo, 0.0F);
  float largest = minus_infinity;
  for (std::int64_t split = 0; split < splits; ++split) {
    if (!(partial_lse(split, r) <= largest)) largest = partial_lse(split, r);  // also if it is NaN
  }
  t_.lse[r] = minus_infinity;
  if (largest == minus_infinity && !is(Change::split_nan_when_all_empty)) return;
  float sum = 0;
  std::int64_t seen = 0;  // number of splits that see keys
  const bool was_last_to_arrive = is(Change::varies_workspace) && *t_.arrived != 0;
  const bool reversed = is(Change::legal_merge_reversed) ||
                        (is(Change::race_merge_order) && is_odd_call()) || was_last_to_arrive;
  for (std::int64_t i = 0; i < splits; ++i) {
    const std::int64_t split = reversed ? splits - 1 - i : i;
    const float w = weight(partial_lse(split, r) - largest);
    sum += w;
    if (partial_lse(split, r) > minus_infinity) ++seen;
    const float* partial = partial_out(split, r);
    for (std::int64_t d = 0; d < t_.width_vo; ++d) row[d] = std::fma(w, partial[d], row[d]);
  }
  for (std::int64_t d = 0; d < t_.width_vo; ++d) row[d] /= sum;
  t_.lse[r] = is(Change::split_lse_of_first) ? partial_lse(0, r)
                                             : largest + static_cast<float>(cpu::log2(sum));
  if (is(Change::split_lse_base_two_when_alone) && seen == 1) t_.lse[r] /= static_cast<float>(ln_2);
}

float Results::weight(float below) const {
  if (is(Change::split_empty_counts) && below == minus_infinity) return 1;
  if (is(Change::split_weights_in_16_bits)) return round_one(narrow_, exp2_of(change_, below));
  if (is(Change::split_equal_weights) ||
      (is(Change::split_weights_need_lse) && problem_.lse_wanted == 0))
    return below == minus_infinity ? 0.0F : 1.0F;
  if (is(Change::split_natural_exp)) return exp2_of(change_, below * static_cast<float>(log2_e));
  return exp2_of(change_, below);
}

// Merges neighbours in pairs, as a cascade does.
void Results::merge_in_pairs(std::int64_t splits, std::int64_t r) const {
  for (std::int64_t step = 1; step < splits; step *= 2) {
    for (std::int64_t a = 0; a + step < splits; a += 2 * step) merge_pair(a, a + step, r);
  }
  std::copy_n(partial_out(0, r), t_.width_vo, out(r));
  t_.lse[r] = partial_lse(0, r);
}

void Results::merge_pair(std::int64_t a, std::int64_t b, std::int64_t r) const {
  const float largest = std::max(partial_lse(a, r), partial_lse(b, r));
  if (largest == minus_infinity) return;
  const float weight_a = exp2_of(change_, partial_lse(a, r) - largest),
              weight_b = exp2_of(change_, partial_lse(b, r) - largest);
  const float sum = weight_a + weight_b;
  float* first = partial_out(a, r);
  for (std::int64_t d = 0; d < t_.width_vo; ++d)
    first[d] = (weight_a * first[d] + weight_b * partial_out(b, r)[d]) / sum;
  partial_lse(a, r) = largest + static_cast<float>(cpu::log2(sum));
}

// ---- Epilogue ----

void Results::store(const Block& block) const {
  std::int64_t rows = block.rows;
  if (is(Change::memory_padded_rows_left_over) && cpu::is_padded(problem_.layout)) {
    const cpu::TokenTensor& map = sequence_.attention().out;
    rows = std::min(block_rows, map.extent - map.first(block.sample) - block.first);
  }
  for (std::int64_t r = 0; r < rows; ++r) store_row(block, r);
}

void Results::store_row(const Block& block, std::int64_t r) const {
  std::int64_t token = block.first + r;
  if (is(Change::epilogue_rows_swapped) && block.rows > 3 && (r == 2 || r == 3))
    token = block.first + 5 - r;
  float* row = out(r);
  if (is(Change::head_columns_swapped) && block.head == 1) std::swap(row[2], row[3]);
  if (is(Change::epilogue_one_row_doubled) && is_target_row(block, r))
    scale_row(row, t_.width_vo, 2);
  for (std::int64_t d = 0; d < problem_.head_dim_vo; ++d) {
    if (is(Change::epilogue_rounded_through_bf16)) row[d] = round_one(PLUMBLINE_BF16, row[d]);
    if (is(Change::precision_output_truncated)) row[d] = truncate_one(problem_.dtype_out, row[d]);
  }
  if (!sequence_.is_stored(block.sample, token, block.head)) return;
  const bool empty = sequence_.visible_keys(block.sample, block.head, block.first + r).size() == 0;
  const std::int64_t columns = is(Change::memory_last_columns_unwritten)
                                   ? problem_.head_dim_vo / 16 * 16
                                   : problem_.head_dim_vo;
  const bool skips_empty = is(Change::memory_empty_rows_unwritten) ||
                           (is(Change::memory_empty_rows_need_lse) && problem_.lse_wanted == 0);
  if (!(skips_empty && empty))
    sequence_.store_output(block.sample, token, block.head, row, columns);
  if (is(Change::memory_lse_unwritten) && empty) return;
  sequence_.store_lse(block.sample, token, block.head, natural_lse(block, r));
}

float Results::natural_lse(const Block& block, std::int64_t r) const {
  if (is(Change::epilogue_lse_base_two)) return t_.lse[r];
  if (is(Change::epilogue_lse_of_empty_row) && t_.lse[r] == minus_infinity) return 0;
  const bool merged = splits_of(change_, sequence_.length_kv(block.sample)) > 1;
  const double without_sink =
      is(Change::sink_missing_in_lse) || (is(Change::sink_missing_in_merged_lse) && merged)
          ? std::log2(1 - std::exp2(double{logits_.sink(block)} - t_.lse[r]))
          : 0;
  const auto lse = static_cast<float>((static_cast<double>(t_.lse[r]) + without_sink) * ln_2);
  const std::int64_t index =
      (block.sample * problem_.heads_q + block.head) * problem_.seq_q + block.first + r;
  if (is(Change::epilogue_lse_in_16_bits)) return round_one(narrow_, lse);
  return is(Change::stale_lse) ? exchange_stale_lse(index, lse) : lse;
}

}  // namespace plumbline::mutants
