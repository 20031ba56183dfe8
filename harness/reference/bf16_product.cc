// Multiplies bf16 matrices in tiles by AVX512_BF16 if the CPU has it, otherwise by sgemm.
#include "harness/reference/bf16_product.h"

#include <cblas.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "harness/problem/dtype.h"

namespace plumbline {
namespace {

using Bf16 = Bf16Matrix::Bf16;
constexpr std::int64_t avx512_lanes = 16;  // floats in an AVX-512 register
constexpr std::int64_t max_tile_rows = 8;  // with two registers of sums each
// 256 rows of a panel of B take 16 KiB and stay in the L1 cache for all rows of A.
constexpr std::int64_t depth_chunk = 256;

// Multiplies `rows` rows of A by a panel of B, over 2 `pairs` values of the inner dimension. Adds
// to `c` if `add`, otherwise overwrites it.
template <int rows>
__attribute__((target("avx512f,avx512bf16"))) void multiply_tile(const Bf16* a,
                                                                 std::int64_t a_stride,
                                                                 const Bf16* b, std::int64_t pairs,
                                                                 float* c, std::int64_t c_stride,
                                                                 bool add) {
  __m512 sum[rows][2];
  for (int r = 0; r < rows; ++r) {
    for (int half = 0; half < 2; ++half)
      sum[r][half] =
          add ? _mm512_loadu_ps(c + r * c_stride + half * avx512_lanes) : _mm512_setzero_ps();
  }
  for (std::int64_t i = 0; i < pairs; ++i) {
    const auto low = (__m512bh)_mm512_loadu_si512(b + i * 4 * avx512_lanes),
               high = (__m512bh)_mm512_loadu_si512(b + (i * 4 + 2) * avx512_lanes);
    for (int r = 0; r < rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, a + r * a_stride + 2 * i, sizeof pair);
      const auto of_row = (__m512bh)_mm512_set1_epi32(pair);
      sum[r][0] = _mm512_dpbf16_ps(sum[r][0], of_row, low);
      sum[r][1] = _mm512_dpbf16_ps(sum[r][1], of_row, high);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int half = 0; half < 2; ++half)
      _mm512_storeu_ps(c + r * c_stride + half * avx512_lanes, sum[r][half]);
  }
}

using TileFunction = void (*)(const Bf16*, std::int64_t, const Bf16*, std::int64_t, float*,
                              std::int64_t, bool);
constexpr TileFunction tiles[max_tile_rows] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                               multiply_tile<4>, multiply_tile<5>, multiply_tile<6>,
                                               multiply_tile<7>, multiply_tile<8>};

}  // namespace

bool cpu_multiplies_bf16() {
  static const bool it_does =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
  return it_does;
}

void Bf16Matrix::resize(std::int64_t depth, std::int64_t columns) {
  depth_ = round_up(depth, 2);
  columns_ = round_up(columns, panel);
  const auto size = static_cast<std::size_t>(depth_ * columns_);
  native_ ? packed_.assign(size, 0) : rounded_.assign(size, 0);
}

void Bf16Matrix::set(std::int64_t d, std::int64_t n, float value) {
  if (native_) {
    encode(DType::bf16, std::span(&value, 1),
           packed_.data() + (n / panel * depth_ + d / 2 * 2) * panel + n % panel * 2 + d % 2);
  } else {
    rounded_.data()[d * columns_ + n] = static_cast<float>(round_to(value, DType::bf16));
  }
}

void Bf16Matrix::multiply(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange columns,
                          float* c, std::int64_t c_stride) const {
  if (!native_) return multiply_by_sgemm(a, rows, a_stride, columns, c, c_stride);
  for (std::int64_t n = columns.begin; n < columns.end; n += panel) {
    for (std::int64_t d = 0; d < depth_; d += depth_chunk) {
      const std::int64_t pairs = std::min(depth_chunk, depth_ - d) / 2;
      const Bf16* part = packed_.data() + (n / panel * depth_ + d) * panel;
      for (std::int64_t r = 0; r < rows; r += max_tile_rows) {
        const std::int64_t count = std::min(max_tile_rows, rows - r);
        tiles[count - 1](a + r * a_stride + d, a_stride, part, pairs,
                         c + r * c_stride + n - columns.begin, c_stride, d > 0);
      }
    }
  }
}

void Bf16Matrix::multiply_by_sgemm(const Bf16* a, std::int64_t rows, std::int64_t a_stride,
                                   KeyRange columns, float* c, std::int64_t c_stride) const {
  const auto depth = static_cast<std::size_t>(depth_);
  Buffer<float> widened(static_cast<std::size_t>(rows) * depth);
  for (std::int64_t r = 0; r < rows; ++r) {
    decode(DType::bf16, a + r * a_stride,
           std::span(widened).subspan(static_cast<std::size_t>(r) * depth, depth));
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows),
              static_cast<int>(columns.size()), static_cast<int>(depth_), 1, widened.data(),
              static_cast<int>(depth_), rounded_.data() + columns.begin, static_cast<int>(columns_),
              0, c, static_cast<int>(c_stride));
}

}  // namespace plumbline
