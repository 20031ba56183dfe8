// The limit of the rms. It is here because the variance of a rounding that many terms share
// (kappa_coherent in model.h) must keep a legal kernel below it even in the worst draw.
#pragma once

namespace plumbline {

inline constexpr double rms_limit = 1.35;

}  // namespace plumbline
