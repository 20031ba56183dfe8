// A rounding spec in words, for reports.
#pragma once

#include <string>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Returns what a spec rounds: "P to bf16, S to bf16". Includes the sums of products only if they
// differ from those of `strict`, the strict spec of the problem. Omits the output's dtype, which
// the problem states.
std::string in_words(const RoundingSpec& spec, const RoundingSpec& strict);

}  // namespace plumbline
