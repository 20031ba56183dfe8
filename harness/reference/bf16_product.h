// Products of matrices in bf16, with sums in fp32: by AVX512_BF16, which takes subnormal numbers as 0, at more than twice the rate of
// sgemm. Elsewhere sgemm multiplies the same rounded numbers; their products are exact in fp32, so that only the order of the sums differs.
#pragma once

#include <cstdint>

#include "harness/problem/geometry.h"
#include "harness/reference/buffer.h"

namespace plumbline {

bool cpu_multiplies_bf16();

// The right operand B, [depth, columns], rounded and packed once for many products.
class Bf16Matrix {
 public:
  using Bf16 = std::uint16_t;
  static constexpr std::int64_t panel = 32;  // columns

  explicit Bf16Matrix(bool native = cpu_multiplies_bf16()) : native_(native) {}

  void resize(std::int64_t depth, std::int64_t columns);  // all zero
  void set(std::int64_t d, std::int64_t n, float value);
  bool empty() const { return columns_ == 0; }

  // C = A B of a part of B, both ranges of its indices: c[r, n - columns.begin] = sum over d in `depth` of a[r, d - depth.begin] B(d, n).
  // `depth` begins and ends at even numbers, `columns` at multiples of `panel`; beyond its own depth and columns, rounded up likewise, B
  // ends.
  void multiply(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange depth, KeyRange columns, float* c,
                std::int64_t c_stride) const;

 private:
  void multiply_by_sgemm(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange depth, KeyRange columns, float* c,
                         std::int64_t c_stride) const;

  bool native_;
  std::int64_t depth_ = 0, columns_ = 0;  // rounded up
  Buffer<Bf16> packed_;                   // native: [columns / panel, depth / 2, panel, 2]
  Buffer<float> rounded_;                 // else: [depth, columns]
};

}  // namespace plumbline
