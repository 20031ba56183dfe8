// The fields of a rounding spec that a contract may pin, and their texts.
//
//   dtypes         input (dtype of Q), output, tensor_core (tf32 for fp32 Q, otherwise Q's dtype),
//                  fp32, tf32, fp16, bf16, e4m3, e5m2; also "none" for s_rounded, q_prescaled,
//                  o_between_tiles, lse_dtype and kv_dequantized_to. In kv_dequantized_to,
//                  tensor_core is tf32 if Q is fp32, otherwise none
//   accumulators   fma, tensor_core (of the architecture that the case ran on,
//                  harness/problem/arch.h), or as spec_text() has them:
//                  dtype/direction/fraction_bits/products_per_step, "fp32/toward_zero/13/32"
//   numbers        p_prescale (positive); exp2_rel_error, tanh_rel_error,
//                  reciprocal_rel_error, product_rel_error, skipped_below (in [0, 1));
//                  lse_base (e or 2)
//   maxima         p_max: running, one, ceil2, bf16, free
//   true, false    p_normalized, p_toward_zero, p_stochastic, denominator_from_rounded_p,
//                  s_rounded_twice, s_rounded_before_bias, s_rounded_before_softcap,
//                  q_prescaled_without_log2e, ring_update, inputs_toward_zero, out_toward_zero,
//                  out_stochastic, lse_includes_sink, lse_without_row_bias
// The problem states out_dtype, so no contract pins it.
// A flag needs the rounding that it describes: harness/problem/contradictory_flags.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

std::span<const std::string_view> spec_field_names();

// Sets one field. Returns nullopt, or a message with the value and the allowed values, or with the
// flag that the field contradicts. With a message, the spec is unchanged. `problem` and `arch` do
// not affect which texts are allowed.
std::optional<std::string> set_spec_field(RoundingSpec& spec, std::string_view field,
                                          std::string_view text, const Problem& problem,
                                          std::string_view arch = "");

// Returns true if a text permits errors so large that a contract has to cite a proof: for example S
// rounded, Q pre-scaled and rounded, inputs rounded to tf32, an accumulator shorter than fp32.
bool needs_proof(std::string_view field, std::string_view text);

}  // namespace plumbline
