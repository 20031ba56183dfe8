// The kinds of rounding that sigma consists of.
#pragma once

#include <string_view>

namespace plumbline {

enum class Rounding { p, logit, s, exp2, accumulation, split_partials, output };
inline constexpr int rounding_count = 7;
// "P rounding", "logit error", "S rounding", "exp2", "accumulation", "split partials", "output
// rounding"
std::string_view name(Rounding);

}  // namespace plumbline
