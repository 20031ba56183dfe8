// Loads a tile's keys and values, or some of them wrongly.
#include "kernels/mutants/loads.h"

#include <algorithm>

#include "kernels/mutants/results.h"

namespace plumbline::mutants {

// The tile's row after the last key keeps the previous tile's data.
bool Loads::is_stale(Range keys, std::int64_t tile, std::int64_t j) const {
  return is(Change::memory_stale_key) && j == keys.size() && j < tile_keys_ && tile > 0;
}

void Loads::keys(const Block& block, Range keys, std::int64_t tile) const {
  for (std::int64_t j = 0; j < tile_keys_; ++j) {
    if (is_stale(keys, tile, j)) continue;
    const bool inside = j < keys.size() || is(Change::memory_relies_on_zero_keys);
    if (inside) {
      sequence_.load_key(block.sample, keys.begin + j, block.head, t_.row_of_k);
    } else {
      std::fill_n(t_.row_of_k, t_.width_qk, 0.0F);
    }
    if (mode_ == Mode::tf32 || is(Change::precision_inputs_tf32))
      round_row(PLUMBLINE_TF32, t_.row_of_k, problem_.head_dim_qk);
    if (is(Change::precision_keys_e4m3))
      round_row(PLUMBLINE_E4M3, t_.row_of_k, problem_.head_dim_qk);
    for (std::int64_t d = 0; d < problem_.head_dim_qk; ++d)
      t_.k_t[d * Scratch::max_tile_keys + j] = t_.row_of_k[d];
  }
}

void Loads::values(const Block& block, Range keys, std::int64_t tile) const {
  const bool cut = is(Change::memory_stale_value_column) && keys.size() < tile_keys_ && tile > 0;
  const std::int64_t columns = problem_.head_dim_vo - (cut ? 1 : 0);
  for (std::int64_t j = 0; j < tile_keys_; ++j) {
    if (is_stale(keys, tile, j)) continue;
    float* row = t_.v + j * t_.width_vo;
    const float kept = row[problem_.head_dim_vo - 1];
    if (has_fixed_order(change_) && !is(Change::varies_hidden_keys) && j < keys.size() &&
        is_hidden(block, keys.begin + j)) {
      std::fill_n(row, t_.width_vo, 0.0F);
    } else if (j < keys.size() || is(Change::memory_values_not_zero_filled) ||
               is(Change::varies_padding) || within_last_page(block.sample, keys.begin + j)) {
      sequence_.load_value(block.sample, keys.begin + j, block.head, row);
    } else {
      std::fill_n(row, t_.width_vo, 0.0F);
    }
    if (columns < problem_.head_dim_vo) row[columns] = kept;
    if (mode_ == Mode::tf32 || is(Change::precision_inputs_tf32))
      round_row(PLUMBLINE_TF32, row, problem_.head_dim_vo);
    if (is(Change::precision_values_e4m3)) round_row(PLUMBLINE_E4M3, row, problem_.head_dim_vo);
    std::fill(row + problem_.head_dim_vo, row + t_.width_vo, 0.0F);
  }
}

// No row of the block sees the key.
bool Loads::is_hidden(const Block& block, std::int64_t key) const {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t token = block.first + r;
    const Range seen = sequence_.visible_keys(block.sample, block.head, token);
    if (key >= seen.begin && key < seen.end && sequence_.sees(block.sample, token, key))
      return false;
  }
  return true;
}

// The load predicate checks the page, not the token.
bool Loads::within_last_page(std::int64_t sample, std::int64_t key) const {
  return is(Change::index_page_bound_by_page) && cpu::is_paged(problem_.layout) &&
         key < cpu::round_up(sequence_.length_kv(sample), problem_.page_size);
}

}  // namespace plumbline::mutants
