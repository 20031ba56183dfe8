// The arithmetic in which mutants and legal variants differ: products, sums, 2^x, roundings. It
// works on tiles. Rows are fp32.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/cpu/elementary.h"
#include "kernels/cpu/numbers.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

// A matrix product's accumulator: dot products are summed in key or dimension order.
enum class Sum {
  fma,                // one chain of fused multiply-adds
  multiply_then_add,  // one chain, each product rounded
  fp64,               // exact but for one rounding at the end
  tensor_core_sm_80,  // steps of 8 products, aligned to the largest, 24 fraction bits, toward zero
  tensor_core_sm_90,  // steps of 16 products, 25 fraction bits
};

// c + a b, of `a` 1 x depth and `b` depth x columns, row stride `stride`: c[j] += sum_i a[i]
// b[i][j].
void multiply_add(Sum sum, const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                  std::int64_t columns, float* c);

// The same by one chain, with c rounded to fp16 after each 8 products; depth is a multiple of 8.
void multiply_add_in_fp16(const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                          std::int64_t columns, float* c);

// 2^x of each element, as this change computes it. `count` is a multiple of 8.
void exp2_row(Change change, float* x, std::int64_t count);
float exp2_of(Change change, float x);

// The row's sum: a chain in order, in pairs, or in fp64.
float sum_row(Change change, const float* p, std::int64_t count);

// Nearest number of a dtype, toward zero where `truncated`; beyond the largest of an fp8 dtype,
// that one.
float round_one(std::uint32_t dtype, float x);
float truncate_one(std::uint32_t dtype, float x);
// The `bits` leading bits of the significand.
float keep_bits(float x, int bits);
// P, in place: times `prescale`, rounded to `dtype`, and back. `count` is a multiple of 8.
void round_weights(Change change, std::uint32_t dtype, float prescale, float* p,
                   std::int64_t count);

}  // namespace plumbline::mutants
