// Decodes one query, key or value at a time, with its fp8 scale and the spec's rounding.
#include "harness/reference/key_values.h"

namespace plumbline {
namespace {

void decode_vector(DType dtype, const void* tensor, std::int64_t offset, std::span<double> to) {
  decode(dtype,
         static_cast<const std::byte*>(tensor) +
             static_cast<std::size_t>(offset) * size_in_bytes(dtype),
         to);
}

// Multiplies by `factor`, then rounds via fp32 to `dequantized`; none = no rounding.
void scale(std::span<double> values, float factor, DType dequantized) {
  for (double& value : values) value *= double{factor};
  if (dequantized == DType::none) return;
  for (double& value : values) value = round_to(double{static_cast<float>(value)}, dequantized);
}

DType rounded_after_scale(const Geometry& geometry, DType kv_dequantized_to) {
  RoundingSpec spec;
  spec.kv_dequantized_to = kv_dequantized_to;
  return dequantized_to(spec, geometry.problem());
}

}  // namespace

void stored_query(const Geometry& geometry, const void* q, DType kv_dequantized_to,
                  std::int64_t sample, std::int64_t row, std::int64_t head, std::span<double> to) {
  decode_vector(geometry.q.dtype, q, geometry.q_offset(sample, row, head), to);
  const std::vector<float>& scales = geometry.side.q_scale;
  if (scales.empty()) return;
  scale(to, scales[q_scale_at(geometry.problem(), sample, row, head)],
        rounded_after_scale(geometry, kv_dequantized_to));
}

void rounded_query(const Geometry& geometry, const void* q, InputRounding rounding,
                   std::int64_t sample, std::int64_t row, std::int64_t head, std::span<double> to) {
  stored_query(geometry, q, rounding.dtype, sample, row, head, to);
  if (rounding.dtype != DType::tf32 || geometry.problem().has_fp8_q()) return;
  for (double& value : to) value = rounding.rounded(value);
}

KeyValues::KeyValues(const Geometry& geometry, const void* k, const void* v, InputRounding rounding)
    : geometry_(geometry),
      k_(k),
      v_(v),
      has_scales_(geometry.problem().has_fp8_kv()),
      dequantized_(rounded_after_scale(geometry, rounding.dtype)),
      rounded_(rounding) {}

void KeyValues::key(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
                    std::span<double> to) const {
  load(k_, geometry_.k.dtype, geometry_.k_offset(sample, key, head_kv), geometry_.side.k_scale,
       kv_scale_at(geometry_.problem(), sample, key, head_kv), to);
}

void KeyValues::value(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
                      std::span<double> to) const {
  load(v_, geometry_.v.dtype, geometry_.v_offset(sample, key, head_kv), geometry_.side.v_scale,
       kv_scale_at(geometry_.problem(), sample, key, head_kv), to);
  for (const float out_scale : geometry_.side.out_scale) {
    for (double& value : to) value /= double{out_scale};
  }
}

double KeyValues::factor_of_sums(std::int64_t sample, std::int64_t head_kv) const {
  const Problem& problem = geometry_.problem();
  double factor = 1;
  if (scales_v_outside() && problem.scale_tokens() == 0)
    factor = double{geometry_.side.v_scale[kv_scale_at(problem, sample, 0, head_kv)]};
  for (const float out_scale : geometry_.side.out_scale) factor /= double{out_scale};
  return factor;
}

void KeyValues::load(const void* tensor, DType dtype, std::int64_t offset,
                     const std::vector<float>& scales, std::size_t at, std::span<double> to) const {
  decode_vector(dtype, tensor, offset, to);
  if (has_scales_) {
    scale(to, scales[at], dequantized_);
  } else if (rounded_.dtype == DType::tf32) {
    for (double& value : to) value = rounded_.rounded(value);
  }
}

}  // namespace plumbline
