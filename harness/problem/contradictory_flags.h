// Flags of a rounding spec that exclude each other, or that change nothing. Header-only, because
// providers also use it, and they link no library of the harness.
#pragma once

#include <string>
#include <utility>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Returns a sentence with the remedy if two flags that exclude each other are true, otherwise "".
inline std::string contradictory_flags(const RoundingSpec& spec) {
  struct Flag {
    const char* name;
    bool RoundingSpec::*member;
  };
  constexpr std::pair<Flag, Flag> pairs[] = {
      {{"p_toward_zero", &RoundingSpec::p_toward_zero},
       {"p_stochastic", &RoundingSpec::p_stochastic}},
      {{"out_toward_zero", &RoundingSpec::out_toward_zero},
       {"out_stochastic", &RoundingSpec::out_stochastic}},
      // P / l is rounded after the denominator l is known.
      {{"p_normalized", &RoundingSpec::p_normalized},
       {"denominator_from_rounded_p", &RoundingSpec::denominator_from_rounded_p}},
      {{"s_rounded_before_bias", &RoundingSpec::s_rounded_before_bias},
       {"s_rounded_before_softcap", &RoundingSpec::s_rounded_before_softcap}}};
  for (const auto& [a, b] : pairs) {
    if (spec.*a.member && spec.*b.member) {
      return std::string(a.name) + " and " + b.name +
             " exclude each other; state the one that the kernel does";
    }
  }
  return "";
}

// A flag that says how something is rounded, and the dtype that it is rounded to.
struct FlagOfRounding {
  const char* name;
  bool RoundingSpec::*flag;
  DType RoundingSpec::*dtype;
  const char* without;  // why the flag changes nothing without such a dtype, and the remedy
};
inline constexpr const char* without_p = "P is not rounded; state p_dtype";
inline constexpr const char* without_s = "S is not rounded; state s_rounded";
inline constexpr const char* without_out = "the output is in fp32; leave it out";
inline constexpr FlagOfRounding flags_of_roundings[] = {
    {"p_normalized", &RoundingSpec::p_normalized, &RoundingSpec::p_dtype, without_p},
    {"p_toward_zero", &RoundingSpec::p_toward_zero, &RoundingSpec::p_dtype, without_p},
    {"p_stochastic", &RoundingSpec::p_stochastic, &RoundingSpec::p_dtype, without_p},
    {"denominator_from_rounded_p", &RoundingSpec::denominator_from_rounded_p,
     &RoundingSpec::p_dtype, without_p},
    {"s_rounded_twice", &RoundingSpec::s_rounded_twice, &RoundingSpec::s_rounded, without_s},
    {"s_rounded_before_bias", &RoundingSpec::s_rounded_before_bias, &RoundingSpec::s_rounded,
     without_s},
    {"s_rounded_before_softcap", &RoundingSpec::s_rounded_before_softcap, &RoundingSpec::s_rounded,
     without_s},
    {"q_prescaled_without_log2e", &RoundingSpec::q_prescaled_without_log2e,
     &RoundingSpec::q_prescaled, "the scaled Q is not rounded; state q_prescaled"},
    {"inputs_toward_zero", &RoundingSpec::inputs_toward_zero, &RoundingSpec::kv_dequantized_to,
     "the inputs are not rounded to tf32; state kv_dequantized_to = tf32"},
    {"out_toward_zero", &RoundingSpec::out_toward_zero, &RoundingSpec::out_dtype, without_out},
    {"out_stochastic", &RoundingSpec::out_stochastic, &RoundingSpec::out_dtype, without_out}};

// Returns true if the spec has the flag but does not round what the flag describes.
inline bool is_idle(const FlagOfRounding& flag, const RoundingSpec& spec) {
  const DType dtype = spec.*flag.dtype;
  const bool rounds = flag.flag == &RoundingSpec::inputs_toward_zero
                          ? dtype == DType::tf32
                          : dtype != DType::none && dtype != DType::f32 && dtype != DType::f64;
  return spec.*flag.flag && !rounds;
}
// Returns a sentence with the remedy for an idle flag.
inline std::string idle_sentence(const FlagOfRounding& flag) {
  return std::string(flag.name) + " changes nothing, because " + flag.without;
}

}  // namespace plumbline
