// Computes lengths, visible keys, heads and row addresses, or one of them wrongly.
#include "kernels/mutants/sequence.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/numbers.h"
#include "kernels/mutants/arithmetic.h"
#include "kernels/mutants/results.h"
#include "kernels/mutants/stale.h"

namespace plumbline::mutants {

using cpu::TokenTensor;

Sequence::Sequence(const plumbline_problem& problem, const plumbline_tensors& tensors,
                   Change change)
    : attention_(cpu::bind(problem, tensors)), tensors_(tensors), change_(change) {
  keep_stale_state(attention_, change);
  if (is(Change::index_v_strides_of_k)) {
    attention_.v.outer_stride = attention_.k.outer_stride;
    attention_.v.token_stride = attention_.k.token_stride;
    attention_.v.head_stride = attention_.k.head_stride;
  }
  if (is(Change::index_k_strides_of_v)) {
    attention_.k.outer_stride = attention_.v.outer_stride;
    attention_.k.token_stride = attention_.v.token_stride;
    attention_.k.head_stride = attention_.v.head_stride;
  }
  if (is(Change::fp8_e5m2_as_e4m3) && attention_.k.dtype == PLUMBLINE_E5M2)
    attention_.k.dtype = attention_.v.dtype = PLUMBLINE_E4M3;
  if (is(Change::fp8_e4m3_as_e5m2) && attention_.k.dtype == PLUMBLINE_E4M3)
    attention_.k.dtype = attention_.v.dtype = PLUMBLINE_E5M2;
}

// ---- Lengths and masks ----

std::int64_t Sequence::samples() const {
  if (is(Change::index_last_sample_lost) && problem().batch > 2) return problem().batch - 1;
  return problem().batch;
}

std::int64_t Sequence::length_kv(std::int64_t sample) const {
  if (is(Change::index_length_of_longest) && !cpu::is_padded(problem().layout))
    return problem().seq_kv;
  return attention_.lengths_kv[sample];
}

Range Sequence::computed_tokens(std::int64_t sample) const {
  if (is(Change::memory_padded_rows_computed) && cpu::is_padded(problem().layout)) {
    const std::int64_t first = attention_.q.first(sample);
    return {-first, attention_.q.extent - first};
  }
  return {0, length_q(sample)};
}

std::int64_t Sequence::end_of_keys(std::int64_t sample) const {
  const std::int64_t length = length_kv(sample);
  if (is(Change::memory_padding_attended)) {
    if (cpu::is_padded(problem().layout)) return attention_.k.extent - attention_.k.first(sample);
    if (cpu::is_paged(problem().layout)) return cpu::round_up(length, problem().page_size);
  }
  // The cache length is read before this call's tokens are appended.
  if (is(Change::stale_length_before_append) && cpu::is_paged(problem().layout))
    return std::max<std::int64_t>(0, length - length_q(sample));
  if (is(Change::mask_drops_last_key)) return std::max<std::int64_t>(0, length - 1);
  // The length of the last page is computed as a remainder, which is 0 for a full page.
  const bool full = cpu::is_paged(problem().layout) && length % problem().page_size == 0;
  if (is(Change::index_full_last_page_lost) && full)
    return std::max<std::int64_t>(0, length - problem().page_size);
  return length;
}

// Returns the token of a row of packed query heads, computed correctly or wrongly.
std::int64_t Sequence::token_of_packed(std::int64_t token, std::int64_t row) const {
  const std::int64_t heads = group();
  if (is(Change::mask_causal_packed_row)) return row;
  if (is(Change::mask_packed_shifted_by_log2))
    return row >> (std::bit_width(static_cast<std::uint64_t>(heads)) - 1);
  if (is(Change::mask_packed_rounded_up)) return (row + heads - 1) / heads;
  if (is(Change::mask_packed_by_reciprocal)) return row * (65536 / heads) >> 16;
  if (is(Change::mask_packed_tile_divided))
    return row / block_rows * block_rows / heads + row % block_rows / heads;
  return token;
}

// Returns the row from whose diagonal a window's left edge is counted.
std::int64_t Sequence::window_row(std::int64_t sample, std::int64_t token,
                                  std::int64_t packed) const {
  const std::int64_t in_block = token % block_rows;
  if (is(Change::mask_window_of_first_row)) return token - in_block;
  if (is(Change::mask_window_of_last_row))
    return std::min(token - in_block + block_rows, length_q(sample)) - 1;
  return is(Change::mask_window_packed_row) ? packed : token;
}

Range Sequence::visible_keys(std::int64_t sample, std::int64_t head, std::int64_t token) const {
  if (has_bits()) return keys_of_bits(sample, token);
  const std::int64_t length = length_kv(sample);
  const std::uint32_t mask = is(Change::stale_mask) ? stale_mask(problem().mask) : problem().mask;
  const bool causal = mask != PLUMBLINE_MASK_NONE;
  const bool ignored = is(Change::mask_window_ignored_in_decode) && problem().seq_q == 1;
  const bool has_left = problem().window_left >= 0 && !ignored,
             has_right = problem().window_right >= 0 && !ignored;
  // The diagonal's key: the row's own position (top left), or counted so that the last query sees
  // the last key (bottom right).
  bool top_left = mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT;
  if (is(Change::mask_causal_top_left) && causal) top_left = true;
  if (is(Change::mask_window_top_left) && (has_left || has_right)) top_left = true;
  const std::int64_t offset = top_left ? 0 : length - length_q(sample);
  const std::int64_t packed = token * group() + head % group();
  const std::int64_t diagonal = is(Change::mask_packed_offset_divided)
                                    ? (packed + offset) / group()
                                    : token_of_packed(token, packed) + offset;

  Range keys{0, end_of_keys(sample)};
  if (has_left) {
    std::int64_t left = problem().window_left;
    if (is(Change::mask_window_one_more)) left += 1;
    if (is(Change::mask_window_one_less) ||
        (is(Change::sink_takes_a_place_in_window) && problem().has_sink != 0))
      left = std::max<std::int64_t>(0, left - 1);
    const std::int64_t beyond = window_row(sample, token, packed) - token;
    keys.begin = std::max<std::int64_t>(0, diagonal + beyond - left);
  }
  if (has_right) {
    const std::int64_t right =
        problem().window_right + (is(Change::mask_window_right_one_more) && !causal ? 1 : 0);
    keys.end = std::min(keys.end, diagonal + right + 1);
  }
  if (causal) {
    std::int64_t end = diagonal + 1;
    if (is(Change::mask_causal_hides_diagonal)) end -= 1;
    if (is(Change::mask_causal_shows_one_more)) end += 1;
    // a negative end as std::uint32_t is larger than any key
    const bool wraps = is(Change::mask_causal_unsigned) && end < 0;
    if (!wraps) keys.end = std::min(keys.end, end);
  }
  if (is(Change::mask_drops_first_key)) keys.begin = std::max<std::int64_t>(keys.begin, 1);
  return keys.end > keys.begin ? keys : Range{};
}

Range Sequence::keys_of_bits(std::int64_t sample, std::int64_t token) const {
  if (token < 0 || token >= length_q(sample)) return {};  // padded rows have no bits
  Range keys{is(Change::mask_drops_first_key) ? 1 : 0, end_of_keys(sample)};
  while (keys.begin < keys.end && !sees(sample, token, keys.begin)) ++keys.begin;
  while (keys.begin < keys.end && !sees(sample, token, keys.end - 1)) --keys.end;
  return keys.end > keys.begin ? keys : Range{};
}

bool Sequence::sees(std::int64_t sample, std::int64_t token, std::int64_t key) const {
  // The mask has no bits for keys from seq_kv on; other code bounds them.
  if (!has_bits() || key >= problem().seq_kv) return true;
  const std::int64_t length = length_kv(sample);
  cpu::MaskBits mask = attention_.mask;
  if (is(Change::mask_bits_row_stride))
    mask.row_stride = cpu::round_up(length, 32) / 32 * mask.word_stride;
  if (is(Change::mask_bits_stride_of_short_rows))
    mask.row_stride = std::min<std::int64_t>(mask.row_stride, 8 * mask.word_stride);
  if (is(Change::mask_bits_of_first_sample)) mask.sample_stride = 0;
  // The offset in the sample's mask overflows, in bits or in bytes.
  const std::int64_t wraps_at = is(Change::mask_bits_offset_16_bits)    ? (1 << 16) / 32
                                : is(Change::mask_bytes_offset_16_bits) ? (1 << 16) / 4
                                                                        : 0;
  if (wraps_at != 0) {
    const std::int64_t word = token * mask.row_stride + key / 32 * mask.word_stride;
    return (mask.data[sample * mask.sample_stride + word % wraps_at] >> (key % 32) & 1U) != 0;
  }
  const cpu::RowBits bits = mask.row(sample, token);
  if (is(Change::mask_bits_reversed)) return bits.sees(key ^ 7);
  if (is(Change::mask_bits_last_byte_open) && key >= length / 8 * 8) return true;
  const bool has_next = key + 1 < length && bits.sees(key + 1);
  if (is(Change::mask_bits_run_one_early) && has_next) return true;
  const std::int64_t diagonal = token + length - length_q(sample);
  if (is(Change::mask_bits_prefix_one_less) && key > diagonal && !has_next) return false;
  return bits.sees(key);
}

// ---- Heads ----

std::int64_t Sequence::head_of_keys(std::int64_t head) const {
  const std::int64_t heads_kv = problem().heads_kv;
  if (is(Change::head_modulo)) return head % heads_kv;
  if (is(Change::head_shift_by_log2)) {
    return std::min(head >> (std::bit_width(static_cast<std::uint64_t>(group())) - 1),
                    heads_kv - 1);
  }
  if (is(Change::head_last_of_group) && head % group() == group() - 1)
    return (head / group() + 1) % heads_kv;
  return head / group();
}

std::int64_t Sequence::head_of_values(std::int64_t head) const {
  if (is(Change::head_v_of_next)) return (head_of_keys(head) + 1) % problem().heads_kv;
  return is(Change::head_v_of_first) ? 0 : head_of_keys(head);
}

// Returns the scale of a token. `length` is the sample's number of tokens.
float Sequence::scale_at(const cpu::TokenScales& scales, std::int64_t sample, std::int64_t head,
                         std::int64_t token, std::int64_t length) const {
  if (is(Change::fp8_scale_of_first_sample)) sample = 0;
  if (is(Change::fp8_scale_as_of_tensor)) sample = head = token = 0;
  if (scales.tokens > 0) {
    const std::int64_t last = std::max<std::int64_t>(0, length - 1) / scales.tokens;
    std::int64_t block = token / scales.tokens;
    if (is(Change::fp8_scale_of_first_block)) block = 0;
    if (is(Change::fp8_scale_of_next_block)) ++block;
    if (is(Change::fp8_scale_block_fixed)) block = token / 64;
    // number of full blocks
    if (is(Change::fp8_scale_of_full_blocks)) block = std::min(block, length / scales.tokens - 1);
    token = std::clamp<std::int64_t>(block, 0, last) * scales.tokens;
  }
  const float scale = scales.at(sample, head, token);
  return is(Change::fp8_scale_in_16_bits) ? round_one(narrow_dtype(problem()), scale) : scale;
}

float Sequence::kv_scale_at(const cpu::TokenScales& scales, std::int64_t sample, std::int64_t head,
                            std::int64_t key) const {
  std::int64_t head_kv = head / group();
  if (is(Change::fp8_scale_of_first_head)) head_kv = 0;
  if (is(Change::fp8_scale_of_query_head)) head_kv = head % problem().heads_kv;
  if (is(Change::fp8_scale_of_next_head)) head_kv = (head_kv + 1) % problem().heads_kv;
  return scale_at(scales, sample, head_kv, key, attention_.lengths_kv[sample]);
}

float Sequence::k_scale(std::int64_t sample, std::int64_t head) const {
  if (scales_when_loaded() || is(Change::fp8_k_scale_forgotten)) return 1;
  return kv_scale_at(attention_.k_scale, sample, head, 0);
}

float Sequence::v_scale(std::int64_t sample, std::int64_t head) const {
  if (scales_when_loaded() || is(Change::fp8_v_scale_forgotten)) return 1;
  const float scale = kv_scale_at(
      is(Change::fp8_v_scale_of_k) ? attention_.k_scale : attention_.v_scale, sample, head, 0);
  return is(Change::fp8_v_scale_twice) ? scale * scale : scale;
}

float Sequence::q_scale_at(std::int64_t sample, std::int64_t token, std::int64_t head) const {
  if (is(Change::fp8_q_scale_forgotten)) return 1;
  if (is(Change::fp8_q_scale_of_k)) return kv_scale_at(attention_.k_scale, sample, head, 0);
  if (is(Change::fp8_q_scale_of_next_head)) head = (head + group()) % problem().heads_q;
  if (is(Change::fp8_q_scale_of_first_head)) head = 0;
  if (is(Change::fp8_q_scale_of_next_row)) token = std::min(token + 1, length_q(sample) - 1);
  const float scale = scale_at(attention_.q_scale, sample, head, token, length_q(sample));
  return is(Change::fp8_q_scale_squared) ? scale * scale : scale;
}

// ---- Addresses ----

Sequence::Row Sequence::query_row(std::int64_t sample, std::int64_t token,
                                  std::int64_t head) const {
  const TokenTensor& map = attention_.q;
  if (is(Change::index_q_starts_at_k) && map.cu_seqlens != nullptr) {
    const auto* starts = static_cast<const std::int32_t*>(tensors_.cu_seqlens_kv.data);
    return {&map, (starts[sample] + token) * map.token_stride + head * map.head_stride};
  }
  return {&map, map.offset(sample, token, head)};
}

Sequence::Row Sequence::key_row(const TokenTensor& map, std::int64_t sample, std::int64_t token,
                                std::int64_t head) const {
  if (map.page_table != nullptr) return paged_row(map, sample, token, head);
  if (map.cu_seqlens != nullptr) {
    const auto* starts = is(Change::index_k_starts_at_q)
                             ? static_cast<const std::int32_t*>(tensors_.cu_seqlens_q.data)
                             : map.cu_seqlens;
    if (is(Change::index_v_starts_at_next) && &map == &attention_.v) ++starts;
    return {&map, (starts[sample] + token) * map.token_stride + head * map.head_stride};
  }
  const std::int64_t first = is(Change::index_left_padding_ignored) ? 0 : map.first(sample);
  if (is(Change::index_strides_fixed)) {  // the strides of [sample, token, head, d]
    const std::int64_t dim = &map == &attention_.k ? problem().head_dim_qk : problem().head_dim_vo;
    return {&map, ((sample * map.extent + first + token) * problem().heads_kv + head) * dim};
  }
  std::int64_t in_sample = (first + token) * map.token_stride;
  if (is(Change::index_key_offset_16_bits) && &map == &attention_.k)
    in_sample = static_cast<std::uint16_t>(in_sample);
  return {&map, sample * map.outer_stride + in_sample + head * map.head_stride};
}

std::int64_t Sequence::longest_sample() const {
  const std::int32_t* lengths = attention_.lengths_kv;
  return std::max_element(lengths, lengths + problem().batch) - lengths;
}

std::int64_t Sequence::pages_of(std::int64_t sample) const {
  return cpu::round_up(attention_.lengths_kv[sample], problem().page_size) / problem().page_size;
}

Sequence::Row Sequence::paged_row(const TokenTensor& map, std::int64_t sample, std::int64_t token,
                                  std::int64_t head) const {
  const std::int64_t page_size = is(Change::index_page_size_fixed) ? 16 : map.page_size;
  // Takes the page of the tile's first token and reads past the end of that page.
  const std::int64_t in_tile = is(Change::index_tile_within_page) ? token % 32 : 0;
  std::int64_t index = (token - in_tile) / page_size;
  std::int64_t in_page = (token - in_tile) % page_size + in_tile;
  const std::int64_t pages = pages_of(sample);
  if (is(Change::index_page_of_next_token)) index = std::min((token + 1) / page_size, pages - 1);
  if (is(Change::index_last_page_of_neighbour) && index == pages - 1 && sample > 0) --sample;
  if (is(Change::index_v_pages_swapped) && &map == &attention_.v && (index ^ 1) < pages) index ^= 1;
  if (is(Change::index_page_offset_doubled) && index == pages - 1)
    in_page = 2 * in_page % page_size;
  std::int64_t table_row =
      sample * (is(Change::index_page_row_stride) ? pages : map.pages_per_sample);
  if (is(Change::index_one_page_wrong) && sample == longest_sample() && index == 1)
    table_row = index = 0;
  const auto entries = static_cast<std::int64_t>(tensors_.page_table.bytes / sizeof(std::int32_t));
  const std::int64_t page = index < map.pages_per_sample && table_row + index < entries
                                ? map.page_table[table_row + index]
                                : -1;
  if (is(Change::index_strides_fixed)) {  // the strides of [page, token, head, d]
    const std::int64_t dim = &map == &attention_.k ? problem().head_dim_qk : problem().head_dim_vo;
    return {&map, ((page * map.page_size + in_page) * problem().heads_kv + head) * dim};
  }
  return {&map, page * map.outer_stride + in_page * map.token_stride + head * map.head_stride};
}

bool Sequence::lies_within(const Row& row, std::int64_t elements, std::uint64_t bytes) const {
  const auto size = static_cast<std::uint64_t>(cpu::size_in_bytes(row.map->dtype));
  const std::int64_t last = row.offset + (elements - 1) * row.map->element_stride;
  return row.offset >= 0 && (static_cast<std::uint64_t>(last) + 1) * size <= bytes;
}

// Truncates the element offset, or its byte offset, to 32 bits.
std::int64_t Sequence::narrowed(const TokenTensor& map, std::int64_t offset) const {
  const bool paged = map.page_table != nullptr, ragged = map.cu_seqlens != nullptr;
  if ((is(Change::index_page_offset_32_bits) && paged) ||
      (is(Change::index_row_offset_32_bits) && ragged) ||
      (is(Change::index_sample_offset_32_bits) && !paged && !ragged))
    return static_cast<std::int32_t>(offset);
  const std::int64_t size = cpu::size_in_bytes(map.dtype);
  return is(Change::index_byte_offset_32_bits) ? static_cast<std::uint32_t>(offset * size) / size
                                               : offset;
}

void Sequence::load(const Row& whole, std::int64_t elements, std::uint64_t bytes, float* to) const {
  const Row row{whole.map, narrowed(*whole.map, whole.offset)};
  if (!lies_within(row, elements, bytes)) {
    std::fill_n(to, elements, 0.0F);
    return;
  }
  const std::byte* from = row.map->data + row.offset * cpu::size_in_bytes(row.map->dtype);
  cpu::decode_row(row.map->dtype, from, row.map->element_stride, elements, to);
  if (!is(Change::fp8_subnormals_flushed) || !cpu::is_fp8(row.map->dtype)) return;
  const float smallest = cpu::grid_of(row.map->dtype).smallest_normal;
  for (std::int64_t i = 0; i < elements; ++i) to[i] = std::abs(to[i]) < smallest ? 0 : to[i];
}

void Sequence::load_query(std::int64_t sample, std::int64_t token, std::int64_t head,
                          float* to) const {
  load(query_row(sample, token, head), problem().head_dim_qk, tensors_.q.bytes, to);
  if (attention_.q_scale.data != nullptr)
    scale_row(to, problem().head_dim_qk, q_scale_at(sample, token, head));
}

void Sequence::load_key(std::int64_t sample, std::int64_t token, std::int64_t head,
                        float* to) const {
  load(key_row(attention_.k, sample, token, head_of_keys(head)), problem().head_dim_qk,
       tensors_.k.bytes, to);
  if (scales_when_loaded() && !is(Change::fp8_k_scale_forgotten))
    scale_row(to, problem().head_dim_qk, kv_scale_at(attention_.k_scale, sample, head, token));
}

// Returns true if the row stride of K fits rows of K and V, or of Q, K and V.
bool Sequence::is_packed() const {
  const std::int64_t row = attention_.k.token_stride, both = 2 * problem().heads_kv;
  return row == both * problem().head_dim_qk ||
         row == (problem().heads_q + both) * problem().head_dim_qk;
}

Sequence::Row Sequence::value_row(std::int64_t sample, std::int64_t token,
                                  std::int64_t head) const {
  Row row = key_row(attention_.v, sample, token, head);
  if (is(Change::index_packed_v_after_q_heads) && is_packed())
    row.offset += (problem().heads_q - problem().heads_kv) * problem().head_dim_qk;
  const bool within_k = attention_.v.token_stride == attention_.k.token_stride &&
                        problem().head_dim_vo < problem().head_dim_qk;
  if (is(Change::index_v_at_end_of_k) && within_k)
    row.offset += problem().head_dim_qk - problem().head_dim_vo;
  return row;
}

void Sequence::load_value(std::int64_t sample, std::int64_t token, std::int64_t head,
                          float* to) const {
  if (is(Change::index_v_of_next_key) && token + 1 < length_kv(sample)) ++token;
  const std::int64_t appended_from = length_kv(sample) - length_q(sample);
  if (is(Change::index_v_one_token_late)) token = std::max<std::int64_t>(0, token - 1);
  if (is(Change::stale_values_of_append) && cpu::is_paged(problem().layout) &&
      token >= appended_from) {
    std::fill_n(to, problem().head_dim_vo, 0.0F);
  } else if (is(Change::index_packed_v_at_k) && is_packed()) {
    load(key_row(attention_.k, sample, token, head_of_values(head)), problem().head_dim_vo,
         tensors_.k.bytes, to);
  } else {
    load(value_row(sample, token, head_of_values(head)), problem().head_dim_vo, tensors_.v.bytes,
         to);
  }
  if (scales_when_loaded() && !is(Change::fp8_v_scale_forgotten)) {
    const auto& scales = is(Change::fp8_v_scale_of_k) ? attention_.k_scale : attention_.v_scale;
    scale_row(to, problem().head_dim_vo, kv_scale_at(scales, sample, head, token));
  }
}

// ---- Results ----

bool Sequence::is_stored(std::int64_t sample, std::int64_t token, std::int64_t head) const {
  const std::int64_t length = length_q(sample);
  if (is(Change::memory_last_rows_unwritten) && length > block_rows)
    return token < length / block_rows * block_rows;
  // The blocks of packed rows (token, head of the group) are counted as if the group had one head.
  if (is(Change::index_blocks_without_group))
    return token * group() + head % group() < cpu::round_up(length, block_rows);
  return true;
}

void Sequence::store_output(std::int64_t sample, std::int64_t token, std::int64_t head,
                            const float* from, std::int64_t columns) const {
  Row row{&attention_.out, attention_.out.offset(sample, token, head)};
  if (is(Change::index_output_stride_of_q)) row.offset = attention_.q.offset(sample, token, head);
  if (!lies_within(row, problem().head_dim_vo, tensors_.out.bytes)) return;
  std::byte* to = row.map->data + row.offset * cpu::size_in_bytes(row.map->dtype);
  cpu::encode_row(row.map->dtype, from, columns, to, row.map->element_stride);
}

void Sequence::store_lse(std::int64_t sample, std::int64_t token, std::int64_t head,
                         float lse) const {
  if (attention_.lse.data == nullptr) return;
  if (is(Change::head_lse_transposed) && token >= 0 && token < length_q(sample)) {
    const std::int64_t transposed = head * length_q(sample) + token;
    token = transposed / problem().heads_q;
    head = transposed % problem().heads_q;
  }
  cpu::encode_one(PLUMBLINE_F32, lse, attention_.lse.at(sample, token, head));
}

}  // namespace plumbline::mutants
