// The ladder: rounding models of kernels in use, from strict to loose. Reports name the likeliest
// one that explains an output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

struct Rung {
  std::string name;    // "FlashAttention-2"
  std::string rounds;  // in words: "P to bf16 before P V"
  std::string source;  // URL or page that shows it
  RoundingSpec spec;
};

// Returns the rounding models of kernels for this problem, in a fixed order that begins with the
// one that rounds least. Callers choose the likeliest model that explains an output, not the first.
std::vector<Rung> ladder(const Problem& problem);

// Finds a rounding model by its name (any case; blanks, dashes and underscores are ignored), or
// parses a spec's text ("p_dtype=bf16 s_rounded=bf16": fields that differ from the strict spec, or
// all fields).
Result<Rung> find_rung(const std::string& text, const Problem& problem);

}  // namespace plumbline
