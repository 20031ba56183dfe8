// The special function unit (MUFU): what ex2.approx, rcp.approx, lg2.approx and rsqrt.approx give.
//
// Each is a quadratic in the low bits of the significand, with coefficients from a table that the
// high bits choose (special_tables.h); the square of the low bits drops its lowest partial
// products. The model is bit-exact for the G80; its ex2 gives all ten values that a GB200 showed in
// issue 2263 of flash-attention, at least five of which differ from correct rounding. For rcp, lg2
// and rsqrt nothing has been compared with a newer GPU: what holds of them until then are bounds.
// Over all arguments the model differs from the exact function by at most
//   ex2 2^-22.7 relative, rcp 0.98 ulp, lg2 2^-22.1 absolute on [0.5, 2], rsqrt 2^-22.9 relative.
// sin, cos and tanh have no proven table: they are rounded correctly here, where the hardware may
// differ by 2^-20.5 absolute on [-pi, pi] (sin, cos) and 2^-11 relative (tanh; PTX ISA 9.7.3).
//
// Arguments and results are the bits of fp32. Denormal arguments are zeros, denormal results too.
#pragma once

#include <cstdint>

namespace plumbline::ptx {

std::uint32_t special_ex2(std::uint32_t x);
std::uint32_t special_lg2(std::uint32_t x);
std::uint32_t special_rcp(std::uint32_t x);
std::uint32_t special_rsqrt(std::uint32_t x);
std::uint32_t special_sin(std::uint32_t x);
std::uint32_t special_cos(std::uint32_t x);
std::uint32_t special_tanh(std::uint32_t x);

}  // namespace plumbline::ptx
