// The special function unit (MUFU): what ex2, rcp, lg2, rsqrt, sqrt, tanh, sin and cos give with
// .approx.
//
// Each is a quadratic in the low bits of the argument, with coefficients from a table that the high
// bits choose (special_tables.h); the square of the low bits drops its lowest partial products.
// Held against an H200 (sm_90, driver 580.159.04, 2026-11-26; ci/gpu.sh --only special):
// - ex2, rcp, lg2, rsqrt, sqrt and tanh: the same bits for every one of the 2^32 arguments. The
//   tables of the first four are the G80's of 2006; those of sqrt and tanh were found from the
//   H200's results.
// - sin, cos, not swept since they have a table, the G80's: the model of sin has all of 1,966,080
//   dumped results of [2^-12, 8). Of every 16th argument of [-pi, pi] both have the H200's largest
//   error, at the same one.
// Over all arguments the model differs from the exact function by at most
//   ex2 2^-22.7 relative, rcp 0.98 ulp, lg2 2^-22.1 absolute on [0.5, 2], rsqrt 2^-22.9 relative,
//   sqrt 2^-23.2 relative, tanh 2^-16.4 relative,
//   sin 2^-21.4 and cos 2^-21.2 absolute on [-pi, pi].
//
// Arguments and results are the bits of fp32. Denormal arguments are zeros, denormal results too;
// tanh alone gives a denormal argument back.
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
