// Q, K and V as the products see them: fp8 times its scale, rounded where the spec says so.
#pragma once

#include <span>

#include "harness/problem/geometry.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Row `row` of a query head as it is stored, in any dtype: fp8 times its scale, in fp32 rounded to
// fp16 or bf16 where `kv_dequantized_to` is one of them.
void stored_query(const Geometry& geometry, const void* q, DType kv_dequantized_to,
                  std::int64_t sample, std::int64_t row, std::int64_t head, std::span<double> to);

class KeyValues {
 public:
  // Of a spec only kv_dequantized_to matters. Geometry and storage outlive this.
  KeyValues(const Geometry& geometry, const void* k, const void* v, DType kv_dequantized_to);

  // One vector of head_dim_qk or head_dim_vo elements.
  void key(std::int64_t sample, std::int64_t key, std::int64_t head_kv, std::span<double> to) const;
  void value(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
             std::span<double> to) const;
  // Whether V's scale multiplies a kernel's sums, which rounds once more; or, where tokens have
  // their own, its P.
  bool scales_outside() const { return has_scales_ && dequantized_ == DType::none; }

 private:
  void load(const void* tensor, DType dtype, std::int64_t offset, const std::vector<float>& scales,
            std::size_t at, std::span<double> to) const;

  const Geometry& geometry_;
  const void* k_;
  const void* v_;
  bool has_scales_;
  // what scale * stored, and what unscaled numbers, are rounded to; none: not
  DType dequantized_, rounded_;
};

}  // namespace plumbline
