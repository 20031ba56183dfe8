#include "harness/reference/column_passes.h"

#include <immintrin.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

constexpr int lanes = 8;                     // floats in an AVX register
constexpr int width = column_tile / lanes;   // registers in a tile of columns
constexpr std::int64_t keys_per_chunk = 32;  // 32 rows of V at 128 columns are 16 KiB: they stay in L1 for all rows of a block
constexpr std::int32_t cells_ahead = 6;      // keys by which the rows of V that a cell names are fetched ahead

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

// No prefetcher of the CPU foresees a stride of a whole row. Any address may be asked for.
inline void fetch(const float* begin, std::int64_t count) {
  constexpr std::int64_t line = 16;
  for (std::int64_t i = 0; i < count; i += line) _mm_prefetch(begin + i, _MM_HINT_T0);
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

// One row's sums over keys whose t is q nearly everywhere, and the exact t of the others.
struct TruncationState {
  Tile limit, signed_sum, square_sum;  // q_j, sum sign(v) t, sum t^2
};

enum class Visit { add, correct };  // correct: the key was counted with t = q

template <Visit visit>
inline void truncate_key(TruncationState& state, float p, const float* v) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F), zero = _mm256_setzero_ps(), weight = _mm256_set1_ps(p);
  for (int i = 0; i < width; ++i) {
    const __m256 value = _mm256_loadu_ps(v + i * lanes), product = _mm256_mul_ps(weight, value), q = state.limit.part[i];
    const __m256 t = _mm256_min_ps(q, _mm256_andnot_ps(sign_bit, product));
    __m256 signed_t = visit == Visit::add ? t : _mm256_and_ps(_mm256_sub_ps(t, q), _mm256_cmp_ps(value, zero, _CMP_NEQ_OQ));
    signed_t = _mm256_xor_ps(signed_t, _mm256_and_ps(sign_bit, value));
    state.signed_sum.part[i] = _mm256_add_ps(state.signed_sum.part[i], signed_t);
    if (visit == Visit::correct) state.square_sum.part[i] = _mm256_fnmadd_ps(q, q, state.square_sum.part[i]);
    state.square_sum.part[i] = _mm256_fmadd_ps(t, t, state.square_sum.part[i]);
  }
}

// Calls visit(row, begin, end) for every row and chunk of visible keys, chunks outside, so that a chunk of V serves all rows.
template <class Callback>
void for_chunks(const RowBlock& block, Callback visit) {
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
    if (r + 2 < block.rows) fetch(p.data() + (r + 2) * block.stride + begin, keys_per_chunk);
    for (std::int64_t at = r * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
      PrefixState state{load(sums + at), load(highs + at), load(lows + at)};
      extend_prefix(state, p.data() + r * block.stride, v + j, ld, begin, end);
      store(state.sum, sums + at), store(state.high, highs + at), store(state.low, lows + at);
    }
  });
  range.resize(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) range.data()[i] = highs[i] - lows[i];
}

// Where every product of a key exceeds q, its t is q whatever the column: those keys are counted from the sums of signs, and only the
// others, few in most rows, are visited.
void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range, float f, Buffer<float>& signed_sum,
                     Buffer<float>& square_sum) {
  const HeadData& head = *block.head;
  const std::int64_t ld = head.ld;
  signed_sum.resize(static_cast<std::size_t>(block.rows * ld));
  square_sum.resize(static_cast<std::size_t>(block.rows * ld));
  std::vector<std::int64_t> small_keys;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const auto [begin, end] = block.visible[static_cast<std::size_t>(r)];
    const float* weights = p.data() + r * block.stride;
    const float largest_q = f * *std::max_element(range.data() + r * ld, range.data() + (r + 1) * ld);
    small_keys.clear();
    for (std::int64_t k = begin; k < end; ++k) {
      if (!(weights[k] * head.key_min.data()[block.first_key + k] >= largest_q)) small_keys.push_back(k);
    }
    const bool visit_all = 2 * static_cast<std::int64_t>(small_keys.size()) > end - begin;
    const float* signs_begin = head.sign_sums.data() + (block.first_key + begin) * ld;
    const float* signs_end = head.sign_sums.data() + (block.first_key + end) * ld;
    const float* v = head.v32.data() + block.first_key * ld;
    for (std::int64_t at = r * ld, j = 0; j < ld; at += column_tile, j += column_tile) {
      TruncationState state{load(range.data() + at), {}, {}};
      for (__m256& limit : state.limit.part) limit = _mm256_mul_ps(limit, _mm256_set1_ps(f));
      if (visit_all) {
        for (std::int64_t k = begin; k < end; ++k) truncate_key<Visit::add>(state, weights[k], v + k * ld + j);
      } else {
        const Tile before = load(signs_begin + j), after = load(signs_end + j);
        const __m256 count = _mm256_set1_ps(static_cast<float>(end - begin));
        for (int i = 0; i < width; ++i) {
          const __m256 q = state.limit.part[i];
          state.signed_sum.part[i] = _mm256_mul_ps(q, _mm256_sub_ps(after.part[i], before.part[i]));
          state.square_sum.part[i] = _mm256_mul_ps(count, _mm256_mul_ps(q, q));
        }
        for (const std::int64_t k : small_keys) truncate_key<Visit::correct>(state, weights[k], v + k * ld + j);
      }
      store(state.signed_sum, signed_sum.data() + at), store(state.square_sum, square_sum.data() + at);
    }
  }
}

namespace {

template <bool shifted>
void add_cells(const Cells& cells, const float* weights, const float* v, std::int64_t ld, std::int64_t sink, const Shift& shift,
               float* coherent, float* independent) {
  alignas(32) static constexpr std::array<float, column_tile> zeros{};
  const std::int32_t* offsets = cells.offsets.data();
  const auto last = static_cast<std::int32_t>(cells.keys.size());
  for (std::int64_t j = 0; j < ld; j += column_tile) {
    const Tile high = load(shift.high.data() + j), low = load(shift.low.data() + j);
    Tile coherent_sum{}, independent_sum{};
    for (std::int64_t c = 0; c < cells.count(); ++c) {
      Tile cell{};
      for (std::int32_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        const std::int64_t key = cells.keys.data()[i];
        if (i + cells_ahead < last) fetch(v + cells.keys.data()[i + cells_ahead] * ld + j, column_tile);
        const __m256 weight = _mm256_broadcast_ss(weights + key);
        const float* row = key == sink ? zeros.data() : v + key * ld + j;
        for (int t = 0; t < width; ++t) {
          __m256 x = _mm256_loadu_ps(row + t * lanes);
          if constexpr (shifted) x = _mm256_sub_ps(_mm256_sub_ps(x, high.part[t]), low.part[t]);
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

}  // namespace

void cell_moments(const Cells& cells, const float* weights, const float* v, std::int64_t ld, std::int64_t sink, const Shift& shift,
                  float* coherent, float* independent) {
  const auto is_zero = [](float x) { return x == 0; };
  const bool shifted = !std::all_of(shift.high.begin(), shift.high.end(), is_zero);
  (shifted ? add_cells<true> : add_cells<false>)(cells, weights, v, ld, sink, shift, coherent, independent);
}

}  // namespace plumbline
