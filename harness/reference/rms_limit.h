// The limit of the rms. The reference needs this limit, because the variance of a rounding that
// many terms share (kappa_coherent in model.h) must keep a legal kernel below the limit.
#pragma once

namespace plumbline {

inline constexpr double rms_limit = 1.35;

}  // namespace plumbline
