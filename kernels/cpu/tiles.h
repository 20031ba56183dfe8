// Tiles of queries, keys and values of the CPU kernels: conversion from memory to fp32 and back.
#pragma once

#include "kernels/cpu/numbers.h"
#include "kernels/cpu/sequences.h"
#include "kernels/cpu/workspace.h"

namespace plumbline::cpu {

// Rows of one (sample, key head): all query heads of the group at adjacent tokens, so that they
// share each tile of keys.
//   packed row index = (token - first_token) * group + head within the group
struct RowBlock {
  std::int64_t sample = 0;
  std::int64_t head_kv = 0;
  std::int64_t group = 1;
  std::int64_t first_token = 0;  // first of the sample's computed rows
  std::int64_t first = 0;        // packed index of the block's first row
  std::int64_t rows = 0;

  std::int64_t token(std::int64_t row) const { return first_token + (first + row) / group; }
  std::int64_t head(std::int64_t row) const { return head_kv * group + (first + row) % group; }
};

// Calls visit(RowBlock) for all computed rows, tile_q at a time.
template <class Visit>
void for_each_block(const Attention& attention, const Variant& variant, Visit visit) {
  RowBlock block;
  block.group = attention.group();
  for (block.sample = 0; block.sample < attention.problem.batch; ++block.sample) {
    const Range tokens = computed_tokens(attention, variant, block.sample);
    const std::int64_t packed_rows = tokens.size() * block.group;
    block.first_token = tokens.begin;
    for (block.head_kv = 0; block.head_kv < attention.problem.heads_kv; ++block.head_kv) {
      for (block.first = 0; block.first < packed_rows; block.first += variant.tile_q) {
        block.rows = std::min(variant.tile_q, packed_rows - block.first);
        visit(block);
      }
    }
  }
}

// fp32 copies of a block's data; fp8 numbers are without their scale. Widths are rounded up to 8
// lanes; the extra lanes are zero.
struct Tiles {
  std::int64_t width_qk, width_vo, width_kv;  // head_dim_qk, head_dim_vo, tile_kv
  float* q;                                   // [tile_q, width_qk]
  float* keys;                                // [8, width_qk]  before they go to k_t
  // [width_qk, width_kv], transposed: one lane per key, so a dot product is one chain of fma over d
  float* k_t;
  float* v;          // [tile_kv, width_vo]
  float* out;        // [tile_q, width_vo]     O, the running sum of P V
  float* product;    // [tile_q, width_vo]     P V of one tile
  Range* visible;    // [tile_q]               keys each row sees
  RowBits* bits;     // [tile_q]               the row's bit mask, if there is one
  double* log2_sum;  // [tile_q]               log2 of the row's sum of exp; -infinity without keys

  Tiles(const plumbline_problem& problem, const Variant& variant, Workspace& workspace)
      : width_qk(round_up(problem.head_dim_qk, 8)),
        width_vo(round_up(problem.head_dim_vo, 8)),
        width_kv(round_up(variant.tile_kv, 8)),
        q(workspace.take<float>(variant.tile_q * width_qk)),
        keys(workspace.take<float>(8 * width_qk)),
        k_t(workspace.take<float>(width_qk * width_kv)),
        v(workspace.take<float>(variant.tile_kv * width_vo)),
        out(workspace.take<float>(variant.tile_q * width_vo)),
        product(workspace.take<float>(variant.tile_q * width_vo)),
        visible(workspace.take<Range>(variant.tile_q)),
        bits(workspace.take<RowBits>(variant.tile_q)),
        log2_sum(workspace.take<double>(variant.tile_q)) {}
};

// Loads Q of the block into tiles.q, and the keys that each row sees into tiles.visible. Returns
// the union of these keys.
Range load_queries(const Attention& attention, const Variant& variant, const RowBlock& block,
                   const Tiles& tiles);
// Loads the keys [keys.begin, keys.end) of the block's key head into tiles.k_t; at most tile_kv
// keys.
void load_keys(const Attention& attention, const RowBlock& block, Range keys, const Tiles& tiles);
// Loads the values of these keys into tiles.v, without V's scale.
void load_values(const Attention& attention, const RowBlock& block, Range keys, const Tiles& tiles);
// Stores tiles.out times V's scale (unless tokens have their own), rounded to the output's dtype,
// and the LSE from tiles.log2_sum.
void store_rows(const Attention& attention, const Variant& variant, const RowBlock& block,
                const Tiles& tiles);

}  // namespace plumbline::cpu
