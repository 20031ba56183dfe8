// The kinds of rounding that sigma consists of.
#pragma once

#include "harness/base/enumeration.h"

namespace plumbline {

enum class Rounding { p, logit, s, exp2, accumulation, split_partials, output };
template <>
inline constexpr std::array<std::string_view, 7> names_of<Rounding>{
    "P rounding",   "logit error",    "S rounding",     "exp2",
    "accumulation", "split partials", "output rounding"};
inline constexpr int rounding_count = static_cast<int>(names_of<Rounding>.size());

}  // namespace plumbline
