// Implements the acceptance rules of other projects, each with its source's treatment of NaN. All
// of them fail a NaN if the golden value is finite.
#include "harness/audit/rules.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

namespace plumbline {
namespace {

RuleResult passes_if(bool passes) { return passes ? RuleResult::passes : RuleResult::fails; }

// Returns max |a - b|, or NaN if any difference is NaN, like torch's max.
double max_difference(std::span<const double> a, std::span<const double> b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    worst = std::max(worst, difference);
  }
  return worst;
}

double mean_difference(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return a.empty() ? 0 : sum / static_cast<double>(a.size());
}

// Checks |actual - expected| <= atol + rtol |expected| for every element, like numpy.allclose and
// torch.allclose. NaN is never close.
RuleResult allclose(const RuleInputs& in, double rtol, double atol, bool expected_in_out_dtype) {
  for (std::size_t i = 0; i < in.golden.size(); ++i) {
    const double expected = expected_in_out_dtype ? round_to(in.golden[i], in.out) : in.golden[i];
    if (!(std::abs(in.output[i] - expected) <= atol + rtol * std::abs(expected)))
      return RuleResult::fails;
  }
  return RuleResult::passes;
}

// Returns true if all values are finite. If the framework's own attention (FrameworkMath)
// overflows, the framework's test fails or passes regardless of the kernel.
bool is_usable(std::span<const double> baseline) {
  return std::ranges::all_of(baseline, [](double x) { return std::isfinite(x); });
}

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

// FlashInfer's prefill and decode tests: rtol = atol = 1e-3.
RuleResult allclose_1e3(const RuleInputs& in) { return allclose(in, 1e-3, 1e-3, false); }

// vLLM's backends, FlashInfer in bf16, Triton's tutorial: rtol = atol = 1e-2.
RuleResult allclose_1e2(const RuleInputs& in) { return allclose(in, 1e-2, 1e-2, false); }

// torch.testing.assert_close without tolerances: relative 1e-3 for fp16, 1.6e-2 for bf16, 1.3e-6
// for fp32; absolute 1e-5. The expected tensor has the dtype of the actual one.
RuleResult assert_close_defaults(const RuleInputs& in) {
  const double rtol = in.out == DType::f16 ? 1e-3 : in.out == DType::bf16 ? 1.6e-2 : 1.3e-6;
  return allclose(in, rtol, 1e-5, true);
}

// tests/test_flash_attn.py: max |out - ref| <= 2 max |pt - ref| + 1e-5. ref is computed in fp32 and
// cast to the dtype, pt is computed in the dtype. fp16 and bf16 only.
RuleResult flash_attention_2x(const RuleInputs& in) {
  if (!is_16_bit(in.dtype) || !is_usable(in.flash_math)) return RuleResult::not_applicable;
  std::vector<double> reference(in.golden.begin(), in.golden.end());
  for (double& value : reference) value = round_to(value, in.out);
  return passes_if(max_difference(in.output, reference) <=
                   2 * max_difference(in.flash_math, reference) + 1e-5);
}

// test/test_transformers.py _check_equal: fails if max |golden - out| > max(1e-5, 4 max |golden -
// math in the dtype|), or if the left side is NaN. 4 is the fudge factor of the output.
RuleResult sdpa_fudge_factor(const RuleInputs& in) {
  if (!is_usable(in.sdpa_math)) return RuleResult::not_applicable;
  const double error = max_difference(in.output, in.golden),
               baseline = max_difference(in.sdpa_math, in.golden);
  const double threshold = std::max(1e-5, 4 * baseline);
  return passes_if(!std::isnan(error) && error <= threshold);
}

// test/inductor/test_flex_attention.py: mean |golden - out| <= 1.1 mean |golden - eager in the
// dtype|, with 10 for fp32; a NaN fails.
RuleResult flex_mean_error(const RuleInputs& in) {
  if (!is_usable(in.flex_math)) return RuleResult::not_applicable;
  const double factor = in.dtype == DType::f32 ? 10 : 1.1;
  return passes_if(mean_difference(in.output, in.golden) <=
                   factor * mean_difference(in.flex_math, in.golden));
}

// tests/benchdnn/sdpa/sdpa.cpp setup_cmp: relative difference <= 8 (1 + keys) eps, or |difference|
// <= eps sum_k p_k |v_k|, with the output dtype's eps (fp16 2^-10, bf16 2^-7, fp32 2^-23).
RuleResult benchdnn_sdpa(const RuleInputs& in) {
  const double eps = 2 * unit_roundoff(in.out);
  const double limit = 8 * (1 + static_cast<double>(in.keys)) * eps;
  for (std::size_t i = 0; i < in.golden.size(); ++i) {
    const double expected = round_to(in.golden[i], in.out);
    const double difference = std::abs(in.output[i] - expected);
    const double relative = difference / std::max(std::abs(expected), double{FLT_MIN});
    if (!(relative <= limit || difference <= eps * in.weighted_magnitude[i]))
      return RuleResult::fails;
  }
  return RuleResult::passes;
}

// ||out - golden||_F <= 1e-2 ||golden||_F.
RuleResult relative_frobenius(const RuleInputs& in) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < in.golden.size(); ++i) {
    error += (in.output[i] - in.golden[i]) * (in.output[i] - in.golden[i]);
    size += in.golden[i] * in.golden[i];
  }
  return passes_if(std::sqrt(error) <= 1e-2 * std::sqrt(size));
}

std::span<const Rule> third_party_rules() {
  static constexpr std::array rules{
      Rule{"allclose 1e-3", "FlashInfer tests/attention, rtol = atol", allclose_1e3},
      Rule{"allclose 1e-2", "vLLM tests/v1/attention, Triton tutorial 06, rtol = atol",
           allclose_1e2},
      Rule{"assert_close defaults", "torch.testing.assert_close", assert_close_defaults},
      Rule{"FlashAttention 2x", "tests/test_flash_attn.py", flash_attention_2x},
      Rule{"PyTorch SDPA fudge", "test/test_transformers.py _check_equal", sdpa_fudge_factor},
      Rule{"FlexAttention mean", "test/inductor/test_flex_attention.py", flex_mean_error},
      Rule{"benchdnn SDPA", "oneDNN tests/benchdnn/sdpa/sdpa.cpp setup_cmp", benchdnn_sdpa},
      Rule{"Frobenius 1e-2", "common in tests of linear algebra, relative Frobenius norm",
           relative_frobenius},
  };
  return rules;
}

}  // namespace plumbline
