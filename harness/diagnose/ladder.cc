// Lists the rounding specs of published kernels, each with its source, and finds one by its name.
#include "harness/diagnose/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "harness/base/text.h"
#include "harness/contract/spec_fields.h"
#include "harness/diagnose/spec_words.h"
#include "harness/problem/arch.h"
#include "harness/problem/contradictory_flags.h"

namespace plumbline {
namespace {

// Commits read: flash-attention 0251105a (2026-08-15), flashinfer fb28d724 (2026-08-22),
// transformers v5.23.0.
constexpr auto flash_attention =
    "https://github.com/Dao-AILab/flash-attention/blob/0251105a2fb19d2957484b7f023cd8c115286ced/";
constexpr auto flashinfer =
    "https://github.com/flashinfer-ai/flashinfer/blob/fb28d7242b3506a2348265962041acc1fb56cca4/";

// FlashAttention-4 computes some exponentials by a polynomial of degree 3; its largest relative
// error is 8.8e-5 before rounding (flash_attn/cute/utils.py#L754; evidence/judging.md measures how
// far 9e-5 widens the scales).
constexpr double degree_3_exp2_error = 9e-5;

// Returns the spec of CUDA cores, whose sums are chains of fused multiply-adds of fp32 or widened
// inputs.
RoundingSpec fp32_spec(const Problem& problem) {
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = DType::f32;
  spec.qk_accumulator = spec.pv_accumulator = fma_accumulator;
  return spec;
}

constexpr auto rounding_spec_page = "docs/judging-formulas.md, \"Rounding spec\"";

// Returns the rounding models of fp32 inputs. Those of tensor cores have the accumulator that keeps
// the fewest bits, that of sm_80.
std::vector<Rung> fp32_ladder(const Problem& problem) {
  const RoundingSpec fp32 = fp32_spec(problem);
  RoundingSpec bf16x3 = fp32;
  bf16x3.product_rel_error = 0x1p-15;
  bf16x3.qk_accumulator = bf16x3.pv_accumulator = tensor_core_accumulator_of("sm_80", DType::bf16);
  RoundingSpec tf32 = strict_spec(problem);
  tf32.p_dtype = tf32.kv_dequantized_to = DType::tf32;
  tf32.qk_accumulator = tf32.pv_accumulator = tensor_core_accumulator_of("sm_80", DType::tf32);
  RoundingSpec truncated = tf32;
  truncated.inputs_toward_zero = truncated.p_toward_zero = true;
  return {{"fp32", "nothing: P and all sums stay in fp32", rounding_spec_page, fp32},
          {"bf16x3",
           "each product to the sum of three products of bf16 parts, as Triton's input_precision "
           "= \"bf16x3\"",
           "https://triton-lang.org/main/python-api/generated/triton.language.dot.html", bf16x3},
          {"TF32", "Q, K, V and P to tf32, to nearest: tensor cores with fp32 inputs",
           rounding_spec_page, tf32},
          {"TF32 truncated",
           "Q, K, V and P to tf32 by truncation: tensor cores that get the bits of fp32, as from "
           "Triton",
           "https://github.com/triton-lang/triton/pull/9295", truncated}};
}

// Returns the rung of kernels that round like those of `rung`, but sum the rounded P.
Rung with_rounded_denominator(Rung rung) {
  rung.name += ", rounded denominator";
  rung.rounds += ", the denominator from the rounded P";
  rung.spec.denominator_from_rounded_p = true;
  return rung;
}

// Returns the rounding models of fp8 Q, K and V, which the products read as stored or widened.
std::vector<Rung> fp8_ladder(const Problem& problem) {
  const RoundingSpec strict = strict_spec(problem);
  const DType wide = problem.out() == DType::f16 ? DType::f16 : DType::bf16;
  RoundingSpec widened = strict;
  widened.p_dtype = widened.kv_dequantized_to = wide;
  widened.p_prescale = 1;
  RoundingSpec hopper = strict;
  hopper.qk_accumulator = hopper.pv_accumulator = fp8_accumulator;
  const std::string p_rounded =
      fmt::format("P to {}{} before P V", name(problem.dtype),
                  strict.p_prescale == 1 ? "" : fmt::format(" times {}", strict.p_prescale));
  // A kernel that widens inputs but keeps P in fp32 needs no rung: `of_widened` permits its errors.
  const Rung of_widened{
      "widened",
      fmt::format("Q, K and V to {0} after their scales, P to {0} before P V", name(wide)),
      rounding_spec_page, widened};
  return {{"fp32", "only the output: P and all sums stay in fp32", rounding_spec_page,
           fp32_spec(problem)},
          of_widened,
          with_rounded_denominator(of_widened),
          {"fp8 P", p_rounded + ", sums in fp32", rounding_spec_page, strict},
          {"FlashAttention-3", p_rounded + ", sums of 13 bits",
           std::string(flash_attention) + "hopper/softmax.h", hopper}};
}

std::string normalised(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c != ' ' && c != '-' && c != '_')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

// Maps names of equal rounding models, and common words, to one name.
std::string canonical_name(const std::string& word) {
  static const std::vector<std::pair<std::string, std::string>> names{
      {"fp32", "flashinferdecode"},
      {"strict", "flashattention2"},
      {"fa2", "flashattention2"},
      {"flashattention", "flashattention2"},
      {"fa3", "flashattention2"},
      {"flashattention3", "flashattention2"},
      {"fa4", "flashattention4"},
      {"flashinfer", "flashinferprefill"},
      {"eager", "pytorchmath"},
      {"math", "pytorchmath"},
      {"transformerseager", "pytorchmath"},
      {"naive", "pytorchmath"},
      {"flex", "flexattention"},
      {"torchflex", "flexattention"},
      {"jax", "flexattention"},
  };
  const auto found =
      std::ranges::find_if(names, [&](const auto& pair) { return pair.first == word; });
  return found == names.end() ? word : found->second;
}

// Parses "p_dtype=bf16 s_rounded=bf16": fields on top of the strict spec.
Result<Rung> rung_of_fields(const std::string& text, const Problem& problem) {
  Rung rung{"spec", "", "", strict_spec(problem)};
  Errors errors;
  constexpr auto page = "see docs/judging-formulas.md, \"Rounding spec\"";
  // True for the text that a run writes into a dump: all fields. It may have idle flags, which the
  // contract sets for other dtypes.
  bool is_full_text = false;
  std::vector<std::string_view> parts = split(text, ' ');
  // p_dtype sets p_prescale, so it comes first.
  std::ranges::stable_partition(parts, [](auto part) { return part.starts_with("p_dtype="); });
  for (const std::string_view part : parts) {
    const std::size_t equals = part.find('=');
    if (part.empty()) continue;
    const std::string_view field = part.substr(0, equals),
                           value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    if (field == "out_dtype") {  // a property of the dump, not of the kernel
      is_full_text = true;
      continue;
    }
    if (const auto message = set_spec_field(rung.spec, field, value, problem)) {
      errors.push_back({"", 0, fmt::format("spec \"{}\": {}", text, *message), page});
    }
  }
  if (errors.empty() && !is_full_text) {
    for (const FlagOfRounding& flag : flags_of_roundings) {
      if (is_idle(flag, rung.spec))
        errors.push_back({"", 0, fmt::format("spec \"{}\": {}", text, idle_sentence(flag)), page});
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  rung.rounds = in_words(rung.spec, strict_spec(problem));
  rung.source =
      describe(rung.spec, problem) + " on top of the strict spec (docs/judging-formulas.md)";
  if (rung.spec == strict_spec(problem)) rung.source = "the strict spec (docs/judging-formulas.md)";
  return rung;
}

// Returns the rounding models of a merge of states.
std::vector<Rung> rungs_of_merge(const Problem& problem) {
  const RoundingSpec strict = strict_spec(problem);
  std::vector<Rung> rungs{
      {"merge in fp32",
       "only the output: weights and sums stay in fp32, as FlashInfer, vLLM, SGLang and "
       "FlashAttention merge states",
       "docs/judging-formulas.md, \"Merges of states\"", strict}};
  if (problem.dtype == DType::f32) return rungs;
  RoundingSpec spec = strict;
  spec.p_dtype = problem.dtype;
  spec.p_normalized = true;
  rungs.push_back({"weights in 16 bits",
                   fmt::format("the normalised weights to {}: framework code that merges in the "
                               "dtype of the parts",
                               name(problem.dtype)),
                   "docs/judging-formulas.md, \"Merges of states\"", spec});
  return rungs;
}

}  // namespace

std::vector<Rung> ladder(const Problem& problem) {
  const RoundingSpec fp32 = fp32_spec(problem), strict = strict_spec(problem);
  if (problem.is_merge()) return rungs_of_merge(problem);
  if (problem.dtype == DType::f32) return fp32_ladder(problem);
  if (problem.has_fp8_q()) return fp8_ladder(problem);
  const std::string_view dtype = name(problem.dtype);
  std::vector<Rung> rungs{
      {"FlashInfer decode",
       "only the output: P and all sums stay in fp32 (also PyTorch math from 2.5 on, which widens "
       "16-bit inputs)",
       std::string(flashinfer) + "include/flashinfer/attention/decode.cuh#L134-L147", fp32},
      {"FlashAttention-2",
       fmt::format("P to {} before P V, the denominator from unrounded P (also FlashAttention-3)",
                   dtype),
       std::string(flash_attention) + "csrc/flash_attn/src/flash_fwd_kernel.h#L349-L354", strict},
  };
  if (problem.has_fp8_kv()) {
    RoundingSpec widened = strict;
    widened.kv_dequantized_to = problem.dtype;
    const Rung of_widened{
        "widened", fmt::format("K and V to {0} after their scales, P to {0} before P V", dtype),
        rounding_spec_page, widened};
    rungs.push_back(of_widened);
    rungs.push_back(with_rounded_denominator(of_widened));
  }
  RoundingSpec spec = strict;
  spec.exp2_rel_error = degree_3_exp2_error;
  rungs.push_back({"FlashAttention-4",
                   fmt::format("P to {} before P V, exp2 by a polynomial of degree 3", dtype),
                   std::string(flash_attention) + "flash_attn/cute/utils.py#L754-L765", spec});
  spec = strict;
  spec.denominator_from_rounded_p = true;
  rungs.push_back({"FlashInfer prefill",
                   fmt::format("P to {} before P V, the denominator from the rounded P", dtype),
                   std::string(flashinfer) + "include/flashinfer/attention/prefill.cuh#L1704-L1722",
                   spec});
  spec.split_partial_dtype = problem.dtype;
  rungs.push_back({"FlashInfer split-KV",
                   fmt::format("P to {} before P V, the denominator from the rounded P, partial "
                               "outputs of the splits to {}",
                               dtype, dtype),
                   std::string(flashinfer) + "include/flashinfer/attention/prefill.cuh#L4346-L4523",
                   spec});
  spec = strict;
  spec.p_normalized = true;
  rungs.push_back(
      {"FlexAttention",
       fmt::format("P to {} after normalisation (PyTorch's, not compiled; also JAX)", dtype),
       "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_higher_order_ops/"
       "flex_attention.py#L280-L286",
       spec});
  spec.s_rounded = problem.dtype;
  spec.s_rounded_twice = true;
  rungs.push_back(
      {"PyTorch math",
       fmt::format(
           "S to {} and P to {} after normalisation (before PyTorch 2.5, and Transformers eager)",
           dtype, dtype),
       "https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama/"
       "modeling_llama.py#L193-L199",
       spec});
  return rungs;
}

Result<Rung> find_rung(const std::string& text, const Problem& problem) {
  if (text.find('=') != std::string::npos) return rung_of_fields(text, problem);
  const std::vector<Rung> rungs = ladder(problem);
  std::vector<std::string_view> names;
  const std::string own = normalised(text), wanted = canonical_name(own);
  for (const Rung& rung : rungs) {
    if (normalised(rung.name) == own) return rung;
    names.push_back(rung.name);
  }
  for (const Rung& rung : rungs) {
    if (normalised(rung.name) == wanted) return rung;
  }
  if (problem.is_merge() && wanted == "flashattention2") return rungs.front();
  if (problem.dtype == DType::f32 && wanted == "flashinferdecode") return rungs.front();
  if (problem.has_fp8_q() && own == "strict") {
    return *std::ranges::find_if(
        rungs, [&](const Rung& rung) { return rung.spec == strict_spec(problem); });
  }
  if (problem.has_fp8_q() && wanted == "flashattention2") return rungs.back();
  return fail(
      fmt::format("spec \"{}\" is not a rounding model for {} inputs", text, name(problem.dtype)),
      fmt::format("{}; or state fields, as in \"p_dtype=input s_rounded=input\"",
                  suggestion(text, names)));
}

}  // namespace plumbline
