// Acceptance rules of other projects for attention kernels, applied to the outputs that an audit
// judges. docs/audit.md lists their sources.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "harness/problem/dtype.h"

namespace plumbline {

// One output and what the rules compare it with, element by element; all are [R, D]. Only valid
// query rows are included; a row without visible keys is 0.
struct RuleInputs {
  DType dtype = DType::bf16;  // of Q
  DType out = DType::bf16;
  std::int64_t keys = 0;               // seq_kv of the problem
  std::span<const double> golden;      // fp64, from the inputs as given
  std::span<const double> output;      // the kernel's
  std::span<const double> flash_math;  // see FrameworkMath
  std::span<const double> sdpa_math;
  std::span<const double> flex_math;
  std::span<const double> weighted_magnitude;
  // The problem's D, its softmax scale, and the largest magnitudes in the valid rows of Q, K, V
  std::int64_t head_dim = 0;
  double scale = 0, largest_q = 0, largest_k = 0, largest_v = 0;
};

enum class RuleResult { passes, fails, not_applicable };

inline constexpr std::size_t rule_count = 13;

struct Rule {
  std::string_view name;
  std::string_view source;
  RuleResult (*check)(const RuleInputs&);
};
std::span<const Rule> third_party_rules();

RuleResult allclose_1e3(const RuleInputs& inputs);
RuleResult allclose_1e2(const RuleInputs& inputs);
RuleResult assert_close_defaults(const RuleInputs& inputs);
RuleResult flash_attention_2x(const RuleInputs& inputs);
RuleResult sdpa_fudge_factor(const RuleInputs& inputs);
RuleResult flex_mean_error(const RuleInputs& inputs);
RuleResult benchdnn_sdpa(const RuleInputs& inputs);
RuleResult relative_frobenius(const RuleInputs& inputs);
RuleResult gpucheck_defaults(const RuleInputs& inputs);
RuleResult triton_blackhole_defaults(const RuleInputs& inputs);
RuleResult cudnn_frontend(const RuleInputs& inputs);
RuleResult flashinfer_cosine(const RuleInputs& inputs);
RuleResult hipdnn_bound(const RuleInputs& inputs);

}  // namespace plumbline
