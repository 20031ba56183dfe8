// K and V of one (sample, key head), gathered once from any layout in the forms that the products
// need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/reference/bf16_product.h"
#include "harness/reference/buffer.h"
#include "harness/reference/reference_context.h"

namespace plumbline {

// The row stride of float matrices over columns is a multiple of this, padded with zeros.
inline constexpr std::int64_t column_tile = 32;

inline constexpr std::int64_t chunk_keys = 64;

// N keys; key 0 is the sample's `first_key`. Float forms of V are divided by `v_unit`, a power of
// two near max |v|, so that squares neither overflow nor vanish. Moments about O subtract `center`,
// the mean of each column in the same units, to avoid cancellation.
struct HeadData {
  std::int64_t first_key = 0, keys = 0, dim_qk = 0, dim_vo = 0;
  std::int64_t ld = 0;          // row stride of the float forms of V
  bool finite = true;           // V has no Inf or NaN; they would leak from hidden keys as 0 * NaN
  bool scaled_outside = false;  // a kernel multiplies its sums by V's or the output's scale
  double factor_of_sums = 1;    // by this factor, without V's scales for tokens, which multiply P
  double v_unit = 1;
  std::vector<double> column_max;          // [dim_vo] from find_column_max()
  Buffer<double> k, v;                     // [N, dim_qk], [N, dim_vo]
  Buffer<float> k_squared;                 // [N, dim_qk]
  std::vector<float> k_norm, k_four_norm;  // [N], see Norms
  // [ld / column_tile, N, column_tile]: passes that jump from key to key stay in a tile
  Buffer<float> v_tiles;
  Buffer<float> v_abs, v_squared;                // [N, ld]
  Buffer<float> v_centered, v_centered_squared;  // [N, ld]
  std::vector<double> center;                    // [dim_vo]
  std::vector<float> key_min;                    // [N] min_j |v_kj| / v_unit
  Buffer<float> sign_sums;  // [N + 1, ld] sums of sign(v_kj) over the previous keys

  // For bounds of prefix sums over chunks of `chunk_keys` keys. Chunk 0 begins at key 0.
  // [chunks + 1, ld] at each edge: half the larger 2-norm of the chunks beside it
  Buffer<float> edge_norm;

  // V / v_unit, [dim_vo, N]; empty unless pack_for_projections() was called
  Bf16Matrix v_transposed;

  // Returns true if edge_norm is known, which bounds of prefix sums need.
  bool has_bounds() const { return !edge_norm.empty(); }
  // Returns V from `key` on, in the columns from j on (a multiple of column_tile). The row stride
  // is column_tile.
  const float* tile(std::int64_t j, std::int64_t key) const {
    return v_tiles.data() + j * keys + key * column_tile;
  }
};

// The 2-norm, and the 4-norm (sum x^4)^(1/4) rounded up. By Cauchy-Schwarz, the root of sum_d (q_d
// k_d)^2 is at most the product of two 4-norms.
struct Norms {
  float two = 0, four = 0;
};
Norms norms(std::span<const double> x);

// products: K, V and v_unit, without the forms that scales of legal error need.
enum class HeadForms { all, products };
// With `only_row`, V is 0 for the keys that this row does not see. A merge has one row, so both K
// and V are always 0 for its hidden keys.
HeadData gather_head(const ReferenceContext& question, std::int64_t sample, std::int64_t head_kv,
                     KeyRange keys, std::optional<RowId> only_row = std::nullopt,
                     HeadForms forms = HeadForms::all);
// Sets column_max to max_k |v_kj| / v_unit, rounded to fp32. gather_head() calls it for all forms.
void find_column_max(HeadData& head);
void pack_for_projections(HeadData& head);

}  // namespace plumbline
