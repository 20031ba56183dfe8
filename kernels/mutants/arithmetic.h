// The arithmetic in which mutants and legal variants differ: products, sums, 2^x, roundings.
// Operates on tiles with fp32 rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/cpu/elementary.h"
#include "kernels/cpu/numbers.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

// The accumulator of a matrix product. Dot products are summed in key or dimension order.
enum class Sum {
  fma,                // one chain of fused multiply-adds
  multiply_then_add,  // one chain, each product rounded
  fp64,               // summed in fp64, rounded to fp32 once at the end
  tensor_core_sm_80,  // steps of 8 products, aligned to the largest, 24 fraction bits, toward zero
  tensor_core_sm_90,  // steps of 16 products, 25 fraction bits
};

// Computes c[j] += sum_i a[i] b[i][j]: `a` is [1, depth], `b` is [depth, columns] with row stride
// `stride`.
void multiply_add(Sum sum, const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                  std::int64_t columns, float* c);

// As multiply_add with one chain, but c is rounded to fp16 after every 8 products. `depth` is a
// multiple of 8.
void multiply_add_in_fp16(const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                          std::int64_t columns, float* c);

// Computes 2^x of each element as `change` does. `count` is a multiple of 8.
void exp2_row(Change change, float* x, std::int64_t count);
float exp2_of(Change change, float x);

// Returns the sum of a row: one chain in order, in pairs, or in fp64.
float sum_row(Change change, const float* p, std::int64_t count);

// Round x to a dtype, to nearest or toward zero. fp8 saturates at its largest number.
float round_one(std::uint32_t dtype, float x);
float truncate_one(std::uint32_t dtype, float x);
// Keeps the `bits` leading bits of the significand.
float keep_bits(float x, int bits);
// Rounds P in place: times `prescale`, to `dtype`, and back. `count` is a multiple of 8.
void round_weights(Change change, std::uint32_t dtype, float prescale, float* p,
                   std::int64_t count);

}  // namespace plumbline::mutants
