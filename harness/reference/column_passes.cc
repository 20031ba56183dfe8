// Vectorises each pass over tiles of columns: prefix ranges, truncation, sums over grouped keys.
#include "harness/reference/column_passes.h"

#include <immintrin.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

constexpr int avx_lanes = 8;                    // floats in an AVX register
constexpr int width = column_tile / avx_lanes;  // registers in a tile of columns
// V of 32 keys with 128 columns is 16 KiB, which stays in L1 for all query rows of a block.
constexpr std::int64_t keys_per_chunk = 32;

struct Tile {
  __m256 part[width];
};

inline Tile load(const float* from) {
  Tile tile;
  for (int i = 0; i < width; ++i) tile.part[i] = _mm256_loadu_ps(from + i * avx_lanes);
  return tile;
}
inline void store(const Tile& tile, float* to) {
  for (int i = 0; i < width; ++i) _mm256_storeu_ps(to + i * avx_lanes, tile.part[i]);
}

// Prefetches `count` floats, because no CPU predicts a stride of a whole row. A prefetch of an
// invalid address does not fault.
inline void fetch(const float* begin, std::int64_t count) {
  constexpr std::int64_t line = 16;
  for (std::int64_t i = 0; i < count; i += line) _mm_prefetch(begin + i, _MM_HINT_T0);
}

struct PrefixState {
  Tile sum, high, low;
};

// Adds the keys [begin, end) to the prefix sums. `p` points to key 0, `v` to key `begin`.
inline void extend_prefix(PrefixState& state, const float* p, const float* v, std::int64_t begin,
                          std::int64_t end) {
  for (std::int64_t k = begin; k < end; ++k) {
    const __m256 weight = _mm256_broadcast_ss(p + k);
    for (int i = 0; i < width; ++i) {
      state.sum.part[i] =
          _mm256_fmadd_ps(weight, _mm256_loadu_ps(v + (k - begin) * column_tile + i * avx_lanes),
                          state.sum.part[i]);
      state.high.part[i] = _mm256_max_ps(state.high.part[i], state.sum.part[i]);
      state.low.part[i] = _mm256_min_ps(state.low.part[i], state.sum.part[i]);
    }
  }
}

// Sums over a row's keys. Nearly all keys have t = q, the others a smaller t.
struct TruncationState {
  Tile limit, signed_sum, square_sum;  // q_j, sum sign(v) t, sum t^2
};

enum class Visit { add, correct };  // correct: the key was already counted with t = q

template <Visit visit>
inline void truncate_key(TruncationState& state, float p, const float* v) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F), zero = _mm256_setzero_ps(),
               weight = _mm256_set1_ps(p);
  for (int i = 0; i < width; ++i) {
    const __m256 value = _mm256_loadu_ps(v + i * avx_lanes), product = _mm256_mul_ps(weight, value),
                 q = state.limit.part[i];
    const __m256 t = _mm256_min_ps(q, _mm256_andnot_ps(sign_bit, product));
    // counted_loss()
    const __m256 ratio = _mm256_div_ps(t, _mm256_max_ps(q, _mm256_set1_ps(1e-37F))),
                 share = _mm256_min_ps(_mm256_set1_ps(1), _mm256_fnmadd_ps(_mm256_set1_ps(2), ratio,
                                                                           _mm256_set1_ps(2))),
                 counted = _mm256_fmadd_ps(
                     _mm256_mul_ps(_mm256_set1_ps(static_cast<float>(swamped)), share), t, t);
    __m256 signed_t = visit == Visit::add ? counted
                                          : _mm256_and_ps(_mm256_sub_ps(counted, q),
                                                          _mm256_cmp_ps(value, zero, _CMP_NEQ_OQ));
    signed_t = _mm256_xor_ps(signed_t, _mm256_and_ps(sign_bit, value));
    state.signed_sum.part[i] = _mm256_add_ps(state.signed_sum.part[i], signed_t);
    if (visit == Visit::correct)
      state.square_sum.part[i] = _mm256_fnmadd_ps(q, q, state.square_sum.part[i]);
    state.square_sum.part[i] = _mm256_fmadd_ps(t, t, state.square_sum.part[i]);
  }
}

// Calls visit(row, begin, end) for each row and chunk of visible keys. Chunks are the outer loop,
// so that a chunk of V serves all rows.
template <class Callback>
void for_chunks(const RowBlock& block, std::span<const std::int64_t> rows, Callback visit) {
  for (std::int64_t chunk = 0; chunk < block.keys; chunk += keys_per_chunk) {
    for (const std::int64_t r : rows) {
      const KeyRange seen = block.keys_of(r);
      const std::int64_t begin = std::max(chunk, seen.begin),
                         end = std::min(chunk + keys_per_chunk, seen.end);
      if (begin < end) visit(r, begin, end);
    }
  }
}

}  // namespace

void prefix_ranges(const RowBlock& block, const Buffer<float>& p,
                   std::span<const std::int64_t> rows, Buffer<float>& range) {
  if (rows.empty()) return;
  const std::int64_t ld = block.head->ld, size = block.rows * ld;
  Buffer<float> states(static_cast<std::size_t>(3 * size), 0.0F);
  float *sums = states.data(), *highs = sums + size, *lows = highs + size;
  for_chunks(block, rows, [&](std::int64_t r, std::int64_t begin, std::int64_t end) {
    if (r + 2 < block.rows) fetch(p.data() + (r + 2) * block.stride + begin, keys_per_chunk);
    for (std::int64_t at = r * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
      PrefixState state{load(sums + at), load(highs + at), load(lows + at)};
      extend_prefix(state, p.data() + r * block.stride,
                    block.head->tile(j, block.first_key + begin), begin, end);
      store(state.sum, sums + at), store(state.high, highs + at), store(state.low, lows + at);
    }
  });
  range.resize(static_cast<std::size_t>(size));
  for (const std::int64_t r : rows) {
    for (std::int64_t i = r * ld; i < (r + 1) * ld; ++i) range.data()[i] = highs[i] - lows[i];
  }
}

namespace {

// Returns true if q may exceed p |v| of the key in some column.
struct IsSmall {
  const float *weights, *smallest;
  float largest_q;
  bool operator()(std::int64_t k) const { return !(weights[k] * smallest[k] >= largest_q); }
};

std::int64_t count_small_keys(KeyRange keys, const IsSmall is_small) {
  const std::int64_t begin = keys.begin, end = keys.end;
  std::int32_t small = 0;
#pragma omp simd reduction(+ : small)
  for (std::int64_t k = begin; k < end; ++k) small += is_small(k);
  return small;
}

// Sets all sums of a row as if t were q for every key.
void truncate_all(const RowBlock& block, std::int64_t row, const Buffer<float>& range, float f,
                  TruncationSums& sums) {
  const HeadData& head = *block.head;
  const auto [begin, end] = block.keys_of(row);
  const float* signs_begin = head.sign_sums.data() + (block.first_key + begin) * head.ld;
  const float* signs_end = head.sign_sums.data() + (block.first_key + end) * head.ld;
  const auto count = static_cast<float>(end - begin);
  for (std::int64_t j = 0; j < head.ld; ++j) {
    const std::int64_t at = row * head.ld + j;
    const float q = f * range.data()[at];
    sums.signed_sum.data()[at] = q * (signs_end[j] - signs_begin[j]);
    sums.square_sum.data()[at] = count * (q * q);
  }
}

template <Visit visit>
void visit_keys(const RowBlock& block, std::int64_t row, const float* weights,
                const Buffer<float>& range, float f, std::span<const std::int64_t> keys,
                TruncationSums& sums) {
  const std::int64_t ld = block.head->ld;
  for (std::int64_t at = row * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
    const float* v = block.head->tile(j, block.first_key);
    TruncationState state{load(range.data() + at), {}, {}};
    for (__m256& limit : state.limit.part) limit = _mm256_mul_ps(limit, _mm256_set1_ps(f));
    if constexpr (visit == Visit::correct) {
      state.signed_sum = load(sums.signed_sum.data() + at);
      state.square_sum = load(sums.square_sum.data() + at);
    }
    for (const std::int64_t k : keys) truncate_key<visit>(state, weights[k], v + k * column_tile);
    store(state.signed_sum, sums.signed_sum.data() + at),
        store(state.square_sum, sums.square_sum.data() + at);
  }
}

}  // namespace

// If p |v| of a key exceeds q in every column, its t is q in all of them. Prefix sums of the signs
// of V give the sums of these keys, so only the other keys, few in most rows, are visited.
void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range,
                     float f, std::span<const std::int64_t> rows,
                     const std::function<bool(std::int64_t row)>& small_keys_matter,
                     TruncationSums& sums) {
  const HeadData& head = *block.head;
  for (auto* sum : {&sums.signed_sum, &sums.square_sum})
    sum->resize(static_cast<std::size_t>(block.rows * head.ld));
  sums.small_keys.resize(static_cast<std::size_t>(block.rows));
  std::vector<std::int64_t> visited;
  for (const std::int64_t r : rows) {
    const KeyRange seen = block.keys_of(r);
    const float* weights = p.data() + r * block.stride;
    const float largest_range =
        *std::max_element(range.data() + r * head.ld, range.data() + (r + 1) * head.ld);
    const IsSmall is_small{weights, head.key_min.data() + block.first_key, f * largest_range};
    const std::int64_t count = count_small_keys(seen, is_small);
    sums.small_keys[static_cast<std::size_t>(r)] = count;
    truncate_all(block, r, range, f, sums);
    if (count == 0 || !small_keys_matter(r)) continue;
    const bool visit_all = 2 * count > seen.size();
    visited.clear();
    for (std::int64_t k = seen.begin; k < seen.end; ++k) {
      if (visit_all || is_small(k)) visited.push_back(k);
    }
    (visit_all ? visit_keys<Visit::add> : visit_keys<Visit::correct>)(block, r, weights, range, f,
                                                                      visited, sums);
  }
}

namespace {

inline bool is_zero(float x) { return x == 0; }

template <bool shifted>
inline Tile centered(const float* v, const Tile& high, const Tile& low) {
  Tile x = load(v);
  if constexpr (shifted) {
    for (int t = 0; t < width; ++t)
      x.part[t] = _mm256_sub_ps(_mm256_sub_ps(x.part[t], high.part[t]), low.part[t]);
  }
  return x;
}

template <bool shifted>
void add_cells(const Cells& cells, const float* weights, const RowBlock& block, const Shift& shift,
               float* coherent, float* independent) {
  const std::int64_t sink = block.sink_key();
  alignas(32) static constexpr std::array<float, column_tile> zeros{};
  const std::int32_t* offsets = cells.offsets.data();
  for (std::int64_t j = 0; j < block.head->ld; j += column_tile) {
    const float* v = block.head->tile(j, block.first_key);
    const Tile high = load(shift.high.data() + j), low = load(shift.low.data() + j);
    Tile coherent_sum{}, independent_sum{};
    for (std::int64_t c = 0; c < cells.count(); ++c) {
      Tile cell{};
      for (std::int32_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        const std::int64_t key = cells.keys.data()[i];
        const __m256 weight = _mm256_broadcast_ss(weights + key);
        const Tile x =
            centered<shifted>(key == sink ? zeros.data() : v + key * column_tile, high, low);
        for (int t = 0; t < width; ++t) {
          const __m256 wx = _mm256_mul_ps(weight, x.part[t]);
          cell.part[t] = _mm256_add_ps(cell.part[t], wx);
          independent_sum.part[t] = _mm256_fmadd_ps(wx, wx, independent_sum.part[t]);
        }
      }
      for (int t = 0; t < width; ++t)
        coherent_sum.part[t] = _mm256_fmadd_ps(cell.part[t], cell.part[t], coherent_sum.part[t]);
    }
    store(coherent_sum, coherent + j), store(independent_sum, independent + j);
  }
}

// The tied keys of one row, in one tile of columns.
template <bool shifted>
struct PairPass {
  const std::int32_t* keys;
  const float *weights, *v;  // weights are parallel to keys
  Tile high, low;
  Tile pairs{};

  Tile x(std::int32_t i) const {
    return centered<shifted>(v + std::int64_t{keys[i]} * column_tile, high, low);
  }
  Tile weighted(std::int32_t i) const {
    const __m256 weight = _mm256_broadcast_ss(weights + i);
    Tile wx = x(i);
    for (int t = 0; t < width; ++t) wx.part[t] = _mm256_mul_ps(wx.part[t], weight);
    return wx;
  }
  void add_product(const Tile& a, const Tile& b) {
    for (int t = 0; t < width; ++t)
      pairs.part[t] = _mm256_fmadd_ps(a.part[t], b.part[t], pairs.part[t]);
  }
  // sum += w x
  void accumulate(Tile& sum, std::int32_t i) const {
    const __m256 weight = _mm256_broadcast_ss(weights + i);
    const Tile of_key = x(i);
    for (int t = 0; t < width; ++t)
      sum.part[t] = _mm256_fmadd_ps(weight, of_key.part[t], sum.part[t]);
  }
  // Cells of two and three keys first multiply their weights.
  void add_pair_cell(std::int32_t i) {
    const __m256 weight = _mm256_set1_ps(weights[i] * weights[i + 1]);
    const Tile a = x(i), b = x(i + 1);
    for (int t = 0; t < width; ++t)
      pairs.part[t] = _mm256_fmadd_ps(weight, _mm256_mul_ps(a.part[t], b.part[t]), pairs.part[t]);
  }
  void add_triple_cell(std::int32_t i) {
    const float* w = weights + i;
    const __m256 of_ab = _mm256_set1_ps(w[0] * w[1]), of_ac = _mm256_set1_ps(w[0] * w[2]),
                 of_bc = _mm256_set1_ps(w[1] * w[2]);
    const Tile a = x(i), b = x(i + 1), c = x(i + 2);
    for (int t = 0; t < width; ++t) {
      const __m256 with_a = _mm256_fmadd_ps(of_ac, c.part[t], _mm256_mul_ps(of_ab, b.part[t]));
      const __m256 with_b = _mm256_mul_ps(of_bc, c.part[t]);
      pairs.part[t] =
          _mm256_fmadd_ps(a.part[t], with_a, _mm256_fmadd_ps(b.part[t], with_b, pairs.part[t]));
    }
  }
  // Adds one cell, from key `begin` to key `last` inclusive.
  void add_cell(std::int32_t begin, std::int32_t last) {
    Tile before = weighted(begin);
    for (std::int32_t i = begin + 1; i < last; ++i) {
      add_product(weighted(i), before);
      accumulate(before, i);
    }
    add_product(weighted(last), before);
  }
};

// Returns the sum of w_a x_a w_b x_b over the pairs of keys that share a cell. Weights are parallel
// to cells.keys.
template <bool shifted>
Tile pair_sums(const Cells& cells, const float* weights, const float* v, const Tile& high,
               const Tile& low) {
  PairPass<shifted> pass{cells.keys.data(), weights, v, high, low};
  const std::int32_t after_pairs = 2 * cells.pair_cells,
                     after_triples = after_pairs + 3 * cells.triple_cells;
  for (std::int32_t i = 0; i < after_pairs; i += 2) pass.add_pair_cell(i);
  for (std::int32_t i = after_pairs; i < after_triples; i += 3) pass.add_triple_cell(i);
  const std::int32_t* offsets = cells.offsets.data();
  for (std::int64_t c = cells.pair_cells + cells.triple_cells; c < cells.count(); ++c)
    pass.add_cell(offsets[c], offsets[c + 1] - 1);
  return pass.pairs;
}

}  // namespace

void shift_by_o(const RowBlock& block, std::span<const std::int64_t> rows, Shift& shift) {
  const std::int64_t ld = block.head->ld;
  for (auto* part : {&shift.high, &shift.low})
    part->assign(rows.size() * static_cast<std::size_t>(ld), 0);
  std::int64_t at = 0;
  for (const std::int64_t r : rows) {
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
      const double o = block.o_of(r, j);
      const auto high = static_cast<float>(o);
      shift.high.data()[at + j] = high;
      shift.low.data()[at + j] = static_cast<float>(o - high);
    }
    at += ld;
  }
}

void cell_moments(const Cells& cells, const float* weights, const RowBlock& block,
                  const Shift& shift, float* coherent, float* independent) {
  const bool shifted = !std::ranges::all_of(shift.high, is_zero);
  (shifted ? add_cells<true> : add_cells<false>)(cells, weights, block, shift, coherent,
                                                 independent);
}

// Tiles are the outer loop, so that one tile of V, in the L2 cache, serves all rows.
void cell_pairs(const RowBlock& block, std::span<const TiedKeys* const> rows, const Shift& shift,
                Buffer<float>& pairs) {
  const std::int64_t ld = block.head->ld;
  const bool shifted = !shift.high.empty();
  pairs.resize(rows.size() * static_cast<std::size_t>(ld));
  for (std::int64_t j = 0; j < ld; j += column_tile) {
    const float* v = block.head->tile(j, block.first_key);
    std::int64_t at = j;
    for (const TiedKeys* row : rows) {
      const float* weights = row->weights.data();
      const Tile sums = shifted
                            ? pair_sums<true>(row->cells, weights, v, load(shift.high.data() + at),
                                              load(shift.low.data() + at))
                            : pair_sums<false>(row->cells, weights, v, {}, {});
      store(sums, pairs.data() + at);
      at += ld;
    }
  }
}

}  // namespace plumbline
