// The steps from q.k to the softmax: scales, softcap, ALiBi, mask.
#pragma once

#include "kernels/cpu/softmax.h"
#include "kernels/cpu/tiles.h"

namespace plumbline::cpu {

// Multiplies s[i], of key keys.begin + i, by that key's scale.
inline void scale_keys(float* s, Range keys, const TokenScales& scales, std::int64_t sample,
                       std::int64_t head_kv) {
  for (std::int64_t key = keys.begin; key < keys.end; ++key)
    s[key - keys.begin] *= scales.at(sample, head_kv, key);
}

// logit = cap tanh(scale q.k) - slope |diagonal - key|; without tanh if cap is 0. `scale` includes
// 1 / softcap and the scales of fp8 Q and K. If tokens have their own K scales, these are applied
// separately. `unit` is 1 for natural units, log2(e) for units of log2.
struct Logits {
  float scale;
  float cap;
  float slope;            // ALiBi of the row's head; 0: none
  std::int64_t diagonal;  // key at distance 0: the last query is aligned with the last key
  TokenScales k_scale;
  std::int64_t sample, head_kv, length_kv;

  Logits(const Attention& attention, const Variant& variant, const RowBlock& block,
         std::int64_t row, double unit)
      : k_scale(attention.k_scale),
        sample(block.sample),
        head_kv(block.head_kv),
        length_kv(attention.lengths_kv[block.sample]) {
    const plumbline_problem& problem = attention.problem;
    const double softcap = problem.softcap,
                 q_scale = attention.q_scale.at(block.sample, block.head(row), block.token(row)),
                 of_keys = attention.scales_tokens() ? 1 : k_scale.at(sample, head_kv, 0);
    scale = static_cast<float>(problem.scale * variant.scale_factor * q_scale * of_keys *
                               (softcap != 0 ? 1 / softcap : unit));
    cap = static_cast<float>(softcap * unit);
    slope = static_cast<float>(attention.alibi_slopes.at(block.sample, block.head(row)) * unit);
    diagonal =
        block.token(row) + attention.lengths_kv[block.sample] - attention.lengths_q[block.sample];
  }

  // Replaces s[i], the q.k of key first_key + i, by its logit.
  void apply(float* s, std::int64_t width, std::int64_t first_key) const {
    scale_row(s, width, scale);
    if (k_scale.tokens != 0)
      scale_keys(s, {first_key, std::min(first_key + width, length_kv)}, k_scale, sample, head_kv);
    if (cap != 0) {
      const __m256 caps = _mm256_set1_ps(cap);
      for (std::int64_t i = 0; i < width; i += 8)
        _mm256_storeu_ps(s + i, _mm256_mul_ps(caps, tanh(_mm256_loadu_ps(s + i))));
    }
    if (slope == 0) return;
    const __m256 slopes = _mm256_set1_ps(slope), sign = _mm256_set1_ps(-0.0F);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (std::int64_t i = 0; i < width; i += 8) {
      const __m256i distance =
          _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first_key + i - diagonal)), lane);
      const __m256 size = _mm256_andnot_ps(sign, _mm256_cvtepi32_ps(distance));
      _mm256_storeu_ps(s + i, _mm256_fnmadd_ps(slopes, size, _mm256_loadu_ps(s + i)));
    }
  }
};

// Sets s to -infinity for keys that the row does not see. `seen` counts from the tile's first key,
// first_key.
inline void hide_keys(float* s, std::int64_t width, std::int64_t first_key, Range seen,
                      const RowBits& bits) {
  mask_row(s, width, seen);
  if (bits.words == nullptr) return;
  for (std::int64_t i = seen.begin; i < seen.end; ++i) {
    if (!bits.sees(first_key + i)) s[i] = minus_infinity;
  }
}

// Returns true if the row sees any of the keys in `seen`, which count from first_key.
inline bool sees_any(std::int64_t first_key, Range seen, const RowBits& bits) {
  if (bits.words == nullptr) return seen.size() > 0;
  for (std::int64_t i = seen.begin; i < seen.end; ++i) {
    if (bits.sees(first_key + i)) return true;
  }
  return false;
}

}  // namespace plumbline::cpu
