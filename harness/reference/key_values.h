// Q, K and V as the products see them: fp8 times its scale, rounded if the spec requires it.
#pragma once

#include <span>

#include "harness/problem/geometry.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Writes row `row` of a query head as it is stored, in any dtype. fp8 numbers are multiplied by
// their scale. If `kv_dequantized_to` is fp16 or bf16, the fp32 product is rounded to it.
void stored_query(const Geometry& geometry, const void* q, DType kv_dequantized_to,
                  std::int64_t sample, std::int64_t row, std::int64_t head, std::span<double> to);

// Like stored_query(), but rounded as K and V are: fp32 to tf32 if the spec requires it.
void rounded_query(const Geometry& geometry, const void* q, InputRounding rounding,
                   std::int64_t sample, std::int64_t row, std::int64_t head, std::span<double> to);

class KeyValues {
 public:
  // Geometry and storage must outlive this object.
  KeyValues(const Geometry& geometry, const void* k, const void* v, InputRounding rounding);

  // Each writes one vector of head_dim_qk or head_dim_vo elements.
  void key(std::int64_t sample, std::int64_t key, std::int64_t head_kv, std::span<double> to) const;
  // For an fp8 output, a value is divided by the output's scale, so that O has the units of the
  // stored output.
  void value(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
             std::span<double> to) const;
  // Returns true if a kernel multiplies its sums by the scale of V or of the output, which rounds
  // once more.
  bool scales_outside() const { return scales_v_outside() || !geometry_.side.out_scale.empty(); }
  // Returns true if a kernel multiplies its sums, or P if V has scales for tokens, by V's scales.
  bool scales_v_outside() const { return has_scales_ && dequantized_ == DType::none; }
  // Returns the factor by which a kernel multiplies its sums. V's scales for tokens multiply P
  // instead.
  double factor_of_sums(std::int64_t sample, std::int64_t head_kv) const;

 private:
  void load(const void* tensor, DType dtype, std::int64_t offset, const std::vector<float>& scales,
            std::size_t at, std::span<double> to) const;

  const Geometry& geometry_;
  const void* k_;
  const void* v_;
  bool has_scales_;
  // Numbers with a scale are rounded to dequantized_, others to rounded_; none = not rounded.
  DType dequantized_;
  InputRounding rounded_;
};

}  // namespace plumbline
