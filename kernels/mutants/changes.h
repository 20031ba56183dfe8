// Lists the kernels of the provider "mutants": the correct one and each single change of it.
// mutants.toml says what each is; tests/mutants keeps the two in step.
//
// A kernel runs the one generic online softmax (online_softmax.cc) with one Change, asked for where
// it bites: `is(Change::mask_drops_tail)`. The words before the first underscore are the change's
// class; the others are its name.
#pragma once

#include <cstdint>
#include <iterator>

// clang-format off
#define PLUMBLINE_MUTANTS(X) \
  /* softmax and rescale */ \
  X(softmax_output_not_rescaled) X(softmax_output_rescaled_below_ninety_percent) X(softmax_output_rescaled_a_tile_late) \
  X(softmax_sum_not_rescaled) X(softmax_sum_skips_last_rescale) X(softmax_sum_misses_last_tile) X(softmax_sum_of_neighbour_row) \
  X(softmax_max_starts_at_zero) X(softmax_finite_sentinel) \
  X(softmax_max_before_mask) X(softmax_nan_from_masked_tile) X(softmax_zero_by_zero) \
  X(softmax_log2e_missing) X(softmax_rescale_in_fp16) X(softmax_lazy_by_step) \
  /* masks and bounds */ \
  X(mask_causal_hides_diagonal) X(mask_causal_shows_one_more) X(mask_causal_top_left) X(mask_causal_unsigned) X(mask_causal_packed_row) \
  X(mask_causal_extent_of_first_row) X(mask_tail_only_when_causal) X(mask_tail_zero_score) X(mask_drops_tail) X(mask_drops_first_key) \
  X(mask_drops_last_key) X(mask_window_one_more) X(mask_window_one_less) X(mask_window_right_one_more) X(mask_window_top_left) \
  X(mask_window_skips_first_tile) X(mask_window_not_in_first_tile) X(mask_empty_row_averages) \
  X(mask_bits_reversed) X(mask_bits_row_stride) X(mask_bits_of_first_sample) X(mask_bits_last_byte_open) X(mask_bits_run_one_early) \
  X(mask_bits_prefix_one_less) X(mask_bits_tile_of_first_row) \
  /* ragged and paged indexing, strides */ \
  X(index_v_pages_swapped) X(index_page_row_stride) X(index_page_size_fixed) X(index_page_offset_doubled) X(index_page_bound_by_page) \
  X(index_k_starts_at_q) X(index_q_starts_at_k) X(index_length_of_longest) X(index_left_padding_ignored) X(index_strides_fixed) \
  X(index_output_stride_of_q) X(index_blocks_without_group) X(index_last_sample_lost) X(index_key_offset_16_bits) \
  X(index_v_strides_of_k) X(index_packed_v_at_k) X(index_packed_v_after_q_heads) X(index_v_at_end_of_k) \
  /* heads */ \
  X(head_modulo) X(head_shift_by_log2) X(head_last_of_group) X(head_v_of_first) X(head_depth_cut) X(head_columns_swapped) \
  X(head_key_dropped) X(head_lse_transposed) \
  /* split KV and the merge */ \
  X(split_natural_exp) X(split_equal_weights) X(split_last_ignored) X(split_tail_dropped) X(split_overlaps) X(split_empty_counts) \
  X(split_nan_when_all_empty) X(split_plus_infinity_when_empty) \
  X(split_partials_in_16_bits) X(split_lse_in_16_bits) X(split_lse_of_first) \
  \
  /* precision and scales */ \
  X(precision_output_in_16_bits) X(precision_scores_accumulate_in_16_bits) X(precision_sum_in_16_bits) X(precision_output_13_bits) \
  X(precision_p_bf16) X(precision_p_e4m3) X(precision_p_truncated) X(precision_p_flushes_subnormals) X(precision_p_dithered) \
  X(precision_output_truncated) \
  X(precision_scale_in_16_bits) X(precision_q_prescaled) \
  X(precision_scores_rounded) X(precision_raw_scores_fp16) X(precision_raw_scores_clamped) X(precision_exp2_degree_3) \
  X(precision_exp2_degree_2) X(precision_exp2_taylor) X(precision_scale_one_in_a_thousand) X(precision_scale_one_percent) \
  X(precision_scale_ignored) X(precision_scale_twice) X(precision_inputs_tf32) X(precision_keys_e4m3) X(precision_values_e4m3) \
  X(precision_reciprocal_in_16_bits) X(precision_sum_of_rounded_p) X(precision_lazy_overflow) X(precision_prescale_missing) \
  X(precision_descale_missing) X(precision_prescale_in_sum) \
  /* softcap, ALiBi, attention sinks, fp8 K and V */ \
  X(softcap_ignored) X(softcap_after_mask) X(softcap_after_alibi) X(softcap_before_scale) X(softcap_without_division) \
  X(softcap_of_powers_of_two) X(softcap_tanh_in_fp16) \
  X(alibi_slope_of_key_head) X(alibi_slopes_of_power_of_two) X(alibi_distance_one_more) X(alibi_top_left) X(alibi_signed) \
  X(alibi_column_of_tile) X(alibi_before_scale) X(alibi_log2e_missing) X(alibi_bias_in_16_bits) \
  X(sink_without_exp) X(sink_in_output) X(sink_of_neighbour) X(sink_lost_without_keys) X(sink_in_each_split) X(sink_scaled) \
  X(sink_log2e_missing) X(sink_missing_in_lse) \
  X(fp8_k_scale_forgotten) X(fp8_v_scale_forgotten) X(fp8_v_scale_of_k) X(fp8_scale_of_first_head) X(fp8_scale_of_query_head) \
  X(fp8_scale_of_first_sample) X(fp8_scale_in_16_bits) X(fp8_e5m2_as_e4m3) X(fp8_e4m3_as_e5m2) X(fp8_subnormals_flushed) \
  /* padding and uninitialised memory */ \
  X(memory_padding_attended) X(memory_values_not_zero_filled) X(memory_relies_on_zero_keys) X(memory_padded_rows_computed) \
  X(memory_padded_rows_unwritten) X(memory_empty_rows_unwritten) X(memory_last_rows_unwritten) X(memory_last_columns_unwritten) \
  X(memory_workspace_not_cleared) X(memory_stale_value_column) X(memory_stale_key) X(memory_lse_unwritten) X(memory_lse_gates_maximum) \
  /* determinism */ \
  X(race_merge_order) X(race_missing_barrier) X(race_autotuner) X(race_torn_row) \
  /* state that outlives a call */ \
  X(stale_scale) X(stale_lengths) X(stale_mask) X(stale_page_table) X(stale_accumulator) X(stale_lse) \
  X(stale_length_before_append) X(stale_values_of_append) X(stale_kv_scales) \
  /* epilogue and LSE */ \
  X(epilogue_lse_base_two) X(epilogue_lse_without_maximum) X(epilogue_lse_before_last_tile) X(epilogue_lse_of_empty_row) \
  X(epilogue_rounded_through_bf16) X(epilogue_rows_swapped)

// One for each invariance, right but where that invariance asks (schedule.h).
#define PLUMBLINE_BREAKERS(X) \
  X(varies_run_to_run) X(varies_solo) X(varies_position) X(varies_neighbour) X(varies_chunked_prefill) X(varies_prefill_decode) \
  X(varies_split) X(varies_page_order) X(varies_page_size) X(varies_layout) X(varies_padding) X(varies_workspace) X(varies_capacity) \
  X(varies_strides) X(varies_lse) X(varies_two_scales)

#define PLUMBLINE_LEGAL_VARIANTS(X) \
  X(legal_baseline) X(legal_tile_16) X(legal_tile_48) X(legal_tile_128) X(legal_one_row_blocks) X(legal_reversed) X(legal_interleaved) \
  X(legal_lazy_rescale) X(legal_one_split) X(legal_seven_splits) X(legal_merge_reversed) X(legal_merge_in_pairs) X(legal_exp2_degree_5) \
  X(legal_exp2_correctly_rounded) X(legal_scale_within_exponent) X(legal_multiply_then_add) X(legal_sum_in_pairs) X(legal_sum_in_fp64) \
  X(legal_product_in_fp64) X(legal_product_by_tile) X(legal_p_in_fp32) X(legal_tensor_core_sm_80) X(legal_tensor_core_sm_90) \
  X(legal_reciprocal) X(legal_sink_first) X(legal_kv_scaled_when_loaded)
// clang-format on

namespace plumbline::mutants {

#define PLUMBLINE_ENUMERATOR(name) name,
enum class Change : std::uint32_t {
  PLUMBLINE_LEGAL_VARIANTS(PLUMBLINE_ENUMERATOR) PLUMBLINE_MUTANTS(PLUMBLINE_ENUMERATOR)
      PLUMBLINE_BREAKERS(PLUMBLINE_ENUMERATOR)
};
#undef PLUMBLINE_ENUMERATOR

#define PLUMBLINE_TEXT(name) #name,
inline constexpr const char* change_names[] = {PLUMBLINE_LEGAL_VARIANTS(
    PLUMBLINE_TEXT) PLUMBLINE_MUTANTS(PLUMBLINE_TEXT) PLUMBLINE_BREAKERS(PLUMBLINE_TEXT)};
#undef PLUMBLINE_TEXT
inline constexpr std::uint32_t change_count = std::size(change_names);

#define PLUMBLINE_ONE(name) +1
// the legal variants come first
inline constexpr auto first_mutant = static_cast<Change>(PLUMBLINE_LEGAL_VARIANTS(PLUMBLINE_ONE));
inline constexpr auto first_breaker =
    static_cast<Change>(PLUMBLINE_LEGAL_VARIANTS(PLUMBLINE_ONE) PLUMBLINE_MUTANTS(PLUMBLINE_ONE));
#undef PLUMBLINE_ONE

// Breakers of invariances, and the kernel that they change: one pass over a row's keys in tiles
// from key 0, whatever else is asked.
constexpr bool is_breaker(Change change) { return change >= first_breaker; }
constexpr bool has_fixed_order(Change change) {
  return is_breaker(change) || change == Change::legal_one_split;
}

}  // namespace plumbline::mutants
