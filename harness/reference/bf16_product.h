// Multiplies bf16 matrices with fp32 sums. AVX512_BF16 is more than twice as fast as sgemm, but
// treats subnormal numbers as 0. Without it sgemm multiplies the same rounded numbers. Products are
// exact in fp32, so apart from subnormals only the order of the sums differs.
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

  void resize(std::int64_t depth, std::int64_t columns);  // sets all elements to 0
  void set(std::int64_t d, std::int64_t n, float value);
  bool empty() const { return columns_ == 0; }

  // Computes C = A B for a range of B's columns: c[r, n - columns.begin] = sum over d of a[r, d]
  // B(d, n). Both ends of `columns` are multiples of `panel`, at most B's column count rounded up.
  // If the depth is odd, rows of A have one more element, which must be finite and has no effect.
  void multiply(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange columns, float* c,
                std::int64_t c_stride) const;

 private:
  void multiply_by_sgemm(const Bf16* a, std::int64_t rows, std::int64_t a_stride, KeyRange columns,
                         float* c, std::int64_t c_stride) const;

  bool native_;
  std::int64_t depth_ = 0, columns_ = 0;  // rounded up
  Buffer<Bf16> packed_;                   // native: [columns / panel, depth / 2, panel, 2]
  Buffer<float> rounded_;                 // otherwise: [depth, columns]
};

}  // namespace plumbline
