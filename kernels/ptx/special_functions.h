// The special function unit (MUFU): what ex2.approx, rcp.approx, lg2.approx, rsqrt.approx,
// sqrt.approx and tanh.approx.f32 give.
//
// Each is a quadratic in the low bits of the significand, with coefficients from a table that the
// high bits choose (special_tables.h); the square of the low bits drops its lowest partial
// products. An H200 (sm_90, driver 580.159.04, 2026-11-26) gave the model's bits for every one of
// the 2^32 arguments of ex2, rcp, lg2 and rsqrt (ci/gpu.sh --only special), and they are those of
// the G80 of 2006. The tables of sqrt and tanh were found from what that H200 gave. The model
// of sqrt has all of 4,194,304 dumped results, and differs from 1 / (1 / sqrt(x)) as often as the
// H200 in each slice, each exponent and by each number of ulp over all 2^32 arguments. The model of
// tanh has all of 20,971,520 dumped results of [2^-14, 16), and falls from one positive argument to
// the next as often as the H200: 26,240 times. The H200's is odd, x itself up to 2^-8, and 1 from 8
// on.
// Over all arguments the model differs from the exact function by at most
//   ex2 2^-22.7 relative, rcp 0.98 ulp, lg2 2^-22.1 absolute on [0.5, 2], rsqrt 2^-22.9 relative,
//   sqrt 2^-23.2 relative, tanh 2^-16.4 relative.
// sin and cos have no table here: they are rounded correctly, where the H200 differed from the
// exact function by up to 2^-21.48 (sin) and 2^-21.24 (cos) absolute on [-pi, pi], at every 16th
// argument.
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
