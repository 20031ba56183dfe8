// The ladder: rounding specs of kernels in use, from the tightest to the loosest. The tightest that
// explains an output is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

struct Rung {
  std::string name;    // "FlashAttention-2"
  std::string rounds;  // what it rounds, in words: "P to bf16 before P.V"
  std::string source;  // where that can be read
  RoundingSpec spec;
};

// The rungs that differ for this problem, in a fixed order that begins with what rounds least.
// Which is the tightest of those that explain an output is decided by sigma's rms on that output,
// not by this order.
std::vector<Rung> ladder(const Problem& problem);

// A rung by name (any case, blanks and dashes alike), else a spec's text ("p_dtype=bf16
// s_rounded=bf16": fields that differ from the strict spec, or all fields).
Result<Rung> find_rung(const std::string& text, const Problem& problem);

}  // namespace plumbline
