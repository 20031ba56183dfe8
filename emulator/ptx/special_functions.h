// The special function unit (MUFU): the results of ex2, rcp, lg2, rsqrt, sqrt, tanh, sin and cos
// with .approx.
//
// Each function is a quadratic in the low bits of the argument, with coefficients from a table
// indexed by the high bits (special_tables.h). The square of the low bits omits its lowest partial
// products.
// An H200 (sm_90, driver 580.159.04) gave the model's bits for each of the 2^32 arguments of every
// function: 2026-11-26, sin and cos 2026-11-28 (evidence/gpu.md; ci/gpu.sh --only special).
// The tables of sqrt and tanh were derived from the H200's results. The others come from the G80
// (2006).
// The model differs from the exact function by at most
//   ex2 2^-22.7 relative, rcp 0.98 ulp, lg2 2^-22.1 absolute on [0.5, 2], rsqrt 2^-22.9 relative,
//   sqrt 2^-23.2 relative, tanh 2^-16.4 relative,
//   sin 2^-21.4 and cos 2^-21.2 absolute on [-pi, pi].
//
// Arguments and results are fp32 bits. Denormal arguments and results become zeros; only tanh
// returns a denormal argument unchanged.
#pragma once

#include <cstdint>

namespace plumbline::ptx {

std::uint32_t special_ex2(std::uint32_t x);
std::uint32_t special_lg2(std::uint32_t x);
std::uint32_t special_rcp(std::uint32_t x);
std::uint32_t special_rsqrt(std::uint32_t x);
std::uint32_t special_sqrt(std::uint32_t x);
std::uint32_t special_sin(std::uint32_t x);
std::uint32_t special_cos(std::uint32_t x);
std::uint32_t special_tanh(std::uint32_t x);

}  // namespace plumbline::ptx
