// Flags of a rounding spec that exclude each other. A header alone, because providers use it too,
// and they link no library of the harness.
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

}  // namespace plumbline
