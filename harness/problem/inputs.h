// Generated inputs: the same bits on every machine, in every layout, for every number of threads.
// An element is a function of (seed, tensor, sample, head, position, dim). Philox4x32-10 generates
// integers. The input distributions (laws) use no libm, only correctly rounded +, *, /, sqrt and
// fma on fixed polynomials. Four neighbouring dims share a Philox block.
//
// Laws of Q and K (z = independent N(0, 1); logits are for the default scale, measured for head_dim
// 64 and 128):
//   normal        z
//   uniform       U(-1, 1)
//   llm           z, but in 3 % of the dims K is 8 to 20 times and Q 2.5 times larger, so that
//                 logits reach 30 to 70. There is at least one such dim. The dims are the same at
//                 all positions and in all samples of a key head and its query heads
//   peaky         Q = 16 z, K = z: logits of standard deviation 16, most rows nearly one-hot
//   near_uniform  0.02 z: all weights of a row round alike
//   sink          key 0 has p between 0.92 and 0.97 for a query that sees all keys of its sample;
//                 the others are near ties
//   needle        one key at a random position per (sample, key head) has p around 0.98 if it is
//                 visible; the rest is 0.5 z
//   exact         small powers of two: even keys have equal logits. Logits of odd keys are more
//                 than 150 lower (head_dim_qk up to 700), so their weight is exactly 0 if an even
//                 key is visible
//   negative_logits  z, but every logit is 80 lower: the largest of a row is near -77
//   ramp          the logit rises by 30 from the first key to the last, plus noise of 0.25: most
//                 tiles have a new maximum
//   extreme       z, but every q . k is higher by 65504, the largest number of fp16, so half of
//                 the products exceed fp16; logits of thousands
//   near_ties     K = 4 c + 0.05 z, c one normal vector per (sample, key head): logits with a
//                 common part of deviation 4 that differ by 0.05
// sink, needle and ramp also depend on the sample's number of keys.
//
// In a merge the laws define the LSEs of a token's parts, in natural units; for base 2 they are
// multiplied by log2(e):
//   normal        6 + z, like parts of some hundred keys each
//   uniform       6 + U(-1, 1)
//   llm           6 + 4 z
//   peaky         16 z: one part outweighs the others
//   near_uniform  6 + 0.02 z
//   sink          the first part has p between 0.92 and 0.97; the others are near ties
//   needle        one part at a random position has p around 0.98; the rest is 0.5 z
//   exact         even parts 6, odd parts -4090: equal weights, and weights of 0. Results need
//                 not be exact, because kernels may divide by exp(LSE)
//   negative_logits  -80 + z
//   ramp          rises by 30 from the first part to the last, plus noise of 0.25
//   extreme       1000 + z in even heads, -1000 + z in odd ones
//   near_ties     4 c + 0.05 z, c one normal value for a (token, head)
// Parts without keys (mask custom) have an LSE of -infinity, and the fill of padding as O.
//
// Laws of V:
//   normal        z
//   uniform       U(-1, 1)
//   large_mean    10 + z
//   constant      one normal value per (sample, key head, column), the same for all keys
//   grid          multiples of 1/8 in [-2, 2]: sums of 2^20 of them are exact in fp32
//   band          24 + U(-4, 4): every output is in [16, 32), where bf16 has one spacing
//   tiny_output   (-1)^key c + z / 256, c one normal value per column as in constant: outputs far
//                 smaller than the values
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "harness/problem/geometry.h"

namespace plumbline {

// Raised when any generated bit changes. Part of the problem digest.
inline constexpr int inputs_version = 1;

// Philox4x32-10 (Salmon et al., SC'11): four words from counter and key. Tests check the
// known-answer vectors of Random123.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

// Returns a standard normal number from 32 random bits, by inverse CDF without libm: bit 31 is the
// sign, the others the tail probability. Never 0, |z| < 6.34, within 5e-7 |z| of the true quantile.
// The same bits on every machine.
float normal_from_bits(std::uint32_t bits);

// Fills the storage of q, k, v (each geometry.X.bytes() long), including padding rows, page tails
// and unused pages (by problem.fill; garbage has magnitudes between 250 and 350). Runs in the
// calling oneTBB arena. A query row's position is row + length_kv - length_q (bottom-right
// alignment), so the decode of the last token sees the same Q as the last row of the prefill. K and
// V positions are the key index.
// Values are generated in fp32, multiplied by k_scale or v_scale in fp32, and rounded to the dtype.
// fp8 values are divided by their scale (side_inputs.h) and saturated before rounding. Valid values
// never depend on layout, padding, batch size, page size or page order.
// Recorded inputs (problem.inputs) are rounded once from the file's values to the dtype instead.
// Row r is then the r-th valid row of the file's sample. Throws std::runtime_error if the file is
// missing or has changed since it was first read.
void fill_inputs(const Geometry& geometry, void* q, void* k, void* v);

// Returns true if a row with `visible` keys must come out without any error. With law exact, V on
// the grid and no extra scales, a power-of-two number of visible keys (at most 4096) leaves a
// power-of-two number of keys of equal weight. Weights, denominator and sums are then exact in
// fp32, and no legal rounding of P changes them.
// Callers may demand equality only if the fp64 o is itself a number of the output dtype, and only
// of kernels that keep split partials in fp32. With a single visible key, returns true only for
// outputs narrower than fp32: the key's logit may be large, so its weight may be 1 + 2^-15 before
// the denominator cancels it.
bool row_is_exact(const Problem& problem, std::int64_t visible);

// XXH3-128 of the problem id, inputs_version and the digest of recorded inputs, which together
// determine the input bits. 32 hex digits. Throws like fill_inputs.
std::string problem_digest(const Problem& problem);

}  // namespace plumbline
