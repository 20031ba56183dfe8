// Decodes one key or value at a time, with its fp8 scale and the rounding that the spec states.
#include "harness/reference/key_values.h"

namespace plumbline {

KeyValues::KeyValues(const Geometry& geometry, const void* k, const void* v,
                     DType kv_dequantized_to)
    : geometry_(geometry), k_(k), v_(v), has_scales_(geometry.problem().has_fp8_kv()) {
  RoundingSpec spec;
  spec.kv_dequantized_to = kv_dequantized_to;
  dequantized_ = dequantized_to(spec, geometry.problem());
  rounded_ = inputs_rounded_to(spec);
  if (has_scales_) side_ = side_inputs(geometry.problem());
}

void KeyValues::key(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
                    std::span<double> to) const {
  load(k_, geometry_.k.dtype, geometry_.k_offset(sample, key, head_kv), side_.k_scale,
       static_cast<std::size_t>(sample * geometry_.problem().heads_kv + head_kv), to);
}

void KeyValues::value(std::int64_t sample, std::int64_t key, std::int64_t head_kv,
                      std::span<double> to) const {
  load(v_, geometry_.v.dtype, geometry_.v_offset(sample, key, head_kv), side_.v_scale,
       static_cast<std::size_t>(sample * geometry_.problem().heads_kv + head_kv), to);
}

void KeyValues::load(const void* tensor, DType dtype, std::int64_t offset,
                     const std::vector<float>& scales, std::size_t scale,
                     std::span<double> to) const {
  decode(dtype,
         static_cast<const std::byte*>(tensor) +
             static_cast<std::size_t>(offset) * size_in_bytes(dtype),
         to);
  if (has_scales_) {
    for (double& value : to) value *= double{scales[scale]};
    if (dequantized_ == DType::none) return;
    for (double& value : to) value = round_to(double{static_cast<float>(value)}, dequantized_);
  } else if (rounded_ != DType::none) {
    for (double& value : to) value = round_to(value, rounded_);
  }
}

}  // namespace plumbline
