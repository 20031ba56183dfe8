// Counter-based inputs: element (seed, tensor, sample, head, position, dim) has the same bits on every machine, in every layout and for
// every thread count. Philox4x32-10 gives integers; the laws use no libm, only correctly rounded +, *, fma on fixed tables or polynomials.
#pragma once

#include <array>
#include <cstdint>

#include "harness/problem/geometry.h"

namespace plumbline {

inline constexpr int inputs_version = 1;  // raised when any generated bit changes; part of the problem digest

// Philox4x32-10 (Salmon et al., SC'11): counter and key to four words. Known-answer vectors of Random123 are tested.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Standard normal from 32 random bits, by inverse CDF without libm; symmetric, |z| <= ~6.2. Same bits everywhere.
float normal_from_bits(std::uint32_t bits);

// Fills the storage of q, k, v (each geometry.X.bytes() long) including padding rows, page tails and unused pages (by problem.fill).
// A query row's position is row + length_kv - length_q (the bottom-right alignment), so the decode of the last token sees the same Q
// as the last row of the prefill; K and V positions are the key index. Values are generated in fp32, scaled, then rounded to the dtype.
void fill_inputs(const Geometry& geometry, void* q, void* k, void* v);

// XXH3-128 of the problem id, inputs_version: names the input bits; 32 hex digits.
std::string problem_digest(const Problem& problem);

}  // namespace plumbline
