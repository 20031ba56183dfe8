// Attention with a whole row of S in memory, as plain PyTorch computes it. S is rounded to the
// input dtype before the softmax, P before P V.
//
//   S = round(scale Q K^T)      [rows, seq_kv]; softcap and ALiBi are applied before the rounding,
//                               an attention sink is not rounded
//   P = exp(S - row max),  l = row sum of P
//   out = (round(P) V) / l,  LSE = row max + ln l
//
// P is rounded before it is divided by l, so that small weights of long rows keep their bits.
#include "kernels/cpu/attention.h"
#include "kernels/cpu/logits.h"
#include "kernels/cpu/matmul.h"

namespace plumbline::cpu {
namespace {

struct Scratch {
  Tiles tiles;
  std::int64_t width;  // seq_kv, rounded up to whole tiles
  float* s;            // [tile_q, width]  S, then P
  float* l;            // [tile_q]

  Scratch(const plumbline_problem& problem, const Variant& variant, Workspace& workspace)
      : tiles(problem, variant, workspace),
        width(round_up(problem.seq_kv, variant.tile_kv)),
        s(workspace.take<float>(variant.tile_q * width)),
        l(workspace.take<float>(variant.tile_q)) {}
};

// Stores the largest logit of a row if it is requested.
void store_largest(const Attention& attention, const Variant& variant, const RowBlock& block,
                   std::int64_t row, float largest) {
  if (attention.max_logit.data == nullptr) return;
  float values[8] = {largest};  // round_to needs 8 values
  if (variant.max_logit == PLUMBLINE_BF16) round_to(PLUMBLINE_BF16, values, 8);
  encode_one(PLUMBLINE_F32, values[0],
             attention.max_logit.at(block.sample, block.token(row), block.head(row)));
}

// Row by row: replaces S by P, and computes l and log2 of the row's sum of exp(S).
void softmax_rows(const Attention& attention, const Variant& variant, const RowBlock& block,
                  const Scratch& scratch) {
  const std::int64_t width = round_up(attention.lengths_kv[block.sample], 8);
  for (std::int64_t row = 0; row < block.rows; ++row) {
    float* s = scratch.s + row * scratch.width;
    const Range visible = scratch.tiles.visible[row];
    const float sink = attention.sinks.at(block.sample, block.head(row));
    if (visible.size() == 0) {
      std::fill_n(s, width, 0.0F);
      scratch.l[row] = sink == minus_infinity ? 0.0F : 1.0F;
      scratch.tiles.log2_sum[row] = sink * log2_e;
      store_largest(attention, variant, block, row, minus_infinity);
      continue;
    }
    Logits(attention, variant, block, row, 1).apply(s, width, 0);
    if (variant.s_rounded) round_to(attention.problem.dtype_q, s, width);
    hide_keys(s, width, 0, visible, scratch.tiles.bits[row]);
    const float m = max_of_row(s, width, sink);
    store_largest(attention, variant, block, row, max_of_row(s, width, minus_infinity));
    exp2_row(s, width, m, static_cast<float>(log2_e));
    const float exact_sum = sum_of_row(s, width);
    const bool scales_p = attention.scales_tokens(),
               sums_rounded = variant.denominator_from_rounded_p,
               scales_before = scales_p && !sums_rounded && !is_fp8(variant.p_dtype);
    const auto scale_p = [&] {
      scale_keys(s, {0, attention.lengths_kv[block.sample]}, attention.v_scale, block.sample,
                 block.head_kv);
    };
    if (scales_before) scale_p();
    round_p(s, width, 0, variant.p_dtype, variant.p_prescale, variant.double_round_p);
    const float sum = sums_rounded ? sum_of_row(s, width) : exact_sum;
    if (scales_p && !scales_before) scale_p();
    scratch.l[row] = sum + exp2((sink - m) * static_cast<float>(log2_e));
    scratch.tiles.log2_sum[row] = m * log2_e + log2(scratch.l[row]);
  }
}

void run_block(const Attention& attention, const Variant& variant, const RowBlock& block,
               const Scratch& scratch) {
  const Tiles& tiles = scratch.tiles;
  const std::int64_t length_kv = attention.lengths_kv[block.sample];
  load_queries(attention, variant, block, tiles);
  // S = Q K^T
  for (std::int64_t key = 0; key < length_kv; key += variant.tile_kv) {
    const Range keys{key, std::min(key + variant.tile_kv, length_kv)};
    load_keys(attention, block, keys, tiles);
    multiply(block.rows, round_up(keys.size(), 8), attention.problem.head_dim_qk,
             {tiles.q, tiles.width_qk}, {tiles.k_t, tiles.width_kv}, scratch.s + key,
             scratch.width);
  }
  softmax_rows(attention, variant, block, scratch);
  // O = P V
  std::fill_n(tiles.out, block.rows * tiles.width_vo, 0.0F);
  for (std::int64_t key = 0; key < length_kv; key += variant.tile_kv) {
    const Range keys{key, std::min(key + variant.tile_kv, length_kv)};
    load_values(attention, block, keys, tiles);
    multiply(block.rows, tiles.width_vo, keys.size(), {scratch.s + key, scratch.width},
             {tiles.v, tiles.width_vo}, tiles.product, tiles.width_vo);
    for (std::int64_t i = 0; i < block.rows * tiles.width_vo; ++i) tiles.out[i] += tiles.product[i];
  }
  // out = O / l
  for (std::int64_t row = 0; row < block.rows; ++row) {
    if (scratch.l[row] == 0) continue;
    for (std::int64_t d = 0; d < tiles.width_vo; ++d)
      tiles.out[row * tiles.width_vo + d] /= scratch.l[row];
  }
  store_rows(attention, variant, block, tiles);
}

}  // namespace

std::uint64_t naive_workspace(const plumbline_problem& problem, const Variant& variant) {
  return bytes_of<Scratch>(problem, variant);
}

void naive(const Attention& attention, const Variant& variant, std::byte* memory) {
  Workspace workspace(memory);
  const Scratch scratch(attention.problem, variant, workspace);
  for_each_block(attention, variant,
                 [&](const RowBlock& block) { run_block(attention, variant, block, scratch); });
  if (is_padded(attention.problem.layout) && variant.padded_rows == PLUMBLINE_PADDED_ROWS_ZEROS)
    clear_padded_rows(attention);
}

}  // namespace plumbline::cpu
