// Lists the rounding specs of published kernels, each with its source, and finds one by its name.
#include "harness/diagnose/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "harness/base/text.h"
#include "harness/contract/spec_fields.h"
#include "harness/problem/arch.h"

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

// Returns the spec of tensor cores with fp32 inputs, with the accumulator that keeps the fewest
// bits: sm_80's.
RoundingSpec tf32_spec(const Problem& problem) {
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = spec.kv_dequantized_to = DType::tf32;
  spec.qk_accumulator = spec.pv_accumulator = tensor_core_accumulator_of("sm_80", DType::tf32);
  return spec;
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
  constexpr auto formulas = "docs/judging-formulas.md, \"Rounding spec\"";
  return {{"fp32", "only the output: P and all sums stay in fp32", formulas, fp32_spec(problem)},
          {"widened",
           fmt::format("Q, K and V to {0} after their scales, P to {0} before P V", name(wide)),
           formulas, widened},
          {"fp8 P", p_rounded + ", sums in fp32", formulas, strict},
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

// Returns what a spec rounds, in words: "P to bf16, S to bf16".
std::string in_words(const RoundingSpec& spec) {
  std::vector<std::string> words;
  const auto rounds = [&](DType dtype, std::string_view what, std::string_view how = "") {
    if (dtype != DType::none && dtype != DType::f32)
      words.push_back(fmt::format("{} to {}{}", what, name(dtype), how));
  };
  rounds(inputs_rounded_to(spec), "Q, K and V", spec.inputs_toward_zero ? " by truncation" : "");
  if (inputs_rounded_to(spec) == DType::none)
    rounds(spec.kv_dequantized_to, "fp8 inputs", " after their scales");
  rounds(spec.p_dtype, "P", spec.p_normalized ? " after normalisation" : "");
  if (spec.denominator_from_rounded_p) words.emplace_back("the denominator from the rounded P");
  rounds(spec.s_rounded, "S", spec.s_rounded_twice ? " before and after the scale" : "");
  rounds(spec.q_prescaled, "the scaled Q");
  rounds(spec.split_partial_dtype, "partial outputs");
  rounds(spec.o_between_tiles, "O between tiles");
  rounds(spec.lse_dtype, "the LSE");
  if (spec.exp2_rel_error > 0)
    words.push_back(fmt::format("exp2 with a relative error of {:.2g}", spec.exp2_rel_error));
  return words.empty() ? "only the output" : fmt::format("{}", fmt::join(words, ", "));
}

// Parses "p_dtype=bf16 s_rounded=bf16": fields on top of the strict spec.
Result<Rung> rung_of_fields(const std::string& text, const Problem& problem) {
  Rung rung{"spec", "", "", strict_spec(problem)};
  Errors errors;
  std::vector<std::string_view> parts = split(text, ' ');
  // p_dtype sets p_prescale, so it comes first.
  std::ranges::stable_partition(parts, [](auto part) { return part.starts_with("p_dtype="); });
  for (const std::string_view part : parts) {
    const std::size_t equals = part.find('=');
    if (part.empty()) continue;
    const std::string_view field = part.substr(0, equals),
                           value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    if (field == "out_dtype") continue;  // a property of the dump, not of the kernel
    if (const auto message = set_spec_field(rung.spec, field, value, problem)) {
      errors.push_back({"", 0, fmt::format("spec \"{}\": {}", text, *message),
                        "see docs/judging-formulas.md, \"Rounding spec\""});
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  rung.rounds = in_words(rung.spec);
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
  if (problem.dtype == DType::f32) {
    return {{"fp32", "nothing: P and all sums stay in fp32",
             "docs/judging-formulas.md, \"Rounding spec\"", fp32},
            {"TF32", "Q, K, V and P to tf32, to nearest: tensor cores with fp32 inputs",
             "docs/judging-formulas.md, \"Rounding spec\"", tf32_spec(problem)}};
  }
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
    rungs.push_back({"widened",
                     fmt::format("K and V to {0} after their scales, P to {0} before P V", dtype),
                     "docs/judging-formulas.md, \"Rounding spec\"", widened});
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
