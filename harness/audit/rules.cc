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

// Returns _DEFAULT_TOLERANCES of gpucheck, in which atol = rtol; unknown dtypes have those of fp32.
double gpucheck_tolerance(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 1e-2;
    case DType::bf16:
      return 5e-2;
    case DType::e4m3:
      return 0.125;
    case DType::e5m2:
      return 0.25;
    default:
      return 1e-4;
  }
}

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

// gpucheck 0.1.0 assertions/tolerances.py and close.py: by the narrower dtype, the output's.
RuleResult gpucheck_defaults(const RuleInputs& in) {
  const double t = gpucheck_tolerance(in.out);
  return allclose(in, t, t, false);
}

// triton-blackhole 0.2.0 tolerances.py and compare.py: by the output's dtype, rtol = atol = 1e-3
// (fp16) or 1e-2 (bf16), otherwise, also for fp8, rtol 1e-4 and atol 1e-5. An element that is not
// finite is a mismatch.
RuleResult triton_blackhole_defaults(const RuleInputs& in) {
  if (!is_16_bit(in.out)) return allclose(in, 1e-4, 1e-5, false);
  const double t = in.out == DType::f16 ? 1e-3 : 1e-2;
  return allclose(in, t, t, false);
}

// test/python/sdpa/fp16.py compute_and_compare_reference: torch.isclose with rtol = atol = 2e-2 for
// every element. Its equal_nan changes nothing, because golden values are finite.
RuleResult cudnn_frontend(const RuleInputs& in) { return allclose(in, 2e-2, 2e-2, false); }

// tests/attention/test_batch_attention_per_token_head.py and get_cos_sim_threshold of
// tests/utils_fp8.py, both of commit 192a190a: the cosine of the whole tensors is at least 0.999.
// torch divides by max(norm, 1e-8).
RuleResult flashinfer_cosine(const RuleInputs& in) {
  double product = 0, of_output = 0, of_golden = 0;
  for (std::size_t i = 0; i < in.golden.size(); ++i) {
    product += in.output[i] * in.golden[i];
    of_output += in.output[i] * in.output[i];
    of_golden += in.golden[i] * in.golden[i];
  }
  const double norms = std::max(std::sqrt(of_output), 1e-8) * std::max(std::sqrt(of_golden), 1e-8);
  return passes_if(product / norms >= 0.999);
}

// hipDNN's DynamicTolerancesSdpa.hpp, calculateSdpaFwdTolerance with fp32 arithmetic, as an
// absolute tolerance. gamma_k is the linear bound of 2 k products below 0.01, otherwise 6 standard
// deviations.
RuleResult hipdnn_bound(const RuleInputs& in) {
  constexpr double eps = 0x1p-23;
  const auto gamma = [](double k) {
    const double linear = 2 * k * eps;
    return linear < 0.01 ? linear / (1 - linear) : 6 * std::sqrt(2 * k) * eps;
  };
  const auto dim = static_cast<double>(in.head_dim), keys = static_cast<double>(in.keys);
  const double score = dim * in.largest_q * in.largest_k * std::abs(in.scale) * (gamma(dim) + eps),
               softmax = gamma(keys) + (keys + 1) * eps,
               stored = in.out == DType::f32 ? 0 : 2 * unit_roundoff(in.out),
               tolerance = in.largest_v * (score + softmax + gamma(keys) + stored);
  for (std::size_t i = 0; i < in.golden.size(); ++i) {
    if (!(std::abs(in.output[i] - in.golden[i]) <= tolerance)) return RuleResult::fails;
  }
  return RuleResult::passes;
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
      Rule{"gpucheck", "gpucheck 0.1.0 assertions/tolerances.py", gpucheck_defaults},
      Rule{"triton-blackhole", "triton-blackhole 0.2.0 tolerances.py", triton_blackhole_defaults},
      Rule{"cuDNN frontend", "test/python/sdpa/fp16.py", cudnn_frontend},
      Rule{"FlashInfer cosine", "tests/attention/test_batch_attention_per_token_head.py",
           flashinfer_cosine},
      Rule{"hipDNN bound", "rocm-libraries hipdnn DynamicTolerancesSdpa.hpp", hipdnn_bound},
  };
  return rules;
}

}  // namespace plumbline
