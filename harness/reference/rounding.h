// The kinds of rounding that make up the variance of a legal error.
#pragma once

#include <string_view>

namespace plumbline {

enum class Rounding { p, logit, s, exp2, accumulation, split_partials, output };
inline constexpr int rounding_count = 7;
// "P rounding", "logit error", "S rounding", "exp2", "accumulation", "split partials", "output
// rounding"
std::string_view name(Rounding);

}  // namespace plumbline
