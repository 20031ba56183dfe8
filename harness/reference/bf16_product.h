// Products of matrices in bf16 with sums in fp32, at more than twice the rate of sgemm. AVX512_BF16
// computes them, and takes subnormal numbers as 0. Elsewhere sgemm multiplies the same rounded
// numbers; their products are exact in fp32, so that only the order of the sums differs.
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

  // C = A B in some columns of B: c[r, n - columns.begin] = sum over d of a[r, d] B(d, n).
  // `columns` begins and ends at multiples of `panel`, not beyond those of B rounded up. Where the
  // depth is odd, rows of A have one element more, which counts nothing but must be finite.
  void multiply(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange columns, float* c,
                std::int64_t c_stride) const;

 private:
  void multiply_by_sgemm(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange columns,
                         float* c, std::int64_t c_stride) const;

  bool native_;
  std::int64_t depth_ = 0, columns_ = 0;  // rounded up
  Buffer<Bf16> packed_;                   // native: [columns / panel, depth / 2, panel, 2]
  Buffer<float> rounded_;                 // else: [depth, columns]
};

}  // namespace plumbline
