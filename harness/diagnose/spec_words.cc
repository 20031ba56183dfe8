// Lists the words for each field of a rounding spec.
#include "harness/diagnose/spec_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {
namespace {

struct Words {
  std::vector<std::string> list;

  void add(bool is_said, std::string text) {
    if (is_said) list.push_back(std::move(text));
  }
  void rounded(DType dtype, std::string_view what, std::string_view how = "") {
    add(dtype != DType::none && dtype != DType::f32,
        fmt::format("{} to {}{}", what, name(dtype), how));
  }
  void relative_error(double error, std::string_view what) {
    add(error > 0, fmt::format("{} with a relative error of {:.2g}", what, error));
  }
};

std::string way_of_rounding(bool toward_zero, bool stochastic) {
  return toward_zero ? " by truncation" : stochastic ? " at random" : "";
}

std::string_view words_of(MaximumOfP maximum) {
  switch (maximum) {
    case MaximumOfP::running:
      return "";
    case MaximumOfP::one:
      return "P relative to the largest logit so far";
    case MaximumOfP::ceil2:
      return "the maximum rounded up to a power of two";
    case MaximumOfP::bf16:
      return "the maximum to bf16";
    case MaximumOfP::free:
      return "P relative to any maximum";
  }
  return "";
}

std::string words_of(const Accumulator& sums, std::string_view product) {
  if (sums.dtype == DType::f16) return fmt::format("{} summed in fp16", product);
  return sums.toward_zero
             ? fmt::format("{} summed toward zero with {} bits in steps of {}", product,
                           sums.fraction_bits, sums.products_per_step)
             : fmt::format("{} summed to nearest with {} bits", product, sums.fraction_bits);
}

void add_inputs(const RoundingSpec& spec, Words& words) {
  if (inputs_rounded_to(spec) == DType::none) {
    words.rounded(spec.kv_dequantized_to, "fp8 inputs", " after their scales");
  } else {
    words.rounded(inputs_rounded_to(spec), "Q, K and V",
                  way_of_rounding(spec.inputs_toward_zero, false));
  }
}

void add_p(const RoundingSpec& spec, Words& words) {
  words.rounded(spec.p_dtype,
                spec.p_prescale == 1 ? "P" : fmt::format("P times {}", spec.p_prescale),
                (spec.p_normalized ? " after normalisation" : "") +
                    way_of_rounding(spec.p_toward_zero, spec.p_stochastic));
  words.add(spec.p_max != MaximumOfP::running, std::string(words_of(spec.p_max)));
  words.add(spec.denominator_from_rounded_p, "the denominator from the rounded P");
}

void add_logits(const RoundingSpec& spec, Words& words) {
  const std::string_view place = spec.s_rounded_before_softcap ? " before the softcap"
                                 : spec.s_rounded_before_bias  ? " before ALiBi or a bias"
                                                               : "";
  words.rounded(
      spec.s_rounded, "S",
      fmt::format("{}{}", place, spec.s_rounded_twice ? " before and after the scale" : ""));
  words.rounded(spec.q_prescaled,
                spec.q_prescaled_without_log2e ? "the scaled Q, without log2(e)," : "the scaled Q");
}

void add_output(const RoundingSpec& spec, Words& words) {
  words.rounded(spec.split_partial_dtype, "partial outputs");
  words.rounded(spec.o_between_tiles, "O between tiles");
  words.add(spec.ring_update, "parts merged by O -= w (O - O_i)");
  words.add(spec.out_toward_zero || spec.out_stochastic,
            "the output" + way_of_rounding(spec.out_toward_zero, spec.out_stochastic));
  words.rounded(spec.lse_dtype, "the LSE");
  words.add(spec.lse_base == 2, "an LSE of base 2");
  words.add(!spec.lse_includes_sink, "an LSE without the sink");
  words.add(spec.lse_without_row_bias, "an LSE without the row's part of ALiBi");
}

void add_errors(const RoundingSpec& spec, Words& words) {
  words.relative_error(spec.exp2_rel_error, "exp2");
  words.relative_error(spec.tanh_rel_error, "tanh");
  words.relative_error(spec.reciprocal_rel_error, "1 / l");
  words.relative_error(spec.product_rel_error, "products");
  words.add(spec.skipped_below > 0,
            fmt::format("tiles skipped whose P are below {:.2g}", spec.skipped_below));
}

}  // namespace

std::string in_words(const RoundingSpec& spec, const RoundingSpec& strict) {
  Words words;
  add_inputs(spec, words);
  add_p(spec, words);
  add_logits(spec, words);
  add_output(spec, words);
  add_errors(spec, words);
  words.add(spec.qk_accumulator != strict.qk_accumulator, words_of(spec.qk_accumulator, "Q K^T"));
  words.add(spec.pv_accumulator != strict.pv_accumulator, words_of(spec.pv_accumulator, "P V"));
  return words.list.empty() ? "only the output" : fmt::format("{}", fmt::join(words.list, ", "));
}

}  // namespace plumbline
