// C[m, n] = A[m, k] B[k, n] in fp32, row major, with an order of operations that depends only on k.
//
// Each element is summed in chains of at most 32 fma, in order; the chains are then added in
// order. So a row of C has the same bits whichever rows are computed beside it. Within a chain,
// rounding errors grow with sqrt(32), not with sqrt(k).
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

namespace plumbline::cpu {

inline constexpr std::int64_t chain_length = 32;

struct ConstMatrix {
  const float* data;
  std::int64_t stride;  // from row to row
};

// One chain for Rows x (8 * Vectors) elements of C. All accumulators stay in registers (4 x 2 hide
// the latency of fma).
template <int Rows, int Vectors>
inline void multiply_block(std::int64_t k, ConstMatrix a, ConstMatrix b, float* c,
                           std::int64_t c_stride, bool first_chain) {
  __m256 sum[Rows][Vectors];
  for (auto& row : sum) {
    for (__m256& lanes : row) lanes = _mm256_setzero_ps();
  }
  for (std::int64_t i = 0; i < k; ++i) {
    __m256 right[Vectors];
    for (int v = 0; v < Vectors; ++v) right[v] = _mm256_loadu_ps(b.data + i * b.stride + 8 * v);
    for (int r = 0; r < Rows; ++r) {
      const __m256 left = _mm256_broadcast_ss(a.data + r * a.stride + i);
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      float* to = c + r * c_stride + 8 * v;
      _mm256_storeu_ps(to, first_chain ? sum[r][v] : _mm256_add_ps(_mm256_loadu_ps(to), sum[r][v]));
    }
  }
}

template <int Rows>
inline void multiply_rows(std::int64_t n, std::int64_t k, ConstMatrix a, ConstMatrix b, float* c,
                          std::int64_t c_stride, bool first_chain) {
  std::int64_t column = 0;
  for (; column + 16 <= n; column += 16) {
    multiply_block<Rows, 2>(k, a, {b.data + column, b.stride}, c + column, c_stride, first_chain);
  }
  if (column < n)
    multiply_block<Rows, 1>(k, a, {b.data + column, b.stride}, c + column, c_stride, first_chain);
}

// n must be a multiple of 8.
inline void multiply(std::int64_t m, std::int64_t n, std::int64_t k, ConstMatrix a, ConstMatrix b,
                     float* c, std::int64_t c_stride) {
  for (std::int64_t begin = 0; begin < k; begin += chain_length) {
    const std::int64_t length = std::min(chain_length, k - begin);
    const ConstMatrix b_chain{b.data + begin * b.stride, b.stride};
    std::int64_t row = 0;
    for (; row + 4 <= m; row += 4) {
      multiply_rows<4>(n, length, {a.data + row * a.stride + begin, a.stride}, b_chain,
                       c + row * c_stride, c_stride, begin == 0);
    }
    for (; row < m; ++row) {
      multiply_rows<1>(n, length, {a.data + row * a.stride + begin, a.stride}, b_chain,
                       c + row * c_stride, c_stride, begin == 0);
    }
  }
}

}  // namespace plumbline::cpu
