// The words by which a contract pins fields of a rounding spec.
//
//   dtypes         input (dtype of Q), output, tensor_core (what tensor cores take of the dtype of
//                  Q: tf32 for fp32, else itself), fp32, tf32, fp16, bf16, e4m3, e5m2; "none" for
//                  s_rounded, q_prescaled, o_between_tiles, lse_dtype and kv_dequantized_to, where
//                  tensor_core stands for tf32 if the inputs are fp32, and for none otherwise
//   accumulators   fma, tensor_core (of the architecture that the case ran on,
//                  harness/problem/arch.h), or as spec_text() has them:
//                  dtype/direction/fraction_bits/products_per_step, "fp32/toward_zero/13/32"
//   numbers        p_prescale (a power of two); exp2_rel_error, tanh_rel_error,
//                  reciprocal_rel_error (in [0, 1)); lse_base (e or 2)
//   maxima         p_max: running, one, ceil2, bf16, free
//   true, false    p_normalized, p_toward_zero, denominator_from_rounded_p, s_rounded_twice,
//                  q_prescaled_without_log2e, out_toward_zero, lse_includes_sink
// out_dtype is no such field: the problem states it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

std::span<const std::string_view> spec_field_names();

// Sets one field. A message naming the value and what is allowed, or nullopt. Whether a text is
// allowed does not depend on `problem` and `arch`.
std::optional<std::string> set_spec_field(RoundingSpec& spec, std::string_view field,
                                          std::string_view text, const Problem& problem,
                                          std::string_view arch = "");

// Fields that hide much, so that a contract has to cite a proof: S rounded, Q pre-scaled and
// rounded, inputs rounded to tf32, an accumulator shorter than fp32.
bool needs_proof(std::string_view field, std::string_view text);

}  // namespace plumbline
