// The limit of the rms, which the reference knows: the variance of a rounding that many terms share
// (kappa_coherent of model.h) is what keeps a legal kernel below it at the worst draw.
#pragma once

namespace plumbline {

inline constexpr double rms_limit = 1.35;

}  // namespace plumbline
