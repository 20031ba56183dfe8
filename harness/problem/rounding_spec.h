// The roundings of a kernel, from which its possible error follows. Fields mirror
// plumbline_rounding_spec of the provider ABI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/problem/dtype.h"

namespace plumbline {

struct Problem;

// How a matrix product is summed, in steps of products_per_step terms. Each step aligns its terms
// to the largest and keeps fraction_bits fraction bits.
struct Accumulator {
  DType dtype = DType::f32;  // f32 or f16
  bool toward_zero = false;
  int fraction_bits = 24;
  int products_per_step = 1;
  bool operator==(const Accumulator&) const = default;
};
inline constexpr Accumulator fma_accumulator{DType::f32, false, 24, 1};
// The strict default for 16-bit inputs, as on Ampere and Ada
inline constexpr Accumulator tensor_core_accumulator{DType::f32, true, 24, 8};
// fp8 inputs: Ada's mma.sync; Hopper's wgmma keeps as many bits in steps of 32
inline constexpr Accumulator fp8_accumulator{DType::f32, true, 13, 16};

// The m of P = exp(S - m), which decides the significands of P.
enum class MaximumOfP {
  running,  // the largest logit of some of the keys seen so far; may start from the sink's logit
  one,      // the largest logit of all keys seen so far, without sinks; the largest P is then 1
  ceil2,    // like running, rounded up to a whole number in units of log2(e)
  bf16,     // like running, rounded to bf16
  free,     // any number, such as one maximum for several rows
};

struct RoundingSpec {
  DType p_dtype = DType::f32;
  double p_prescale = 1;
  bool p_normalized = false;  // P / l is rounded, not P
  MaximumOfP p_max = MaximumOfP::running;
  bool p_toward_zero = false;
  bool p_stochastic = false;  // P is rounded up or down at random, without bias
  bool denominator_from_rounded_p = false;
  DType s_rounded = DType::none;
  bool s_rounded_twice = false;           // also before the scale
  bool s_rounded_before_bias = false;     // after softcap, before ALiBi and a bias; not the sink
  bool s_rounded_before_softcap = false;  // before softcap, ALiBi and a bias; not the sink
  DType q_prescaled = DType::none;
  bool q_prescaled_without_log2e = false;
  DType split_partial_dtype = DType::f32;
  DType o_between_tiles = DType::none;
  bool ring_update = false;  // parts are merged by O -= w (O - O_i)
  Accumulator qk_accumulator;
  Accumulator pv_accumulator;
  double exp2_rel_error = 0;  // 0 = within 2 ulp of fp32
  double tanh_rel_error = 0;
  double reciprocal_rel_error = 0;  // of 1 / l
  // relative error of each product of Q K^T and P V: 2^-15 for sums of three bf16 products
  double product_rel_error = 0;
  // A kernel may skip tiles of keys whose exp(s - m) are all below this.
  double skipped_below = 0;
  // none: fp8 Q, K and V are widened as stored, which rounds nothing, and their scales multiply the
  // sums (or, if V's tokens have scales of their own, P before it is rounded). fp16, bf16: see
  // dequantized_to(). tf32: see inputs_rounded_to().
  DType kv_dequantized_to = DType::none;
  bool inputs_toward_zero = false;  // fp32 inputs are truncated to tf32, as tensor cores do
  DType out_dtype = DType::f32;
  bool out_toward_zero = false;
  bool out_stochastic = false;    // as p_stochastic
  DType lse_dtype = DType::none;  // none: fp32
  int lse_base = 0;               // 0 for e, or 2
  bool lse_includes_sink = true;
  // Under a causal mask with ALiBi and without a left window, the LSE is that of the logits q . k
  // scale + slope j, as FlashAttention-2 stores it. So the LSE lacks the part of the bias that all
  // keys of a row share.
  bool lse_without_row_bias = false;
  bool operator==(const RoundingSpec&) const = default;
};

// The dtype that Q, K and V are rounded to before the products: tf32 if kv_dequantized_to is tf32,
// otherwise none. The rounding adds no variance term, because the reference uses the rounded
// values, as for q_prescaled. 16-bit inputs already are tf32 numbers.
DType inputs_rounded_to(const RoundingSpec& spec);
// The rounding of elements of K and V before the products, by kv_dequantized_to and
// inputs_toward_zero.
struct InputRounding {
  InputRounding() = default;
  InputRounding(DType to, bool truncates = false) : dtype(to), toward_zero(truncates) {}
  explicit InputRounding(const RoundingSpec& spec)
      : InputRounding(spec.kv_dequantized_to, spec.inputs_toward_zero) {}
  auto operator<=>(const InputRounding&) const = default;
  // Rounds an element that is not fp8.
  double rounded(double value) const;

  DType dtype = DType::none;
  bool toward_zero = false;  // of tf32
};
// The dtype that fp8 Q, K and V are rounded to after their scale. The matrix products and the
// reference use round(fp32(scale * stored)), with both roundings to nearest, ties to even. none:
// the scale is applied outside the matrix products, or the dtype is not fp8.
DType dequantized_to(const RoundingSpec& spec, const Problem& problem);

// Returns the spec of a kernel without a contract: P in the dtype of Q (fp32: not rounded; e4m3:
// times 256, so that small P are not lost), tensor-core accumulators (nearest fp32 for fp32; for
// fp8 those of `arch`), nothing else rounded (fp8 widened as stored, scales applied to the sums),
// output in the problem's output dtype.
// For a merge: weights and sums in fp32, an LSE with the base of the parts' LSEs.
RoundingSpec strict_spec(const Problem& problem, std::string_view arch = "");
// Returns p_prescale of a spec that states only p_dtype: 256 for e4m3, so that small P are not
// lost, otherwise 1.
double default_prescale(DType p_dtype);

// Compares the spec that a kernel declares with the spec that its contract pins, or any two specs.
// Returns one sentence for each field in which `declared` permits more error than `pinned`
// ("p_dtype: e4m3 is coarser than bf16") or has another meaning (such as lse_base or p_normalized).
// `declared` may contain anything: NaN and unknown dtypes are looser.
std::vector<std::string> looser_fields(const RoundingSpec& declared, const RoundingSpec& pinned);

// Returns one line with only the fields that differ from the strict spec of `problem` on `arch`
// ("p_dtype=e4m3 p_prescale=256"), or "strict".
std::string describe(const RoundingSpec& spec, const Problem& problem, std::string_view arch = "");
// Returns the canonical text of all fields: name=value, in the order of the struct, separated by
// spaces. Caches and the store use this text as a key, and parse_spec_text reads it. Accumulators
// are "fp32/toward_zero/24/8" (dtype, direction, fraction bits, products per step); lse_base is e
// or 2.
std::string spec_text(const RoundingSpec& spec);
Result<RoundingSpec> parse_spec_text(std::string_view text);

}  // namespace plumbline
