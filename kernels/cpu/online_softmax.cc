// Attention by tiles with an online softmax. All CPU kernels except naive and merge use it.
//
//   for each block of rows, for each KV split, for each tile of keys
//     S = Q K^T            [rows, keys]   fp32
//     S = scale log2(e) S, softcap, ALiBi, mask (logits.h); S is in units of log2
//     m' = max(m, row max of S)
//     P = 2^(S - m')
//     l = l 2^(m - m') + row sum of P
//     O = O 2^(m - m') + round(P) V;  if fp8 V has scales of tokens, round(P scale) V
//   an attention sink is another term of l, in the first split
//   out = O / l,  LSE = ln(2) (m + log2 l)
//
// The bits of a row do not depend on tile_q, on the batch, on the layout or, with one split, on the
// number of later keys that the row does not see. Every row visits the key tiles in the same order,
// and tiles start at multiples of tile_kv from the sample's first key.
#include <cmath>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/logits.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/tiles.h"

namespace plumbline::cpu {
namespace {

constexpr std::int64_t keys_per_split = 256;
constexpr std::int64_t max_kv_splits = 8;
constexpr float lazy_limit = 8;  // log2: P stays below 2^8 with a lagging maximum

std::int64_t splits_of(const Variant& variant, std::int64_t length_kv) {
  if (variant.splits != 0) return variant.splits;
  return std::clamp<std::int64_t>((length_kv + keys_per_split - 1) / keys_per_split, 1,
                                  max_kv_splits);
}

struct Scratch {
  Tiles tiles;
  float* s;            // [tile_q, width_kv]            S, then P
  float* m;            // [tile_q]                      running maximum, in units of log2
  float* l;            // [tile_q]                      running sum of P
  float* rescale;      // [tile_q]                      2^(m - m')
  float* partial_out;  // [splits, tile_q, width_vo]    O / l of each split
  float* partial_lse;  // [splits, tile_q]              LSE of each split, in units of log2

  Scratch(const plumbline_problem& problem, const Variant& variant, Workspace& workspace)
      : tiles(problem, variant, workspace),
        s(workspace.take<float>(variant.tile_q * tiles.width_kv)),
        m(workspace.take<float>(variant.tile_q)),
        l(workspace.take<float>(variant.tile_q)),
        rescale(workspace.take<float>(variant.tile_q)) {
    const std::int64_t splits = splits_of(variant, problem.seq_kv);
    const std::int64_t partials = splits > 1 ? splits * variant.tile_q : 0;
    partial_out = workspace.take<float>(partials * tiles.width_vo);
    partial_lse = workspace.take<float>(partials);
  }
};

// The online softmax of one block of rows over a range of key tiles.
class BlockKernel {
 public:
  BlockKernel(const Attention& attention, const Variant& variant, const Scratch& scratch)
      : attention_(attention),
        variant_(variant),
        scratch_(scratch),
        tiles_(scratch.tiles),
        partial_dtype_(!variant.partials_in_16_bits ? static_cast<std::uint32_t>(PLUMBLINE_F32)
                                                    : partial_dtype(attention.problem)) {}

  void run(const RowBlock& block) {
    block_ = block;
    const Range seen = load_queries(attention_, variant_, block, tiles_);
    const std::int64_t length_kv = attention_.lengths_kv[block.sample];
    const std::int64_t splits = splits_of(variant_, length_kv);
    const std::int64_t all_tiles = (length_kv + variant_.tile_kv - 1) / variant_.tile_kv;
    const std::int64_t tiles_per_split = (all_tiles + splits - 1) / splits;
    for (std::int64_t split = 0; split < splits; ++split) {
      reset();
      visit_tiles(split * tiles_per_split, std::min(all_tiles, (split + 1) * tiles_per_split),
                  seen);
      if (split == 0) add_sinks();
      normalise();
      if (splits > 1) store_partial(split);
    }
    if (splits > 1) merge_partials(splits);
    store_rows(attention_, variant_, block, tiles_);
  }

 private:
  void reset() {
    std::fill_n(scratch_.m, block_.rows, minus_infinity);
    std::fill_n(scratch_.l, block_.rows, 0.0F);
    std::fill_n(tiles_.out, block_.rows * tiles_.width_vo, 0.0F);
  }

  // Visits the tiles of [first, last) in which some row sees a key.
  void visit_tiles(std::int64_t first, std::int64_t last, Range seen) {
    if (seen.size() == 0) return;
    const std::int64_t tile_kv = variant_.tile_kv;
    first = std::max(first, seen.begin / tile_kv);
    last = std::min(last, (seen.end + tile_kv - 1) / tile_kv);
    for (std::int64_t i = 0; i < last - first; ++i) {
      const std::int64_t tile = variant_.reverse ? last - 1 - i : first + i;
      visit_tile({tile * tile_kv, std::min<std::int64_t>((tile + 1) * tile_kv,
                                                         attention_.lengths_kv[block_.sample])});
    }
  }

  void visit_tile(Range keys) {
    const std::int64_t width = round_up(keys.size(), 8);
    // 1. S = Q K^T
    load_keys(attention_, block_, keys, tiles_);
    multiply(block_.rows, width, attention_.problem.head_dim_qk, {tiles_.q, tiles_.width_qk},
             {tiles_.k_t, tiles_.width_kv}, scratch_.s, tiles_.width_kv);
    // 2. P = 2^(S - m), l and the factors that O is rescaled by
    for (std::int64_t row = 0; row < block_.rows; ++row) softmax_row(row, keys, width);
    // 3. O = O 2^(m - m') + P V
    load_values(attention_, block_, keys, tiles_);
    multiply(block_.rows, tiles_.width_vo, keys.size(), {scratch_.s, tiles_.width_kv},
             {tiles_.v, tiles_.width_vo}, tiles_.product, tiles_.width_vo);
    for (std::int64_t row = 0; row < block_.rows; ++row) accumulate_row(row);
  }

  void softmax_row(std::int64_t row, Range keys, std::int64_t width) {
    float* s = scratch_.s + row * tiles_.width_kv;
    const Range visible = tiles_.visible[row];
    const Range seen{std::clamp(visible.begin, keys.begin, keys.end) - keys.begin,
                     std::clamp(visible.end, keys.begin, keys.end) - keys.begin};
    const RowBits bits = tiles_.bits[row];
    if (!sees_any(keys.begin, seen, bits)) {  // this row does not change
      std::fill_n(s, width, 0.0F);
      scratch_.rescale[row] = 1;
      return;
    }
    Logits(attention_, variant_, block_, row, log2_e).apply(s, width, keys.begin);
    hide_keys(s, width, keys.begin, seen, bits);
    const float m_old = scratch_.m[row];
    float m_new = max_of_row(s, width, m_old);
    if (variant_.lazy_rescale && m_new - m_old <= lazy_limit) m_new = m_old;
    exp2_row(s, width, m_new, 1.0F);

    const float exact_sum = sum_of_row(s, width);
    // V's token scales multiply P before its rounding, except in two cases. If l sums the rounded
    // P, or if P is fp8, whose range P * scale could exceed, the scales multiply the rounded P.
    const bool scales_p = attention_.scales_tokens(),
               sums_rounded = variant_.denominator_from_rounded_p,
               scales_before = scales_p && !sums_rounded && !is_fp8(variant_.p_dtype);
    const auto scale_p = [&] {
      scale_keys(s, keys, attention_.v_scale, block_.sample, block_.head_kv);
    };
    if (scales_before) scale_p();
    round_p(s, width, keys.begin, variant_.p_dtype, variant_.p_prescale, variant_.double_round_p);
    const float sum = sums_rounded ? sum_of_row(s, width) : exact_sum;
    if (scales_p && !scales_before) scale_p();

    const float rescale = exp2(m_old - m_new);
    scratch_.l[row] = std::fma(scratch_.l[row], rescale, sum);
    scratch_.rescale[row] = rescale;
    scratch_.m[row] = m_new;
  }

  void accumulate_row(std::int64_t row) {
    const __m256 rescale = _mm256_set1_ps(scratch_.rescale[row]);
    float* out = tiles_.out + row * tiles_.width_vo;
    const float* product = tiles_.product + row * tiles_.width_vo;
    for (std::int64_t d = 0; d < tiles_.width_vo; d += 8) {
      _mm256_storeu_ps(out + d, _mm256_fmadd_ps(_mm256_loadu_ps(out + d), rescale,
                                                _mm256_loadu_ps(product + d)));
    }
  }

  // A sink is another logit of the row's head: a term of the sum without a value.
  void add_sinks() {
    if (attention_.sinks.data == nullptr) return;
    for (std::int64_t row = 0; row < block_.rows; ++row) {
      const auto sink =
          static_cast<float>(attention_.sinks.at(block_.sample, block_.head(row)) * log2_e);
      const float m = std::max(scratch_.m[row], sink);
      if (m == minus_infinity) continue;
      const float rescale = exp2(scratch_.m[row] - m);
      scratch_.l[row] = std::fma(scratch_.l[row], rescale, exp2(sink - m));
      scratch_.m[row] = m;
      float* out = tiles_.out + row * tiles_.width_vo;
      for (std::int64_t d = 0; d < tiles_.width_vo; ++d) out[d] *= rescale;
    }
  }

  // out = O / l; a row that saw no key keeps O = 0 and has log2_sum = -infinity.
  void normalise() {
    for (std::int64_t row = 0; row < block_.rows; ++row) {
      const float l = scratch_.l[row];
      tiles_.log2_sum[row] = l == 0 ? minus_infinity : scratch_.m[row] + log2(l);
      if (l != 0) divide_row(tiles_.out + row * tiles_.width_vo, l);
    }
  }

  void divide_row(float* out, float divisor) const {
    for (std::int64_t d = 0; d < tiles_.width_vo; d += 8) {
      _mm256_storeu_ps(out + d, _mm256_div_ps(_mm256_loadu_ps(out + d), _mm256_set1_ps(divisor)));
    }
  }

  float* partial_out(std::int64_t split, std::int64_t row) const {
    return scratch_.partial_out + (split * variant_.tile_q + row) * tiles_.width_vo;
  }
  float& partial_lse(std::int64_t split, std::int64_t row) const {
    return scratch_.partial_lse[split * variant_.tile_q + row];
  }

  void store_partial(std::int64_t split) const {
    for (std::int64_t row = 0; row < block_.rows; ++row) {
      std::copy_n(tiles_.out + row * tiles_.width_vo, tiles_.width_vo, partial_out(split, row));
      round_to(partial_dtype_, partial_out(split, row), tiles_.width_vo);
      partial_lse(split, row) = static_cast<float>(tiles_.log2_sum[row]);
    }
  }

  // out = sum_s w_s out_s / sum_s w_s with w_s = 2^(lse_s - max lse)
  void merge_partials(std::int64_t splits) const {
    for (std::int64_t row = 0; row < block_.rows; ++row) {
      float* out = tiles_.out + row * tiles_.width_vo;
      std::fill_n(out, tiles_.width_vo, 0.0F);
      float largest = minus_infinity;
      for (std::int64_t split = 0; split < splits; ++split) {
        // also true for NaN
        if (!(partial_lse(split, row) <= largest)) largest = partial_lse(split, row);
      }
      tiles_.log2_sum[row] = minus_infinity;
      if (largest == minus_infinity) continue;
      float sum = 0;
      for (std::int64_t split = 0; split < splits; ++split) {
        const float weight = exp2(partial_lse(split, row) - largest);
        sum += weight;
        const float* partial = partial_out(split, row);
        for (std::int64_t d = 0; d < tiles_.width_vo; d += 8) {
          const __m256 term = _mm256_fmadd_ps(_mm256_set1_ps(weight), _mm256_loadu_ps(partial + d),
                                              _mm256_loadu_ps(out + d));
          _mm256_storeu_ps(out + d, term);
        }
      }
      divide_row(out, sum);
      tiles_.log2_sum[row] = largest + log2(sum);
    }
  }

  const Attention& attention_;
  const Variant& variant_;
  const Scratch& scratch_;
  const Tiles& tiles_;
  const std::uint32_t partial_dtype_;
  RowBlock block_;
};

}  // namespace

std::uint64_t online_softmax_workspace(const plumbline_problem& problem, const Variant& variant) {
  return bytes_of<Scratch>(problem, variant);
}

void online_softmax(const Attention& attention, const Variant& variant, std::byte* memory) {
  Workspace workspace(memory);
  const Scratch scratch(attention.problem, variant, workspace);
  BlockKernel kernel(attention, variant, scratch);
  for_each_block(attention, variant, [&](const RowBlock& block) { kernel.run(block); });
  if (is_padded(attention.problem.layout) && variant.padded_rows == PLUMBLINE_PADDED_ROWS_ZEROS)
    clear_padded_rows(attention);
}

}  // namespace plumbline::cpu
