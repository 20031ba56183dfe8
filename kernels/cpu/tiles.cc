// Loads queries, keys and values as tiles of fp32, and stores finished rows in their dtype.
#include "kernels/cpu/tiles.h"

#include <limits>

#include "kernels/cpu/elementary.h"

namespace plumbline::cpu {
namespace {

// Transposes the 8 x 8 block at `from` into the one at `to`.
void transpose_8x8(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m256 pair[8];
  __m256 quad[8];
  for (int i = 0; i < 8; i += 2) {
    const __m256 even = _mm256_loadu_ps(from + i * from_stride);
    const __m256 odd = _mm256_loadu_ps(from + (i + 1) * from_stride);
    pair[i] = _mm256_unpacklo_ps(even, odd);
    pair[i + 1] = _mm256_unpackhi_ps(even, odd);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

}  // namespace

Range load_queries(const Attention& attention, const Variant& variant, const RowBlock& block,
                   const Tiles& tiles) {
  const plumbline_problem& problem = attention.problem;
  Range seen{attention.lengths_kv[block.sample], 0};
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const std::int64_t token = block.token(row);
    const std::byte* q = attention.q.at(block.sample, token, block.head(row));
    decode_row(attention.q.dtype, q, attention.q.element_stride, problem.head_dim_qk,
               tiles.q + row * tiles.width_qk);
    const Range keys = visible_keys(attention, variant, block.sample, token);
    tiles.visible[row] = keys;
    tiles.bits[row] = attention.mask.row(block.sample, token);
    if (keys.size() == 0) continue;
    seen.begin = std::min(seen.begin, keys.begin);
    seen.end = std::max(seen.end, keys.end);
  }
  return seen;
}

void load_keys(const Attention& attention, const RowBlock& block, Range keys, const Tiles& tiles) {
  const std::int64_t depth = attention.problem.head_dim_qk;
  for (std::int64_t group = 0; group < keys.size(); group += 8) {
    for (std::int64_t i = 0; i < 8; ++i) {
      float* row = tiles.keys + i * tiles.width_qk;
      const std::int64_t key = keys.begin + group + i;
      if (key < keys.end) {
        decode_row(attention.k.dtype, attention.k.at(block.sample, key, block.head_kv),
                   attention.k.element_stride, depth, row);
      } else {
        std::fill_n(row, tiles.width_qk, 0.0F);
      }
    }
    for (std::int64_t d = 0; d < tiles.width_qk; d += 8) {
      transpose_8x8(tiles.keys + d, tiles.width_qk, tiles.k_t + d * tiles.width_kv + group,
                    tiles.width_kv);
    }
  }
}

void load_values(const Attention& attention, const RowBlock& block, Range keys,
                 const Tiles& tiles) {
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const std::byte* v = attention.v.at(block.sample, key, block.head_kv);
    float* row = tiles.v + (key - keys.begin) * tiles.width_vo;
    decode_row(attention.v.dtype, v, attention.v.element_stride, attention.problem.head_dim_vo,
               row);
  }
}

void store_rows(const Attention& attention, const Variant& variant, const RowBlock& block,
                const Tiles& tiles) {
  if (attention.v_scale.data != nullptr && !attention.scales_tokens()) {
    const float scale = attention.v_scale.at(block.sample, block.head_kv, 0);
    for (std::int64_t i = 0; i < block.rows * tiles.width_vo; ++i) tiles.out[i] *= scale;
  }
  if (attention.out_scale != 1) {
    const float factor = 1 / attention.out_scale;
    for (std::int64_t i = 0; i < block.rows * tiles.width_vo; ++i) tiles.out[i] *= factor;
  }
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const std::int64_t token = block.token(row);
    const std::int64_t head = block.head(row);
    if (token >= 0 &&  // not left padding
        variant.doubled_row ==
            (block.sample * attention.problem.seq_q + token) * attention.problem.heads_q + head) {
      for (std::int64_t d = 0; d < tiles.width_vo; ++d) tiles.out[row * tiles.width_vo + d] *= 2;
    }
    encode_row(attention.out.dtype, tiles.out + row * tiles.width_vo, attention.problem.head_dim_vo,
               attention.out.at(block.sample, token, head), attention.out.element_stride);
    if (attention.lse.data == nullptr) continue;
    const auto lse = static_cast<float>(tiles.log2_sum[row] * (variant.lse_in_log2 ? 1.0 : ln_2));
    encode_one(PLUMBLINE_F32, lse, attention.lse.at(block.sample, token, head));
  }
}

}  // namespace plumbline::cpu
