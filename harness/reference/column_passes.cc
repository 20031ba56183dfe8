#include "harness/reference/column_passes.h"

#include <immintrin.h>

#include <algorithm>

namespace plumbline {
namespace {

constexpr int lanes = 8;                     // floats in an AVX register
constexpr int width = column_tile / lanes;   // registers in a tile of columns
constexpr std::int64_t keys_per_chunk = 32;  // 32 rows of V at 128 columns are 16 KiB: they stay in L1 for all rows of a block

struct Tile {
  __m256 part[width];
};

inline Tile load(const float* from) {
  Tile tile;
  for (int i = 0; i < width; ++i) tile.part[i] = _mm256_loadu_ps(from + i * lanes);
  return tile;
}
inline void store(const Tile& tile, float* to) {
  for (int i = 0; i < width; ++i) _mm256_storeu_ps(to + i * lanes, tile.part[i]);
}

struct PrefixState {
  Tile sum, high, low;
};

inline void extend_prefix(PrefixState& state, const float* p, const float* v, std::int64_t ld, std::int64_t begin, std::int64_t end) {
  for (std::int64_t k = begin; k < end; ++k) {
    const __m256 weight = _mm256_broadcast_ss(p + k);
    for (int i = 0; i < width; ++i) {
      state.sum.part[i] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(v + k * ld + i * lanes), state.sum.part[i]);
      state.high.part[i] = _mm256_max_ps(state.high.part[i], state.sum.part[i]);
      state.low.part[i] = _mm256_min_ps(state.low.part[i], state.sum.part[i]);
    }
  }
}

struct TruncationState {
  Tile limit, signed_sum, square_sum;
};

inline void extend_truncation(TruncationState& state, const float* p, const float* v, std::int64_t ld, std::int64_t begin,
                              std::int64_t end) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F);
  for (std::int64_t k = begin; k < end; ++k) {
    const __m256 weight = _mm256_broadcast_ss(p + k);
    for (int i = 0; i < width; ++i) {
      const __m256 product = _mm256_mul_ps(weight, _mm256_loadu_ps(v + k * ld + i * lanes));
      const __m256 t = _mm256_min_ps(state.limit.part[i], _mm256_andnot_ps(sign_bit, product));
      state.square_sum.part[i] = _mm256_fmadd_ps(t, t, state.square_sum.part[i]);
      state.signed_sum.part[i] = _mm256_add_ps(state.signed_sum.part[i], _mm256_or_ps(t, _mm256_and_ps(sign_bit, product)));
    }
  }
}

// Calls visit(row, begin, end) for every row and chunk of visible keys, chunks outside, so that a chunk of V serves all rows.
template <class Visit>
void for_chunks(const RowBlock& block, Visit visit) {
  for (std::int64_t chunk = 0; chunk < block.keys; chunk += keys_per_chunk) {
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const KeyRange seen = block.visible[static_cast<std::size_t>(r)];
      const std::int64_t begin = std::max(chunk, seen.begin), end = std::min(chunk + keys_per_chunk, seen.end);
      if (begin < end) visit(r, begin, end);
    }
  }
}

}  // namespace

void prefix_ranges(const RowBlock& block, const Buffer<float>& p, Buffer<float>& range) {
  const std::int64_t ld = block.head->ld, size = block.rows * ld;
  const float* v = block.head->v32.data() + block.first_key * ld;
  Buffer<float> states(static_cast<std::size_t>(3 * size), 0.0F);
  float *sums = states.data(), *highs = sums + size, *lows = highs + size;
  for_chunks(block, [&](std::int64_t r, std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = r * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
      PrefixState state{load(sums + at), load(highs + at), load(lows + at)};
      extend_prefix(state, p.data() + r * block.stride, v + j, ld, begin, end);
      store(state.sum, sums + at), store(state.high, highs + at), store(state.low, lows + at);
    }
  });
  range.resize(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) range.data()[i] = highs[i] - lows[i];
}

void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range, float f, Buffer<float>& signed_sum,
                     Buffer<float>& square_sum) {
  const std::int64_t ld = block.head->ld, size = block.rows * ld;
  const float* v = block.head->v32.data() + block.first_key * ld;
  signed_sum.assign(static_cast<std::size_t>(size), 0.0F);
  square_sum.assign(static_cast<std::size_t>(size), 0.0F);
  const __m256 weight_of_last_bit = _mm256_set1_ps(f);
  for_chunks(block, [&](std::int64_t r, std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = r * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
      TruncationState state{load(range.data() + at), load(signed_sum.data() + at), load(square_sum.data() + at)};
      for (__m256& limit : state.limit.part) limit = _mm256_mul_ps(limit, weight_of_last_bit);
      extend_truncation(state, p.data() + r * block.stride, v + j, ld, begin, end);
      store(state.signed_sum, signed_sum.data() + at), store(state.square_sum, square_sum.data() + at);
    }
  });
}

void cell_moments(const Cells& cells, const float* weights, const float* v, std::int64_t ld, const float* shift, float* coherent,
                  float* independent) {
  const std::int32_t* offsets = cells.offsets.data();
  for (std::int64_t j = 0; j < ld; j += column_tile) {
    const Tile shifts = load(shift + j);
    Tile coherent_sum{}, independent_sum{};
    for (std::int64_t c = 0; c < cells.count(); ++c) {
      Tile cell{};
      for (std::int32_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        const std::int64_t key = cells.keys.data()[i];
        const __m256 weight = _mm256_broadcast_ss(weights + key);
        for (int t = 0; t < width; ++t) {
          const __m256 x = _mm256_sub_ps(_mm256_loadu_ps(v + key * ld + j + t * lanes), shifts.part[t]);
          const __m256 wx = _mm256_mul_ps(weight, x);
          cell.part[t] = _mm256_add_ps(cell.part[t], wx);
          independent_sum.part[t] = _mm256_fmadd_ps(wx, wx, independent_sum.part[t]);
        }
      }
      for (int t = 0; t < width; ++t) coherent_sum.part[t] = _mm256_fmadd_ps(cell.part[t], cell.part[t], coherent_sum.part[t]);
    }
    store(coherent_sum, coherent + j), store(independent_sum, independent + j);
  }
}

}  // namespace plumbline
